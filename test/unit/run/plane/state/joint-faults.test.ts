/**
 * Checkpoints of two rules that count together, on a disk that refuses one operation, or all from one on: whatever it
 * is, both rules go on from the same instant at the next start.
 */
import { promises } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../../../host/base/log/log.js';
import { CheckpointFiles } from '../../../../../host/run/plane/state/checkpoint/files.js';
import type { CheckpointHead } from '../../../../../host/run/plane/state/checkpoint/head.js';
import { Joint, type Part } from '../../../../../host/run/plane/state/checkpoint/joint.js';
import { Marks } from '../../../../../host/run/plane/state/checkpoint/marks.js';
import { temporaryFolder } from '../../../../support/harness.js';

/** Operations so far, which of them are refused, and what that is. */
const disk = {
  done: 0,
  refuses: (_nth: number): boolean => false,
  how: 'fails' as 'fails' | 'fails when done' | 'is killed',
  /** So many operations after the first that is refused the engine is killed. */
  killsAfter: Number.POSITIVE_INFINITY,
  firstRefused: Number.POSITIVE_INFINITY,
  kill: () => {},
};

async function operation<T>(run: () => Promise<T>): Promise<T> {
  const nth = disk.done++;
  const isRefused = disk.refuses(nth);
  if (isRefused) disk.firstRefused = Math.min(disk.firstRefused, nth);
  const isDead = disk.how === 'is killed' ? isRefused : nth - disk.firstRefused >= disk.killsAfter;
  if (!isRefused && !isDead) return run();
  if (isDead) {
    disk.kill();
    return new Promise(() => {});
  }
  if (disk.how === 'fails when done') {
    await run();
  }
  throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
}

const { open, rename, rm } = promises;
/** Nobody closes those that are open when the engine is killed. */
const opened: FileHandle[] = [];
promises.rename = (...args) => operation(() => rename(...args));
promises.rm = (...args) => operation(() => rm(...args));
promises.open = (...args) =>
  operation(async () => {
    const file = await open(...args);
    opened.push(file);
    const { write, sync, datasync } = file;
    return Object.assign(file, {
      write: (...given: Parameters<typeof write>) => operation(() => write.apply(file, given)),
      sync: () => operation(() => sync.call(file)),
      datasync: () => operation(() => datasync.call(file)),
    });
  });
syncBuiltinESMExports();

class Member implements Part {
  joint?: Joint<Part>;
  readonly isLast = false;
  readonly files: CheckpointFiles;
  counted: string | undefined | false = false;

  constructor(
    root: string,
    readonly name: { folder: string; epoch: number; id: string },
    readonly other: { folder: string; epoch: number },
    /** What is told of it throws. */
    readonly isDeaf = false,
  ) {
    this.files = new CheckpointFiles(join(root, name.folder));
  }

  async prepare(): Promise<boolean> {
    await this.files.write(this.head, [Buffer.from('state')]);
    return true;
  }

  get head(): CheckpointHead {
    const { folder, epoch, id } = this.name;
    return { rule: folder, epoch, at: 0, stateBytes: 5, sources: {}, sinks: {}, joint: { id, others: [this.other] } };
  }

  publish(): Promise<void> {
    return this.files.publish(this.name.epoch);
  }

  count(unnamed: string | undefined): void {
    this.counted = unnamed;
    if (this.isDeaf) throw new Error('a sink does not take it');
  }

  untold(): void {}

  async fail(): Promise<void> {
    await this.files.abandon(this.name.epoch).catch(() => {});
  }
}

/**
 * Takes two checkpoints of two rules together, the second one as the disk allows; returns those that each has after a
 * start.
 */
async function tried(
  refuses: (nth: number) => boolean,
  deaf?: string,
): Promise<{ epochs: number[]; counts: boolean; done: number }> {
  const root = join(temporaryFolder(), 'checkpoints');
  disk.refuses = () => false;
  const marks = new Marks(root);
  const members = (epoch: number) => {
    const named = (folder: string, at: number) => ({ folder, epoch: epoch + at, id: `${folder}${epoch}` });
    const [a, b] = [named('a', 0), named('b', 10)];
    return [new Member(root, a, b, deaf === 'a' && epoch > 1), new Member(root, b, a, deaf === 'b' && epoch > 1)];
  };
  assert.ok(await new Joint(members(1), marks, []).outcome);
  disk.done = 0;
  disk.firstRefused = Number.POSITIVE_INFINITY;
  disk.refuses = refuses;
  const killed = new Promise<false>((resolve) => {
    disk.kill = () => resolve(false);
  });
  const counts = await Promise.race([new Joint(members(2), marks, []).outcome, killed]);
  const { done } = disk;
  disk.refuses = () => false;
  disk.firstRefused = Number.POSITIVE_INFINITY;
  const again = new Marks(root);
  const epochs: number[] = [];
  for (const folder of ['a', 'b']) {
    await again.finish(folder, silent);
    const [newest] = await new CheckpointFiles(join(root, folder)).list();
    epochs.push(newest!.epoch);
  }
  for (const file of opened.splice(0)) await file.close().catch(() => {});
  return { epochs, counts, done };
}

const older = [1, 11];
const newer = [2, 12];

const one = (k: number) => (nth: number) => nth === k;
const allFrom = (k: number) => (nth: number) => nth >= k;
const two = (k: number) => (nth: number) => nth === k || nth === k + 1;

for (const [what, refusing, how, killsAfter] of [
  ['one operation fails', one, 'fails'],
  ['two operations fail', two, 'fails'],
  ['all operations from one on fail', allFrom, 'fails'],
  ['one operation is done and reported as failed', one, 'fails when done'],
  ['two operations are done and reported as failed', two, 'fails when done'],
  ['the engine is killed before an operation', allFrom, 'is killed'],
  ...[1, 2, 3, 4].map((n) => [`an operation fails and the engine is killed ${n} later`, one, 'fails', n] as const),
  ...[1, 2, 3, 4].map(
    (n) =>
      [`one is done and reported as failed, and the engine is killed ${n} later`, one, 'fails when done', n] as const,
  ),
] as const) {
  test(`both go on from the same instant when ${what}`, async () => {
    disk.how = how;
    disk.killsAfter = killsAfter ?? Number.POSITIVE_INFINITY;
    const seen = new Set<string>();
    for (let k = 0; ; k++) {
      const { epochs, counts, done } = await tried(refusing(k));
      if (counts) assert.equal(epochs, newer, `it counted, and operation ${k} was refused`);
      assert.ok(
        [older, newer].some((both) => both.join() === epochs.join()),
        `${epochs} after operation ${k}`,
      );
      seen.add(epochs.join());
      if (done <= k) break;
    }
    assert.is(seen.size, 2, 'the disk was refused before and after the mark');
  });
}

for (const deaf of ['a', 'b']) {
  test(`what a source or sink of rule ${deaf} makes of a checkpoint that counts takes it from nobody`, async () => {
    const { epochs, counts } = await tried(() => false, deaf);
    assert.ok(counts);
    assert.equal(epochs, newer);
  });
}

test.run();
