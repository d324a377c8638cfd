/** Failures of servers that are asked. */
import { errorTable } from '../../base/errors.js';

export const pullErrors = errorTable('httppull', {
  away: ['connection', (reason: string) => reason],
});
