/** Opens the log as the configuration has it. */
import type { Config } from './config.js';
import { type Level, Log, mainLogFile } from './log.js';
import { openSyslog } from './syslog.js';

/** The level the log really has: `debug` beats the named level, and the log knows no level above error. */
export function levelOf({ debug, logLevel }: { debug: boolean; logLevel: string }): Level {
  if (debug) return 'debug';
  return logLevel === 'fatal' || logLevel === 'panic' ? 'error' : (logLevel as Level);
}

/** @param folder where log files are */
export function openLog(basic: Config['basic'], folder: string): Log {
  const { enable, network, address, level, tag } = basic.syslog;
  const syslog = enable ? openSyslog({ network: network || 'udp', address, level, tag }) : undefined;
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
