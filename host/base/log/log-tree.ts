/** Logs of parts of the program, such as rules, with a level and a file of their own. */
import { type Details, type Level, LineLogger, type Log, type Logger } from './log.js';
import type { LogFile } from './log-file.js';

export interface BranchOptions {
  /** Lines of level debug are written whatever the level of the main log. */
  readonly isDebug: boolean;
  /** File in the log folder in the place of the main one; empty for the main one. A plain name: see `logFileReason`. */
  readonly fileName: string;
}

export interface LogBranch extends Logger {
  /** Leaves the file, which the last branch to leave closes; lines written later go to the main log. */
  close(): void;
}

/** Most files kept open; the least recently written one is closed for another. */
const maxOpenFiles = 64;

/** An open log file, and the parts that write to it. */
interface OwnFile {
  readonly log: Log;
  users: number;
  isBroken: boolean;
}

export class LogTree {
  readonly #files = new Map<string, OwnFile>();
  /** In the order in which they were written. */
  readonly #open = new Set<LogFile>();

  constructor(
    private readonly main: Log,
    private readonly folder: string,
  ) {}

  /** Whether all parts write lines of level debug. */
  get isDebug(): boolean {
    return this.main.isOn('debug');
  }

  /** Opens the log of a part. */
  branch({ isDebug, fileName }: BranchOptions): LogBranch {
    const file = fileName === '' ? undefined : this.#file(fileName);
    return new Branch(this.main, isDebug, file, () => {
      if (file !== undefined) this.#leave(fileName, file);
    });
  }

  /** Closes all files. */
  close(): void {
    for (const { log } of this.#files.values()) this.main.drop(log);
    this.#files.clear();
    this.#open.clear();
  }

  #file(fileName: string): OwnFile {
    const known = this.#files.get(fileName);
    if (known !== undefined) {
      known.users++;
      return known;
    }
    const log = this.main.branch({
      folder: this.folder,
      fileName,
      written: (file) => this.#written(file),
      failed: (reason, text) => {
        own.isBroken = true;
        this.main.warn(`log file ${fileName} can't be written, its lines come here: ${reason}`);
        this.main.takeOver(text);
      },
    });
    const own: OwnFile = { log, users: 1, isBroken: false };
    this.#files.set(fileName, own);
    return own;
  }

  #leave(fileName: string, own: OwnFile): void {
    if (--own.users > 0 || this.#files.get(fileName) !== own) return;
    this.#files.delete(fileName);
    this.main.drop(own.log);
  }

  #written(file: LogFile): void {
    this.#open.delete(file);
    if (!file.isOpen) return;
    this.#open.add(file);
    if (this.#open.size <= maxOpenFiles) return;
    const [oldest] = this.#open;
    if (oldest === undefined) return;
    oldest.close();
    this.#open.delete(oldest);
  }
}

class Branch extends LineLogger implements LogBranch {
  #isClosed = false;

  constructor(
    private readonly main: Log,
    private readonly isDebug: boolean,
    private readonly file: OwnFile | undefined,
    private readonly leave: () => void,
  ) {
    super();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.leave();
  }

  protected override line(level: Level, message: string, details?: Details): void {
    if (!this.isDebug && !this.main.isOn(level)) return;
    const isOwn = this.file !== undefined && !this.file.isBroken && !this.#isClosed;
    (isOwn ? this.file.log : this.main).always(level, message, details);
  }
}
