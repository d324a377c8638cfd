/** Failures of ZeroMQ sockets. */
import { errorTable } from '../../base/errors.js';

export const zmqClientErrors = errorTable('zmqClient', {
  /** Reasons of the library or the system. */
  connection: ['connection', (reason: string) => reason],
});
