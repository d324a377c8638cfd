// Rows of the output, gathered to batches. A message begins with its first row: without rows none is sent.
import * as ctx from '../../batch/context';
import { beginMessage, emit } from '../../emit/emit';
import { identity, stageAcquire, stageRelease } from '../../batch/stage';
import { BATCH_ROWS } from '../../mem/layout';
import { addTuple, isLast, node, runFailMemory, spec, state } from './run';
import { fillColumn } from './fill';
import { noteBatch } from './pause';

const LEFTS: usize = memory.data(4 * 1024, 16);
const RIGHTS: usize = memory.data(4 * 1024, 16);
let count: u32 = 0;

export function outputBegin(): void {
  count = 0;
}

/** Adds a pair to the results of the step; a side may be NO_ROW. */
// @ts-ignore: decorator
@inline export function addResult(left: u32, right: u32): void {
  if (!isLast) {
    addTuple(left, right);
    return;
  }
  store<u32>(LEFTS + ((<usize>count) << 2), left);
  store<u32>(RIGHTS + ((<usize>count) << 2), right);
  if (++count == BATCH_ROWS) outputFlush();
}

/** Sends the rows gathered so far. */
export function outputFlush(): void {
  const n = count;
  count = 0;
  if (n == 0) return;
  ctx.addWork(n);
  noteBatch();
  const columns = spec.columns;
  const cols = stageAcquire(columns);
  if (!cols) {
    runFailMemory();
    return;
  }
  for (let c: u32 = 0; c < columns; c++) {
    fillColumn(<usize>load<u32>(cols + ((<usize>c) << 2)), c, LEFTS, RIGHTS, n);
  }
  if (!state.begun) {
    state.begun = 1;
    beginMessage(node);
  }
  ctx.setBatch(cols, n, identity, n, 0);
  emit(node);
  stageRelease(columns);
}
