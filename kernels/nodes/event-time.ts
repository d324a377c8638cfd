/** Event time as assembly/order/ reads it. */
import { eventTimeSpec, StartRow } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import { col, type NodeInput, type NodePlan, type Operand, type Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Orders rows by timestamp and releases them once the watermark (newest timestamp less the tolerance) has reached
     * them; older rows are counted, and dropped unless a node `late` below takes them. `columns`: how many columns of
     * the batch to keep (column i of the output is column i of the input). Column `columns` is added: the time of the
     * row, epoch ms as I64, whatever the timestamp column holds. Rows with a missing or unreadable timestamp become
     * error rows. Registers of nodes above don't reach below. `program` computes a timestamp that is no column.
     */
    eventTime: {
      input: NodeInput;
      program?: Program | null;
      timestamp: Operand;
      lateToleranceMs: number;
      /**
       * The rows of each input come in order, with watermarks: no row is late, those of all inputs are put in one
       * order.
       */
      isOrdered?: boolean;
      /** Rows further ahead of the clock are error rows; 0 or nothing: there is no bound. */
      maxFutureSkewMs?: number;
      /**
       * Idle timeout, after which a silent stream among several no longer holds back the watermark; 0 or absent: none.
       */
      idleTimeoutMs?: number;
      /** Rows that wait go on when all streams have ended. */
      atEnd?: boolean;
      /** Row whose time goes on before it, for windows that have only some of the rows. */
      tellsStart?: keyof typeof StartRow;
      columns: number;
    };
  }
}

export const eventTime: NodeKind<'eventTime'> = {
  traits: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: false },
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
    atEnd: plan.atEnd === true ? 1 : 0,
    tellsStart: StartRow[plan.tellsStart ?? 'none'],
  });
  for (let i = 0; i < plan.columns; i++) {
    view.setUint16(eventTimeSpec.size + 2 * i, col(columnMap?.[i] ?? i), true);
  }
  return bytes;
}
