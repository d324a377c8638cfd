/** Rows without samples. */
import { errorTable } from '../../base/errors.js';

export const prometheusErrors = errorTable('prometheus', {
  noTime: ['sink', (name: string) => `the row has no number ${name} for the time`],
  noSample: ['sink', 'the row has no number to send'],
});
