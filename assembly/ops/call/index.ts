// Functions of the host: one call for all selected rows. The host reads the argument columns and fills the result
// column (kernels/calls/host-call.ts).
//
//   argument   values u32 | tags u32 | stride u32 (1 a column, 0 a constant) | 0 u32
import * as ctx from '../../batch/context';
import { hostClock } from '../../batch/host';
import { longestHost } from '../../node/longest';
import { COL_HAS_RAW, COL_TAGS, COL_UNIFORM, COL_VALS, Tag } from '../../mem/layout';
import { Pool, poolAlloc } from '../../mem/pool';
import { program, strideOf, tagsOf, valsOf } from '../operand';
import { dstOf } from '../row-loops';
import { count } from '../result';
import { CALL_MAX_ARGS, Operation } from '../../gen/ops-layouts';

const TABLE: usize = memory.data(64 * 16, 16);

/** Function `fn` over `rows` row numbers at `sel`; results go to the values and tags at `vals` and `tags`. */
// @ts-ignore: decorator
@external("host", "call")
declare function hostCall(fn: u32, table: usize, argCount: u32, sel: usize, rows: u32, vals: usize, tags: usize): void;

/** Pool that takes results in the place of scratch memory; 0 none. */
let lent: Pool = changetype<Pool>(0);
/** Text may be read in blocks beyond its end. */
const PADDING: u32 = 64;

/**
 * Scratch memory for the results of the host; it lives as long as the batch. 0 when memory is exhausted, or when the
 * values of the batch take more than they may (ops/result.ts); messages of errors (`isCounted` 0) don't count.
 */
export function hostScratch(size: u32, isCounted: bool): usize {
  if (isCounted && !count(size)) return 0;
  return lent ? poolAlloc(lent, size + PADDING) : poolAlloc(ctx.scratch, size);
}

/**
 * Calls function `fn` over the values at `vals` of the rows at `sel`, outside of programs. Bytes of the results are put
 * into a pool, followed by readable bytes as input is.
 */
export function callHostOver(
  fn: u32,
  vals: usize,
  tags: usize,
  sel: usize,
  rows: u32,
  toVals: usize,
  toTags: usize,
  pool: Pool,
): void {
  store<u32>(TABLE, <u32>vals);
  store<u32>(TABLE, <u32>tags, 4);
  store<u32>(TABLE, 1, 8);
  lent = pool;
  const start = hostClock();
  hostCall(fn, TABLE, 1, sel, rows, toVals, toTags);
  longestHost(hostClock() - start, rows);
  lent = changetype<Pool>(0);
}

/** Function `fn` over column blocks, as `hostCall`. */
export function callBlocks(fn: u32, blocks: usize, count: u32, sel: usize, rows: u32, vals: usize, tags: usize): void {
  for (let i: u32 = 0; i < count; i++) {
    const block = <usize>load<u32>(blocks + ((<usize>i) << 2));
    const entry = TABLE + ((<usize>i) << 4);
    store<u32>(entry, <u32>(block + COL_VALS));
    store<u32>(entry, <u32>(block + COL_TAGS), 4);
    store<u32>(entry, 1, 8);
  }
  const start = hostClock();
  hostCall(fn, TABLE, count, sel, rows, vals, tags);
  longestHost(hostClock() - start, rows);
}

export function callHost(op: Operation): void {
  const args = program.args + ((<usize>op.args) << 1);
  const argCount = min(<u32>op.argCount, CALL_MAX_ARGS);
  for (let i: u32 = 0; i < argCount; i++) {
    const operand = load<u16>(args + ((<usize>i) << 1));
    const entry = TABLE + ((<usize>i) << 4);
    store<u32>(entry, <u32>valsOf(program, operand));
    store<u32>(entry, <u32>tagsOf(program, operand), 4);
    store<u32>(entry, strideOf(operand), 8);
  }
  const dst = dstOf(op);
  const start = hostClock();
  hostCall(op.imm, TABLE, argCount, ctx.sel, ctx.selLen, dst + COL_VALS, dst + COL_TAGS);
  longestHost(hostClock() - start, ctx.selLen);
  store<u8>(dst, Tag.MIXED, COL_UNIFORM);
  store<u8>(dst, 0, COL_HAS_RAW);
}
