/** Checkpoints, whose code is loaded with the first rule that has some. */
import type { Logger } from '../../../../base/log/log.js';
import type { KeptByNode } from '../../../../model/kept.js';
import type { CheckpointOrder } from '../../../link/protocol.js';
import type { PlaneHost, RunningRule } from '../../running/running.js';
import type { RuleCheckpoints } from './rule-checkpoints.js';

interface MovingRule extends RunningRule {
  checkpoints?: RuleCheckpoints;
  readonly moving?: KeptByNode;
  readonly log: Logger;
}

/** See `RuleCheckpoints.open`. */
export async function openCheckpoints(
  order: CheckpointOrder,
  host: PlaneHost,
  beat: () => void,
  log: Logger,
): Promise<RuleCheckpoints> {
  const { RuleCheckpoints } = await import('./rule-checkpoints.js');
  return RuleCheckpoints.open(order, host, beat, log);
}

/** A rule without checkpoints saves its state to the folder when it ends: it goes on in another data plane. */
export async function saveAtEnd(rule: MovingRule, folder: string, host: PlaneHost, beat: () => void): Promise<void> {
  if (rule.moving === undefined || rule.checkpoints !== undefined) return;
  const { RuleCheckpoints } = await import('./rule-checkpoints.js');
  const order = { folder, qos: 0, intervalMs: 0, kept: rule.moving };
  const checkpoints = await RuleCheckpoints.anew(order, host, beat, rule.log);
  if (rule.isEnding) return;
  rule.checkpoints = checkpoints;
  checkpoints.begin(rule);
}
