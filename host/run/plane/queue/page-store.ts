/**
 * Pages on disk, first in, first out. They stand in files of a few MiB, each named by the number of its first message;
 * a file goes when all its messages are out. What a crash left half written at the end is cut off; a page that is
 * damaged is passed over, and its messages are counted as lost.
 */
import { type FileHandle, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../../../base/errors.js';
import { makeFolder, refuseLink } from '../../../base/files/folder.js';
import { type Item, messagesOf, split } from './item.js';
import { contentOf, encodePage, headAt, headBytes, nextPage } from './page.js';
import { ReadMark } from './read-mark.js';
import type { Batch, Store } from './store.js';

export interface StoreOptions {
  /** Whether each append is synced before it counts. */
  readonly isSynced: boolean;
  /** Whether numbers go on where they were when the store is empty. */
  readonly keepsNumbers?: boolean;
  /** Bytes after which a file is followed by another one. */
  readonly fileBytes?: number;
  /** Whether sent messages stay on disk until `keepFrom` lets them go. */
  readonly keepsOut?: boolean;
}

/** A reader's place in the pages. */
export interface Cursor {
  /** Number of the next message. */
  read: number;
  /** Place where the next page is looked for; undefined before the first. */
  at: PlaceInFile | undefined;
}

interface PlaceInFile {
  readonly file: PageFile;
  offset: number;
}

interface PageFile {
  /** Number of the file's first message. */
  readonly first: number;
  readonly path: string;
  /** Bytes written; undefined while that is not known. */
  size: number | undefined;
  opening: Promise<FileHandle> | undefined;
  /** Nothing more may be written to the file. */
  isEnded: boolean;
}

export const defaultFileBytes = 4 * 1024 * 1024;
const blockBytes = 256 * 1024;
const ending = '.pages';
const markName = 'read';

export class PageStore implements Store {
  /** Number behind the last message that was written. */
  stored = 0;
  /** Place of the reader that takes messages out. */
  readonly #own: Cursor = { read: 0, at: undefined };
  /** Number of the first message that is not sent. */
  freed = 0;
  readonly #files: PageFile[] = [];
  readonly #mark: ReadMark;
  readonly #fileBytes: number;
  #isAppending = false;
  /** Files that are being removed. */
  #removing: Promise<unknown> = Promise.resolve();
  /** Number from which on sent messages stay on disk. */
  #keptFrom = Number.POSITIVE_INFINITY;
  cutOff = '';
  cutOffMessages = 0;
  isCutOffWhole = false;
  /** Always 0, since the disk has its own bounds. */
  readonly unreadBytes = 0;

  private constructor(
    readonly folder: string,
    readonly options: StoreOptions,
  ) {
    this.#mark = new ReadMark(join(folder, markName));
    this.#fileBytes = options.fileBytes ?? defaultFileBytes;
    if (options.keepsOut === true) this.#keptFrom = 0;
  }

  /** Takes up what is in the folder, which need not be there. Rejects when it can't be read. */
  static async open(folder: string, options: StoreOptions): Promise<PageStore> {
    const store = new PageStore(folder, options);
    await refuseLink(folder);
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    for (const name of names.filter((one) => one.endsWith(ending)).sort()) {
      const first = Number.parseInt(name, 16);
      if (!Number.isSafeInteger(first)) continue;
      const path = join(folder, name);
      const { size } = await stat(path);
      store.#files.push({ first, path, size, opening: undefined, isEnded: true });
    }
    await store.#recover(await store.#mark.read());
    return store;
  }

  /** Number of the next message to read. */
  get read(): number {
    return this.#own.read;
  }

  get length(): number {
    return this.stored - this.freed;
  }

  get unread(): number {
    return this.stored - this.read;
  }

  get diskBytes(): number {
    return this.#files.reduce((total, { size = 0 }) => total + size, 0);
  }

  async #recover(out: number): Promise<void> {
    const last = this.#files.at(-1);
    if (last !== undefined) {
      const bytes = await this.#content(last, 0, await this.#sizeOf(last));
      let whole = { end: 0, stored: last.first };
      let torn: typeof whole | undefined;
      // Number behind all messages that the heads of pages name.
      let named = 0;
      let isWhole = false;
      // A damaged page stays where others follow it: it is told of when its turn comes.
      for (let at = 0; at >= 0 && at < bytes.length; at = nextPage(bytes, at + 1)) {
        for (let head = headAt(bytes, at); head !== undefined; head = headAt(bytes, at)) {
          const next = at + headBytes + head.length;
          named = head.first + head.messages;
          if (next > bytes.length) break;
          if (contentOf(head, bytes.subarray(at + headBytes, next), 0) === undefined) {
            isWhole = true;
            break;
          }
          // A later write: the one before was whole once.
          if (head.place === 0) torn = undefined;
          whole = { end: next, stored: head.first + head.messages };
          at = next;
        }
        torn ??= whole;
      }
      // Nothing but the rest of one write follows: it never was whole, and nobody was told that it is.
      const { end, stored } = torn ?? whole;
      this.stored = stored;
      last.size = end;
      last.isEnded = false;
      if (end < bytes.length) {
        const messages = Math.max(0, named - stored);
        this.cutOffMessages = messages;
        // A write that a kill has cut short has its beginning: without a head it is damaged, or the power failed.
        const rest = bytes.subarray(end);
        const isHeadless = headAt(bytes, end) === undefined && rest.length >= headBytes;
        this.isCutOffWhole = isWhole || (isHeadless && rest.some((byte) => byte !== 0));
        this.cutOff =
          `${bytes.length - end} bytes at the end of ${last.path} were not written as a whole and are cut off; ` +
          `of messages in them, ${messages} as far as it shows, nobody was told that they are safe, unless the ` +
          'disk has damaged them since';
        await this.#cut(last, end);
      }
    }
    this.freed = Math.max(out, this.#files[0]?.first ?? 0);
    // After a power failure the mark may know of more than the pages do.
    if (this.stored < this.freed) {
      this.stored = this.freed;
      if (last !== undefined) last.isEnded = true;
    }
    this.#own.read = this.freed;
    this.#removeOut();
  }

  async append(pages: readonly (readonly Item[])[]): Promise<void> {
    this.#isAppending = true;
    try {
      let number = this.stored;
      const encoded = pages.map((items, place) => {
        const messages = messagesOf(items);
        number += messages;
        return encodePage(items, number - messages, messages, place);
      });
      const file = await this.#fileToWrite();
      const handle = await this.#open(file);
      const at = file.size ?? 0;
      const bytes = encoded.length === 1 ? encoded[0]! : Buffer.concat(encoded);
      try {
        await writeAll(handle, bytes, at);
        if (this.options.isSynced) await handle.datasync();
      } catch (error) {
        await this.#cut(file, at);
        throw error;
      }
      file.size = at + bytes.length;
      this.stored = number;
    } finally {
      this.#isAppending = false;
    }
  }

  next(): Promise<Batch | undefined> {
    return this.nextFor(this.#own, this.stored);
  }

  /** Reads the next messages up to `end` for a further reader; freed messages may be gone. */
  async nextFor(cursor: Cursor, end: number): Promise<Batch | undefined> {
    const since = performance.now();
    while (cursor.read < end) {
      const file = this.#files.findLast(({ first }) => first <= cursor.read) ?? this.#files[0];
      if (file === undefined) return lost(cursor, end, 'its file is gone');
      const following = this.#files[this.#files.indexOf(file) + 1];
      const limit = Math.min(end, following?.first ?? this.stored);
      if (file.first > cursor.read) return lost(cursor, file.first, `a file before ${file.path} is gone`);
      if (cursor.at?.file !== file) cursor.at = { file, offset: 0 };
      let batch: Batch | undefined;
      try {
        batch = await this.#readFrom(cursor, cursor.at, limit, since);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error;
        batch = lost(cursor, limit, reasonOf(error));
      }
      if (batch !== undefined) return batch;
    }
    return undefined;
  }

  async #readFrom(cursor: Cursor, at: PlaceInFile, limit: number, since: number): Promise<Batch | undefined> {
    const { file } = at;
    const size = await this.#sizeOf(file);
    let block = await this.#content(file, at.offset, Math.min(blockBytes, size - at.offset));
    const items: Item[] = [];
    let from = 0;
    const isCut = (length: number) => from + length > block.length && at.offset + from + length <= size;
    while (cursor.read < limit) {
      if (isCut(headBytes)) {
        if (from > 0) break;
        return this.#damage(cursor, at, from, limit);
      }
      const head = headAt(block, from);
      const length = headBytes + (head?.length ?? 0);
      if (isCut(length)) {
        if (from > 0) break;
        block = await this.#content(file, at.offset, length);
      }
      const end = from + length;
      const isWhole = head !== undefined && end <= block.length && head.first < limit;
      const content = isWhole ? contentOf(head, block.subarray(from + headBytes, end), since) : undefined;
      if (head === undefined || content === undefined || head.first > cursor.read) {
        if (items.length > 0) break;
        if (content !== undefined && head !== undefined) return lost(cursor, head.first, `${file.path} lacks a page`);
        return this.#damage(cursor, at, from, limit);
      }
      const until = head.first + head.messages;
      if (until > cursor.read) items.push(...lag(content, cursor.read - head.first));
      cursor.read = Math.max(cursor.read, until);
      from = end;
    }
    at.offset += from;
    return items.length === 0 ? undefined : { items, lost: 0, reason: '' };
  }

  /** Goes on behind a page that can't be read. */
  async #damage(cursor: Cursor, at: PlaceInFile, from: number, limit: number): Promise<Batch> {
    const { file } = at;
    const offset = at.offset + from;
    const rest = await this.#content(file, offset, (await this.#sizeOf(file)) - offset);
    let found = nextPage(rest, 1);
    let head = found < 0 ? undefined : headAt(rest, found);
    while (head !== undefined && head.first < cursor.read) {
      found = nextPage(rest, found + 1);
      head = found < 0 ? undefined : headAt(rest, found);
    }
    at.offset = found < 0 ? offset + rest.length : offset + found;
    return lost(cursor, Math.min(limit, head?.first ?? limit), `the page at ${offset} of ${file.path} is damaged`);
  }

  skip(messages: number): void {
    this.#own.read += messages;
  }

  free(messages: number): void {
    this.freed += messages;
    if (this.#files.length > 0) this.#mark.set(this.freed);
    this.#removeOut();
  }

  /** Removes files of which all is out. */
  #removeOut(): void {
    for (;;) {
      const [file, next] = this.#files;
      if (file === undefined || (next?.first ?? this.stored) > Math.min(this.freed, this.#keptFrom)) return;
      // The last one is written to.
      if (next === undefined && (this.#isAppending || this.read < this.stored)) return;
      this.#files.shift();
      if (this.#own.at?.file === file) this.#own.at = undefined;
      // A file that stays is passed over at the next start.
      this.#removing = Promise.allSettled([this.#removing, closeFile(file), unlink(file.path)]);
    }
  }

  /** Lets sent messages from this one on stay on disk. */
  keepFrom(message: number): void {
    this.#keptFrom = message;
    this.#removeOut();
  }

  /** Reads all that is on disk, then rewinds to the first message that is not sent. */
  async readAll(take: (batch: Batch) => void): Promise<void> {
    this.#own.read = this.#files[0]?.first ?? this.stored;
    for (let batch = await this.next(); batch !== undefined; batch = await this.next()) take(batch);
    this.rewind();
  }

  /** Lets messages that are not sent be read again. */
  rewind(): void {
    this.#own.read = this.freed;
    this.#own.at = undefined;
  }

  /** Counts sent messages that were never written: later ones are numbered behind them. All others are sent. */
  pass(messages: number): void {
    const last = this.#files.at(-1);
    // The number of its first message is in the name of a file.
    if (last !== undefined) last.isEnded = true;
    this.stored += messages;
    this.#own.read += messages;
    this.free(messages);
  }

  removed(): Promise<unknown> {
    return this.#removing;
  }

  async close(): Promise<void> {
    const isEmpty = this.length === 0;
    const keepsNumbers = isEmpty && this.options.keepsNumbers === true && this.freed > 0;
    if (keepsNumbers) {
      await makeFolder(this.folder, this.options.isSynced).catch(() => {});
      this.#mark.set(this.freed);
    }
    await this.#mark.close();
    await this.#removing;
    await Promise.all(this.#files.map(closeFile));
    if (keepsNumbers && this.#keptFrom >= this.stored)
      await Promise.allSettled(this.#files.map(({ path }) => unlink(path)));
    else if (isEmpty && !keepsNumbers && this.#keptFrom >= this.stored) await this.remove();
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  async #fileToWrite(): Promise<PageFile> {
    const last = this.#files.at(-1);
    if (last !== undefined && !last.isEnded && (last.size ?? 0) < this.#fileBytes) {
      return last;
    }
    await refuseLink(this.folder);
    await makeFolder(this.folder, this.options.isSynced);
    const path = join(this.folder, `${this.stored.toString(16).padStart(14, '0')}${ending}`);
    // An existing file of that name is left from a broken write.
    const opening = open(path, 'w+');
    await opening;
    const same = this.#files.findIndex((one) => one.path === path);
    if (same >= 0) {
      void closeFile(this.#files[same]!);
      this.#files.splice(same, 1);
    }
    const file: PageFile = { first: this.stored, path, size: 0, opening, isEnded: false };
    this.#files.push(file);
    if (this.options.isSynced) await syncFolder(this.folder);
    return file;
  }

  /** Reading and writing may ask for it at the same time. */
  async #open(file: PageFile): Promise<FileHandle> {
    file.opening ??= open(file.path, 'r+').catch((error: unknown) => {
      file.opening = undefined;
      throw error;
    });
    return file.opening;
  }

  async #sizeOf(file: PageFile): Promise<number> {
    file.size ??= (await (await this.#open(file)).stat()).size;
    return file.size;
  }

  /** Cuts off a part that was not written as a whole; where that fails the file ends there. */
  async #cut(file: PageFile, size: number): Promise<void> {
    file.size = size;
    try {
      await (await this.#open(file)).truncate(size);
    } catch {
      file.isEnded = true;
    }
    // After a failed sync the system's memory of the file is not to be trusted.
    if (size > 0 && this.options.isSynced) file.isEnded = true;
  }

  async #content(file: PageFile, offset: number, length: number): Promise<Buffer> {
    const handle = await this.#open(file);
    const bytes = Buffer.allocUnsafe(Math.max(0, length));
    let read = 0;
    while (read < bytes.length) {
      const { bytesRead } = await handle.read(bytes, read, bytes.length - read, offset + read);
      if (bytesRead === 0) return bytes.subarray(0, read);
      read += bytesRead;
    }
    return bytes;
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done);
    done += bytesWritten;
  }
}

/** A new file is there after a power failure only when its folder was written. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function lost(cursor: Cursor, until: number, reason: string): Batch {
  const messages = until - cursor.read;
  cursor.read = until;
  return { items: [], lost: messages, reason };
}

/** The items without their first messages. */
function lag(items: readonly Item[], messages: number): readonly Item[] {
  if (messages <= 0) return items;
  const left: Item[] = [];
  let skipped = messages;
  for (const item of items) {
    if (skipped > 0 && skipped >= item.messages) skipped -= item.messages;
    else if (skipped > 0) {
      left.push(split(item, skipped)[1]);
      skipped = 0;
    } else left.push(item);
  }
  return left;
}

async function closeFile({ opening }: PageFile): Promise<void> {
  await opening?.then((handle) => handle.close()).catch(() => {});
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code);
}
