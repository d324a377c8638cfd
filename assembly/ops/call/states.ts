// Functions of the host that keep a state for each group of rows: one call for many rows of many groups. A state is
// bytes, whose meaning only the host knows. The host sees columns (kernels/calls/host-call.ts), the rows first and the
// groups behind them:
//
//             arguments   one column more            result
//   a row     its values  number of its group, I64   what the row is given: of functions that look back alone
//   a group   -           its state: BYTES, MISSING  BYTES its state from now on; NULL it has none; BOOL it stays as it
//   was; ERROR
//
// One call is made ready at a time: until it returns, the host must not call the kernel.
import * as ctx from '../../batch/context';
import { stageAcquire, stageRelease } from '../../batch/stage';
import { noteRefusal } from '../../mem/alloc';
import { BATCH_ROWS, COL_TAGS, COL_VALS, Tag, setAt, tagAt, valAt } from '../../mem/layout';
import { poolChunk, poolFilled, poolReturn } from '../../mem/pool';
import { callBlocks } from './index';

/** Rows of a call at most, and groups. */
export const CALL_ROWS: u32 = BATCH_ROWS / 2;

/** Row numbers of the blocks that are filled; the numbers of groups begin at CALL_ROWS. */
const SEL: usize = memory.data(4 * 1024, 16);

let blocks: usize = 0;
let columns: u32 = 0;
let rows: u32 = 0;
let groups: u32 = 0;
let chunk: usize = 0;
let filled: usize = 0;
let computed: u64 = 0;

/** Begins a call of a function with `args` arguments; false when memory is exhausted. */
export function callBegin(args: u32): bool {
  columns = args + 1;
  rows = 0;
  groups = 0;
  blocks = stageAcquire(columns + 1);
  if (!blocks) {
    noteRefusal();
    return false;
  }
  chunk = poolChunk(ctx.scratch);
  filled = poolFilled(ctx.scratch);
  computed = ctx.computed;
  return true;
}

// @ts-ignore: decorator
@inline function block(i: u32): usize {
  return <usize>load<u32>(blocks + ((<usize>i) << 2));
}

/** Adds a group with its state and returns its number; there must be room. */
export function callGroup(tag: u8, payload: u64): u32 {
  setAt(block(columns - 1), CALL_ROWS + groups, tag, payload);
  return groups++;
}

/** Adds a row of a group and returns its number; there must be room, and its arguments follow. */
export function callRow(group: u32): u32 {
  setAt(block(columns - 1), rows, Tag.I64, group);
  return rows++;
}

// @ts-ignore: decorator
@inline export function callArg(i: u32, row: u32, tag: u8, payload: u64): void {
  setAt(block(i), row, tag, payload);
}

/** Asks a part (HostPart) of function `fn`. */
export function callRun(fn: u32, part: u32): void {
  if (!rows) return;
  for (let i: u32 = 0; i < rows; i++) store<u32>(SEL + ((<usize>i) << 2), i);
  for (let i: u32 = 0; i < groups; i++) store<u32>(SEL + ((<usize>(rows + i)) << 2), CALL_ROWS + i);
  callBlocks(fn | part, blocks, columns, SEL, rows + groups, block(columns) + COL_VALS, block(columns) + COL_TAGS);
}

// @ts-ignore: decorator
@inline export function rowTag(row: u32): u8 {
  return tagAt(block(columns), row);
}

// @ts-ignore: decorator
@inline export function rowVal(row: u32): u64 {
  return valAt(block(columns), row);
}

// @ts-ignore: decorator
@inline export function groupTag(group: u32): u8 {
  return tagAt(block(columns), CALL_ROWS + group);
}

// @ts-ignore: decorator
@inline export function groupVal(group: u32): u64 {
  return valAt(block(columns), CALL_ROWS + group);
}

/** The results were read; `frees`: nothing refers to them any more. */
export function callEnd(frees: bool): void {
  stageRelease(columns + 1);
  if (!frees) return;
  poolReturn(ctx.scratch, chunk, filled);
  ctx.setComputed(computed);
}
