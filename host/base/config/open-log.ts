/** Opens the log as the configuration has it. */

import { type Level, Log, mainLogFile } from '../log/log.js';
import type { Config } from './config.js';

/** The level the log really has: `debug` beats the named level, and the log knows no level above error. */
export function levelOf({ debug, logLevel }: { debug: boolean; logLevel: string }): Level {
  if (debug) return 'debug';
  return logLevel === 'fatal' || logLevel === 'panic' ? 'error' : (logLevel as Level);
}

/** @param folder where log files are */
export async function openLog(basic: Config['basic'], folder: string): Promise<Log> {
  const { enable, network, address, level, tag } = basic.syslog;
  const form = { network: network || 'udp', address, level, tag };
  const syslog = enable ? (await import('../log/syslog.js')).openSyslog(form) : undefined;
  return new Log({
    level: levelOf(basic),
    console: basic.consoleLog,
    folder: basic.fileLog ? folder : undefined,
    fileName: mainLogFile,
    hasTimestamp: !basic.logDisableTimestamp,
    rotateSizeBytes: basic.rotateSize,
    rotateMs: basic.rotateTime * 3_600_000,
    maxAgeMs: basic.maxAge * 3_600_000,
    rotateCount: basic.rotateCount,
    ...(syslog === undefined ? {} : { also: syslog.send }),
  });
}
