/** Failures of files that are read or written. */
import { errorTable } from '../../base/errors.js';

export const fileErrors = errorTable('file', {
  noMoveTo: ['config', 'file source: property moveTo is required when actionAfterRead is 2'],
  source: ['config', (reason: string) => `file source: ${reason}`],
  /** The sink is tried again later. */
  sinkFails: ['connection', (reason: string) => `file sink: ${reason}`],
  sinkRefused: ['config', (reason: string) => `file sink: ${reason}`],
  notOpen: ['connection', (path: string) => `${path} is not open`],
  notMounted: ['connection', (folder: string) => `file sink: the file system of ${folder} is not mounted any more`],
  denied: ['config', (path: string, folder: string) => `access is denied: ${path} is not in ${folder}`],
  noName: ['config', (path: string) => `${path} is no name of a file`],
});
