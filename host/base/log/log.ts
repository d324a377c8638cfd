/**
 * Levelled log to the console and to a file. Repeated lines are folded, secrets masked.
 * Lines are collected and written together, so that a noisy moment costs few system calls.
 */

import { isSecretName, maskByName, maskText } from '../fields/secret-fields.js';
import { LogFile, type Rotation } from './log-file.js';

export type Level = 'debug' | 'info' | 'warn' | 'error';

export interface Logger {
  debug(message: string, details?: Details): void;
  info(message: string, details?: Details): void;
  warn(message: string, details?: Details): void;
  error(message: string, details?: Details): void;
}

/** Values written behind the message as `name=value`. */
export type Details = Readonly<Record<string, unknown>>;

export interface LogOptions extends Rotation {
  level: Level;
  console: boolean;
  /** Folder of the log files; undefined writes none. */
  folder?: string;
  fileName: string;
  hasTimestamp: boolean;
  /** Called with every line, without its time. */
  also?: (level: Level, line: string) => void;
  /** Called with the unwritten text when the file can't be written; left out, the file is tried again. */
  failed?: (reason: string, text: string) => void;
  /** Pause after a failure before the file is tried again, ms. */
  retryMs?: number;
  /** Called after each time the file was written. */
  written?: (file: LogFile) => void;
}

const levels: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
/** Name of the server's own log. */
export const mainLogFile = 'stream.log';

/** Most lines that a `NotedLog` keeps. */
const maxNoted = 20;
const flushMs = 50;
/** Matches a line; its group is the details behind the message. */
const detailsOf = /^level=\w+ msg=(?:"(?:[^"\\]|\\.)*"|\S+)(.*)$/s;

/** Interval at which the log counts the repetitions of a line, ms. */
const foldMs = 10_000;
const defaultRetryMs = 10_000;
/** Size of the waiting lines at which they are written at once, so that memory stays bounded. */
const flushBytes = 64 * 1024;

/** A message that never reaches anybody: for tests and tools. */
export const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The methods of a logger, over one for a line of any level. */
export abstract class LineLogger implements Logger {
  protected abstract line(level: Level, message: string, details?: Details): void;

  debug(message: string, details?: Details): void {
    this.line('debug', message, details);
  }

  info(message: string, details?: Details): void {
    this.line('info', message, details);
  }

  warn(message: string, details?: Details): void {
    this.line('warn', message, details);
  }

  error(message: string, details?: Details): void {
    this.line('error', message, details);
  }
}

/** Passes lines on and notes the first warnings and errors, for whoever looks at the console and not at the log. */
export class NotedLog extends LineLogger {
  readonly noted: string[] = [];

  constructor(private readonly log: Logger) {
    super();
  }

  protected line(level: Level, message: string, details?: Details): void {
    if ((level === 'warn' || level === 'error') && this.noted.length < maxNoted) this.noted.push(message);
    this.log[level](message, details);
  }
}

export class Log extends LineLogger {
  #options: LogOptions;
  #file: LogFile | undefined;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #last = '';
  #repeats = 0;
  #foldTimer: NodeJS.Timeout | undefined;
  /** While the file can't be written: time of the next attempt, and number of lines that it misses. */
  #pause: { until: number; lines: number } | undefined;

  readonly #followers = new Set<Log>();

  constructor(options: LogOptions) {
    super();
    this.#options = { ...options };
    this.#setFile();
  }

  /** Changes level and targets while running. */
  configure(change: Partial<Pick<LogOptions, 'level' | 'console' | 'folder'>>): void {
    this.flush();
    this.#options = { ...this.#options, ...change };
    this.#setFile();
    const { console } = this.#options;
    for (const log of this.#followers) log.configure({ console });
  }

  /**
   * Makes a log with a file of its own, in the same form, that takes every line whatever its level. It is shown on the
   * console while this one is, until it is closed by `drop`.
   */
  branch(options: Pick<LogOptions, 'failed' | 'written'> & { folder: string; fileName: string }): Log {
    const log = new Log({ ...this.#options, ...options, level: 'debug' });
    this.#followers.add(log);
    return log;
  }

  drop(branch: Log): void {
    this.#followers.delete(branch);
    branch.close();
  }

  isOn(level: Level): boolean {
    return levels[level] >= levels[this.#options.level];
  }

  /** Writes a line even when its level is below that of the log. */
  always(level: Level, message: string, details?: Details): void {
    this.#write(level, message, details);
  }

  /** Takes finished lines of a branch. */
  takeOver(text: string): void {
    this.#foldEnd();
    this.#last = '';
    this.#waiting.push(text);
    this.flush();
  }

  /** Writes what is waiting. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#foldEnd();
    if (this.#waiting.length === 0) return;
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#options.console) process.stderr.write(text);
    if (this.#file === undefined) return;
    this.#toFile(this.#file, text);
    if (this.#file !== undefined && this.#pause === undefined) this.#options.written?.(this.#file);
  }

  close(): void {
    this.flush();
    this.#closeFile();
  }

  protected override line(level: Level, message: string, details?: Details): void {
    if (this.isOn(level)) this.#write(level, message, details);
  }

  #write(level: Level, message: string, details?: Details): void {
    const line = `level=${level} msg=${quoted(message)}${details === undefined ? '' : shown(details)}`;
    if (line === this.#last) {
      this.#repeats++;
      this.#foldTimer ??= setTimeout(() => this.flush(), foldMs).unref();
      return;
    }
    this.#foldEnd();
    this.#last = line;
    this.#add(line);
    this.#options.also?.(level, line);
    // Errors may be the last thing a process says.
    if (level === 'error' || this.#waitingBytes > flushBytes) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), flushMs).unref();
  }

  #setFile(): void {
    const { folder, fileName } = this.#options;
    if (folder === undefined) this.#closeFile();
    else this.#file ??= new LogFile(folder, fileName, this.#options);
  }

  #foldEnd(): void {
    if (this.#repeats === 0) return;
    clearTimeout(this.#foldTimer);
    this.#foldTimer = undefined;
    const rule = ruleOf(this.#last);
    const line = `level=info msg="the last line was repeated ${this.#repeats} times"${rule}`;
    this.#repeats = 0;
    this.#add(line);
    this.#options.also?.('info', line);
  }

  #add(line: string): void {
    const full = this.#options.hasTimestamp ? `time=${new Date().toISOString()} ${line}\n` : `${line}\n`;
    this.#waiting.push(full);
    this.#waitingBytes += full.length;
  }

  #toFile(file: LogFile, text: string): void {
    if (this.#pause !== undefined && Date.now() < this.#pause.until) {
      this.#pause.lines += linesIn(text);
      return;
    }
    try {
      file.write(this.#pause === undefined ? text : `${missed(this.#pause.lines)}${text}`);
      this.#pause = undefined;
    } catch (error) {
      // A full disk must not end the server; the console still gets the lines.
      const reason = error instanceof Error ? error.message : String(error);
      const { failed, retryMs = defaultRetryMs } = this.#options;
      file.close();
      if (failed !== undefined) {
        this.#closeFile();
        failed(reason, text);
        return;
      }
      if (this.#pause === undefined) process.stderr.write(`haumea: the log file can't be written: ${reason}\n`);
      this.#pause = { until: Date.now() + retryMs, lines: (this.#pause?.lines ?? 0) + linesIn(text) };
    }
  }

  #closeFile(): void {
    this.#file?.close();
    this.#file = undefined;
  }
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

function missed(lines: number): string {
  return `level=error msg="${lines} lines are missing here, the log file could not be written"\n`;
}

function shown(details: Details): string {
  let text = '';
  for (const [name, value] of Object.entries(details)) {
    if (value === undefined) continue;
    const item = isSecretName(name) ? maskText : typeof value === 'object' ? JSON.stringify(maskByName(value)) : value;
    text += ` ${name}=${quoted(String(item))}`;
  }
  return text;
}

/**
 * Quotes what would break a line into the wrong words, so that one event stays one line, and what a terminal would take
 * for a command.
 */
function quoted(text: string): string {
  if (/^[^\s"=\p{Cc}]+$/u.test(text)) return text;
  return JSON.stringify(text).replace(/\p{Cc}/gu, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The part of a line that names its rule, ` rule=…`; empty without one. */
function ruleOf(line: string): string {
  return / rule=(?:"(?:[^"\\]|\\.)*"|\S+)/.exec(detailsOf.exec(line)?.[1] ?? '')?.[0] ?? '';
}
