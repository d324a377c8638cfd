/**
 * Levelled log to the console and to a file that rotates by size and age. Repeated lines are folded, secrets masked.
 * Lines are collected and written together, so that a noisy moment costs few system calls.
 */
import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from './folder.js';
import { isSecretName, maskByName, maskText } from './secrets.js';

export type Level = 'debug' | 'info' | 'warn' | 'error';

export interface Logger {
  debug(message: string, details?: Details): void;
  info(message: string, details?: Details): void;
  warn(message: string, details?: Details): void;
  error(message: string, details?: Details): void;
}

/** Values written behind the message as `name=value`. */
export type Details = Readonly<Record<string, unknown>>;

export interface LogOptions {
  level: Level;
  console: boolean;
  /** Folder of the log files; undefined writes none. */
  folder?: string;
  fileName: string;
  hasTimestamp: boolean;
  /** A file is put aside when it reaches this size; 0 never. */
  rotateSizeBytes: number;
  /** A file is put aside at this age; 0 never. */
  rotateMs: number;
  /** Files older than this are removed; 0 keeps them. */
  maxAgeMs: number;
  /** Number of files put aside that are kept; 0 keeps all. */
  rotateCount: number;
  /** Gets every line as well, without its time. */
  also?: (level: Level, line: string) => void;
}

const levels: Readonly<Record<Level, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
/** Name of the server's own log. */
export const mainLogFile = 'stream.log';

/** End of the name of a file that was put aside: the time. */
export const putAside = /\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/;

const flushMs = 50;
/** Beyond this the lines are written at once, so that memory stays bounded. */
const flushBytes = 64 * 1024;

/** A message that never reaches anybody: for tests and tools. */
export const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export class Log implements Logger {
  #options: LogOptions;
  #fd: number | undefined;
  #size = 0;
  #openedAt = 0;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #last = '';
  #repeats = 0;

  constructor(options: LogOptions) {
    this.#options = { ...options };
  }

  debug(message: string, details?: Details): void {
    this.#write('debug', message, details);
  }

  info(message: string, details?: Details): void {
    this.#write('info', message, details);
  }

  warn(message: string, details?: Details): void {
    this.#write('warn', message, details);
  }

  error(message: string, details?: Details): void {
    this.#write('error', message, details);
  }

  /** Changes level and targets while running. */
  configure(change: Partial<Pick<LogOptions, 'level' | 'console' | 'folder'>>): void {
    this.flush();
    this.#options = { ...this.#options, ...change };
    if (this.#options.folder === undefined) this.#closeFile();
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
    if (this.#options.folder !== undefined) this.#toFile(text);
  }

  close(): void {
    this.flush();
    this.#closeFile();
  }

  #write(level: Level, message: string, details?: Details): void {
    if (levels[level] < levels[this.#options.level]) return;
    const line = `level=${level} msg=${quoted(message)}${details === undefined ? '' : shown(details)}`;
    if (line === this.#last) {
      this.#repeats++;
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

  #foldEnd(): void {
    if (this.#repeats === 0) return;
    this.#add(`level=info msg="the last line was repeated ${this.#repeats} times"`);
    this.#repeats = 0;
  }

  #add(line: string): void {
    const full = this.#options.hasTimestamp ? `time=${new Date().toISOString()} ${line}\n` : `${line}\n`;
    this.#waiting.push(full);
    this.#waitingBytes += full.length;
  }

  #toFile(text: string): void {
    const { folder, fileName, rotateSizeBytes, rotateMs } = this.#options;
    if (folder === undefined) return;
    try {
      const path = join(folder, fileName);
      if (this.#fd === undefined) this.#openFile(folder, path);
      const isFull = rotateSizeBytes > 0 && this.#size >= rotateSizeBytes;
      const isOld = rotateMs > 0 && Date.now() - this.#openedAt >= rotateMs;
      if (this.#size > 0 && (isFull || isOld)) this.#rotate(folder, path);
      this.#size += writeSync(this.#fd as number, text);
    } catch (error) {
      // A full disk must not end the server; the console still gets the lines.
      this.#closeFile();
      this.#options.folder = undefined;
      process.stderr.write(`haumea: logging to file ended: ${error instanceof Error ? error.message : error}\n`);
    }
  }

  #openFile(folder: string, path: string): void {
    makeFolderSync(folder);
    this.#fd = openSync(path, 'a');
    const info = statSync(path);
    this.#size = info.size;
    this.#openedAt = info.size === 0 ? Date.now() : info.birthtimeMs || info.mtimeMs;
  }

  #rotate(folder: string, path: string): void {
    this.#closeFile();
    const stamp = new Date().toISOString().replace(/[:.]/g, '-');
    renameSync(path, `${path}.${stamp}`);
    this.#openFile(folder, path);
    this.#openedAt = Date.now();
    this.#removeOld(folder);
  }

  #removeOld(folder: string): void {
    const { fileName, maxAgeMs, rotateCount } = this.#options;
    const aside = readdirSync(folder)
      .filter((name) => name.replace(putAside, '') === fileName && name !== fileName)
      .sort()
      .reverse();
    aside.forEach((name, i) => {
      const path = join(folder, name);
      const isTooOld = maxAgeMs > 0 && Date.now() - statSync(path).mtimeMs > maxAgeMs;
      if (isTooOld || (rotateCount > 0 && i >= rotateCount)) rmSync(path, { force: true });
    });
  }

  #closeFile(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
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

/** Quotes what would break a line into the wrong words, so that one event stays one line. */
function quoted(text: string): string {
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}
