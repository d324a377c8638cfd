/** Reads files chunk by chunk to their end, no faster than the sinks take the results. */
import { copyFile, lstat, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { reasonOf } from '../../base/errors.js';
import { kindReason } from '../../base/files/allowed-paths.js';
import { makeFolder } from '../../base/files/folder.js';
import { FrameBuffer } from '../frames.js';
import type { Source, SourceContext } from '../running.js';
import { fileErrors } from './errors.js';
import { JsonSplitter } from './json-splitter.js';
import { LineSplitter } from './line-splitter.js';
import { pathOf } from './path.js';
import { type FilePosition, isBefore, isEarlier, readPosition, staleReason } from './position.js';
import { Stops } from './stops.js';
import { Waits } from './waits.js';

export interface FileSourceConf {
  fileType: string;
  path: string;
  /** ms */
  interval: number;
  /** ms */
  sendInterval: number;
  ignoreStartLines: number;
  decompression: string;
  actionAfterRead: number;
  moveTo: string;
}

interface FoundFile {
  readonly path: string;
  /** When it was changed, ms. */
  readonly changed: number;
}

const chunkBytes = 256 * 1024;
const lineFeed = 10;

export class FileSource implements Source {
  #isClosed = false;
  readonly #waits = new Waits(() => this.#isStopped);
  #reading: Promise<void> | undefined;
  /** Absolute path of the file or folder, set by `open`. */
  #path = '';
  /** Reasons why files of the folder are not read, by path. */
  readonly #passedOver = new Map<string, string>();
  /** Position in the file that is read; undefined before the first file. */
  #at: FilePosition | undefined;
  /** Position from which reading goes on; undefined for the begin. */
  #from: FilePosition | undefined;
  /** Positions at which rules join again that have had all input before. */
  #stops: Stops | undefined;
  /** Reading stops, to go on at another position. */
  #isSeeking = false;
  #isOver = false;
  /** Files that were read; they are deleted or moved when no checkpoint needs them any more. */
  #finished: string[] = [];
  /** Files that are being deleted or moved, and must not be read again meanwhile. */
  readonly #leaving = new Set<string>();
  /** Number of files that were read to their end. */
  #filesRead = 0;
  /** Settles when all deletions and moves so far are done; they run one after the other. */
  #ending: Promise<void> = Promise.resolve();

  constructor(
    readonly conf: FileSourceConf,
    readonly context: SourceContext,
  ) {}

  async open(): Promise<void> {
    const { conf } = this;
    if (conf.actionAfterRead === 2 && conf.moveTo === '') {
      throw fileErrors.noMoveTo();
    }
    const { paths, dataSource } = this.context;
    try {
      this.#path = paths.check(pathOf(conf.path, dataSource), conf.actionAfterRead === 0 ? 'read' : 'write');
      const info = await stat(this.#path);
      const reason = kindReason(info, 'read');
      if (reason !== undefined) throw new Error(`${this.#path} ${reason}`);
      if (conf.actionAfterRead === 2) {
        await makeFolder(paths.check(conf.moveTo, 'write'));
        // A file that may not be moved is told before it is read; those of a folder as they come.
        if (!info.isDirectory()) paths.check(join(conf.moveTo, basename(this.#path)), 'write');
      }
    } catch (error) {
      // One that is read again and again may come later.
      if (conf.interval > 0 && (error as NodeJS.ErrnoException).code === 'ENOENT') throw error;
      throw fileErrors.source(reasonOf(error), { cause: error });
    }
    this.#reading = this.#run();
  }

  position(): FilePosition | undefined {
    return this.#at ?? this.#from;
  }

  seek(given: unknown): void {
    const position = readPosition(given);
    if (this.#reading === undefined) {
      if (this.#from === undefined || isBefore(position, this.#from)) this.#from = position;
      return;
    }
    if (this.#isOver) throw new Error('all files were read to their end, and are not read again');
    this.#from = position.path === '' ? undefined : position;
    // A user names no file where there is only one.
    if (position.path === '' && this.#at !== undefined && (position.bytes > 0 || position.messages > 0)) {
      this.#from = { ...this.#at, bytes: position.bytes, messages: position.messages };
    }
    this.#isSeeking = true;
    this.#waits.stop();
  }

  isAt(given: unknown): boolean {
    const { path, ino, bytes, messages } = readPosition(given);
    const at = this.position();
    return at?.path === path && at.ino === ino && at.bytes === bytes && at.messages === messages;
  }

  get takesAway(): boolean {
    return this.conf.actionAfterRead !== 0;
  }

  seekAll(positions: readonly unknown[], reached: (index: number) => void): void {
    this.#stops = new Stops(positions, reached, isBefore);
    this.#from = this.#stops.first;
  }

  commit(given: unknown): void {
    const count = given === undefined ? this.#filesRead : (given as FilePosition).read;
    const left = this.#filesRead - this.#finished.length;
    for (const path of this.#finished.splice(0, Math.max(0, count - left))) this.#endFile(path);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waits.stop();
    await this.#reading;
    await this.#ending;
  }

  get #isStopped(): boolean {
    return this.#isClosed || this.#isSeeking;
  }

  async #run(): Promise<void> {
    const { interval } = this.conf;
    for (;;) {
      try {
        for (const file of await this.#files()) {
          if (await this.#passFile(file)) await this.#noteRead(file.path);
          if (this.#isStopped) break;
        }
      } catch (error) {
        this.context.exception(reasonOf(error));
      }
      if (this.#isClosed) return;
      if (!this.#isSeeking) this.#from = undefined;
      // No rule has a position behind the input that was read.
      this.#stops?.end();
      this.#stops = undefined;
      if (!this.#isSeeking && interval === 0) {
        this.#isOver = true;
        this.context.end();
        return;
      }
      await this.#waits.pause(interval);
      if (this.#isClosed) return;
      if (this.#isSeeking) {
        this.#isSeeking = false;
        this.#at = undefined;
        this.context.resetInput();
      }
    }
  }

  /** Passes on the part of the file that was not read before; false when the source was stopped. */
  async #passFile(file: FoundFile): Promise<boolean> {
    const from = this.#from;
    // Files before the position were read in an earlier run.
    if (from !== undefined && from.path !== file.path && from.path !== '' && isEarlier(file, from)) return true;
    const isHere = from !== undefined && from.path === file.path;
    await this.#pass(file, isHere ? from : undefined);
    if (this.#isStopped) return false;
    if (isHere) this.#from = undefined;
    return true;
  }

  /** Notes a file that was read: it is deleted or moved as configured, as soon as no checkpoint needs it. */
  async #noteRead(path: string): Promise<void> {
    this.#filesRead++;
    if (this.#at !== undefined) this.#at = { ...this.#at, read: this.#filesRead };
    this.#finished.push(path);
    if (this.context.isCommitted && this.conf.actionAfterRead !== 0) return;
    this.#finished.pop();
    await this.#afterRead(path);
  }

  #endFile(path: string): void {
    this.#leaving.add(path);
    this.#ending = this.#ending
      .then(() => this.#afterRead(path))
      // A file that can't be removed is not read again either.
      .then(() => void this.#leaving.delete(path))
      .catch((error: unknown) => {
        this.context.exception(reasonOf(error));
      });
  }

  /** The file itself, or all files of the folder, linked ones included, oldest first. */
  async #files(): Promise<FoundFile[]> {
    const info = await stat(this.#path);
    if (!info.isDirectory()) {
      return this.#finished.length + this.#leaving.size > 0 ? [] : [{ path: this.#path, changed: info.mtimeMs }];
    }
    const files: FoundFile[] = [];
    const finished = new Set(this.#finished);
    for (const entry of await readdir(this.#path, { withFileTypes: true })) {
      const path = join(this.#path, entry.name);
      // Folders within the folder are not read.
      if (entry.isDirectory() || finished.has(path) || this.#leaving.has(path)) continue;
      const found = await this.#look(path);
      if (this.#leaving.has(path)) continue;
      if (typeof found === 'number') files.push({ path, changed: found });
      else if (found !== undefined) this.#passOver(path, found);
    }
    return files.sort((a, b) => (isEarlier(a, b) ? -1 : 1));
  }

  /** Returns when the file was changed (ms), or why it can't be read, or undefined for a folder or a missing file. */
  async #look(path: string): Promise<number | string | undefined> {
    try {
      this.context.paths.check(path);
      const info = await stat(path);
      if (info.isDirectory()) return undefined;
      return kindReason(info, 'read') ?? info.mtimeMs;
    } catch (error) {
      // Gone since the folder was listed.
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : reasonOf(error);
    }
  }

  /** Reports a file that is not read, once for each reason. */
  #passOver(path: string, reason: string): void {
    if (this.#passedOver.get(path) === reason) return;
    this.#passedOver.set(path, reason);
    const text = `${path} is passed over: ${reason}`;
    this.context.log.warn(text);
    this.context.exception(`file source: ${text}`);
  }

  /** Passes the file on, from the position if there is one in it. */
  async #pass({ path, changed }: FoundFile, given: FilePosition | undefined): Promise<void> {
    const { conf } = this;
    const file = await this.context.paths.open(path, 'read');
    const isPacked = conf.decompression === 'gzip';
    const info = await file.stat();
    const stale = given && staleReason(given, info, isPacked);
    if (stale !== undefined) this.context.log.warn(`${path} is read from its begin: ${stale}`);
    const from = stale === undefined ? given : undefined;
    const { bytes = 0, messages = 0 } = from ?? {};
    this.#at = { path, ino: info.ino, changed, bytes, messages, read: this.#filesRead };
    this.#stops?.begin(this.#at, info, isPacked);
    const raw = file.createReadStream({ highWaterMark: chunkBytes, ...(isPacked ? {} : { start: bytes }) });
    const input = isPacked ? raw.pipe(createGunzip()) : raw;
    if (input !== raw) raw.on('error', (error) => input.destroy(error));
    try {
      const whole = isPacked && bytes > 0 ? withoutBytes(input, bytes) : (input as AsyncIterable<Buffer>);
      // Lines to be left out are before any position.
      const chunks = withoutLines(whole, bytes > 0 ? 0 : conf.ignoreStartLines, (left) => this.#passed(left, 0));
      if (conf.fileType === 'lines' && conf.sendInterval === 0) await this.#passLines(chunks);
      else {
        const splitter = conf.fileType === 'lines' ? new LineSplitter() : new JsonSplitter();
        await this.#passMessages(chunks, splitter, messages);
      }
    } finally {
      raw.destroy();
      input.destroy();
    }
  }

  /** Moves the position on by bytes and messages. */
  #passed(bytes: number, messages: number): void {
    const at = this.#at!;
    this.#at = { ...at, bytes: at.bytes + bytes, messages: at.messages + messages };
  }

  /** The kernel cuts the lines. */
  async #passLines(chunks: AsyncIterable<Buffer>): Promise<void> {
    let last = lineFeed;
    /** Bytes of a line that has begun. */
    let begun = 0;
    for await (const whole of chunks) {
      for (let rest = whole; rest.length > 0; ) {
        const before = (this.#stops?.bytesFrom(this.#at!) ?? rest.length) - begun;
        const chunk = before > 0 && before < rest.length ? rest.subarray(0, before) : rest;
        rest = rest.subarray(chunk.length);
        last = chunk[chunk.length - 1]!;
        const end = chunk.lastIndexOf(lineFeed) + 1;
        if (end > 0) this.#passed(begun + end, 0);
        begun = end > 0 ? chunk.length - end : begun + chunk.length;
        if (!this.context.write(chunk)) await this.#ready();
        if (this.#isStopped) return;
        this.#stops?.passed(this.#at!);
      }
    }
    this.#passed(begun, 0);
    // Only the last file may leave its last line open: the next one's first must not be joined to it.
    if (last !== lineFeed) this.context.write(Uint8Array.of(lineFeed));
  }

  /** @param skipped number of messages at the start that were passed on before */
  async #passMessages(
    chunks: AsyncIterable<Buffer>,
    splitter: LineSplitter | JsonSplitter,
    skipped: number,
  ): Promise<void> {
    const frames = new FrameBuffer();
    const left = { count: skipped };
    for await (const chunk of chunks) {
      await this.#send(without(splitter.add(chunk), left), frames);
      if (this.#isStopped) return;
    }
    await this.#send(without(splitter.end(), left), frames);
  }

  /** Writes messages in one go, or one by one with the pause that was asked for. */
  async #send(messages: Iterable<Uint8Array>, frames: FrameBuffer): Promise<void> {
    const { sendInterval } = this.conf;
    for (const message of messages) {
      frames.add(message);
      const isStop = this.#stops !== undefined && frames.count >= this.#stops.messagesFrom(this.#at!);
      if (isStop || sendInterval > 0 || frames.sizeBytes >= chunkBytes) {
        await this.#flush(frames);
        if (sendInterval > 0) await this.#waits.pause(sendInterval);
        if (this.#isStopped) return;
      }
    }
    await this.#flush(frames);
  }

  async #flush(frames: FrameBuffer): Promise<void> {
    if (frames.count === 0) return;
    this.#passed(0, frames.count);
    const isWanted = this.context.write(frames.bytes);
    frames.clear();
    if (!isWanted) await this.#ready();
    if (!this.#isStopped) this.#stops?.passed(this.#at!);
  }

  /** Waits until the sinks have room, or the source ends. */
  #ready(): Promise<void> {
    return this.#waits.until(this.context.ready());
  }

  async #afterRead(path: string): Promise<void> {
    const { actionAfterRead, moveTo } = this.conf;
    const { paths } = this.context;
    if (actionAfterRead === 0) return;
    // A link itself is removed, its target stays: so the link's own folder must be allowed for writing.
    const name = join(paths.check(dirname(paths.check(path)), 'write'), basename(path));
    if (actionAfterRead === 1) await rm(name);
    else await this.#move(name, paths.check(join(moveTo, basename(path)), 'write'));
  }

  /** Moves a file; when the target name is taken, the moved file gets the time in its name. */
  async #move(path: string, wanted: string): Promise<void> {
    const extension = extname(wanted);
    let target = wanted;
    for (let at = Date.now(); target !== path && (await isThere(target)); at++) {
      target = this.context.paths.check(
        `${wanted.slice(0, wanted.length - extension.length)}-${at}${extension}`,
        'write',
      );
    }
    await move(path, target);
  }
}

/** Renames a file; to another file system it is copied, under another name until it is whole, and then removed. */
async function move(path: string, target: string): Promise<void> {
  try {
    await rename(path, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    const part = join(dirname(target), `.${basename(target)}.part`);
    try {
      await copyFile(path, part);
      await rename(part, target);
    } catch (failure) {
      await rm(part, { force: true });
      throw failure;
    }
    await rm(path);
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Leaves the first messages out. */
function* without(messages: Iterable<Uint8Array>, left: { count: number }): Generator<Uint8Array> {
  for (const message of messages) {
    if (left.count > 0) left.count--;
    else yield message;
  }
}

async function* withoutBytes(chunks: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of chunks) {
    if (left < chunk.length) yield left === 0 ? chunk : chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}

/** The chunks behind the first lines, none of them empty. Calls `skipped` with the number of bytes left out. */
async function* withoutLines(
  chunks: AsyncIterable<Buffer>,
  lines: number,
  skipped: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let left = lines;
  for await (const data of chunks) {
    let chunk = data;
    while (left > 0 && chunk.length > 0) {
      const end = chunk.indexOf(lineFeed);
      if (end >= 0) left--;
      chunk = chunk.subarray(end < 0 ? chunk.length : end + 1);
    }
    if (chunk.length < data.length) skipped(data.length - chunk.length);
    if (chunk.length > 0) yield chunk;
  }
}
