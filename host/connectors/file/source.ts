/** Reads files chunk by chunk to their end, no faster than the sinks take the results. */
import { copyFile, lstat, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { kindReason } from '../../base/allowed-paths.js';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { makeFolder } from '../../base/folder.js';
import { FrameBuffer } from '../frames.js';
import type { Source, SourceContext } from '../running.js';
import { JsonSplitter } from './json-splitter.js';
import { LineSplitter } from './line-splitter.js';
import { pathOf } from './path.js';

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

const chunkBytes = 256 * 1024;
const lineFeed = 10;

export class FileSource implements Source {
  #isClosed = false;
  #stopWaiting: (() => void) | undefined;
  #reading: Promise<void> | undefined;
  /** Absolute, set when it opens. */
  #path = '';
  /** Why files of the folder are not read, by path. */
  readonly #passedOver = new Map<string, string>();

  constructor(
    readonly conf: FileSourceConf,
    readonly context: SourceContext,
  ) {}

  async open(): Promise<void> {
    const { conf } = this;
    if (conf.actionAfterRead === 2 && conf.moveTo === '') {
      throw new HaumeaError('config', 'file source: property moveTo is required when actionAfterRead is 2');
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
      throw new HaumeaError('config', `file source: ${reasonOf(error)}`, { cause: error });
    }
    this.#reading = this.#run();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWaiting?.();
    await this.#reading;
  }

  async #run(): Promise<void> {
    const { interval } = this.conf;
    for (;;) {
      try {
        for (const path of await this.#files()) {
          await this.#read(path);
          if (this.#isClosed) return;
          await this.#afterRead(path);
        }
      } catch (error) {
        this.context.exception(reasonOf(error));
      }
      if (this.#isClosed) return;
      if (interval === 0) {
        this.context.end();
        return;
      }
      await this.#wait(interval);
      if (this.#isClosed) return;
    }
  }

  /** The file itself, or the files of the folder and those that links in it lead to, oldest first. */
  async #files(): Promise<string[]> {
    const info = await stat(this.#path);
    if (!info.isDirectory()) return [this.#path];
    const files: { path: string; changed: number }[] = [];
    for (const entry of await readdir(this.#path, { withFileTypes: true })) {
      const path = join(this.#path, entry.name);
      // Folders in the folder are not looked into.
      if (entry.isDirectory()) continue;
      const found = await this.#look(path);
      if (typeof found === 'number') files.push({ path, changed: found });
      else if (found !== undefined) this.#passOver(path, found);
    }
    return files.sort((a, b) => a.changed - b.changed || (a.path < b.path ? -1 : 1)).map((file) => file.path);
  }

  /** When the file was changed, ms; why it can't be read; undefined for what is no file to read. */
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

  /** Tells of a file that is not read, once for each reason. */
  #passOver(path: string, reason: string): void {
    if (this.#passedOver.get(path) === reason) return;
    this.#passedOver.set(path, reason);
    const text = `${path} is passed over: ${reason}`;
    this.context.log.warn(text);
    this.context.exception(`file source: ${text}`);
  }

  async #read(path: string): Promise<void> {
    const { conf } = this;
    const file = await this.context.paths.open(path, 'read');
    const raw = file.createReadStream({ highWaterMark: chunkBytes });
    const input = conf.decompression === 'gzip' ? raw.pipe(createGunzip()) : raw;
    if (input !== raw) raw.on('error', (error) => input.destroy(error));
    try {
      const chunks = withoutLines(input as AsyncIterable<Buffer>, conf.ignoreStartLines);
      if (conf.fileType === 'lines' && conf.sendInterval === 0) await this.#passLines(chunks);
      else await this.#passMessages(chunks, conf.fileType === 'lines' ? new LineSplitter() : new JsonSplitter());
    } finally {
      raw.destroy();
      input.destroy();
    }
  }

  /** The kernel cuts the lines. */
  async #passLines(chunks: AsyncIterable<Buffer>): Promise<void> {
    let last = lineFeed;
    for await (const chunk of chunks) {
      last = chunk[chunk.length - 1]!;
      if (!this.context.write(chunk)) await this.#ready();
      if (this.#isClosed) return;
    }
    // Only the last file may leave its last line open: the next one's first must not be joined to it.
    if (last !== lineFeed) this.context.write(Uint8Array.of(lineFeed));
  }

  async #passMessages(chunks: AsyncIterable<Buffer>, splitter: LineSplitter | JsonSplitter): Promise<void> {
    const frames = new FrameBuffer();
    for await (const chunk of chunks) {
      await this.#send(splitter.add(chunk), frames);
      if (this.#isClosed) return;
    }
    await this.#send(splitter.end(), frames);
  }

  /** Writes messages in one go, or one by one with the pause that was asked for. */
  async #send(messages: Iterable<Uint8Array>, frames: FrameBuffer): Promise<void> {
    const { sendInterval } = this.conf;
    for (const message of messages) {
      frames.add(message);
      if (sendInterval > 0 || frames.sizeBytes >= chunkBytes) {
        await this.#flush(frames);
        if (sendInterval > 0) await this.#wait(sendInterval);
        if (this.#isClosed) return;
      }
    }
    await this.#flush(frames);
  }

  async #flush(frames: FrameBuffer): Promise<void> {
    if (frames.count === 0) return;
    const isWanted = this.context.write(frames.bytes);
    frames.clear();
    if (!isWanted) await this.#ready();
  }

  /** Waits for the sinks, or for the end of the source. */
  async #ready(): Promise<void> {
    await Promise.race([this.context.ready(), new Promise<void>((resolve) => this.#onStop(resolve))]);
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onStop(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #onStop(call: () => void): void {
    if (this.#isClosed) call();
    else this.#stopWaiting = call;
  }

  async #afterRead(path: string): Promise<void> {
    const { actionAfterRead, moveTo } = this.conf;
    const { paths } = this.context;
    if (actionAfterRead === 0) return;
    // A link goes, what it leads to stays: the folder that has the name is what changes.
    const name = join(paths.check(dirname(paths.check(path)), 'write'), basename(path));
    if (actionAfterRead === 1) await rm(name);
    else await this.#move(name, paths.check(join(moveTo, basename(path)), 'write'));
  }

  /** What has the name there already stays: the new file gets the time in its name. */
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

/** The chunks from behind the first lines on; none is empty. */
async function* withoutLines(chunks: AsyncIterable<Buffer>, lines: number): AsyncGenerator<Buffer> {
  let left = lines;
  for await (const data of chunks) {
    let chunk = data;
    while (left > 0 && chunk.length > 0) {
      const end = chunk.indexOf(lineFeed);
      if (end >= 0) left--;
      chunk = chunk.subarray(end < 0 ? chunk.length : end + 1);
    }
    if (chunk.length > 0) yield chunk;
  }
}
