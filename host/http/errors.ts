/** Failures of requests to servers. */
import { errorTable } from '../base/errors.js';

export const httpErrors = errorTable('http', {
  away: ['connection', (reason: string) => reason],
});
