/** Failures of connections to NATS servers. */
import { errorTable } from '../../base/errors.js';

export const natsClientErrors = errorTable('natsClient', {
  /** Reasons of the library, the server or the system. */
  connection: ['connection', (reason: string) => reason],
  /** A login that no server could take. */
  login: ['config', (reason: string) => `nats: ${reason}`],
});
