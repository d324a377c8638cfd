/** Rows of checkpoints on their way back into the kernel, before their operators are there. */
import type { Kernel } from '../../../../../kernels/api.js';
import type { LoadedSnapshot } from '../../../../../kernels/snapshot-api.js';
import { openLoadedSnapshot } from '../../../../../kernels/state/snapshot.js';
import type { SegmentedRows } from '../../../link/moving.js';
import type { CheckpointFiles } from './files.js';
import { stateReader } from './state-copy.js';

/** Rows of an earlier checkpoint that are in the kernel. */
export interface RowsThere {
  readonly rows: SegmentedRows;
  readonly loadedSnapshot: LoadedSnapshot;
}

/**
 * Reads the rows of a checkpoint into the kernel, slice by slice; rejects with what is wrong with them.
 * @param there rows that were read before: those in the same segments are not read again
 * @param isWanted false: the rest is not read, and it rejects
 */
export async function readRows(
  files: CheckpointFiles,
  rows: SegmentedRows,
  work: (call: (kernel: Kernel) => void) => void,
  there?: RowsThere,
  isWanted = () => true,
): Promise<LoadedSnapshot> {
  const known = there && segmentsBefore(there.rows, rows);
  let loadedSnapshot = known === undefined ? undefined : there?.loadedSnapshot;
  if (known === undefined && there !== undefined) work(() => there.loadedSnapshot.close());
  const ask = (call: (kernel: Kernel) => void): void => {
    let failure: { error: unknown } | undefined = { error: new Error('the kernel is broken') };
    work((kernel) => {
      failure = undefined;
      try {
        call(kernel);
      } catch (error) {
        failure = { error };
      }
    });
    if (failure !== undefined) throw failure.error;
  };
  try {
    ask((kernel) => {
      if (loadedSnapshot === undefined) loadedSnapshot = openLoadedSnapshot(kernel, rows);
      else loadedSnapshot.moveOn(rows);
    });
    const left = { ...rows, segments: rows.segments.slice(known ?? 0) };
    await files.readSegments(left, (bytes, runs) => {
      if (!isWanted()) throw new Error('they are not wanted any more');
      ask(() => loadedSnapshot!.fill(runs, stateReader([bytes])));
    });
  } catch (error) {
    work(() => loadedSnapshot?.close());
    throw error;
  }
  return loadedSnapshot!;
}

/**
 * How many of the first segments of `rows` were read with those `before`; undefined when these are of another chain,
 * where numbers of pages mean other pages.
 */
function segmentsBefore(before: SegmentedRows, rows: SegmentedRows): number | undefined {
  const read = new Set(before.segments.map(({ file, digest }) => `${file} ${digest}`));
  const isRead = rows.segments.map(({ file, digest }) => read.has(`${file} ${digest}`));
  const first = isRead.indexOf(false);
  const count = first < 0 ? isRead.length : first;
  return count === 0 || isRead.lastIndexOf(true) >= count ? undefined : count;
}
