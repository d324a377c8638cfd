/**
 * Follows a file as it grows: what is appended is read, and after a file that was rolled away the next one of its name.
 */
import type { Stats } from 'node:fs';
import { type FileHandle, readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import { kindReason } from '../../../base/files/allowed-paths.js';
import type { Source, SourceContext } from '../../running.js';
import { fileErrors } from '../errors.js';
import { pathOf } from './path.js';
import { type FilePosition, readPosition, staleReason } from './position.js';
import { Stops } from './stops.js';
import { Waits } from './waits.js';

export interface FollowedFileConf {
  path: string;
  /** Pause between two looks at the file, ms; 0 is the default. */
  interval: number;
  ignoreStartLines: number;
}

/** One of the files that had the name one after the other. */
interface Found {
  readonly path: string;
  readonly info: Stats;
}

/** The file that is read. */
interface Opened extends Found {
  readonly handle: FileHandle;
  /** Bytes of the file that were written to the kernel. */
  offset: number;
  /** Written bytes that belong to a line without end. */
  begun: number;
  /** Lines at the start of the file that are still to be skipped. */
  left: number;
  /** Another file has the name now; the rest that the writer still appends to this one is read first. */
  isRolled: boolean;
}

const usualPauseMs = 250;
/** Number of times that files are listed again before a missing one is given up. */
const lookAgain = 3;
const chunkBytes = 256 * 1024;
const lineFeed = 10;
const packed = /\.(gz|zst|bz2|xz|zip)$/i;
/** Added parts in the names of rolled files: numbers and times. */
const stamp = /^[\d\-_.:TZ]+$/;

export class FollowedFile implements Source {
  /** Absolute path of the file, set by `open`. */
  #path = '';
  #file: Opened | undefined;
  #from: FilePosition | undefined;
  /** Positions at which rules join again that have had all input before. */
  #stops: Stops | undefined;
  #isClosed = false;
  /** Reading stops, to go on at another position. */
  #isSeeking = false;
  readonly #waits = new Waits(() => this.#isStopped);
  #reading: Promise<void> | undefined;
  /** Inodes of files that were read to their end, since a coarse clock may give several files the same time. */
  readonly #done = new Set<number>();

  constructor(
    readonly conf: FollowedFileConf,
    readonly context: SourceContext,
  ) {}

  /** A file that is not there yet is waited for. */
  async open(): Promise<void> {
    const { paths, dataSource } = this.context;
    try {
      this.#path = paths.check(pathOf(this.conf.path, dataSource), 'read');
      const info = await stat(this.#path);
      if (info.isDirectory()) throw new Error(`${this.#path} is a folder, but follow is for a file`);
      const reason = kindReason(info, 'read');
      if (reason !== undefined) throw new Error(`${this.#path} ${reason}`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error;
      throw fileErrors.source(reasonOf(error), { cause: error });
    }
    await this.#begin();
    this.#reading = this.#run();
  }

  position(): FilePosition | undefined {
    if (this.#file === undefined) return this.#from;
    const { info, offset, begun } = this.#file;
    const { ino, birthtimeMs } = info;
    return { path: this.#path, ino, changed: birthtimeMs, bytes: offset - begun, messages: 0, read: 0 };
  }

  seek(given: unknown): void {
    const position = readPosition(given);
    if (this.#reading !== undefined) {
      this.#from = position;
      this.#isSeeking = true;
      this.#waits.stop();
    } else if (this.#from === undefined || isBefore(position, this.#from)) this.#from = position;
  }

  isAt(given: unknown): boolean {
    const { ino, bytes } = readPosition(given);
    const at = this.position();
    return at?.ino === ino && at.bytes === bytes;
  }

  seekAll(positions: readonly unknown[], reached: (index: number) => void): void {
    this.#stops = new Stops(positions, reached, isBefore, ({ ino }) => ino);
    this.#from = this.#stops.first;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waits.stop();
    await this.#reading;
    await this.#file?.handle.close();
    this.#file = undefined;
  }

  get #isStopped(): boolean {
    return this.#isClosed || this.#isSeeking;
  }

  async #run(): Promise<void> {
    const pauseMs = this.conf.interval > 0 ? this.conf.interval : usualPauseMs;
    try {
      while (!this.#isClosed) {
        if (this.#isSeeking) {
          this.#isSeeking = false;
          this.context.resetInput();
          this.#stops?.end();
          await this.#begin();
        }
        const isGrown = await this.#passNew(this.#file!);
        if (!this.#isStopped && !(await this.#goOn(this.#file!, isGrown))) await this.#waits.pause(pauseMs);
      }
    } catch (error) {
      this.#from = this.position();
      await this.#file?.handle.close().catch(() => {});
      this.#file = undefined;
      this.#reading = undefined;
      this.context.resetInput();
      if (!this.#isClosed) this.context.disconnected(reasonOf(error));
    }
  }

  /** Opens the file of the position, even if it was rolled, or else the one that has the name. */
  async #begin(): Promise<void> {
    const from = this.#from;
    // A line that was begun before does not go on.
    if (this.#file !== undefined) this.#file.begun = 0;
    for (let attempt = 0; ; attempt++) {
      const named = { path: this.#path, info: await stat(this.#path) };
      const isNamed = from === undefined || from.ino === 0 || from.ino === named.info.ino;
      const rolled = isNamed ? undefined : (await this.#rolled()).find(({ info }) => info.ino === from.ino);
      const found = rolled ?? named;
      const stale = from === undefined ? undefined : staleReason(from, found.info, false);
      // Files that get other names in this moment may be listed under none.
      const isCertain = stale === undefined || attempt >= lookAgain;
      if (isCertain && (await this.#use(found, stale === undefined ? (from?.bytes ?? 0) : 0))) {
        if (stale !== undefined) this.#missed(`it is read from its begin: ${stale}`);
        this.#from = undefined;
        return;
      }
    }
  }

  /** Switches to the file; false when another file has got its path since it was found. */
  async #use({ path, info: found }: Found, offset: number): Promise<boolean> {
    const handle = await this.context.paths.open(path, 'read');
    const info = await handle.stat();
    if (!isSame(found, info)) {
      await handle.close();
      return false;
    }
    if (this.#file !== undefined) {
      this.#endLine(this.#file);
      await this.#file.handle.close();
    }
    const left = offset > 0 ? 0 : this.conf.ignoreStartLines;
    this.#file = { path, info, handle, offset, begun: 0, left, isRolled: false };
    this.#stops?.begin(this.position()!, info, false);
    return true;
  }

  /** Writes all bytes that were not read yet to the kernel; false when there are none. */
  async #passNew(file: Opened): Promise<boolean> {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    for (let isGrown = false; ; isGrown = true) {
      const before = (this.#stops?.bytesFrom(this.position()!) ?? chunkBytes) - file.begun;
      const most = before > 0 ? Math.min(chunkBytes, before) : chunkBytes;
      const { bytesRead } = await file.handle.read(buffer, 0, most, file.offset);
      if (bytesRead === 0 || this.#isStopped) return isGrown;
      let chunk = buffer.subarray(0, bytesRead);
      while (file.left > 0 && chunk.length > 0) {
        const end = chunk.indexOf(lineFeed);
        if (end >= 0) file.left--;
        chunk = chunk.subarray(end < 0 ? chunk.length : end + 1);
      }
      file.offset += bytesRead;
      const end = chunk.lastIndexOf(lineFeed) + 1;
      file.begun = end > 0 ? chunk.length - end : file.begun + chunk.length;
      if (chunk.length > 0 && !this.context.write(chunk)) await this.#ready();
      if (this.#isStopped) return true;
      this.#stops?.passed(this.position()!);
    }
  }

  /** At the end of the file: goes to the next one if there is one; false when there is nothing to read now. */
  async #goOn(file: Opened, isGrown: boolean): Promise<boolean> {
    const now = await file.handle.stat();
    if (now.size < file.offset) {
      this.#missed('it was cut while it was followed: what was appended since the last look may be missing');
      this.#endLine(file);
      this.#stops?.end();
      Object.assign(file, { offset: 0, begun: 0, left: this.conf.ignoreStartLines });
      return true;
    }
    const named = await stat(this.#path).catch((error: NodeJS.ErrnoException) => {
      // Rolled away, and the next one is not there yet.
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (named === undefined || isSame(named, now)) return false;
    if (!file.isRolled || isGrown) {
      file.isRolled = true;
      return false;
    }
    // Of several files that had the name meanwhile, the one changed first is read first.
    this.#done.add(now.ino);
    const between = (await this.#rolled()).filter(
      ({ info }) =>
        info.mtimeMs > now.mtimeMs || (info.mtimeMs === now.mtimeMs && !isSame(info, now) && !this.#done.has(info.ino)),
    );
    await this.#use(between[0] ?? { path: this.#path, info: named }, 0);
    return true;
  }

  /** Files of the folder that had the name before, by time of their last change. */
  async #rolled(): Promise<Found[]> {
    const folder = dirname(this.#path);
    const name = basename(this.#path);
    const extension = extname(name);
    const stem = name.slice(0, name.length - extension.length);
    const found: Found[] = [];
    for (const entry of await readdir(folder)) {
      if (entry === name || packed.test(entry) || !isStamped(entry, name, stem, extension)) continue;
      const path = join(folder, entry);
      // `stat` fails when the file is gone since the folder was listed.
      const info = await stat(path).catch(() => undefined);
      if (info !== undefined && kindReason(info, 'read') === undefined && !info.isDirectory())
        found.push({ path, info });
    }
    return found.sort((a, b) => a.info.mtimeMs - b.info.mtimeMs);
  }

  /** Ends an incomplete line, so that it is not joined to the first line of the next file. */
  #endLine(file: Opened): void {
    if (file.begun > 0) this.context.write(Uint8Array.of(lineFeed));
    file.begun = 0;
  }

  /** Reports input that may be missing. */
  #missed(what: string): void {
    this.context.exception(`file source: ${this.#path}: ${what}`);
  }

  #ready(): Promise<void> {
    return this.#waits.until(this.context.ready());
  }
}

function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev;
}

/** Whether an entry is the name with numbers or a time before it, behind it or before its extension. */
function isStamped(entry: string, name: string, stem: string, extension: string): boolean {
  if (entry.startsWith(name)) return stamp.test(entry.slice(name.length));
  if (entry.endsWith(name)) return stamp.test(entry.slice(0, -name.length));
  if (!entry.startsWith(stem) || !entry.endsWith(extension)) return false;
  return stamp.test(entry.slice(stem.length, entry.length - extension.length));
}

/** Files that had the name earlier come first. */
function isBefore(one: FilePosition, other: FilePosition): boolean {
  if (one.ino !== other.ino) return one.changed < other.changed;
  return one.bytes < other.bytes;
}
