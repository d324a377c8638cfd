// The last failures of a node, each with its reason, its time and, where that is known, the row that failed. They are
// made with the first exception of the node, so that a node that never fails has none.
//
// A row is put together by whoever finds the failure (source/columns/failed-row.ts) before the exception is counted. It
// is in the engine's own form (json/binary-form.ts) and stays that way until somebody asks for it.
import { alloc, free } from '../mem/alloc';
import * as ctx from '../batch/context';
import {
  Failure,
  FAILURES_KEPT,
  FAILURE_SIZE_OF,
  Failures,
  FAILURES_SIZE_OF,
  FAILED_ROW_BYTES,
} from '../gen/node-layouts';

/** Failures that a node keeps of one millisecond; more of them would cost a rule that fails at each row too much. */
const MOST_AT_ONCE: u32 = 8;

export const FAILURES_BYTES: u32 = FAILURES_SIZE_OF + FAILURES_KEPT * FAILURE_SIZE_OF;

/** The row of the failure that is counted next. */
export const ROW: usize = memory.data(2048, 16);
let rowLen: u32 = 0;

/** Gives the row in `ROW` to the failure that is counted next. */
export function setFailedRow(len: u32): void {
  rowLen = min(len, FAILED_ROW_BYTES);
}

/** Whether the next failure would be kept; `failures` is 0 before the first. */
export function takesFailure(failures: Failures): bool {
  return !failures || failures.at != ctx.nowMs || failures.atOnce < MOST_AT_ONCE;
}

/** Keeps a failure in the place of the oldest. Without memory it is not kept. */
export function keepFailureOf(failures: Failures, text: usize, textLen: u32): void {
  const row = rowLen;
  rowLen = 0;
  if (!takesFailure(failures)) return;
  if (failures.at != ctx.nowMs) {
    failures.at = ctx.nowMs;
    failures.atOnce = 0;
  }
  failures.atOnce++;
  const slot = failureAt(failures, failures.count % FAILURES_KEPT);
  const size = textLen + row;
  if (slot.size < size) {
    free(slot.data, slot.size, 0);
    slot.data = alloc(size, 0);
    slot.size = slot.data ? size : 0;
    slot.textLen = 0;
    slot.rowLen = 0;
    if (!slot.data) return;
  }
  memory.copy(slot.data, text, textLen);
  memory.copy(slot.data + textLen, ROW, row);
  slot.textLen = textLen;
  slot.rowLen = row;
  slot.at = ctx.nowMs;
  failures.count++;
}

/** Frees what the failures hold; the block itself is the caller's. */
export function failuresFree(failures: Failures): void {
  for (let i: u32 = 0; i < FAILURES_KEPT; i++) {
    const slot = failureAt(failures, i);
    free(slot.data, slot.size, 0);
  }
}

// @ts-ignore: decorator
@inline function failureAt(failures: Failures, index: u32): Failure {
  return changetype<Failure>(changetype<usize>(failures) + FAILURES_SIZE_OF + <usize>(index * FAILURE_SIZE_OF));
}
