/**
 * Marks of checkpoints that count only together. All of them are on disk under other names when a mark says that they
 * count; the mark goes when each has its own name. A mark that is found at the start was left by a kill in between, or
 * by a disk that refused: its checkpoints still get their names, before their rules read them.
 */
import { lstat, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaumeaError, reasonOf } from '../../../../base/errors.js';
import { makeFolder, refuseLink, syncFolder } from '../../../../base/files/folder.js';
import type { Logger } from '../../../../base/log/log.js';
import { marksFolder } from '../../../link/folder-names.js';
import { createFile, writeAll } from './file-bytes.js';
import { CheckpointFiles, kept } from './files.js';
import { type CheckpointName, isCheckpointName } from './head.js';

const ending = '.json';

/** A checkpoint, as a mark names it. */
export interface MarkedName extends CheckpointName {
  /** See `CheckpointHead.joint`. */
  readonly id: string;
}

export class Marks {
  readonly #folder: string;
  /** Resolves when the marks of an earlier run are found and carried out as far as possible. */
  #found: Promise<void> | undefined;
  /** Checkpoints that could not get their names yet, by mark. */
  readonly #left = new Map<string, readonly MarkedName[]>();

  /** @param root folder of the checkpoints of all rules */
  constructor(private readonly root: string) {
    this.#folder = join(dirname(root), marksFolder);
  }

  /** Writes the mark, from which on the checkpoints count; rejects when they do not count and never will. */
  async set(mark: string, names: readonly MarkedName[]): Promise<void> {
    await refuseLink(this.#folder);
    await makeFolder(this.#folder, true);
    const path = this.#path(mark);
    try {
      const file = await createFile(`${path}.part`);
      try {
        await writeAll(file, Buffer.from(JSON.stringify(names)));
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(`${path}.part`, path);
    } catch (error) {
      // A call that failed may have worked: while the mark is there the next start carries it out.
      await rm(path, { force: true }).catch(() => {});
      if (!(await isThere(path))) throw error;
    }
    await syncFolder(this.#folder);
  }

  /** Removes the mark, unless some checkpoints have no names yet: they get them when their rule starts. */
  async leave(mark: string, names: readonly MarkedName[]): Promise<void> {
    this.#left.set(mark, names);
    // On a disk that refuses for long, no more checkpoints are needed than a rule keeps.
    const epochs = new Map<string, number[]>();
    for (const one of [...this.#left.values()].flat())
      epochs.set(one.folder, [...(epochs.get(one.folder) ?? []), one.epoch]);
    const isWanted = ({ folder, epoch }: MarkedName) =>
      epochs.get(folder)!.filter((other) => other > epoch).length < kept;
    for (const [one, lag] of this.#left) {
      const wanted = lag.filter(isWanted);
      for (const name of lag)
        if (!wanted.includes(name))
          await this.#filesOf(name)
            .abandon(name.epoch)
            .catch(() => {});
      await this.#keep(one, wanted);
    }
  }

  /**
   * Carries out marks: at the first call those of an earlier run for all rules, later those of the folder alone.
   * Rejects when the folder's checkpoint can't get its name: from an older checkpoint its rule would go back alone.
   */
  async finish(folder: string, log: Logger): Promise<void> {
    this.#found ??= this.#find(log).catch((error) => {
      this.#found = undefined;
      throw error;
    });
    await this.#found;
    for (const [mark, names] of this.#left) {
      const own = names.filter((one) => one.folder === folder);
      for (const one of own) await this.#publish(one, log);
      const others = names.filter((one) => !own.includes(one));
      if (own.length > 0) await this.#keep(mark, others);
    }
  }

  /** Whether the named checkpoint exists and is damaged. */
  isDamaged(name: CheckpointName): Promise<boolean> {
    return this.#filesOf(name).isDamaged(name.epoch);
  }

  async #find(log: Logger): Promise<void> {
    await refuseLink(this.#folder);
    const found = await readdir(this.#folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const marks: [mark: string, names: readonly MarkedName[]][] = [];
    for (const entry of found) {
      const { name } = entry;
      if (!entry.isFile()) {
        log.error(`${join(this.#folder, name)} is no mark of checkpoints: it is passed over`);
        continue;
      }
      if (!name.endsWith(ending)) {
        await rm(join(this.#folder, name), { force: true });
        continue;
      }
      const mark = name.slice(0, -ending.length);
      const names = namesOf(await readFile(this.#path(mark), 'utf8'));
      if (names !== undefined) marks.push([mark, names]);
      else {
        log.error(
          `the mark ${this.#path(mark)} is damaged: rules whose checkpoints count together may go on from ` +
            'different ones',
        );
        await rm(this.#path(mark), { force: true });
      }
    }
    // Checkpoints of one rule get their names in the order in which they were taken.
    const all = marks.flatMap(([, names]) => names).sort((a, b) => a.epoch - b.epoch);
    const refused = new Set<MarkedName>();
    for (const one of all) {
      try {
        await this.#publish(one, log);
      } catch (error) {
        refused.add(one);
        log.error(reasonOf(error));
      }
    }
    for (const [mark, names] of marks) {
      await this.#keep(
        mark,
        names.filter((one) => refused.has(one)),
      );
    }
  }

  /** Keeps the mark while it has checkpoints without names; otherwise removes it. */
  async #keep(mark: string, left: readonly MarkedName[]): Promise<void> {
    if (left.length > 0) {
      this.#left.set(mark, left);
      return;
    }
    this.#left.delete(mark);
    await rm(this.#path(mark), { force: true }).catch(() => {});
  }

  async #publish({ folder, epoch, id }: MarkedName, log: Logger): Promise<void> {
    const files = this.#filesOf({ folder });
    try {
      // Checkpoints with their own names, or of rules that are gone, are not found under the other name. A damaged one
      // gets its name all the same: so the other rules see that they have to go back to the one before.
      const joint = await files.jointOfUnfinished(epoch);
      if (joint === id || joint === 'damaged') await files.publish(epoch, (reason) => log.warn(reason));
    } catch (error) {
      throw new HaumeaError(
        'general',
        `the checkpoint ${files.unfinished(epoch)} counts with those of other rules, but can't get its name: ` +
          `${reasonOf(error)}`,
        { cause: error },
      );
    }
  }

  #filesOf({ folder }: { folder: string }): CheckpointFiles {
    return new CheckpointFiles(join(this.root, folder));
  }

  #path(mark: string): string {
    return join(this.#folder, mark + ending);
  }
}

/** Whether the path may exist: one that can't be looked at counts as existing. */
function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT',
  );
}

/** Checkpoints that a mark names; undefined when its text is no mark. */
function namesOf(text: string): MarkedName[] | undefined {
  try {
    const names = JSON.parse(text) as MarkedName[];
    const isName = (one: MarkedName) => isCheckpointName(one) && typeof one.id === 'string';
    return names.length > 0 && names.every(isName) ? names : undefined;
  } catch {
    return undefined;
  }
}
