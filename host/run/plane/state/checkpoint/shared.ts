/** Checkpoints that count where all nodes of a cluster find them, not on the disk of this machine. */
import { basename } from 'node:path';
import { reasonOf } from '../../../../base/errors.js';
import type { Logger } from '../../../../base/log/log.js';
import type { CheckpointOrder } from '../../../link/protocol.js';
import type { KeptState, RuleFolder, SharedStates } from '../../../link/shared-states.js';
import type { PlaneHost } from '../../running/running.js';
import type { CheckpointFiles } from './files.js';
import type { CheckpointHead } from './head.js';

interface Owner {
  readonly files: CheckpointFiles;
  readonly shared: Shared | undefined;
  readonly log: Logger;
}

export class Shared {
  constructor(
    private readonly states: SharedStates,
    private readonly of: RuleFolder,
  ) {}

  /** Undefined where the state of the rule stays on this machine. */
  static of({ sharedAs, folder }: CheckpointOrder, host: PlaneHost): Shared | undefined {
    if (sharedAs === undefined) return undefined;
    const states = host.shared<SharedStates | undefined>('checkpoint.states', () => undefined);
    if (states === undefined) throw new Error('this data plane belongs to no node of a cluster');
    return new Shared(states, { rule: sharedAs, folder });
  }

  /** Brings the folder in line with what counts. */
  fetch(): Promise<void> {
    return this.states.carryOut({ what: 'fetch', state: this.of });
  }

  forget(): Promise<void> {
    return this.states.carryOut({ what: 'forget', state: this.of });
  }

  /** The files of a checkpoint that is written and has not its name yet. */
  stateOf(head: CheckpointHead, files: CheckpointFiles): KeptState {
    const segments = (head.rows?.segments ?? []).map(({ file }) => ({ name: file, file }));
    const file = basename(files.unfinished(head.epoch));
    return { ...this.of, files: [{ name: basename(files.named(head.epoch)), file }, ...segments] };
  }

  /** Makes checkpoints count, all or none. */
  readonly keep = (parts: readonly { readonly kept?: KeptState | undefined }[]): Promise<void> =>
    this.states.carryOut({ what: 'keep', states: parts.flatMap(({ kept }) => kept ?? []) });
}

/** Removes the state of a rule, on this machine and where others find it. */
export async function forgetState({ files, shared, log }: Owner): Promise<void> {
  await files.clear();
  await shared?.forget().catch((error: unknown) => log.error(`its former state stays: ${reasonOf(error)}`));
}
