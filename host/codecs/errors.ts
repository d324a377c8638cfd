/** Refusals of formats. */
import { errorTable } from '../base/errors.js';

export const formatErrors = errorTable('format', {
  refused: ['config', (reason: string) => reason],
  noPackage: [
    'config',
    (format: string, name: string) =>
      `the format ${format} needs the package ${name}, which is not installed: npm install ${name}`,
  ],
});
