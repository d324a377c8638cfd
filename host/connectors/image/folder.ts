/** The images of a folder: the oldest go when there are too many, or when they are too old. */
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import { makeFolder } from '../../base/files/folder.js';

export interface Keeping {
  imageFormat: 'jpeg' | 'png';
  /** Hours; 0: for ever. */
  maxAge: number;
  /** 0: any number. */
  maxCount: number;
}

interface Image {
  readonly name: string;
  /** When it was written, ms. */
  readonly at: number;
}

const hourMs = 3_600_000;
const longestName = 100;

export class ImageFolder {
  /** Images that are there, the oldest first. */
  #images: Image[] = [];
  #last = 0;

  constructor(
    readonly path: string,
    private readonly conf: Keeping,
    private readonly paths: AllowedPaths,
  ) {}

  async open(): Promise<void> {
    await makeFolder(this.paths.check(this.path, 'write'), true);
    const ending = `.${this.conf.imageFormat}`;
    const images: Image[] = [];
    for (const entry of await readdir(this.path, { withFileTypes: true })) {
      if (!entry.isFile() || !entry.name.endsWith(ending)) continue;
      const info = await stat(join(this.path, entry.name)).catch(() => undefined);
      if (info !== undefined) images.push({ name: entry.name, at: info.mtimeMs });
    }
    this.#images = images.sort((a, b) => a.at - b.at);
    await this.clear();
  }

  /** Writes an image; it has its name when it is whole. */
  async add(column: string, bytes: Uint8Array): Promise<void> {
    const name = this.#nameOf(column);
    const path = join(this.path, name);
    const part = join(this.path, `.${name}.part`);
    const file = await this.paths.open(part, 'append');
    try {
      // Left by a process that was killed.
      await file.truncate(0);
      await file.writeFile(bytes);
    } catch (error) {
      await file.close();
      await rm(part, { force: true });
      throw error;
    }
    await file.close();
    await rename(part, this.paths.check(path, 'write'));
    this.#images.push({ name, at: Date.now() });
    const { maxCount } = this.conf;
    if (maxCount > 0 && this.#images.length > maxCount) await this.clear();
  }

  /** Deletes images that are too many or too old. */
  async clear(): Promise<void> {
    const { maxAge, maxCount } = this.conf;
    const oldest = maxAge === 0 ? Number.NEGATIVE_INFINITY : Date.now() - maxAge * hourMs;
    while (this.#images.length > 0) {
      const [{ name, at }] = this.#images as [Image];
      const isOver = (maxCount > 0 && this.#images.length > maxCount) || at < oldest;
      if (!isOver) return;
      await rm(this.paths.check(join(this.path, name), 'write'), { force: true });
      this.#images.shift();
    }
  }

  /** Column and time, to the nanosecond, no name twice. Columns may have any name, a file may not. */
  #nameOf(column: string): string {
    const now = Math.max(Date.now() * 1000, this.#last + 1);
    this.#last = now;
    const time = new Date(Math.floor(now / 1000));
    const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].join('-');
    const nanos = (now % 1_000_000) * 1000;
    const clock = [time.getHours(), time.getMinutes(), time.getSeconds(), nanos].join('-');
    const safe = column.replace(/[^\p{L}\p{N}_-]/gu, '_').slice(0, longestName);
    return `${safe}${day}_${clock}.${this.conf.imageFormat}`;
  }
}
