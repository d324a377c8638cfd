/** Rows of checkpoints on their way back into the kernel, before their operators are there. */
import type { Kernel, LoadedSnapshot } from '../../../../../kernels/api.js';
import { openLoadedSnapshot } from '../../../../../kernels/state/snapshot.js';
import type { CheckpointFiles } from './files.js';
import type { SegmentedRows } from './segments.js';
import { stateReader } from './state-copy.js';

/** Reads the rows of a checkpoint into the kernel, slice by slice; rejects with what is wrong with them. */
export async function readRows(
  files: CheckpointFiles,
  rows: SegmentedRows,
  work: (call: (kernel: Kernel) => void) => void,
): Promise<LoadedSnapshot> {
  let loadedSnapshot: LoadedSnapshot | undefined;
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
  ask((kernel) => {
    loadedSnapshot = openLoadedSnapshot(kernel, rows.least, rows.count, rows.fresh);
  });
  try {
    await files.readSegments(rows, (bytes, runs) => ask(() => loadedSnapshot!.fill(runs, stateReader([bytes]))));
  } catch (error) {
    work(() => loadedSnapshot!.close());
    throw error;
  }
  return loadedSnapshot!;
}
