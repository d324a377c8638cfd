/**
 * Ordered asynchronous appends to one file. Output is copied once into pooled buffers; while one write is under way the
 * next buffers fill, so that many small outputs become few large writes. A failed write is kept and tried again.
 */
import { type FileHandle, rename } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { AllowedPaths } from '../../base/allowed-paths.js';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { makeFolder } from '../../base/folder.js';

export interface WriterOptions {
  /** Size at which the file is put aside, bytes; 0 never. */
  rollingSize: number;
  rollingNamePattern: string;
}

/** Who gets the credit for written bytes. */
export interface WriterClient {
  accepted(bytes: number, messages: number): void;
  disconnected(reason: string): void;
}

interface Share {
  client: WriterClient;
  bytes: number;
  messages: number;
}

interface Block {
  buffer: Buffer;
  length: number;
  written: number;
  shares: Share[];
}

const blockBytes = 256 * 1024;
const smallBytes = 32 * 1024;
/** Longest wait of few bytes, ms. */
const lingerMs = 2;
const pool: Buffer[] = [];
const maxPooled = 16;

export class FileWriter {
  #file: FileHandle | undefined;
  #opening: Promise<void> | undefined;
  #size = 0;
  #queue: Block[] = [];
  #isWriting = false;
  #linger: NodeJS.Timeout | undefined;
  #isBroken = false;
  #isClosed = false;
  #waiters: { resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(
    readonly path: string,
    readonly options: WriterOptions,
    readonly paths: AllowedPaths,
  ) {}

  /** Opens the file for appending, or goes on after a failed write. */
  async open(): Promise<void> {
    this.#opening ??= this.#openFile().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
    this.#isBroken = false;
    this.#kick();
  }

  /** Copies the bytes; the client gets its credit when they are written. */
  write(bytes: Uint8Array, messages: number, client: WriterClient): void {
    let block = this.#queue.at(-1);
    // The first block may be with the system already.
    if (block === undefined || (this.#isWriting && this.#queue.length === 1)) block = this.#addBlock(bytes.length);
    else if (block.length + bytes.length > block.buffer.length) block = this.#addBlock(bytes.length);
    block.buffer.set(bytes, block.length);
    block.length += bytes.length;
    const last = block.shares.at(-1);
    if (last?.client === client) {
      last.bytes += bytes.length;
      last.messages += messages;
    } else {
      block.shares.push({ client, bytes: bytes.length, messages });
    }
    this.#kick();
  }

  /** Resolves when all that was written so far is in the file; rejects when the file can't be written. */
  flush(): Promise<void> {
    if (this.#queue.length === 0) return Promise.resolve();
    if (this.#isBroken) return Promise.reject(new Error(`${this.path} can't be written`));
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#kick();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#opening !== undefined) await this.#opening.catch(() => {});
    if (this.#file !== undefined) await this.flush().catch(() => {});
    for (const block of this.#queue.splice(0)) recycle(block.buffer);
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => {});
  }

  async #openFile(): Promise<void> {
    if (this.#file !== undefined) return;
    try {
      await makeFolder(dirname(this.paths.check(this.path)));
      const file = await this.paths.open(this.path, 'append');
      // Closed while it was opened: nobody would close the file later.
      if (this.#isClosed) return void (await file.close());
      this.#file = file;
      this.#size = (await file.stat()).size;
    } catch (error) {
      throw new HaumeaError('config', `file sink: ${reasonOf(error)}`, { cause: error });
    }
  }

  #addBlock(bytes: number): Block {
    const buffer = bytes > blockBytes ? Buffer.allocUnsafe(bytes) : (pool.pop() ?? Buffer.allocUnsafeSlow(blockBytes));
    const block = { buffer, length: 0, written: 0, shares: [] };
    this.#queue.push(block);
    return block;
  }

  #kick(): void {
    const first = this.#queue[0];
    if (this.#isWriting || this.#isBroken || this.#file === undefined || first === undefined) return;
    // A write of few bytes costs as much as one of many: a little more is waited for, unless somebody waits for the end.
    if (first.length < smallBytes && this.#queue.length === 1 && this.#waiters.length === 0) {
      this.#linger ??= setTimeout(() => this.#begin(), lingerMs);
      return;
    }
    this.#begin();
  }

  #begin(): void {
    clearTimeout(this.#linger);
    this.#linger = undefined;
    if (this.#isWriting || this.#isBroken || this.#file === undefined || this.#queue.length === 0) return;
    this.#isWriting = true;
    void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    while (this.#queue.length > 0 && this.#file !== undefined) {
      const block = this.#queue[0]!;
      try {
        while (block.written < block.length) {
          const left = block.length - block.written;
          const { bytesWritten } = await this.#file.write(block.buffer, block.written, left);
          block.written += bytesWritten;
        }
      } catch (error) {
        this.#fail(reasonOf(error));
        break;
      }
      this.#queue.shift();
      this.#size += block.length;
      for (const share of block.shares) share.client.accepted(share.bytes, share.messages);
      recycle(block.buffer);
      if (this.options.rollingSize > 0 && this.#size >= this.options.rollingSize) await this.#roll();
    }
    this.#isWriting = false;
    if (this.#queue.length === 0) for (const waiter of this.#waiters.splice(0)) waiter.resolve();
  }

  /** Puts the full file aside under a name with the time. */
  async #roll(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    const extension = extname(this.path);
    const name = basename(this.path, extension);
    const isPrefix = this.options.rollingNamePattern === 'prefix';
    const aside = isPrefix ? `${Date.now()}-${name}${extension}` : `${name}-${Date.now()}${extension}`;
    try {
      await file?.close();
      await rename(this.path, join(dirname(this.path), aside));
      await this.#openFile();
    } catch (error) {
      this.#fail(reasonOf(error));
    }
  }

  #fail(reason: string): void {
    this.#isBroken = true;
    const clients = new Set(this.#queue.flatMap((block) => block.shares.map((share) => share.client)));
    for (const client of clients) client.disconnected(reason);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error(reason));
  }
}

function recycle(buffer: Buffer): void {
  if (buffer.length === blockBytes && pool.length < maxPooled) pool.push(buffer);
}
