/** The part of a common checkpoint from which a rule goes on. */
import type { Kernel } from '../../../../../../kernels/api.js';
import type { CommonStart } from '../../../../../model/common-state.js';
import type { CheckpointFiles } from '../files.js';
import { readRows } from '../loaded-snapshots.js';
import type { FoundState } from '../restore.js';

/**
 * Reads the checkpoint of the number that was chosen for all. Newer ones are removed, since not all rules have them.
 * Rejects when it can't be read, or they can't be removed.
 */
export async function findCommon(
  files: CheckpointFiles,
  { number, refusals }: CommonStart,
  work: (call: (kernel: Kernel) => void) => void,
): Promise<FoundState> {
  for (const { epoch } of await files.list()) if (epoch > number) await files.remove(epoch);
  if (number === 0) return { checkpoint: undefined, loadedSnapshot: undefined, epoch: 0, refusals };
  const checkpoint = await files.read(files.named(number));
  const { rows } = checkpoint.head;
  return { checkpoint, loadedSnapshot: rows && (await readRows(files, rows, work)), epoch: number, refusals };
}
