/** Settings that change while the server runs: log, time zone, copies of metrics. They hold until the next start. */
import type { Config } from '../../base/config/config.js';
import { timeZoneReason } from '../../base/config/config-spec.js';
import { levelOf } from '../../base/config/open-log.js';
import type { Log } from '../../base/log/log.js';
import { serverErrors } from '../errors/server.js';

/** Members of a PATCH body; other members are ignored. */
interface Change {
  debug?: boolean;
  logLevel?: string;
  consoleLog?: boolean;
  fileLog?: boolean;
  timezone?: string;
  isCopying?: boolean;
}

export interface ConfigsOptions {
  /** The configuration in force; changed in place, its readers look again at each use. */
  readonly config: Config;
  readonly log: Log;
  /** Folder of log files. */
  readonly logFolder: string;
  setCopying(isOn: boolean): void;
}

const levels: readonly string[] = ['debug', 'info', 'warn', 'error', 'fatal', 'panic'];

export class ConfigsService {
  readonly #options: ConfigsOptions;

  constructor(options: ConfigsOptions) {
    this.#options = options;
  }

  /** Applies the settings given, all or none; throws a `general` error that names the wrong one. */
  change(given: Readonly<Record<string, unknown>>): void {
    const change = read(given);
    const { config, log, logFolder, setCopying } = this.#options;
    const basic = config.basic as { -readonly [K in keyof Config['basic']]: Config['basic'][K] };
    if (change.debug !== undefined) basic.debug = change.debug;
    if (change.logLevel !== undefined) basic.logLevel = change.logLevel as typeof basic.logLevel;
    if (change.consoleLog !== undefined) basic.consoleLog = change.consoleLog;
    if (change.fileLog !== undefined) basic.fileLog = change.fileLog;
    if (change.timezone !== undefined) basic.timezone = change.timezone;
    log.configure({
      level: levelOf(basic),
      console: basic.consoleLog,
      folder: basic.fileLog ? logFolder : undefined,
    });
    if (change.isCopying !== undefined) setCopying(change.isCopying);
    log.info('settings changed', { ...change });
  }
}

function read(given: Readonly<Record<string, unknown>>): Change {
  const dump = given.metricsDumpConfig;
  if (dump !== undefined && (typeof dump !== 'object' || dump === null || Array.isArray(dump))) {
    throw serverErrors.configNotObject('metricsDumpConfig');
  }
  return {
    debug: booleanOf(given, 'debug'),
    consoleLog: booleanOf(given, 'consoleLog'),
    fileLog: booleanOf(given, 'fileLog'),
    logLevel: textOf(given, 'logLevel', (text) =>
      levels.includes(text) ? undefined : `must be one of ${levels.join(', ')}, not ${JSON.stringify(text)}`,
    ),
    timezone: textOf(given, 'timezone', timeZoneReason),
    isCopying: booleanOf((dump ?? {}) as Readonly<Record<string, unknown>>, 'enable'),
  };
}

function booleanOf(given: Readonly<Record<string, unknown>>, name: string): boolean | undefined {
  const value = given[name];
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? undefined;
  throw serverErrors.configNotBoolean(name, JSON.stringify(value));
}

function textOf(
  given: Readonly<Record<string, unknown>>,
  name: string,
  check: (text: string) => string | undefined,
): string | undefined {
  const value = given[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') {
    throw serverErrors.configNotText(name, JSON.stringify(value));
  }
  const reason = check(value);
  if (reason !== undefined) throw serverErrors.config(name, reason);
  return value;
}
