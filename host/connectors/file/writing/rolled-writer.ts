/**
 * Writes files that have a form of their own, or that end when they are full: JSON arrays, compressed and encrypted
 * files, files rolled by count, size or time. Messages are gathered and written as pieces; a piece is in the file
 * whole or not at all, so that what is there can be read up to the last one.
 */
import { rm } from 'node:fs/promises';
import { reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { fileErrors } from '../errors.js';
import { type Begun, closing, type FileForm, type FormOptions, type Text } from './form.js';
import { continued, type Finished } from './rolled-file.js';
import { stampedName } from './stamped-name.js';
import { type FileEnd, TargetFile } from './target.js';
import type { Lines, WriterClient } from './writer.js';

export interface RollOptions extends FormOptions {
  /** Bytes before compression; 0 never. */
  readonly rollingSize: number;
  /** Messages; 0 never. */
  readonly rollingCount: number;
  /** ms; 0 never. */
  readonly rollingInterval: number;
  /** Pause between two looks at the age of the file, ms. */
  readonly checkInterval: number;
  /** Where the names of files have the time of their begin; `none`: each replaces the one before. */
  readonly rollingNamePattern: '' | 'prefix' | 'suffix' | 'none';
}

export interface RolledOwner {
  readonly paths: AllowedPaths;
  /** Says something about a file to the log. */
  warn(text: string): void;
  /** Gets each file that is complete. */
  complete(path: string): Promise<void>;
  /** Makes the form of a file; `begun` has what it is gone on with. */
  form(begun: Begun | undefined): Promise<FileForm>;
  /** Files that were completed before, by path. */
  readonly finished: Map<string, Finished>;
}

interface Share {
  readonly client: WriterClient;
  bytes: number;
  messages: number;
}

interface Piece {
  readonly text: Text;
  readonly shares: Share[];
  /** The file is complete behind it. */
  readonly isLast: boolean;
  /** As it is written; undefined until that is known. */
  bytes: Buffer | undefined;
}

const blockBytes = 256 * 1024;
/** Row groups of Parquet are larger, since each has a head for each column. */
const groupBytes = 1024 * 1024;
const groupLingerMs = 5000;
/** Longest wait of few bytes, ms. Compressed ones wait longer, since small pieces are hardly smaller then. */
const lingerMs = 2;
const packedLingerMs = 1000;
const comma = 0x2c;
const lineFeed = 0x0a;
const lengthBytes = 4;

export class RolledWriter {
  #file: TargetFile | undefined;
  #form: FileForm | undefined;
  /** Bytes of the file that are whole pieces. */
  #size = 0;
  /** The end of the file makes it whole, and goes when more comes. */
  #isEnded = false;
  #gathered: Buffer = Buffer.allocUnsafe(4096);
  #length = 0;
  #header: Buffer | undefined;
  #shares: Share[] = [];
  /** Messages and bytes of the file, those that wait among them, and since when it has some. */
  #count = 0;
  #bytes = 0;
  #since = 0;
  readonly #queue: Piece[] = [];
  #opening: Promise<void> | undefined;
  #isWriting = false;
  #isBroken = false;
  #isClosed = false;
  #reason = '';
  readonly #told = new Set<WriterClient>();
  #linger: NodeJS.Timeout | undefined;
  #check: NodeJS.Timeout | undefined;
  #cut: { readonly end: FileEnd; readonly refused: (reason: string) => void } | undefined;
  #waiters: { resolve: () => void; reject: (error: Error) => void }[] = [];
  #stamp = 0;
  /** The next file replaces the one before. */
  #replaces = false;

  constructor(
    readonly path: string,
    private readonly options: RollOptions,
    private readonly owner: RolledOwner,
  ) {}

  /** Opens the file, or goes on after a failed write. Files with a time in their names come with their messages. */
  async open(): Promise<void> {
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
    const { rollingInterval, checkInterval } = this.options;
    if (rollingInterval > 0 && this.#check === undefined && !this.#isClosed) {
      this.#check = setInterval(() => this.#rollOld(), Math.max(1, Math.min(checkInterval || 1, rollingInterval)));
      this.#check.unref();
    }
    this.#kick();
  }

  async #reopen(): Promise<void> {
    if (this.#isBroken && this.#file !== undefined) await this.#openAgain(this.#file);
    else if (this.#file === undefined && !this.#isStamped) await this.#openFile();
    this.#isBroken = false;
    this.#told.clear();
  }

  /** Goes on with the file after a failed write, if it is still there. */
  async #openAgain(file: TargetFile): Promise<void> {
    const before = file.end;
    await file.close();
    await file.open();
    const isSame = before !== undefined && file.end?.ino === before.ino && file.end.dev === before.dev;
    if (isSame && file.size >= this.#size) {
      await file.truncate(this.#size);
      this.#isEnded = false;
      return;
    }
    await this.#begin(file);
  }

  get #isStamped(): boolean {
    return this.options.rollingNamePattern === 'prefix' || this.options.rollingNamePattern === 'suffix';
  }

  get #isPlain(): boolean {
    if (this.#isParquet) return false;
    return this.options.compression === '' && this.options.aesKey === undefined;
  }

  async #openFile(): Promise<void> {
    const { rollingNamePattern, fileType } = this.options;
    const isOfLines = this.#isPlain && (fileType === 'lines' || fileType === 'csv');
    let { path } = this;
    if (this.#isStamped) {
      this.#stamp = Math.max(Date.now(), this.#stamp + 1);
      path = stampedName(path, this.#stamp, rollingNamePattern === 'prefix');
    } else if (this.#replaces) await rm(this.owner.paths.check(path, 'write'), { force: true });
    const file = new TargetFile(path, this.owner.paths, isOfLines);
    file.hasHeaders = isOfLines;
    await file.open();
    this.#replaces = false;
    await this.#begin(file);
  }

  /** Goes on with what the file has, if it can be gone on with. */
  async #begin(file: TargetFile): Promise<void> {
    const cut = this.#cut;
    this.#cut = undefined;
    let isCut = false;
    if (cut !== undefined) {
      const reason = await file.cutTo(cut.end);
      if (reason === undefined) isCut = true;
      else cut.refused(reason);
    }
    const begun = await continued(file, this.options, isCut, this.owner);
    this.#form = await this.owner.form(begun);
    this.#size = file.size;
    this.#isEnded = false;
    for (const piece of this.#queue) piece.bytes = undefined;
    this.#file = file;
  }

  /** Takes lines with their ends, or one line, JSON value or row; the client gets its credit when it is written. */
  write(bytes: Uint8Array, messages: number, client: WriterClient, lines: Lines = {}): void {
    const { header, bytes: credit = bytes.length, isOpen = false } = lines;
    if (this.#length > 0 && !isSame(header, this.#header)) this.#seal(false);
    this.#header = header;
    this.#gather(bytes);
    if (isOpen) this.#gathered[this.#length++] = lineFeed;
    const last = this.#shares.at(-1);
    if (last?.client === client) {
      last.bytes += credit;
      last.messages += messages;
    } else this.#shares.push({ client, bytes: credit, messages });
    this.#count += messages;
    this.#bytes += this.#added(bytes, isOpen);
    if (this.#since === 0) this.#since = performance.now();
    const { rollingCount, rollingSize } = this.options;
    const isFull = (rollingCount > 0 && this.#count >= rollingCount) || (rollingSize > 0 && this.#bytes >= rollingSize);
    if (isFull || this.#length >= this.#pieceBytes) this.#seal(isFull);
    if (this.#isBroken) queueMicrotask(() => this.#tell(client));
    this.#kick();
  }

  /** Bytes by which the file grows, with what stands between two messages. */
  #added(bytes: Uint8Array, isOpen: boolean): number {
    const isBetween = this.#bytes > 0 && (isOpen || this.options.fileType === 'json');
    return bytes.length + (isBetween ? 1 : 0);
  }

  get #isParquet(): boolean {
    return this.options.fileType === 'parquet';
  }

  get #pieceBytes(): number {
    return this.#isParquet ? groupBytes : blockBytes;
  }

  get #lingerMs(): number {
    if (this.#isParquet) return groupLingerMs;
    return this.options.compression === '' ? lingerMs : packedLingerMs;
  }

  #gather(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length + lengthBytes;
    if (needed > this.#gathered.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, Math.min(this.#gathered.length * 2, this.#pieceBytes * 2)));
      this.#gathered.copy(grown, 0, 0, this.#length);
      this.#gathered = grown;
    }
    if (this.options.fileType === 'json' && this.#length > 0) this.#gathered[this.#length++] = comma;
    if (this.#isParquet) this.#length = this.#gathered.writeUInt32LE(bytes.length, this.#length);
    this.#gathered.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Makes a piece of what is gathered. */
  #seal(isLast: boolean): void {
    const text = { raw: Buffer.from(this.#gathered.subarray(0, this.#length)), header: this.#header };
    this.#queue.push({ text, shares: this.#shares, isLast, bytes: undefined });
    this.#length = 0;
    this.#shares = [];
    // One large message must not hold memory for ever.
    if (this.#gathered.length > this.#pieceBytes * 2) this.#gathered = Buffer.allocUnsafe(4096);
    if (isLast) {
      this.#count = 0;
      this.#bytes = 0;
      this.#since = 0;
    }
  }

  /** Ends the file when it is old enough. */
  #rollOld(): void {
    if (this.#since === 0 || performance.now() - this.#since < this.options.rollingInterval) return;
    this.#seal(true);
    this.#kick();
  }

  /** End of the file after all that waits is written; undefined when it can't be known. */
  get end(): FileEnd | undefined {
    const { rollingCount, rollingInterval, rollingSize } = this.options;
    const end = this.#file?.end;
    if (end === undefined || this.#form === undefined || !this.#isReady || this.#isStamped) return undefined;
    if (rollingCount + rollingInterval + rollingSize > 0 || this.#isParquet) return undefined;
    if (this.#length > 0) this.#seal(false);
    let waiting = 0;
    for (const piece of this.#queue) {
      piece.bytes ??= this.#form.encode(piece.text);
      waiting += piece.bytes.length;
    }
    return { ...end, size: this.#size + waiting };
  }

  cutAtOpen(end: FileEnd, refused: (reason: string) => void): void {
    this.#cut = { end, refused };
  }

  /** Files are synced before they are closed. */
  keepSynced(): void {}

  /** Headers come with the lines. */
  keepHeaders(): void {}

  async sync(): Promise<void> {
    await this.#file?.sync();
  }

  flush(): Promise<void> {
    if (this.#length > 0) this.#seal(false);
    if (this.#queue.length === 0 && !this.#isWriting) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      this.#kick();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#check);
    if (this.#opening !== undefined) await this.#opening.catch(() => {});
    if (this.#isReady) await this.flush().catch(() => {});
    clearTimeout(this.#linger);
    this.#queue.length = 0;
    if (this.#file === undefined) return;
    if (this.#size > 0 && !this.#isBroken) await this.#complete(this.#file, true).catch(() => {});
    await this.#file?.close();
  }

  /** Gives up all that waits, since the file can't be opened. */
  abandon(reason: string): void {
    if (this.#length > 0) this.#seal(false);
    for (const { shares } of this.#queue.splice(0)) {
      for (const { client, bytes, messages } of shares) client.failed(bytes, messages, reason);
    }
    for (const waiter of this.#waiters.splice(0)) waiter.resolve();
  }

  get #isReady(): boolean {
    if (this.#isBroken || this.#cut !== undefined) return false;
    return this.#form !== undefined || this.#isStamped || this.#replaces;
  }

  #kick(): void {
    if (this.#isWriting || !this.#isReady) return;
    if (this.#queue.length > 0) {
      void this.#writeAll();
      return;
    }
    if (this.#length === 0) return;
    this.#linger ??= setTimeout(() => {
      this.#linger = undefined;
      if (this.#length > 0 && this.#queue.length === 0) this.#seal(false);
      this.#kick();
    }, this.#lingerMs);
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    clearTimeout(this.#linger);
    this.#linger = undefined;
    let reason: string | undefined;
    try {
      for (let piece = this.#queue[0]; piece !== undefined; piece = this.#queue[0]) {
        if (this.#file === undefined) await this.#openFile();
        if (piece.text.raw.length > 0 && !this.#form!.fits(piece.text)) {
          await this.#complete(this.#file!, false);
          if (this.#file === undefined) await this.#openFile();
        }
        await this.#put(piece, this.#file!);
      }
    } catch (error) {
      reason = reasonOf(error);
      await this.#file?.truncate(this.#size).catch(() => {});
    }
    this.#isWriting = false;
    if (reason !== undefined) this.#fail(reason);
    else if (this.#queue.length > 0 || this.#length > 0) this.#kick();
    if (this.#queue.length === 0) for (const waiter of this.#waiters.splice(0)) waiter.resolve();
  }

  /** Writes the piece, and gives its credit back. */
  async #put(piece: Piece, file: TargetFile): Promise<void> {
    if (piece.text.raw.length > 0) {
      const bytes = await this.#bytesOf(piece);
      if (this.#isEnded) await file.truncate(this.#size);
      this.#isEnded = false;
      await this.#append(file, bytes);
      this.#size = file.size;
    }
    // The piece is either in the file or waits: nothing may come in between.
    this.#queue.shift();
    for (const { client, bytes, messages } of piece.shares) client.accepted(bytes, messages);
    if (piece.text.raw.length > 0 && this.options.fileType === 'json' && this.#isPlain) await this.#end(file);
    if (piece.isLast) await this.#complete(file, false);
  }

  /** Ends a JSON array; where there is no room for that, the next piece or the end of the file tries again. */
  async #end(file: TargetFile): Promise<void> {
    try {
      await this.#append(file, closing);
      this.#isEnded = true;
    } catch {
      await file.truncate(this.#size);
    }
  }

  async #bytesOf(piece: Piece): Promise<Buffer> {
    const form = this.#form!;
    const later = piece.bytes === undefined ? form.encodeLater(piece.text) : undefined;
    if (later !== undefined) {
      const packed = await later.bytes;
      // A checkpoint may have needed it at once.
      piece.bytes ??= later.finish(packed);
    }
    piece.bytes ??= form.encode(piece.text);
    return piece.bytes;
  }

  async #append(file: TargetFile, bytes: Buffer): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      written += await file.write(bytes, written, bytes.length - written);
    }
  }

  /** Makes the file whole and closes it. */
  async #complete(file: TargetFile, isClosing: boolean): Promise<void> {
    const { rollingNamePattern } = this.options;
    const footer = this.#isEnded ? Buffer.alloc(0) : this.#form!.footer();
    await this.#append(file, footer);
    await file.sync();
    const end = file.end;
    let { path } = file;
    const isAside = rollingNamePattern === '' && !isClosing;
    if (isAside) path = await file.setAside(false);
    else await file.close();
    if (isClosing && end !== undefined) {
      this.owner.finished.set(path, { end: { ...end, size: file.size }, size: this.#size, header: this.#form?.header });
    }
    this.#file = undefined;
    this.#form = undefined;
    this.#size = 0;
    this.#isEnded = false;
    this.#replaces = rollingNamePattern === 'none';
    void this.owner.complete(path);
    if (!isClosing && !this.#isStamped) await this.#openNext();
  }

  /** A file that has its name for good is there from the begin; one that replaces another comes when it is needed. */
  async #openNext(): Promise<void> {
    if (!this.#replaces) await this.#openFile();
  }

  #fail(reason: string): void {
    this.#isBroken = true;
    this.#reason = reason;
    for (const { shares } of this.#queue) for (const { client } of shares) this.#tell(client);
    for (const { client } of this.#shares) this.#tell(client);
    if (this.#isClosed) for (const waiter of this.#waiters.splice(0)) waiter.reject(fileErrors.sinkFails(reason));
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
