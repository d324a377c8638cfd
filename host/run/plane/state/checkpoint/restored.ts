/** Text on how a rule went on from a checkpoint, in the words of its statement. */
import type { LoadFailure, NodeHandle } from '../../../../../kernels/api.js';
import type { KeptByNode, KeptOperator } from '../../../../model/kept.js';
import { keptChanges } from '../../../link/kept-changes.js';
import type { CheckpointHead } from './head.js';

/** Operators with state that users are shown. */
export function shownIn(kept: KeptByNode): KeptOperator[] {
  return [...kept.values()].filter(({ isSilent }) => isSilent !== true);
}

export interface Restored {
  /** Sentence without its subject on how the rule went on. */
  readonly text: string;
  /** All state was loaded, and nothing is left over. */
  readonly isWhole: boolean;
  readonly isLost: boolean;
  /** Operators of the rule whose state could not be loaded. */
  readonly damaged: readonly string[];
}

/** @param nodes of the rule, as its plan numbers them */
export function restoredBy(
  { at, kept: before }: CheckpointHead,
  kept: KeptByNode,
  failed: readonly LoadFailure[],
  nodes: readonly { readonly handle: NodeHandle }[],
): Restored {
  const after = shownIn(kept);
  // A checkpoint of an earlier release does not name its operators.
  const { lost, empty } = keptChanges(before ?? after, after);
  const damaged = failed.flatMap(({ of, reason, text }) => {
    const operator = kept.get(nodes.findIndex(({ handle }) => handle === of));
    const isReportedElsewhere = reason === 'other' || reason === 'nothing';
    return operator === undefined || operator.isSilent || isReportedElsewhere ? [] : [`${operator.what}: ${text}`];
  });
  const gone = [...lost, ...damaged];
  const parts = [
    `goes on with ${gone.length > 0 ? 'a part of its state' : 'its state'} of ${new Date(at).toISOString()}`,
    ...(gone.length > 0 ? [`lost: ${gone.join('; ')}`] : []),
    ...(empty.length > 0 ? [`begins empty: ${empty.join('; ')}`] : []),
  ];
  return { text: parts.join('; '), isWhole: gone.length + empty.length === 0, isLost: gone.length > 0, damaged };
}
