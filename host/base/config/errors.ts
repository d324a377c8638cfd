/** Refusals of configuration files. */
import { errorTable } from '../errors.js';

export const configErrors = errorTable('config', {
  problems: ['config', (reasons: string) => reasons],
  unreadable: ['config', (path: string, reason: string) => `the file ${path} can't be read: ${reason}`],
  notYaml: ['config', (path: string, reason: string) => `the file ${path} is no YAML: ${reason}`],
  notMapping: ['config', (path: string) => `the file ${path} must hold a mapping of keys to values`],
});
