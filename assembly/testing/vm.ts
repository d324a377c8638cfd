// Exports of the test build of the program interpreter: nothing here is part of the kernel.
import { alloc } from '../mem/alloc';
import { BATCH_ROWS, COL_SIZE } from '../mem/layout';
import * as ctx from '../batch/context';
export { alloc, bytesInUse } from '../mem/alloc';
export { contextInit, scratchReset } from '../batch/context';
export { programNew, programFree, vmRun } from '../ops/vm';
export { hostScratch } from '../ops/call/index';
export { setValueLimit } from '../ops/result';

/** Prepares `columns` column blocks and a selection as the current batch. */
export function batchInit(columns: u32): void {
  const cols = alloc(columns * 4, 0);
  const sel = alloc(BATCH_ROWS * 4, 0);
  for (let i: u32 = 0; i < columns; i++) store<u32>(cols + (i << 2), <u32>alloc(COL_SIZE, 0));
  ctx.setBatch(cols, 0, sel, 0, 0);
}

export function batchSize(rows: u32, selected: u32): void {
  ctx.setBatch(ctx.cols, rows, ctx.sel, selected, 0);
}

/** Takes three column blocks as columns 0 to 2 of the batch. */
export function batchColumns(a: usize, b: usize, c: usize): void {
  store<u32>(ctx.cols, <u32>a);
  store<u32>(ctx.cols, <u32>b, 4);
  store<u32>(ctx.cols, <u32>c, 8);
}

export function columnAt(i: u32): usize {
  return <usize>load<u32>(ctx.cols + (i << 2));
}

export function selectionAt(): usize {
  return ctx.sel;
}

export function registerAt(i: u32): usize {
  return ctx.registers + i * COL_SIZE;
}
export { groupKeyHash, groupKeyEquals, orderCompare } from '../value/key';
export { compareValues, equalValues } from '../value/compare';
export { bytesHash, hashLong, hashShort, hashU64, setHashSeed } from '../value/bytes';
