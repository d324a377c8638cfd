/** Refusals of paths, and of a data folder that another process uses. */
import { errorTable } from '../errors.js';

export const fileErrors = errorTable('files', {
  zeroByte: ['config', 'the path has a zero byte'],
  readOnly: [
    'config',
    (path: string) => `access is denied: ${path} is in a folder of resources, which can only be read`,
  ],
  denied: [
    'config',
    (path: string, allowed: string) => `access is denied: ${path} is not in ${allowed}, or is the server's own`,
  ],
  kind: ['config', (path: string, reason: string) => `${path} ${reason}`],
  uri: ['general', (uri: string, reason: string) => `can't read ${uri.replace(/\/\/[^/]*@/, '//')}: ${reason}`],
  notLocked: ['general', (reason: string) => `the data folder can't be locked: ${reason}`],
  inUse: [
    'general',
    (pid: number, waited: string, path: string) =>
      `the data folder is in use by process ${pid}${waited} (lock file ${path})`,
  ],
});
