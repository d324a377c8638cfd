/**
 * Remembers how many messages of a cache are out. Two places are written in turn, each with a checksum: one that a
 * power failure tore leaves the other. It is not forced to the disk: an older number only means that messages go out
 * once more.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from '../../../base/files/crc32.js';

const placeBytes = 16;
/** Least time between two writes, ms. */
const restMs = 50;

export class ReadMark {
  #value = 0;
  #turn = 0;
  #file: FileHandle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isDirty = false;
  #isClosed = false;

  constructor(private readonly path: string) {}

  /** The last mark written; 0 without one. */
  async read(): Promise<number> {
    const file = await open(this.path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (file === undefined) return 0;
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(2 * placeBytes), 0, 2 * placeBytes, 0);
      for (let place = 0; (place + 1) * placeBytes <= bytesRead; place++) {
        const bytes = buffer.subarray(place * placeBytes, (place + 1) * placeBytes);
        if (bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) continue;
        const value = Number(bytes.readBigUInt64LE(8));
        if (value < this.#value) continue;
        this.#value = value;
        this.#turn = 1 - place;
      }
    } finally {
      await file.close();
    }
    return this.#value;
  }

  /** Writes the number soon. */
  set(value: number): void {
    this.#value = value;
    this.#isDirty = true;
    this.#writeSoon();
  }

  #writeSoon(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#write().catch(() => {});
    }, restMs).unref();
  }

  /** Writes what is not written yet. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    try {
      await this.#writing;
      await this.#write();
    } catch {
      // Messages will go out once more.
    }
    await this.#file?.close().catch(() => {});
    this.#file = undefined;
  }

  async #write(): Promise<void> {
    if (!this.#isDirty || this.#writing !== undefined) return;
    this.#isDirty = false;
    this.#writing = this.#put(this.#value).finally(() => {
      this.#writing = undefined;
      // A number that came while the disk was slow would else wait for the next one.
      if (this.#isDirty) this.#writeSoon();
    });
    await this.#writing;
  }

  async #put(value: number): Promise<void> {
    const bytes = Buffer.alloc(placeBytes);
    bytes.writeBigUInt64LE(BigInt(value), 8);
    bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
    this.#file ??= await open(this.path, 'r+').catch(() => open(this.path, 'w+'));
    await this.#file.write(bytes, 0, placeBytes, this.#turn * placeBytes);
    this.#turn = 1 - this.#turn;
  }
}
