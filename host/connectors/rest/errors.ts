/** Failures of requests to servers. */
import { errorTable } from '../../base/errors.js';

export const restErrors = errorTable('rest', {
  away: ['connection', (reason: string) => reason],
});
