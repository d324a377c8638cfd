/**
 * The files of a folder that are to be read: those that were not read as they are now. Files that come later are told
 * from those before by the time of their last change of any kind, so that a file that is moved here counts as new,
 * however old it is.
 */
import { type FSWatcher, type Stats, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import { kindReason } from '../../../base/files/allowed-paths.js';
import type { SourceContext } from '../../running.js';
import { type FilePosition, isEarlier } from './position.js';

export interface FoundFile {
  readonly path: string;
  /** When its content was changed, ms. */
  readonly changed: number;
}

/** Files that were found together, to be read one after the other. */
export interface Round {
  /** Oldest first. */
  readonly files: FoundFile[];
  /** Files changed up to this time, ms, are of earlier rounds. */
  readonly since: number;
  /** Files changed later, ms, are of later rounds. */
  readonly until: number;
}

/** A file that changes is read when it has rested for so long, ms, or after `longestMs`. */
const restMs = 50;
const longestMs = 1000;
/** Pause between two looks at a whole watched folder, ms: changes may not be told by network file systems. */
const lookMs = 30_000;
/** The same where changes are not told at all. */
const unwatchedMs = 1000;

interface Changing {
  stamp: string;
  readonly since: number;
}

export class Folder {
  /** Files that were read or are being read, as they were. */
  readonly #known = new Map<string, string>();
  /** Files that may still change. */
  readonly #changing = new Map<string, Changing>();
  /** Reasons why files are not read, by path. */
  readonly #passedOver = new Map<string, string>();
  #until = 0;
  #watcher: FSWatcher | undefined;
  /** Names in the folder that have changed since the last look. */
  #named = new Set<string>();
  /** The whole folder has to be looked at. */
  #isDue = true;
  #wake: () => void = () => {};

  constructor(
    readonly path: string,
    private readonly context: SourceContext,
    /** Files that were read, and are to be deleted or moved. */
    private readonly isLeaving: (path: string) => boolean,
  ) {}

  /** Forgets which files were read. */
  forget(): void {
    this.#known.clear();
    this.#changing.clear();
    this.#until = 0;
  }

  /** The file is read as it is now. */
  noteRead(path: string, info: Stats): void {
    if (this.#known.has(path)) this.#known.set(path, stampOf(info));
  }

  /**
   * Finds files; those before the position were read in an earlier run. With `waits`, files that have just changed wait
   * until they rest.
   */
  async next(from: FilePosition | undefined, waits: boolean): Promise<Round> {
    const { since = 0, until = Number.POSITIVE_INFINITY } = from ?? {};
    const found: (FoundFile & { readonly any: number })[] = [];
    const isWhole = this.#isDue || !waits;
    const there = new Set<string>();
    for (const path of await this.#toLookAt(isWhole)) {
      if (this.isLeaving(path)) continue;
      const info = await this.#look(path);
      if (this.isLeaving(path) || info === undefined) continue;
      if (typeof info === 'string') {
        this.#passOver(path, info);
        continue;
      }
      there.add(path);
      const file = { path, changed: info.mtimeMs, any: Math.max(info.ctimeMs, info.mtimeMs) };
      const stamp = stampOf(info);
      if (this.#known.get(path) === stamp) continue;
      if (waits && !this.#rests(path, stamp)) continue;
      if (file.any > until && path !== from?.path) {
        this.#isDue = true;
        continue;
      }
      this.#known.set(path, stamp);
      const isRead = from !== undefined && path !== from.path && (file.any <= since || isEarlier(file, from));
      if (!isRead) found.push(file);
    }
    for (const path of isWhole ? this.#known.keys() : []) if (!there.has(path)) this.#known.delete(path);
    for (const path of this.#changing.keys()) if (!there.has(path)) this.#changing.delete(path);
    found.sort((a, b) => (isEarlier(a, b) ? -1 : 1));
    const before = from === undefined ? this.#until : since;
    const last = found.reduce((latest, { any }) => Math.max(latest, any), before);
    this.#until = Number.isFinite(until) ? Math.max(until, last) : last;
    return { files: found, since: before, until: this.#until };
  }

  /** Paths of what may be new. */
  async #toLookAt(isWhole: boolean): Promise<string[]> {
    const named = [...this.#named].map((name) => join(this.path, name));
    this.#named.clear();
    this.#isDue = false;
    if (!isWhole) return [...new Set([...named, ...this.#changing.keys()])];
    const entries = await readdir(this.path, { withFileTypes: true });
    // Folders within the folder are not read.
    return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => join(this.path, name));
  }

  /** Resolves when the folder may have changed; `pause` waits, and gives away what ends the wait. */
  async change(pause: (ms: number, onWait: (end: () => void) => void) => Promise<void>): Promise<void> {
    this.#watch();
    const isKnown = this.#isDue || this.#named.size > 0 || this.#changing.size > 0;
    const rest = this.#watcher === undefined ? unwatchedMs : lookMs;
    await pause(isKnown ? restMs : rest, (end) => {
      this.#wake = isKnown ? () => {} : end;
    });
    // Nothing was told all the time.
    if (!isKnown && this.#named.size === 0) this.#isDue = true;
  }

  /** Begins to watch; files that come from now on are seen. */
  #watch(): void {
    if (this.#watcher !== undefined) return;
    try {
      this.#watcher = watch(this.path, { persistent: false }, (_event, name) => {
        // By its own name the folder was moved or deleted: what gets its path is watched from then on.
        if (name === basename(this.path)) this.close();
        if (name === null || this.#watcher === undefined) this.#isDue = true;
        else this.#named.add(name);
        this.#wake();
      });
      // What has changed since the last look was not told.
      this.#isDue = true;
      this.#watcher.on('error', (error) => {
        this.context.log.warn(`${this.path} can't be watched: ${reasonOf(error)}`);
        this.close();
      });
    } catch (error) {
      this.context.log.debug(`${this.path} can't be watched, it is looked at each second: ${reasonOf(error)}`);
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #rests(path: string, stamp: string): boolean {
    const now = performance.now();
    const before = this.#changing.get(path);
    if (before !== undefined && (before.stamp === stamp || now - before.since >= longestMs)) {
      this.#changing.delete(path);
      return true;
    }
    if (before === undefined) this.#changing.set(path, { stamp, since: now });
    else before.stamp = stamp;
    return false;
  }

  /** Returns what the file is, or why it can't be read, or undefined for a folder or a missing file. */
  async #look(path: string): Promise<Stats | string | undefined> {
    try {
      this.context.paths.check(path);
      const info = await stat(path);
      if (info.isDirectory()) return undefined;
      return kindReason(info, 'read') ?? info;
    } catch (error) {
      // Gone since the folder was listed.
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : reasonOf(error);
    }
  }

  /** Reports a file that is not read, once for each reason. */
  #passOver(path: string, reason: string): void {
    if (this.#passedOver.get(path) === reason) return;
    this.#passedOver.set(path, reason);
    this.context.exception(`file source: ${path} is passed over: ${reason}`);
  }
}

function stampOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`;
}
