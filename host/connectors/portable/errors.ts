/** Failures of sources and sinks of portable plugins. */
import { errorTable } from '../../base/errors.js';

export const portableErrors = errorTable('portable', {
  noMessage: ['general', (begin: string) => `the plugin has sent what is no message: ${begin}`],
  slow: ['connection', (title: string, ms: number) => `${title} confirmed no message within ${ms} ms`],
});
