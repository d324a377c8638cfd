/** Event time: orders rows by their time, and lets them go once the watermark has reached them. */
import { col, type NodePlan } from '../../../kernels/plan/ir.js';
import { ProgramBuilder } from '../program/program.js';
import { mergeTime } from './joins/merge.js';
import type { OperatorKind } from './operator.js';

export const watermark: OperatorKind<'watermark'> = {
  values: ({ timestamp }) => (timestamp === null ? [] : [timestamp]),
  map: (node) => node,
  lower(node, at) {
    const { timestamp, isOrdered } = node;
    const { lateToleranceMs, maxFutureSkewMs, idleTimeoutMs } = at.options;
    // Rows of others wait for these: in the operator itself, or in a merge above.
    const isAwaited = node.input.kind === 'merge' || at.isMerged(node);
    const builder = new ProgramBuilder(at.path);
    const time = timestamp === null ? col(mergeTime) : builder.operand(timestamp);
    const program = builder.finishOrNull();
    const { input, columns, columnValues } = at.path;
    const plan: NodePlan = {
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
    at.pushNew(plan, 'watermark', columnValues);
  },
  explain: ({ timestamp }, { show }) => [['WatermarkPlan', timestamp === null ? '' : `Timestamp:${show(timestamp)}`]],
  keeps: () => 'rows that the watermark has not reached: grows with the rate of rows and lateTolerance',
  waits: () => 'for the watermark',
};
