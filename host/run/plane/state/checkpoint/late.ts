/** Checkpoints, whose code is loaded with the first rule that has some. */
import type { Logger } from '../../../../base/log/log.js';
import type { CheckpointOrder } from '../../../link/protocol.js';
import type { PlaneHost } from '../../running/running.js';
import type { RuleCheckpoints } from './rule-checkpoints.js';

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
