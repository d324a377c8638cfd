/** Failures of connections by SP (nanomsg, nng). */
import { errorTable } from '../../base/errors.js';

export const spErrors = errorTable('sp', {
  connection: ['connection', (reason: string) => reason],
});
