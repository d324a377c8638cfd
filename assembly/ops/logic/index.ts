// Truth: AND, OR, NOT, IS NULL, CASE, coalesce, the first value that is there.
import * as ctx from '../../batch/context';
import { COL_VALS, OPERAND_NONE, Tag, isNull, setAt } from '../../mem/layout';
import { operandError, valueError, wrapError } from '../../value/error';
import { isConst, program, strideOf, tagsOf, valsOf } from '../operand';
import {
  argCount,
  argTag,
  argVal,
  dstOf,
  give,
  giveBool,
  giveNull,
  isDense,
  map1,
  map2Raw,
  mapArgs,
  setHeader,
  setUniform,
  uniformOf,
} from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

/** Two columns of booleans. */
// @ts-ignore: decorator
@inline function dense(op: Operation, isAnd: bool): bool {
  const a = op.a;
  const b = op.b;
  if (!isDense() || isConst(a) || isConst(b)) return false;
  if (uniformOf(a) != Tag.BOOL || uniformOf(b) != Tag.BOOL) return false;
  const dst = dstOf(op);
  const to = dst + COL_VALS;
  const x = valsOf(program, a);
  const y = valsOf(program, b);
  const n = (<usize>((ctx.rows + 1) & ~1)) << 3;
  for (let i: usize = 0; i < n; i += 16) {
    const p = v128.load(x + i);
    const q = v128.load(y + i);
    v128.store(to + i, isAnd ? v128.and(p, q) : v128.or(p, q));
  }
  setUniform(dst, Tag.BOOL);
  return true;
}

// The left side decides alone where it can: what is wrong on the right then does not count. `decisive` is the value
// that decides (false for AND, true for OR).
function giveLogic(name: string, decisive: u64, tagA: u8, a: u64, tagB: u8, b: u64): void {
  if (tagA == Tag.ERROR) give(tagA, a);
  else if (tagA == Tag.BOOL && a == decisive) give(Tag.BOOL, a);
  else if (tagA >= Tag.ARRAY) give(Tag.ERROR, operandError(tagA, a, name, tagB, b));
  else if (tagB == Tag.ERROR) give(tagB, b);
  else if (isNull(tagA) || isNull(tagB)) giveBool(false);
  else if (tagA == Tag.BOOL && tagB == Tag.BOOL) give(Tag.BOOL, b);
  else give(Tag.ERROR, operandError(tagA, a, name, tagB, b));
}

export function logicAnd(op: Operation): void {
  if (dense(op, true)) return;
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveLogic('AND', 0, tagA, a, tagB, b));
}

export function logicOr(op: Operation): void {
  if (dense(op, false)) return;
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveLogic('OR', 1, tagA, a, tagB, b));
}

export function logicNot(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (tag == Tag.BOOL) give(tag, val ^ 1);
    else if (isNull(tag)) giveNull();
    else give(Tag.ERROR, valueError('NOT expects a boolean, but found ', tag, val));
  });
}

export function logicIsNull(op: Operation): void {
  map1(op, (tag: u8, _val: u64): void => giveBool(isNull(tag)));
}

export function logicIsNotNull(op: Operation): void {
  map1(op, (tag: u8, _val: u64): void => giveBool(!isNull(tag)));
}

// @ts-ignore: decorator
@inline function giveArg(i: u32): void {
  const tag = argTag(i);
  if (tag == Tag.MISSING) giveNull();
  else give(tag, argVal(i));
}

const MAX_CASE: u32 = 16;
/** Each argument: payloads u32 | tags u32 | rows from one to the next u32 | 0 u32. */
const CASE_ARGS: usize = memory.data(16 * 16, 16);

/** CASE whose conditions are columns of booleans; false when one is anything else. */
function denseCase(op: Operation): bool {
  const count = <u32>op.argCount;
  if (count > MAX_CASE) return false;
  const args = program.args + ((<usize>op.args) << 1);
  for (let i: u32 = 0; i < count; i++) {
    const operand = load<u16>(args + ((<usize>i) << 1));
    const isCondition = (i & 1) == 0 && i + 1 < count;
    if (operand == OPERAND_NONE || (isCondition && uniformOf(operand) != Tag.BOOL)) return false;
    const arg = CASE_ARGS + ((<usize>i) << 4);
    store<u32>(arg, <u32>valsOf(program, operand));
    store<u32>(arg, <u32>tagsOf(program, operand), 4);
    store<u32>(arg, strideOf(operand), 8);
  }
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  let uniform: u8 = Tag.MIXED;
  for (let k: u32 = 0; k < n; k++) {
    const row = load<u32>(sel + (k << 2));
    let i: u32 = 0;
    while (i + 1 < count && !caseVal(i, row)) i += 2;
    let tag: u8 = Tag.NULL;
    let val: u64 = 0;
    if (i < count) {
      const chosen = i + 1 < count ? i + 1 : i;
      tag = caseTag(chosen, row);
      val = caseVal(chosen, row);
      if (tag == Tag.MISSING) {
        tag = Tag.NULL;
        val = 0;
      }
    }
    setAt(dst, row, tag, val);
    uniform = k == 0 || uniform == tag ? tag : Tag.MIXED;
  }
  setHeader(dst, uniform);
  return true;
}

// @ts-ignore: decorator
@inline function caseVal(i: u32, row: u32): u64 {
  const arg = CASE_ARGS + ((<usize>i) << 4);
  return load<u64>(<usize>load<u32>(arg) + ((<usize>(row * load<u32>(arg, 8))) << 3));
}

// @ts-ignore: decorator
@inline function caseTag(i: u32, row: u32): u8 {
  const arg = CASE_ARGS + ((<usize>i) << 4);
  return load<u8>(<usize>load<u32>(arg, 4) + <usize>(row * load<u32>(arg, 8)));
}

export function logicCase(op: Operation): void {
  if (denseCase(op)) return;
  mapArgs(op, (): void => {
    let i: u32 = 0;
    while (i + 1 < argCount) {
      const tag = argTag(i);
      if (tag == Tag.ERROR) {
        give(tag, wrapError('evaluate case expression error: ', argVal(i)));
        return;
      }
      if (tag == Tag.BOOL && argVal(i) != 0) {
        giveArg(i + 1);
        return;
      }
      i += 2;
    }
    if (i < argCount) giveArg(i);
    else giveNull();
  });
}

export function logicCoalesce(op: Operation): void {
  mapArgs(op, (): void => {
    for (let i: u32 = 0; i < argCount; i++) {
      if (!isNull(argTag(i))) {
        giveArg(i);
        return;
      }
    }
    giveNull();
  });
}

export function logicPresent(op: Operation): void {
  mapArgs(op, (): void => {
    let i: u32 = 0;
    while (i < argCount && argTag(i) == Tag.MISSING) i++;
    if (i < argCount) give(argTag(i), argVal(i));
    else give(Tag.MISSING, 0);
  });
}

export function logicIfNotNull(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isNull(tag)) give(Tag.MISSING, 0);
    else give(tag, val);
  });
}

export function logicNullBeside(op: Operation): void {
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, _b: u64): void => {
    if (tagA == Tag.MISSING && !isNull(tagB)) giveNull();
    else give(tagA, a);
  });
}
