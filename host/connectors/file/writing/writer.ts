/**
 * Ordered asynchronous appends to one file. Output is copied once into pooled buffers; while one write is under way the
 * next buffers fill, so that many small outputs become few large writes. A failed write is a lost connection: the half
 * line that it left is cut off, all that waits is kept, and each attempt to open the file writes the first of it.
 */

import { reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { fileErrors } from '../errors.js';
import { type FileEnd, TargetFile } from './target.js';

export interface WriterOptions {
  /** Size at which the file is rotated, bytes; 0 never. */
  rollingSize: number;
  rollingNamePattern: string;
  /** Bytes of a block, which is written at once; 256 KiB when left out. */
  blockBytes?: number;
}

/** The sink that gets credit for written bytes. */
export interface WriterClient {
  accepted(bytes: number, messages: number): void;
  /** Counts bytes and messages as lost. */
  failed(bytes: number, messages: number, reason: string): void;
  /** The file can't be written now; `open` is to be called after a while, however often. */
  disconnected(reason: string, isPatient: boolean): void;
}

/** Details of lines beside their bytes. */
export interface Lines {
  /** Header that has to stand before the lines in their file, with its line feed. */
  readonly header?: Buffer | undefined;
  /** Credit for the lines, in bytes, when it differs from their length. */
  readonly bytes?: number;
  /** It is one line, which gets its end when it is written. */
  readonly isOpen?: boolean;
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
  readonly header: Buffer | undefined;
}

const blockBytes = 256 * 1024;
const smallBytes = 128 * 1024;
/** Longest wait of few bytes, ms. */
const lingerMs = 2;
const lineFeed = 0x0a;
const pool: Buffer[] = [];
const maxPooled = 16;

export class FileWriter {
  readonly #file: TargetFile;
  #opening: Promise<void> | undefined;
  #queue: Block[] = [];
  #isWriting = false;
  #linger: NodeJS.Timeout | undefined;
  #isBroken = false;
  /** Reason why the last write failed. */
  #reason = '';
  /** Clients that were told of the failure. */
  readonly #told = new Set<WriterClient>();
  /** Incomplete line that a failed write left at the end of the file; it is cut off before the next write. */
  #half: Buffer | undefined;
  #isClosed = false;
  /** Cut that the next opening has to make; nothing is written before, since the file ends elsewhere than it seems. */
  #cut: { readonly end: FileEnd; readonly refused: (reason: string) => void } | undefined;
  #waiters: { resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(
    readonly path: string,
    readonly options: WriterOptions,
    paths: AllowedPaths,
  ) {
    this.#file = new TargetFile(path, paths);
  }

  /** Opens the file for appending, or goes on after a failed write; rejects when what waits still can't be written. */
  async open(): Promise<void> {
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
    this.#kick();
  }

  async #reopen(): Promise<void> {
    // A handle of a file system that is gone would fail for ever.
    if (this.#isBroken) await this.#file.close();
    await this.#file.open();
    // Closed while it was opened: nobody would close the file later.
    if (this.#isClosed) return this.#file.close();
    const cut = this.#cut;
    if (cut !== undefined) {
      const reason = await this.#file.cutTo(cut.end);
      if (reason !== undefined) cut.refused(reason);
      this.#cut = undefined;
    }
    if (!this.#isBroken) return undefined;
    this.#isWriting = true;
    try {
      await this.#endHalf();
      await this.#writeFirst();
      this.#isBroken = false;
      this.#told.clear();
    } catch (error) {
      await this.#endHalf().catch(() => {});
      throw fileErrors.sinkFails(reasonOf(error), { cause: error });
    } finally {
      this.#isWriting = false;
    }
    return undefined;
  }

  /** Copies the bytes; the client gets its credit when they are written. */
  write(bytes: Uint8Array, messages: number, client: WriterClient, lines: Lines = {}): void {
    const { header, bytes: credit = bytes.length } = lines;
    let block = this.#queue.at(-1);
    // The first block may be with the system already.
    const isTaken = this.#isWriting && this.#queue.length === 1;
    if (block === undefined || isTaken || !isSame(block.header, header)) block = this.#addBlock(bytes.length, header);
    else if (block.length + bytes.length > block.buffer.length) block = this.#addBlock(bytes.length, header);
    block.buffer.set(bytes, block.length);
    block.length += bytes.length;
    const last = block.shares.at(-1);
    if (last?.client === client) {
      last.bytes += credit;
      last.messages += messages;
    } else {
      block.shares.push({ client, bytes: credit, messages });
    }
    if (this.#isBroken) queueMicrotask(() => this.#tell(client));
    this.#kick();
  }

  /** Whether lines can be appended now: the file is open, no write has failed, and no cut is due. */
  get #isReady(): boolean {
    return this.#file.isOpen && !this.#isBroken && this.#cut === undefined;
  }

  /** End of the file after all waiting lines are written; undefined when it can't be known. */
  get end(): FileEnd | undefined {
    const end = this.#file.end;
    if (end === undefined || this.options.rollingSize > 0 || !this.#isReady) return undefined;
    let waiting = 0;
    let latest: Buffer | undefined;
    for (const { length, written, header } of this.#queue) {
      if (header !== undefined && !isSame(header, latest)) {
        const missing = latest === undefined ? this.#file.missingOf(header) : header;
        const isRest = missing.length > 0 && missing.length < header.length;
        // The open line is no line but the begin of the header: it gets no end of its own.
        waiting += isRest ? missing.length - 1 : missing.length;
        latest = header;
      }
      waiting += length - written;
    }
    // Half a line is in the file until it is cut off, and waits to be written again.
    return { ...end, size: end.size - (this.#half?.length ?? 0) + waiting };
  }

  /** Has the next opening cut the file back to the end. */
  cutAtOpen(end: FileEnd, refused: (reason: string) => void): void {
    this.#cut = { end, refused };
  }

  /** From now on `sync` also covers lines in files that were closed before. */
  keepSynced(): void {
    this.#file.isSynced = true;
  }

  /** From now on lines may have headers, so the first line of each file is read when it is opened. */
  keepHeaders(): void {
    this.#file.hasHeaders = true;
  }

  /** Resolves when what was written is on disk. */
  sync(): Promise<void> {
    return this.#file.sync();
  }

  /** Resolves when all lines so far are written to the file; rejects when the writer is closed before. */
  flush(): Promise<void> {
    if (this.#queue.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#kick();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#opening !== undefined) await this.#opening.catch(() => {});
    if (this.#isReady) await this.flush().catch(() => {});
    for (const block of this.#queue.splice(0)) recycle(block.buffer);
    await this.#endHalf().catch(() => {});
    await this.#file.close();
  }

  /** Gives up all waiting lines, since the file can't be opened. */
  abandon(reason: string): void {
    for (const { buffer, shares } of this.#queue.splice(0)) {
      for (const { client, bytes, messages } of shares) client.failed(bytes, messages, reason);
      recycle(buffer);
    }
    for (const waiter of this.#waiters.splice(0)) waiter.resolve();
  }

  #addBlock(bytes: number, header: Buffer | undefined): Block {
    const { blockBytes: own = blockBytes } = this.options;
    const isPooled = own === blockBytes && bytes <= blockBytes;
    const buffer = isPooled
      ? (pool.pop() ?? Buffer.allocUnsafeSlow(blockBytes))
      : Buffer.allocUnsafe(Math.max(bytes, own));
    const block = { buffer, length: 0, written: 0, shares: [], header };
    this.#queue.push(block);
    return block;
  }

  #kick(): void {
    const first = this.#queue[0];
    if (this.#isWriting || !this.#isReady || first === undefined) return;
    if (this.#mayWait(first)) {
      this.#linger ??= setTimeout(() => this.#begin(), lingerMs);
      return;
    }
    this.#begin();
  }

  /**
   * Whether a small block may wait for more lines: a small write costs as much as a large one. A `flush` ends the wait.
   */
  #mayWait(first: Block): boolean {
    return first.length < smallBytes && this.#queue.length === 1 && this.#waiters.length === 0;
  }

  #begin(): void {
    clearTimeout(this.#linger);
    this.#linger = undefined;
    if (this.#isWriting || !this.#isReady || this.#queue.length === 0) return;
    this.#isWriting = true;
    void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    let reason: string | undefined;
    try {
      do {
        await this.#file.follow();
        await this.#writeFirst();
        const { rollingSize, rollingNamePattern } = this.options;
        if (rollingSize > 0 && this.#file.size >= rollingSize)
          await this.#file.putAside(rollingNamePattern === 'prefix');
      } while (this.#queue.length > 0 && !this.#mayWait(this.#queue[0]!));
    } catch (error) {
      reason = reasonOf(error);
      await this.#endHalf().catch(() => {});
    }
    this.#isWriting = false;
    if (reason !== undefined) return this.#fail(reason);
    if (this.#queue.length > 0) return this.#kick();
    for (const waiter of this.#waiters.splice(0)) waiter.resolve();
    return undefined;
  }

  /** Writes the first block, if there is one, and gives its credit back. */
  async #writeFirst(): Promise<void> {
    const block = this.#queue[0];
    if (block === undefined) return;
    if (block.header !== undefined && block.written < block.length) await this.#putHeader(block.header);
    try {
      while (block.written < block.length) {
        block.written += await this.#file.write(block.buffer, block.written, block.length - block.written);
      }
    } catch (error) {
      const whole = block.written === 0 ? 0 : block.buffer.lastIndexOf(lineFeed, block.written - 1) + 1;
      if (whole < block.written) this.#half = Buffer.from(block.buffer.subarray(whole, block.written));
      block.written = whole;
      throw error;
    }
    this.#queue.shift();
    for (const share of block.shares) share.client.accepted(share.bytes, share.messages);
    recycle(block.buffer);
    if (this.#queue.length === 0 && this.#isBroken) for (const waiter of this.#waiters.splice(0)) waiter.resolve();
  }

  /** Writes the part of the header that the file lacks. */
  async #putHeader(header: Buffer): Promise<void> {
    const missing = this.#file.missingOf(header);
    let written = 0;
    try {
      this.#file.goesOnWith(missing, header);
      while (written < missing.length) {
        written += await this.#file.write(missing, written, missing.length - written);
      }
    } catch (error) {
      if (written > 0) this.#half = missing.subarray(0, written);
      throw error;
    }
    this.#file.header = header;
  }

  /** Cuts an incomplete line off; if another process has written behind it, it ends the line instead. */
  async #endHalf(): Promise<void> {
    const half = this.#half;
    if (half === undefined) return;
    // The cut also fails in a new file, which has no incomplete line.
    if (!(await this.#file.cut(half))) await this.#file.endLine();
    this.#half = undefined;
  }

  #fail(reason: string): void {
    this.#isBroken = true;
    this.#reason = reason;
    for (const block of this.#queue) for (const { client } of block.shares) this.#tell(client);
    if (this.#isClosed) for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error(reason));
  }

  #tell(client: WriterClient): void {
    if (!this.#isBroken || this.#told.has(client)) return;
    this.#told.add(client);
    client.disconnected(this.#reason, true);
  }
}

function isSame(a: Buffer | undefined, b: Buffer | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.equals(b));
}

function recycle(buffer: Buffer): void {
  if (buffer.length === blockBytes && pool.length < maxPooled) pool.push(buffer);
}
