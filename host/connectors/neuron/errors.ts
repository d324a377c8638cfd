/** Rows that can't be sent to Neuron. */
import { errorTable } from '../../base/errors.js';

export const neuronErrors = errorTable('neuron', {
  noRow: ['sink', 'the message is no JSON of an object'],
});
