/** Event time: orders rows by their time, and lets them go once the watermark has reached them. */

import { col, type NodePlan } from '../../../kernels/plan/ir.js';
import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import { ProgramBuilder } from '../program/program.js';
import type { Value } from '../values/value.js';
import { mergeTime } from './joins/merge.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /**
     * Event time: orders rows by their timestamp column; null: by that which the merge below has for each source.
     * `isOrdered`: the rows of each source come in their order, none has to be waited for. `tellsStart`: the time of
     * this row goes on before it.
     */
    watermark: { input: Logical; timestamp: Value | null; isOrdered?: boolean; tellsStart?: 'any' | 'ofFirst' };
  }
}

export const watermark: OperatorKind<'watermark'> = {
  values: ({ timestamp }) => (timestamp === null ? [] : [timestamp]),
  map: (node) => node,
  lower(node, at) {
    const { timestamp, isOrdered, tellsStart } = node;
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
      ...(tellsStart === undefined ? {} : { tellsStart }),
      ...(program === null ? {} : { program }),
      // What patterns have found is final at the end of the input.
      ...(at.isRead(node, 'pattern') ? { atEnd: true } : {}),
    };
    at.pushNew(plan, 'watermark', columnValues);
  },
  explain: ({ timestamp }, { show }) => [['WatermarkPlan', timestamp === null ? '' : `Timestamp:${show(timestamp)}`]],
  keeps: () => 'rows that the watermark has not reached: grows with the rate of rows and lateTolerance',
  waits: () => 'for the watermark',
};

export const eventTimeNode: NodeKind<'eventTime'> = {
  gives: ({ columns }, { input, own, derived }) => derived((i) => (i < columns ? input.columnAt(i) : own('#time'))),
  rows: ({ input, timestamp }, at) =>
    at.added(input, at.together('eventTime', at.rowsOf(input).key, at.value(timestamp)), ''),
  keeps({ input, timestamp, columns: count }, at) {
    const rows = at.rowsOf(input);
    const key = at.together('eventTime', rows.key, at.value(timestamp));
    const columns = Array.from({ length: count }, (_none, i) => at.columnAbove(i));
    const lists = [at.list('values', columns)];
    return { key, what: 'rows that wait for the watermark', rows: rows.words, lists };
  },
};
