/** Bytes that may be written to a disk so that enough stays free for others. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Time between two looks, ms. */
const restMs = 1000;

export class FreeSpace {
  /** Bytes that may still be written. */
  bytes = Number.POSITIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly folder: string,
    private readonly minFreeBytes: number,
  ) {}

  get isShort(): boolean {
    return this.bytes <= 0;
  }

  /** Asks the disk, from time to time. Where that can't be, writing will tell. */
  async look(): Promise<void> {
    if (performance.now() - this.#lookedAt < restMs) return;
    this.#lookedAt = performance.now();
    this.bytes = (await freeIn(this.folder)) - this.minFreeBytes;
  }
}

/** Free bytes of the folder, or of its nearest parent that exists. */
async function freeIn(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    const above = dirname(folder);
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT' && above !== folder;
    return isMissing ? freeIn(above) : Number.POSITIVE_INFINITY;
  }
}
