// Drivers of the ops: they own the loop over the selected rows, constants and the tags of the result; an op supplies
// what happens to one value. Fast paths over whole columns stand beside the ops that have them.
import * as ctx from '../batch/context';
import { BATCH_ROWS, COL_HAS_RAW, COL_TAGS, COL_UNIFORM, COL_VALS, Tag } from '../mem/layout';
import { blockOf, constOf, isConst, program, strideOf, tagsOf, valsOf } from './operand';
import { OPS_MAX_ARGS, Operation } from '../gen/ops-layouts';

/** Tag and payload of the row's result, set by `give`. */
export let outTag: u8 = 0;
export let outVal: u64 = 0;

/** Sets the result of the row. */
// @ts-ignore: decorator
@inline export function give(tag: u8, val: u64): void {
  outTag = tag;
  outVal = val;
}

// @ts-ignore: decorator
@inline export function giveNull(): void {
  give(Tag.NULL, 0);
}

// @ts-ignore: decorator
@inline export function giveBool(value: bool): void {
  give(Tag.BOOL, <u64>value);
}

// @ts-ignore: decorator
@inline export function giveF64(value: f64): void {
  give(Tag.F64, reinterpret<u64>(value));
}

// @ts-ignore: decorator
@inline export function giveI64(value: i64): void {
  give(Tag.I64, <u64>value);
}

// @ts-ignore: decorator
@inline export function dstOf(op: Operation): usize {
  return blockOf(op.dst);
}

/** Tag of all selected rows of the operand, or MIXED. */
// @ts-ignore: decorator
@inline export function uniformOf(operand: u32): u8 {
  return isConst(operand) ? load<u8>(constOf(program, operand), 8) : load<u8>(blockOf(operand), COL_UNIFORM);
}

/** True when it pays to compute all rows of the batch at once; values in rows that are not selected do no harm. */
// @ts-ignore: decorator
@inline export function isDense(): bool {
  return ctx.selLen << 2 >= ctx.rows;
}

/** Every row of the result has this tag. */
// @ts-ignore: decorator
@inline export function setUniform(dst: usize, tag: u8): void {
  memory.fill(dst + COL_TAGS, tag, BATCH_ROWS);
  store<u8>(dst, tag, COL_UNIFORM);
  store<u8>(dst, 0, COL_HAS_RAW);
}

/** The result's tags are in place; `same` as collected by the loop. */
// @ts-ignore: decorator
@inline export function setHeader(dst: usize, uniform: u8): void {
  store<u8>(dst, uniform, COL_UNIFORM);
  store<u8>(dst, 0, COL_HAS_RAW);
}

// @ts-ignore: decorator
@inline function put(dst: usize, row: u32): void {
  store<u8>(dst + row, outTag, COL_TAGS);
  store<u64>(dst + ((<usize>row) << 3), outVal, COL_VALS);
}

/** Collects the tags of a column: start with the first tag, merge each. */
// @ts-ignore: decorator
@inline function merge(uniform: u8, tag: u8): u8 {
  return uniform == tag ? tag : Tag.MIXED;
}

/** dst := f(a) for each selected row; an error stays itself. */
export function map1(op: Operation, f: (tag: u8, val: u64) => void): void {
  loop1(op, f, false);
}

/** As `map1` for a column whose values all have one tag, which is no error and no constant. */
export function mapUniform(op: Operation, f: (val: u64) => void): void {
  const dst = dstOf(op);
  const vals = valsOf(program, op.a);
  const sel = ctx.sel;
  const n = ctx.selLen;
  let uniform: u8 = Tag.MIXED;
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + (k << 2));
    f(load<u64>(vals + ((<usize>row) << 3)));
    put(dst, row);
    uniform = k == 0 ? outTag : merge(uniform, outTag);
  }
  setHeader(dst, uniform);
}

/** `gathers` and, below, `isStrict` are constants of each caller: inlined, so that the loops hold no test for them. */
// @ts-ignore: decorator
@inline function loop1(op: Operation, f: (tag: u8, val: u64) => void, gathers: bool): void {
  const dst = dstOf(op);
  const a = op.a;
  const vals = valsOf(program, a);
  const tags = tagsOf(program, a);
  const stride = strideOf(a);
  const sel = ctx.sel;
  const n = ctx.selLen;
  let uniform: u8 = Tag.MIXED;
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + (k << 2));
    const i = row * stride;
    const tag = load<u8>(tags + i);
    const val = load<u64>(vals + (i << 3));
    if (tag == Tag.ERROR) give(tag, val);
    else {
      if (gathers) gather(op, row);
      f(tag, val);
    }
    put(dst, row);
    uniform = k == 0 ? outTag : merge(uniform, outTag);
  }
  setHeader(dst, uniform);
}

/** dst := f(a, b) for each selected row; an error on the left or else on the right is the result. */
export function map2(op: Operation, f: (tagA: u8, a: u64, tagB: u8, b: u64) => void): void {
  loop2(op, f, true);
}

/** As `map2`, but `f` sees errors: for ops whose left side may decide alone. */
export function map2Raw(op: Operation, f: (tagA: u8, a: u64, tagB: u8, b: u64) => void): void {
  loop2(op, f, false);
}

// @ts-ignore: decorator
@inline function loop2(op: Operation, f: (tagA: u8, a: u64, tagB: u8, b: u64) => void, isStrict: bool): void {
  const a = op.a;
  const b = op.b;
  const aVals = valsOf(program, a);
  const aTags = tagsOf(program, a);
  const aStride = strideOf(a);
  const bVals = valsOf(program, b);
  const bTags = tagsOf(program, b);
  const bStride = strideOf(b);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  let uniform: u8 = Tag.MIXED;
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + (k << 2));
    const i = row * aStride;
    const j = row * bStride;
    const tagA = load<u8>(aTags + i);
    const tagB = load<u8>(bTags + j);
    const valA = load<u64>(aVals + (i << 3));
    const valB = load<u64>(bVals + (j << 3));
    if (isStrict && tagA == Tag.ERROR) give(tagA, valA);
    else if (isStrict && tagB == Tag.ERROR) give(tagB, valB);
    else f(tagA, valA, tagB, valB);
    put(dst, row);
    uniform = k == 0 ? outTag : merge(uniform, outTag);
  }
  setHeader(dst, uniform);
}

/**
 * dst := f(a, b, c) for each selected row; an error in `a` is the result, `f` sees those of b and c. NONE is MISSING.
 */
export function map3(op: Operation, f: (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64) => void): void {
  const a = op.a;
  const b = op.b;
  const c = op.c;
  const aVals = valsOf(program, a);
  const aTags = tagsOf(program, a);
  const aStride = strideOf(a);
  const bVals = valsOf(program, b);
  const bTags = tagsOf(program, b);
  const bStride = strideOf(b);
  const cVals = valsOf(program, c);
  const cTags = tagsOf(program, c);
  const cStride = strideOf(c);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  let uniform: u8 = Tag.MIXED;
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + (k << 2));
    const i = row * aStride;
    const j = row * bStride;
    const l = row * cStride;
    const tagA = load<u8>(aTags + i);
    const valA = load<u64>(aVals + (i << 3));
    if (tagA == Tag.ERROR) give(tagA, valA);
    else
      f(tagA, valA, load<u8>(bTags + j), load<u64>(bVals + (j << 3)), load<u8>(cTags + l), load<u64>(cVals + (l << 3)));
    put(dst, row);
    uniform = k == 0 ? outTag : merge(uniform, outTag);
  }
  setHeader(dst, uniform);
}

// ---- any number of arguments ---------------------------------------------------------------------------------
// The arguments of a row are gathered into slots, so that the function of the row reads them without knowing where
// they come from.

/** Arguments of the row, OPS_MAX_ARGS at most: slots of 16 bytes (payload, tag). */
export const argSlots: usize = memory.data(1024 * 16, 16);
export let argCount: u32 = 0;

// @ts-ignore: decorator
@inline export function argTag(i: u32): u8 {
  return load<u8>(argSlots + ((<usize>i) << 4), 8);
}

// @ts-ignore: decorator
@inline export function argVal(i: u32): u64 {
  return load<u64>(argSlots + ((<usize>i) << 4));
}

/** The argument is a constant of the program or NONE. */
// @ts-ignore: decorator
@inline export function argIsConst(i: u32): bool {
  return load<u8>(argSlots + ((<usize>i) << 4), 9) != 0;
}

/** Index of the first argument that is an error, or argCount. */
// @ts-ignore: decorator
@inline export function firstArgError(): u32 {
  let i: u32 = 0;
  while (i < argCount && argTag(i) != Tag.ERROR) i++;
  return i;
}

function gather(op: Operation, row: u32): void {
  const args = program.args + ((<usize>op.args) << 1);
  for (let i: u32 = 0; i < argCount; i++) {
    const operand = load<u16>(args + ((<usize>i) << 1));
    const at = row * strideOf(operand);
    const slot = argSlots + ((<usize>i) << 4);
    store<u64>(slot, load<u64>(valsOf(program, operand) + (at << 3)));
    store<u32>(slot, <u32>load<u8>(tagsOf(program, operand) + at) | ((<u32>isConst(operand)) << 8), 8);
  }
}

/** dst := f(args) for each selected row; `f` reads the slots and sees errors. */
export function mapArgs(op: Operation, f: () => void): void {
  loopArgs(op, f, false);
}

/** As `mapArgs` with operand a as well: `f(a)`, which leaves the slots as they are. An error in `a` is the result. */
export function mapA(op: Operation, f: (tag: u8, val: u64) => void): void {
  argCount = min(<u32>op.argCount, OPS_MAX_ARGS);
  if (!hasConstArgs(op)) {
    loop1(op, f, true);
    return;
  }
  gather(op, 0);
  loop1(op, f, false);
}

/** All arguments are the same for each row. */
function hasConstArgs(op: Operation): bool {
  const args = program.args + ((<usize>op.args) << 1);
  let i: u32 = 0;
  while (i < argCount && isConst(load<u16>(args + ((<usize>i) << 1)))) i++;
  return i == argCount;
}

/** As `mapArgs`; the first argument that is an error is the result. */
export function mapArgsStrict(op: Operation, f: () => void): void {
  loopArgs(op, f, true);
}

function loopArgs(op: Operation, f: () => void, isStrict: bool): void {
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  argCount = min(<u32>op.argCount, OPS_MAX_ARGS);
  let uniform: u8 = Tag.MIXED;
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + (k << 2));
    gather(op, row);
    const failed = isStrict ? firstArgError() : argCount;
    if (failed < argCount) give(Tag.ERROR, argVal(failed));
    else f();
    put(dst, row);
    uniform = k == 0 ? outTag : merge(uniform, outTag);
  }
  setHeader(dst, uniform);
}
