/** Recovery of a rule at its start: its newest usable checkpoint is put back into its operators, sources and sinks. */
import type { Kernel, LoadFailure } from '../../../../../kernels/api.js';
import type { LoadedSnapshot } from '../../../../../kernels/snapshot-api.js';
import { reasonOf } from '../../../../base/errors.js';
import type { Logger } from '../../../../base/log/log.js';
import type { KeptByNode } from '../../../../model/kept.js';
import type { PlaneHost, RunningRule } from '../../running/running.js';
import type { CheckpointFiles, ReadCheckpoint } from './files.js';
import type { CheckpointHead } from './head.js';
import { type RowsThere, readRows } from './loaded-snapshots.js';
import { nodesOf } from './of-rule.js';
import { type Restored, restoredBy } from './restored.js';
import { stateReader } from './state-copy.js';

export interface FoundState {
  /** The newest checkpoint that can be used; undefined without one. */
  readonly checkpoint: ReadCheckpoint | undefined;
  /** Pages of the checkpoint in the kernel; undefined without any. */
  readonly loadedSnapshot: LoadedSnapshot | undefined;
  /** Epoch of the newest checkpoint. */
  readonly epoch: number;
  /** Reasons why newer checkpoints can't be used, a sentence each. */
  readonly refusals: readonly string[];
}

export interface Search {
  /** Rejects when a checkpoint can't be used for reasons outside of it. */
  check?(head: CheckpointHead): Promise<void>;
  /** Runs kernel work; without it rows are not loaded. */
  work?(call: (kernel: Kernel) => void): void;
  /** Rows of an earlier checkpoint that were read ahead; from then on they are the caller's. */
  takeAhead?(): RowsThere | undefined;
  readonly log: Logger;
}

/** Difference from which a clock counts as set back, ms. */
const smallStepMs = 1000;

/** Reads the newest usable checkpoint; the log names the others. */
export async function findState(files: CheckpointFiles, { check, work, takeAhead, log }: Search): Promise<FoundState> {
  const refusals: string[] = [];
  const all = await files.list();
  const epoch = all[0]?.epoch ?? 0;
  for (const { path } of all) {
    try {
      const checkpoint = await files.read(path);
      await check?.(checkpoint.head);
      const { rows } = checkpoint.head;
      const loadedSnapshot = rows && work && (await readRows(files, rows, work, takeAhead?.()));
      return { checkpoint, loadedSnapshot, epoch, refusals };
    } catch (error) {
      const what = `the checkpoint ${path} can't be used: ${reasonOf(error)}`;
      log.error(`${what}; the one before is taken if there is one`);
      refusals.push(what);
    }
  }
  return { checkpoint: undefined, loadedSnapshot: undefined, epoch, refusals };
}

export interface Restoring {
  readonly host: PlaneHost;
  readonly log: Logger;
  /** Whether sinks are cut back. */
  readonly isExact: boolean;
  /** Operators of the rule that keep state, by node. */
  readonly kept: KeptByNode;
  /** Shows that the thread lives, however long a kernel call takes. */
  beat(): void;
}

/** Loads the state into a rule that was just linked; returns how it goes on, and whether with all state. */
export function restoreState(
  rule: RunningRule,
  { loadedSnapshot, checkpoint }: FoundState,
  { host, log, isExact, kept, beat }: Restoring,
): Restored {
  const { head, state, pending } = checkpoint!;
  const { kernel } = rule.host;
  const nodes = nodesOf(rule);
  let failed: readonly LoadFailure[] = [];
  host.work(new Set([rule]), () => {
    const read = stateReader(state);
    const next = (into: Uint8Array) => {
      beat();
      return read(into);
    };
    ({ failed } = kernel.loadNode(nodes, next, loadedSnapshot));
    const lag = head.at - host.now();
    if (lag > smallStepMs) kernel.setLoadedBack(nodes, lag, head.at);
  });
  goBack(rule, head, pending, log);
  if (isExact)
    rule.sinks.forEach((sink, i) => {
      if (head.sinks[i] !== undefined) sink.cutBack(head.sinks[i]);
    });
  const restored = restoredBy(head, kept, failed, rule.nodes);
  if (restored.isLost) log.warn(restored.text);
  else log.info(restored.text);
  return restored;
}

/** Lets sources that do not run yet go on from their positions. */
function goBack(rule: RunningRule, head: CheckpointHead, pending: ReadCheckpoint['pending'], log: Logger): void {
  for (const source of new Set(rule.sources)) {
    // Whoever hands it over has seen to it that nothing is between the two runs.
    if (source.spec.handed !== undefined) continue;
    const position = rule.isTable(source) ? undefined : head.sources[source.name];
    const reason = position === undefined ? undefined : source.places?.goOnFrom(rule, position);
    if (reason !== undefined) log.warn(`${source.label} can't go on where it was: ${reason}`);
    const bytes = pending.get(source.name);
    if (bytes === undefined) continue;
    const lost = source.places?.catchUpWith(rule, bytes);
    if (lost !== undefined) log.warn(`${source.label}: what had not been taken is lost: ${lost}`);
  }
}
