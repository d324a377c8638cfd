/** Refusals of zip archives, read with the first of them. */
import { errorTable } from '../errors.js';

export const archiveErrors = errorTable('archive', {
  invalid: ['general', (reason: string) => `invalid zip archive: ${reason}`],
  noFile: ['general', (name: string) => `the archive has no file ${name}`],
});
