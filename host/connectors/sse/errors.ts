/** Failures of event streams. */
import { errorTable } from '../../base/errors.js';

export const sseErrors = errorTable('sse', {
  connection: ['connection', (reason: string) => reason],
});
