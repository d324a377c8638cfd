/** Event time as assembly/order/ reads it. */
import { eventTimeSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import { col, type NodePlan } from '../plan/ir.js';
import type { NodeKind } from './node.js';

export const eventTime: NodeKind<'eventTime'> = {
  spec: (plan, { operand, columnMap, branches }) =>
    encodeEventTime({ ...plan, timestamp: operand(plan.timestamp) }, columnMap, plan.isOrdered === true ? 0 : branches),
};

/**
 * Describes an eventTime node. `columnMap`: where column i of the rule stands in the batch, null when there. `streams`:
 * branches of the merge node above, whose rows it keeps apart for the watermark; 0: the inputs tell how far time has
 * come.
 */
function encodeEventTime(
  plan: Extract<NodePlan, { kind: 'eventTime' }>,
  columnMap: readonly number[] | null,
  streams = 1,
): Uint8Array {
  const bytes = new Uint8Array((eventTimeSpec.size + 2 * plan.columns + 3) & ~3);
  const view = new DataView(bytes.buffer);
  put(view, 0, eventTimeSpec, {
    timestamp: plan.timestamp,
    columns: plan.columns,
    streams,
    tolerance: plan.lateToleranceMs,
    skew: plan.maxFutureSkewMs ?? 0,
    idle: plan.idleTimeoutMs ?? 0,
  });
  for (let i = 0; i < plan.columns; i++) {
    view.setUint16(eventTimeSpec.size + 2 * i, col(columnMap?.[i] ?? i), true);
  }
  return bytes;
}
