/** Failures of connections to RabbitMQ. */
import { errorTable } from '../../base/errors.js';

export const rabbitClientErrors = errorTable('rabbitClient', {
  /** Reasons of the library, the server or the system. */
  connection: ['connection', (reason: string) => reason],
  late: ['connection', (ms: number) => `the server did not answer within ${ms} ms`],
});
