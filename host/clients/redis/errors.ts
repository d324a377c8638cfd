/** Failures of connections to Redis servers. */
import { errorTable } from '../../base/errors.js';

export const redisClientErrors = errorTable('redisClient', {
  /** Reasons of the library, the server or the system. */
  connection: ['connection', (reason: string) => reason],
});
