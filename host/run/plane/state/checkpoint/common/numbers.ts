/** Checkpoints that several rules have in common, looked for before the rules start. */
import { reasonOf } from '../../../../../base/errors.js';
import type { KeptNumbers } from '../../../../../model/common-state.js';
import { CheckpointFiles } from '../files.js';

/** The newest checkpoint that is whole in all folders and was divided `by` the same. */
export async function keptNumbers(folders: readonly string[], by: string): Promise<KeptNumbers> {
  const all = folders.map((folder) => new CheckpointFiles(folder));
  const numbers = await Promise.all(all.map(async (files) => (await files.list()).map(({ epoch }) => epoch)));
  const last = Math.max(0, ...numbers.flat());
  const common = (numbers[0] ?? []).filter((number) => numbers.every((own) => own.includes(number)));
  const refusals: string[] = [];
  for (const number of common) {
    const reason = await refusalOf(all, number, by);
    if (reason === undefined) return { newest: number, last, refusals };
    refusals.push(reason);
  }
  return { newest: 0, last, refusals };
}

async function refusalOf(all: readonly CheckpointFiles[], number: number, by: string): Promise<string | undefined> {
  for (const files of all) {
    const path = files.named(number);
    try {
      const { common, rows } = (await files.read(path)).head;
      if (common?.by !== by || common.members !== all.length)
        return `the checkpoint ${path} is of a rule that was divided otherwise: ${common?.by ?? 'not at all'}`;
      if (rows !== undefined) await files.readSegments(rows, () => {});
    } catch (error) {
      return `the checkpoint ${path} can't be used: ${reasonOf(error)}`;
    }
  }
  return undefined;
}
