/**
 * Checkpoints of several rules that count only together: all are on disk under other names when a mark says that they count, and it
 * goes when each has its own. A mark that is found at the start was left by a kill in between: what it names still gets its name.
 */
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, syncFolder } from '../../../base/folder.js';
import { writeAll } from './file-bytes.js';
import { CheckpointFiles, type CheckpointName } from './files.js';

/** Beside the folder of all checkpoints. */
const marksFolder = 'checkpoint-marks';
const ending = '.json';

/** A checkpoint, as a mark names it. */
export interface MarkedName extends CheckpointName {
  /** See `CheckpointHead.joint`. */
  readonly id: string;
}

export class Marks {
  readonly #folder: string;
  #finished: Promise<void> | undefined;

  /** @param root folder of the checkpoints of all rules */
  constructor(private readonly root: string) {
    this.#folder = join(dirname(root), marksFolder);
  }

  /** From now on these count, whatever happens. */
  async set(mark: string, names: readonly MarkedName[]): Promise<void> {
    await makeFolder(this.#folder, true);
    const path = this.#path(mark);
    const file = await open(`${path}.part`, 'w', 0o600);
    try {
      await writeAll(file, Buffer.from(JSON.stringify(names)));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(`${path}.part`, path);
    await syncFolder(this.#folder);
  }

  /** All that it names have their own names. */
  async clear(mark: string): Promise<void> {
    await rm(this.#path(mark), { force: true });
  }

  /** Does what marks of an earlier run have left to do, once. */
  finish(): Promise<void> {
    this.#finished ??= this.#finish();
    return this.#finished;
  }

  /** Whether another checkpoint is there and damaged. */
  isDamaged({ folder, epoch }: CheckpointName): Promise<boolean> {
    return new CheckpointFiles(join(this.root, folder)).isDamaged(epoch);
  }

  async #finish(): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      if (name.endsWith(ending)) {
        const mark = name.slice(0, -ending.length);
        const marked = JSON.parse(await readFile(this.#path(mark), 'utf8')) as MarkedName[];
        for (const one of marked) await this.#publish(one);
      }
      await rm(join(this.#folder, name), { force: true });
    }
  }

  async #publish({ folder, epoch, id }: MarkedName): Promise<void> {
    const files = new CheckpointFiles(join(this.root, folder));
    // Those that have their names, and rules that are gone, have none under the other.
    const found = await files.read(files.unfinished(epoch)).catch(() => undefined);
    if (found?.head.joint?.id === id) await files.publish(epoch);
  }

  #path(mark: string): string {
    return join(this.#folder, mark + ending);
  }
}
