/**
 * The file that a writer appends to, by its name: when it was moved away or deleted, a new one is made. When its file
 * system goes away, the file waits for it: nothing is written in the empty folder below. A last line without end, as a
 * killed process leaves it, is ended before anything is appended.
 */
import { type Stats, write } from 'node:fs';
import { type FileHandle, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HaumeaError, reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { makeFolder, syncFolder } from '../../../base/files/folder.js';
import { fileErrors } from '../errors.js';
import { stampedName } from './stamped-name.js';

const lineFeed = Buffer.of(0x0a);
const nothing = Buffer.alloc(0);

/** Most bytes that are read to find the header of a file. */
const longestHeader = 64 * 1024;

/** Least time between two checks whether the file still has its name, ms. */
const lookMs = 250;

/**
 * Failures of a first opening that may pass; all others are a wrong path. Once a file was open, every failure may pass.
 */
const passing =
  'EAGAIN EBUSY EDQUOT EHOSTDOWN EINTR EIO EMFILE ENFILE ENODEV ENOMEM ENOSPC ENOTCONN ENXIO ESTALE ETIMEDOUT';

/** An end of a file: the file by device and inode, and its size in bytes. */
export interface FileEnd {
  readonly dev: number;
  readonly ino: number;
  readonly size: number;
}

export class TargetFile {
  size = 0;
  #file: FileHandle | undefined;
  /** The write under way, or the last one. */
  #writing: Promise<number> | undefined;
  #opened: Stats | undefined;
  #lookedAt = 0;
  #wasOpen = false;
  /** Device below the mount point of the folder; undefined when the folder is on the root file system. */
  #below: number | undefined;
  #lastStamp = 0;
  /** The last line was open when the file was opened, and still is. */
  #isLineOpen = false;
  /** The name of the file is synced to disk. */
  #isNamed = false;
  /** Written lines are synced to disk before the file is closed. */
  isSynced = false;
  /** Lines have headers: the first line of each file is looked at when it is opened. */
  hasHeaders = false;
  /** Header of the last lines, where one was written; a file that was there before has its first line as header. */
  header: Buffer | undefined;
  /** First line of the file when it was opened, up to the line feed; undefined when it was not read. */
  #firstLine: Buffer | undefined;
  /** Reason why lines in a closed file may not be on disk. */
  #unsafe: unknown;

  /** @param isOfLines a last line without end is ended before more is appended */
  constructor(
    readonly path: string,
    readonly paths: AllowedPaths,
    private readonly isOfLines = true,
  ) {}

  get isOpen(): boolean {
    return this.#file !== undefined;
  }

  /**
   * Opens the file, and makes it if it is missing. Throws `config` for a wrong path, `connection` when a retry may
   * help.
   */
  async open(): Promise<void> {
    if (this.#file !== undefined) return;
    let file: FileHandle | undefined;
    try {
      const folder = dirname(this.paths.check(this.path, 'write'));
      if (this.#wasOpen) await this.#checkMounted(folder);
      else await makeFolder(folder, true);
      file = await this.paths.open(this.path, 'append');
      const before = this.#opened;
      this.#opened = await file.stat();
      this.#lookedAt = performance.now();
      this.size = this.#opened.size;
      this.#isLineOpen = await this.#endsOpen(file);
      if (before?.dev !== this.#opened.dev || before.ino !== this.#opened.ino) this.header = undefined;
      await this.#readFirstLine();
      if (!this.#wasOpen) this.#below = await deviceBelow(folder).catch(() => undefined);
      this.#wasOpen = true;
      this.#isNamed = false;
      // The file is set last, since lines are written to it from here on.
      this.#file = file;
    } catch (error) {
      await file?.close().catch(() => {});
      if (error instanceof HaumeaError) throw error;
      const mayPass = this.#wasOpen || passing.split(' ').includes(codeOf(error));
      const failure = mayPass ? fileErrors.sinkFails : fileErrors.sinkRefused;
      throw failure(reasonOf(error), { cause: error });
    }
  }

  /** Appends; returns how many bytes were written. */
  async write(buffer: Buffer, from: number, length: number): Promise<number> {
    if (this.#isLineOpen) {
      await this.#append(lineFeed, 0, 1);
      this.#isLineOpen = false;
    }
    return this.#append(buffer, from, length);
  }

  async #append(buffer: Buffer, from: number, length: number): Promise<number> {
    if (this.#file === undefined) throw fileErrors.notOpen(this.path);
    const written = await this.#write(this.#file, buffer, from, length);
    this.size += written;
    return written;
  }

  /** With a callback, since the promises of a file handle cost as much as the write. */
  #write({ fd }: FileHandle, buffer: Buffer, from: number, length: number): Promise<number> {
    const writing = new Promise<number>((resolve, reject) => {
      write(fd, buffer, from, length, null, (error, written) => {
        if (error === null) resolve(written);
        else reject(error);
      });
    });
    this.#writing = writing;
    return writing;
  }

  /** Ends the last line, if it is open. */
  async endLine(): Promise<void> {
    if (this.#file !== undefined && (await this.#endsOpen(this.#file))) await this.#append(lineFeed, 0, 1);
    this.#isLineOpen = false;
  }

  /** Says whether the last line has no end; no for what can't be read or has no end itself. */
  async #endsOpen(file: FileHandle): Promise<boolean> {
    if (!this.isOfLines) return false;
    const info = await file.stat();
    if (!info.isFile() || info.size === 0) return false;
    const reader = await this.paths.open(this.path, 'read').catch(() => undefined);
    if (reader === undefined) return false;
    try {
      const { ino, dev } = await reader.stat();
      if (ino !== info.ino || dev !== info.dev) return false;
      const { bytesRead, buffer } = await reader.read(Buffer.alloc(1), 0, 1, info.size - 1);
      return bytesRead === 1 && !buffer.equals(lineFeed);
    } finally {
      await reader.close();
    }
  }

  /** Bytes to write before lines with the header: the header, its missing rest, or nothing. */
  missingOf(header: Buffer): Buffer {
    if (this.size === 0) return header;
    if (this.header !== undefined) return this.header.equals(header) ? nothing : header;
    const first = this.#firstLine;
    if (first === undefined) return header;
    if (first.equals(header.length > longestHeader ? header.subarray(0, longestHeader) : header)) return nothing;
    return this.#isBegunIn(first, header) ? header.subarray(first.length) : header;
  }

  /** Whether a killed process has written a part of the header and nothing else. */
  #isBegunIn(first: Buffer, header: Buffer): boolean {
    return first.length === this.size && first.length < header.length && header.subarray(0, first.length).equals(first);
  }

  /** Notes that the missing rest of a header is written next, which continues the open line instead of ending it. */
  goesOnWith(missing: Buffer, header: Buffer): void {
    if (missing.length > 0 && missing.length < header.length) this.#isLineOpen = false;
  }

  async #readFirstLine(): Promise<void> {
    this.#firstLine = undefined;
    if (!this.hasHeaders || this.size === 0 || this.#opened?.isFile() !== true) return;
    const reader = await this.paths.open(this.path, 'read').catch(() => undefined);
    if (reader === undefined) return;
    try {
      const { bytesRead, buffer } = await reader.read(Buffer.alloc(Math.min(this.size, longestHeader)), 0, null, 0);
      const found = buffer.subarray(0, bytesRead);
      const end = found.indexOf(lineFeed);
      this.#firstLine = Buffer.from(end < 0 ? found : found.subarray(0, end + 1));
    } finally {
      await reader.close();
    }
  }

  /** Opens the file anew when its name now belongs to another file or to none; looks a few times a second at most. */
  async follow(): Promise<void> {
    const now = performance.now();
    if (this.#file !== undefined && now - this.#lookedAt < lookMs) return;
    this.#lookedAt = now;
    if (this.#file !== undefined && !(await this.#hasName())) await this.close();
    await this.open();
  }

  async #hasName(): Promise<boolean> {
    try {
      const { dev, ino, size } = await stat(this.path);
      if (dev !== this.#opened?.dev || ino !== this.#opened.ino) return false;
      // Somebody has copied it away and made it empty.
      if (this.#opened.isFile() && size < this.size) {
        this.size = size;
        this.header = undefined;
        await this.#readFirstLine();
      }
      return true;
    } catch (error) {
      if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return false;
      throw error;
    }
  }

  /** Removes the last bytes of the file if they are still the given ones; says whether it did. */
  async cut(end: Buffer): Promise<boolean> {
    const file = this.#file;
    if (file === undefined || this.#opened?.isFile() !== true) return false;
    const { size } = await file.stat();
    const from = size - end.length;
    const reader = await this.paths.open(this.path, 'read');
    try {
      const { dev, ino } = await reader.stat();
      if (dev !== this.#opened.dev || ino !== this.#opened.ino) return false;
      const found = Buffer.alloc(end.length);
      if (from < 0 || (await reader.read(found, 0, end.length, from)).bytesRead < end.length) return false;
      // Others may have appended since.
      if (!found.equals(end)) return false;
    } finally {
      await reader.close();
    }
    await file.truncate(from);
    this.size = from;
    this.#isLineOpen = false;
    return true;
  }

  /** The open file, and where its next line begins; undefined when no regular file is open. */
  get end(): FileEnd | undefined {
    if (this.#file === undefined || this.#opened?.isFile() !== true) return undefined;
    const { dev, ino } = this.#opened;
    return { dev, ino, size: this.size + (this.#isLineOpen ? 1 : 0) };
  }

  /** Cuts the file back to the end; returns the reason when that is impossible. */
  async cutTo(end: FileEnd): Promise<string | undefined> {
    const file = this.#file;
    if (file === undefined || this.#opened?.dev !== end.dev || this.#opened.ino !== end.ino) {
      return 'another file has its name now';
    }
    const { size } = await file.stat();
    if (size < end.size) return `it has only ${size} bytes, ${end.size} were written`;
    if (size > end.size) {
      await file.truncate(end.size);
      this.size = end.size;
      this.#isLineOpen = await this.#endsOpen(file);
      this.header = undefined;
      await this.#readFirstLine();
    }
    return undefined;
  }

  /** First line of the file when it was opened, if it has an end. */
  get headerLine(): Buffer | undefined {
    return this.#firstLine?.at(-1) === lineFeed[0] ? this.#firstLine : undefined;
  }

  /** Reads a part of the file; fewer bytes where it ends before. */
  async read(from: number, length: number): Promise<Buffer> {
    const reader = await this.paths.open(this.path, 'read');
    try {
      const { bytesRead, buffer } = await reader.read(Buffer.alloc(length), 0, length, from);
      return buffer.subarray(0, bytesRead);
    } finally {
      await reader.close();
    }
  }

  /** Removes what is behind the size; nothing when no regular file is open. */
  async truncate(size: number): Promise<void> {
    if (this.#file === undefined || this.#opened?.isFile() !== true) return;
    await this.#file.truncate(size);
    this.size = size;
  }

  /** Resolves when what was written is on disk, under its name. */
  async sync(): Promise<void> {
    const file = this.#file;
    await file?.datasync();
    const unsafe = this.#unsafe;
    this.#unsafe = undefined;
    if (unsafe !== undefined) throw unsafe;
    if (file === undefined || this.#isNamed) return;
    await syncFolder(dirname(this.path));
    this.#isNamed = true;
  }

  /** Rotates the file: renames it with the time, and goes on with a new one. */
  async putAside(isPrefix: boolean): Promise<void> {
    await this.setAside(isPrefix);
    await this.open();
  }

  /** Closes the file and renames it with the time; returns its new path. */
  async setAside(isPrefix: boolean): Promise<string> {
    await this.close();
    // No name twice, however fast files become full and wherever the clock goes.
    let aside: string;
    do {
      const stamp = Math.max(Date.now(), this.#lastStamp + 1);
      this.#lastStamp = stamp;
      aside = this.paths.check(stampedName(this.path, stamp, isPrefix));
    } while (await isThere(aside));
    try {
      await rename(this.paths.check(this.path), aside);
    } catch (error) {
      // Somebody else was faster.
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    return aside;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    // The number of a closed file may be that of another one at once.
    await this.#writing?.catch(() => {});
    if (this.isSynced && this.#writing !== undefined) {
      await file?.datasync().catch((error: unknown) => {
        this.#unsafe = error;
      });
    }
    await file?.close().catch(() => {});
  }

  async #checkMounted(folder: string): Promise<void> {
    const { dev } = await stat(folder);
    if (this.#below === undefined || dev !== this.#below) return;
    throw fileErrors.notMounted(folder);
  }
}

/** The device below the mount point of a folder; undefined when there is none. */
async function deviceBelow(folder: string): Promise<number | undefined> {
  const { dev } = await stat(folder);
  for (let at = folder; dirname(at) !== at; at = dirname(at)) {
    const above = (await stat(dirname(at))).dev;
    if (above !== dev) return above;
  }
  return undefined;
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}
