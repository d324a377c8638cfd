/** A log file that rotates by size and age: a full or old file is renamed to a name that ends with the time. */
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../files/folder.js';

export interface Rotation {
  /** Size at which a file is rotated; 0 never. */
  rotateSizeBytes: number;
  /** Age at which a file is rotated; 0 never. */
  rotateMs: number;
  /** Files older than this are removed; 0 keeps them. */
  maxAgeMs: number;
  /** Number of rotated files that are kept; 0 keeps all. */
  rotateCount: number;
}

/** End of the name of a rotated file. */
export const putAside = /\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/;

export class LogFile {
  #fd: number | undefined;
  #size = 0;
  #openedAt = 0;

  constructor(
    readonly folder: string,
    readonly name: string,
    readonly rotation: Rotation,
  ) {}

  /**
   * Appends a text, in a new file when the old one is full or old. Opens the file when it is closed; throws when it
   * can't.
   */
  write(text: string): void {
    const { rotateSizeBytes, rotateMs } = this.rotation;
    let fd = this.#fd ?? this.#open();
    const isFull = rotateSizeBytes > 0 && this.#size >= rotateSizeBytes;
    const isOld = rotateMs > 0 && Date.now() - this.#openedAt >= rotateMs;
    if (this.#size > 0 && (isFull || isOld)) fd = this.#rotate();
    this.#size += writeSync(fd, text);
  }

  get isOpen(): boolean {
    return this.#fd !== undefined;
  }

  /** Closes the file until something is written again. */
  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  get #path(): string {
    return join(this.folder, this.name);
  }

  #open(): number {
    makeFolderSync(this.folder);
    const fd = openSync(this.#path, 'a');
    this.#fd = fd;
    const info = statSync(this.#path);
    this.#size = info.size;
    this.#openedAt = info.size === 0 ? Date.now() : info.birthtimeMs || info.mtimeMs;
    return fd;
  }

  #rotate(): number {
    this.close();
    renameSync(this.#path, this.#asideName());
    const fd = this.#open();
    this.#openedAt = Date.now();
    this.#removeOld();
    return fd;
  }

  /** Name for the file that is rotated now; several in a millisecond take the next ones. */
  #asideName(): string {
    for (let at = Date.now(); ; at++) {
      const name = `${this.#path}.${new Date(at).toISOString().replace(/[:.]/g, '-')}`;
      if (!existsSync(name)) return name;
    }
  }

  #removeOld(): void {
    const { maxAgeMs, rotateCount } = this.rotation;
    const aside = readdirSync(this.folder)
      .filter((name) => putAside.test(name) && name.replace(putAside, '') === this.name)
      .sort()
      .reverse();
    aside.forEach((name, i) => {
      const path = join(this.folder, name);
      const isTooOld = maxAgeMs > 0 && Date.now() - statSync(path).mtimeMs > maxAgeMs;
      if (isTooOld || (rotateCount > 0 && i >= rotateCount)) rmSync(path, { force: true });
    });
  }
}
