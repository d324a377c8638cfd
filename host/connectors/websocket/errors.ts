/** Failures of websockets. */
import { errorTable } from '../../base/errors.js';

export const websocketErrors = errorTable('websocket', {
  connection: ['connection', (reason: string) => reason],
});
