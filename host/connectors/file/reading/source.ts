/** Reads files chunk by chunk to their end, no faster than the sinks take the results. */
import type { ReadStream } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { reasonOf } from '../../../base/errors.js';
import { kindReason } from '../../../base/files/allowed-paths.js';
import { makeFolder } from '../../../base/files/folder.js';
import { FrameBuffer } from '../../messages/frames.js';
import type { Source, SourceContext } from '../../running.js';
import { fileErrors } from '../errors.js';
import { type AfterRead, endFile } from './after-read.js';
import { isByLines } from './by-lines.js';
import { type CsvConf, CsvSplitter } from './csv-splitter.js';
import { without, withoutBytes, withoutLastLines, withoutLines } from './cut.js';
import { Folder, type FoundFile, type Round } from './folder.js';
import { JsonSplitter } from './json-splitter.js';
import { LineSplitter } from './line-splitter.js';
import { ParquetThread } from './parquet/thread.js';
import { pathOf } from './path.js';
import { type FilePosition, isBefore, readPosition, staleReason } from './position.js';
import { RawSplitter } from './raw-splitter.js';
import { Stops } from './stops.js';
import { Waits } from './waits.js';

export interface FileSourceConf extends AfterRead, Omit<CsvConf, 'delimiter'> {
  fileType: string;
  path: string;
  /** ms */
  interval: number;
  /** ms */
  sendInterval: number;
  ignoreStartLines: number;
  ignoreEndLines: number;
  decompression: string;
  delimiter?: string | undefined;
  follow: boolean;
  hasMeta: boolean;
}

/** Cuts a file into messages. */
interface Splitter {
  add(chunk: Buffer): Iterable<Uint8Array>;
  end(): Iterable<Uint8Array>;
}

const chunkBytes = 256 * 1024;
const lineFeed = 10;

export class FileSource implements Source {
  #isClosed = false;
  readonly #waits = new Waits(() => this.#isStopped);
  #reading: Promise<void> | undefined;
  /** Absolute path of the file or folder, set by `open`. */
  #path = '';
  /** The folder, if the path is one. */
  #folder: Folder | undefined;
  /** The files that are read now were found together. */
  #round: Round | undefined;
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

  /** Reads Parquet files, from the first one of a round to the last. */
  readonly #parquet = new ParquetThread();

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
      if (info.isDirectory()) {
        const isLeaving = (path: string) => this.#finished.includes(path) || this.#leaving.has(path);
        this.#folder = new Folder(this.#path, this.context, isLeaving);
      }
      // A package that is missing is told at once.
      if (conf.fileType === 'parquet') await import('./parquet/groups.js');
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
    this.#folder?.close();
    await this.#ending;
  }

  get #isStopped(): boolean {
    return this.#isClosed || this.#isSeeking;
  }

  async #run(): Promise<void> {
    const { interval } = this.conf;
    for (let isFirst = true; ; ) {
      await this.#passAll(isFirst);
      if (this.#isClosed) return;
      // Files that were found after the position are the next round.
      const isPart = !this.#isSeeking && this.#from?.until !== undefined;
      if (!this.#isSeeking) this.#from = undefined;
      // No rule has a position behind the input that was read.
      if (!isPart) {
        this.#stops?.end();
        this.#stops = undefined;
      }
      if (!this.#isSeeking && interval === 0 && this.#folder === undefined) {
        this.#isOver = true;
        this.context.end();
        return;
      }
      if (isFirst) this.context.hasRead?.();
      isFirst = false;
      if (!isPart) await this.#pause();
      if (this.#isClosed) return;
      if (this.#isSeeking) {
        this.#isSeeking = false;
        this.#at = undefined;
        this.#folder?.forget();
        this.context.resetInput();
        isFirst = true;
      }
    }
  }

  /** Until the files are to be looked at again. */
  async #pause(): Promise<void> {
    const { interval } = this.conf;
    if (interval > 0) await this.#waits.pause(interval);
    else await this.#folder?.change((ms, onWait) => this.#waits.pause(ms, onWait));
  }

  /** Passes on all files that were not read before; one that fails costs no other. */
  async #passAll(isFirst: boolean): Promise<void> {
    try {
      for (const file of await this.#files(isFirst)) {
        try {
          const isRead = await this.#passFile(file);
          if (isRead) await this.#noteRead(file.path);
        } catch (error) {
          // The begin of a line that can't be read on is not joined to what comes next.
          this.context.resetInput();
          const reason = `file source: ${file.path}: ${reasonOf(error)}`;
          this.context.exception(reason);
          this.context.sendError(reason);
        }
        if (this.#isStopped) return;
      }
    } catch (error) {
      this.context.exception(`file source: ${reasonOf(error)}`);
    } finally {
      await this.#parquet.end();
    }
  }

  /** Passes on the part of the file that was not read before; false when the source was stopped. */
  async #passFile(file: FoundFile): Promise<boolean> {
    const from = this.#from;
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
    await endFile(path, this.conf, this.context.paths);
  }

  #endFile(path: string): void {
    this.#leaving.add(path);
    this.#ending = this.#ending
      .then(() => endFile(path, this.conf, this.context.paths))
      // A file that can't be removed is not read again either.
      .then(() => void this.#leaving.delete(path))
      .catch((error: unknown) => {
        this.context.exception(reasonOf(error));
      });
  }

  /** The file itself, or all files of the folder that are new, linked ones included, oldest first. */
  async #files(isFirst: boolean): Promise<readonly FoundFile[]> {
    if (this.#folder !== undefined) {
      this.#round = await this.#folder.next(this.#from, this.conf.interval === 0 && !isFirst);
      return this.#round.files;
    }
    if (this.#finished.length + this.#leaving.size > 0) return [];
    return [{ path: this.#path, changed: (await stat(this.#path)).mtimeMs }];
  }

  /** Passes the file on, from the position if there is one in it. */
  async #pass({ path, changed }: FoundFile, given: FilePosition | undefined): Promise<void> {
    const file = await this.context.paths.open(path, 'read');
    const isPacked = this.conf.decompression !== '';
    const info = await file.stat();
    this.#folder?.noteRead(path, info);
    const stale = given && staleReason(given, info, isPacked);
    if (stale !== undefined) this.context.log.warn(`${path} is read from its begin: ${stale}`);
    const from = stale === undefined ? given : undefined;
    const { bytes = 0, messages = 0 } = from ?? {};
    const { since, until } = this.#round ?? {};
    const round = until === undefined ? {} : { since, until };
    this.#at = { path, ino: info.ino, changed, bytes, messages, read: this.#filesRead, ...round };
    this.#stops?.begin(this.#at, info, isPacked);
    if (this.conf.fileType === 'parquet') {
      await this.#passParquet(file, info.size, messages, path).finally(() => file.close());
      return;
    }
    const raw = file.createReadStream({ highWaterMark: chunkBytes, ...(isPacked ? {} : { start: bytes }) });
    try {
      const chunks = await this.#chunks(raw, bytes);
      // An earlier run may have counted messages, since it read them with their metadata.
      if (this.#isByLines) await this.#passLines(messages === 0 ? chunks : this.#withoutMessages(chunks, messages));
      else await this.#passMessages(chunks, this.#splitter(path), messages, path);
    } finally {
      raw.destroy();
    }
  }

  /** The lines behind so many messages, which are lines. */
  #withoutMessages(chunks: AsyncIterable<Buffer>, messages: number): AsyncIterable<Buffer> {
    this.#at = { ...this.#at!, messages: 0 };
    return withoutLines(chunks, messages, (left) => this.#passed(left, 0));
  }

  /** The kernel cuts the messages, which are lines. */
  get #isByLines(): boolean {
    return isByLines(this.conf);
  }

  /** The content of a file that is to be passed on, unpacked, from a place in it. */
  async #chunks(raw: ReadStream, from: number): Promise<AsyncIterable<Buffer>> {
    const { decompression, ignoreStartLines, ignoreEndLines } = this.conf;
    const unpacked = decompression === '' ? raw : await unpack(raw, decompression);
    let chunks: AsyncIterable<Buffer> = unpacked;
    if (decompression !== '' && from > 0) chunks = withoutBytes(chunks, from);
    // Lines to be left out are before any position.
    if (from === 0) chunks = withoutLines(chunks, ignoreStartLines, (left) => this.#passed(left, 0));
    return ignoreEndLines > 0 ? withoutLastLines(chunks, ignoreEndLines) : chunks;
  }

  #splitter(path: string): Splitter {
    const { fileType, hasHeader, columns, delimiter = this.context.delimiter ?? ',' } = this.conf;
    const exception = (reason: string) => this.context.exception(`file source: ${path}: ${reason}`);
    switch (fileType) {
      case 'lines':
        return new LineSplitter();
      case 'csv':
        return new CsvSplitter({ hasHeader, columns, delimiter }, exception);
      case 'raw':
        return new RawSplitter();
      default:
        return new JsonSplitter();
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

  async #passParquet(file: FileHandle, size: number, from: number, path: string): Promise<void> {
    const frames = new FrameBuffer();
    const meta = Buffer.from(JSON.stringify({ file: path }));
    for await (const rows of this.#parquet.rows(file.fd, size, from, (event) => this.#waits.until(event))) {
      await this.#send(rows, frames, meta);
      if (this.#isStopped) return;
    }
  }

  /** @param skipped number of messages at the start that were passed on before */
  async #passMessages(chunks: AsyncIterable<Buffer>, splitter: Splitter, skipped: number, path: string): Promise<void> {
    const frames = new FrameBuffer();
    const meta = Buffer.from(JSON.stringify({ file: path }));
    const left = { count: skipped };
    for await (const chunk of chunks) {
      await this.#send(without(splitter.add(chunk), left), frames, meta);
      if (this.#isStopped) return;
    }
    await this.#send(without(splitter.end(), left), frames, meta);
  }

  /** Writes messages in one go, or one by one with the pause that was asked for. */
  async #send(messages: Iterable<Uint8Array>, frames: FrameBuffer, meta: Uint8Array): Promise<void> {
    const { sendInterval } = this.conf;
    for (const message of messages) {
      frames.add(message, meta);
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
}

async function unpack(raw: ReadStream, method: string): Promise<AsyncIterable<Buffer>> {
  if (method === 'zstd') return (await import('./zstd-stream.js')).unzstd(raw);
  const unpacked = raw.pipe(createGunzip());
  raw.on('error', (error) => unpacked.destroy(error));
  return unpacked;
}
