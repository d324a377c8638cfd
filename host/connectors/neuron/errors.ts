/** Rows that can't be sent to Neuron. */
import { errorTable } from '../../base/errors.js';

export const neuronErrors = errorTable('neuron', {
  tooLong: [
    'sink',
    (bytes: number, times: number) =>
      `${times} connections ended while the message of ${bytes} bytes was sent: nng takes 1 MiB unless told otherwise`,
  ],
  noRow: ['sink', 'the message is no JSON of an object'],
});
