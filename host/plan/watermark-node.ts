/** The node that orders rows by their event time. */
import { col, type NodePlan } from '../../kernels/ir.js';
import type { RuleOptions } from '../model/engine.js';
import { mergeTime } from './join-node.js';
import type { Logical } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';

/**
 * Plans it for the rows at the place of the path.
 * @param isAwaited rows of others wait for these: in the operator itself, or in a merge above
 */
export function watermarkNode(
  { timestamp, isOrdered }: Extract<Logical, { kind: 'watermark' }>,
  path: Path,
  { lateToleranceMs, maxFutureSkewMs, idleTimeoutMs }: RuleOptions,
  isAwaited: boolean,
): NodePlan {
  const builder = new ProgramBuilder(path);
  const time = timestamp === null ? col(mergeTime) : builder.operand(timestamp);
  const program = builder.finishOrNull();
  const { input, columns } = path;
  return {
    kind: 'eventTime',
    input,
    timestamp: time,
    maxFutureSkewMs,
    columns,
    name: 'watermark',
    ...(isOrdered === true ? { lateToleranceMs: 0, isOrdered: true } : { lateToleranceMs }),
    ...(isAwaited && idleTimeoutMs > 0 ? { idleTimeoutMs } : {}),
    ...(program === null ? {} : { program }),
  };
}
