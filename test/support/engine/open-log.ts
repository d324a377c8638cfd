/** A log in a folder of its own, without times: what tests read back is the same every time. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Log, type LogOptions, mainLogFile } from '../../../host/base/log/log.js';
import { temporaryFolder } from '../harness.js';

export interface TestLog {
  readonly log: Log;
  readonly folder: string;
  /** What stands in a file of the folder, by default that of the main log; empty when there is none. */
  text(name?: string): string;
}

export function openLog(change: Partial<LogOptions> = {}): TestLog {
  const folder = temporaryFolder();
  const log = new Log({
    level: 'info',
    console: false,
    folder,
    fileName: mainLogFile,
    hasTimestamp: false,
    rotateSizeBytes: 0,
    rotateMs: 0,
    maxAgeMs: 0,
    rotateCount: 0,
    ...change,
  });
  const text = (name = mainLogFile) => {
    log.flush();
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  return { log, folder, text };
}
