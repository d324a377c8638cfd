// Sliding windows without keys whose aggregates are counts, sums, averages and extremes of numbers: a batch is taken in
// column by column, and all windows that it triggers are sent as one batch in which each row is a message of its own.
//
// It is the same two stacks as in window/stacks/stacks.ts, with the same order of adding, in vectors of numbers instead
// of groups: the front of a vector is a list of numbers, each joined with all younger ones; the back is one number.
// Rows of which a value is none of the numbers that the vector has had so far are left to the stacks, to which the
// vectors hand over what they hold; and what is saved are the stacks.
//
//   vectors   0   isActive u32 | vectors u32 | values u32 (f64 or i64 [capacity] for each vector) | capacity u32
//           16  from u32 | count u32             rows `from` to `count` of the front are in the window
//           24  taken u32 | again u32            as in window/stacks/stacks.ts
//           32  passed u32 | 0 u32               rows since the stacks took over
//   vector    op u32 | tag u32 | input u32 (NO_INPUT: rows are counted) | column u32 of the kept rows | back u64
import * as ctx from '../../batch/context';
import { accountOf } from '../../node/node';
import { Agg } from '../../gen/aggregates';
import { alloc, allocZeroed, free } from '../../mem/alloc';
import { bindIsConst } from '../../mem/bind';
import { Tag } from '../../mem/layout';
import { isConst } from '../../ops/operand';
import {
  AGG_A,
  AGG_FILTER,
  AGG_FN,
  AGG_SIZE_OF,
  AGG_STATE,
  NO_INPUT,
  WINDOW_AGGS,
  WINDOW_KEEPS,
  WINDOW_KEYS,
  WINDOW_STEP,
  WINDOW_TAGS_AT,
  WINDOW_TRIGGER,
  WINDOW_WHERE,
  WindowFlag,
  aggsAt,
  bindOf,
  bindUniform,
  hasFlag,
  inputOperand,
} from '../../agg/group/spec';
import { averageCount, averageSetInts } from '../../agg/functions/avg';
import { SET_FIRST } from '../../agg/group/table';
import { ROWS_COUNT } from '../../rows/layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_TO, pageUniforms, pageVals } from '../../rows/page';
import { rowsFirst } from '../../rows/store';
import { frontCount, frontGroup } from './front';
import { keptColumns } from '../content/kept';
import { stacksAgain, stacksClear, stacksFailed, stacksFill, stacksTaken } from './stacks';
import { W_VECTORS, W_ROWS, W_SET, W_STACKS } from '../content/state';

export const ACTIVE: usize = 0;
export const VECTORS: usize = 4;
const VALUES: usize = 8;
const CAPACITY: usize = 12;
export const FROM: usize = 16;
export const COUNT: usize = 20;
export const TAKEN: usize = 24;
export const AGAIN: usize = 28;
export const PASSED: usize = 32;
const HEAD: u32 = 40;

export const VECTOR_TAG: usize = 4;
export const VECTOR_INPUT: usize = 8;
export const VECTOR_COLUMN: usize = 12;
export const VECTOR_BACK: usize = 16;
const VECTOR_SIZE: u32 = 24;

/** No place of the front. */
export const NONE: u32 = 0xffffffff;
/** Integers below this, and not below its negative, are small. */
const SMALL: u64 = 1 << 31;
/** An empty front keeps room for so many rows. */
const KEPT_ROWS: u32 = 1024;

// @ts-ignore: decorator
@inline export function vectorAt(vectors: usize, i: u32): usize {
  return vectors + HEAD + <usize>(i * VECTOR_SIZE);
}

// @ts-ignore: decorator
@inline export function valuesOf(vectors: usize, i: u32): usize {
  return <usize>load<u32>(vectors, VALUES) + ((<usize>(i * load<u32>(vectors, CAPACITY))) << 3);
}

/** Makes vectors for a window that they serve, if it is one: each row sends it. False when memory is exhausted. */
export function vectorsOpen(node: usize, spec: usize, state: usize): bool {
  if (
    !hasFlag(spec, WindowFlag.STACKS) ||
    load<u32>(spec, WINDOW_KEYS) ||
    load<u16>(spec, WINDOW_WHERE) != NO_INPUT ||
    load<u16>(spec, WINDOW_TRIGGER) != NO_INPUT
  )
    return true;
  if (load<f64>(spec, WINDOW_STEP) > 0) return true;
  const count = load<u32>(spec, WINDOW_AGGS);
  const vectors = allocZeroed(HEAD + count * VECTOR_SIZE, accountOf(node));
  if (!vectors) return false;
  store<u32>(vectors, count, VECTORS);
  store<u32>(state, <u32>vectors, W_VECTORS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    if (!vectorOpen(spec, vectorAt(vectors, i), agg)) {
      vectorsFree(node, state);
      return true;
    }
  }
  return true;
}

/** False for an aggregate that has no vector. */
function vectorOpen(spec: usize, vector: usize, agg: usize): bool {
  const fn = <u32>load<u16>(agg, AGG_FN);
  const input = load<u16>(agg, AGG_A);
  if (load<u16>(agg, AGG_FILTER) != NO_INPUT) return false;
  store<u32>(vector, fn);
  store<u32>(vector, input, VECTOR_INPUT);
  if (fn == Agg.COUNT_ALL) return true;
  if (fn != Agg.COUNT && fn != Agg.SUM && fn != Agg.AVG && fn != Agg.MIN && fn != Agg.MAX) return false;
  if (input == NO_INPUT || isConst(inputOperand(spec, input))) return false;
  let column: u32 = 0;
  for (let i: u32 = 0; i < input; i++) column += <u32>!isConst(inputOperand(spec, i));
  store<u32>(vector, column, VECTOR_COLUMN);
  return true;
}

export function vectorsFree(node: usize, state: usize): void {
  const vectors = <usize>load<u32>(state, W_VECTORS);
  if (!vectors) return;
  freeValues(vectors, accountOf(node));
  free(vectors, HEAD + load<u32>(vectors, VECTORS) * VECTOR_SIZE, accountOf(node));
  store<u32>(state, 0, W_VECTORS);
}

function freeValues(vectors: usize, acct: usize): void {
  free(<usize>load<u32>(vectors, VALUES), load<u32>(vectors, VECTORS) * load<u32>(vectors, CAPACITY) * 8, acct);
  store<u32>(vectors, 0, VALUES);
  store<u32>(vectors, 0, CAPACITY);
}

/** Makes room for the front; what it holds is lost. False when memory is exhausted. */
export function reserve(vectors: usize, n: u32, acct: usize): bool {
  const capacity = load<u32>(vectors, CAPACITY);
  if (n <= capacity && (capacity <= KEPT_ROWS || n > capacity >> 2)) return true;
  freeValues(vectors, acct);
  const wanted = (n + (n >> 2) + 15) & ~15;
  const bytes = <u64>load<u32>(vectors, VECTORS) * wanted * 8;
  const values = bytes < 0x7fffffff ? alloc(<u32>bytes, acct) : 0;
  if (!values) return false;
  store<u32>(vectors, <u32>values, VALUES);
  store<u32>(vectors, wanted, CAPACITY);
  return true;
}

/** The vector counts rows: it needs no values. */
// @ts-ignore: decorator
@inline export function isCount(vector: usize): bool {
  return load<u32>(vector) <= Agg.COUNT_ALL;
}

/** True when a vector can take values that all have the tag. */
// @ts-ignore: decorator
@inline function suits(vector: usize, uniform: u8): bool {
  if (isCount(vector)) return uniform > Tag.NULL && uniform != Tag.MIXED && uniform != Tag.ERROR;
  return uniform == Tag.F64 || uniform == Tag.I64;
}

/** The vector averages integers, whose sum must not need more than 64 bits. */
// @ts-ignore: decorator
@inline function sumsIntegers(vector: usize, uniform: u8): bool {
  return load<u32>(vector) == Agg.AVG && uniform == Tag.I64;
}

/** All of the integers `sel[0 … n)` are so small that no window has enough of them for a sum of more than 64 bits. */
function areSmall(vals: usize, sel: usize, n: u32): bool {
  let isSmall = true;
  for (let i: u32 = 0; i < n; i++) {
    const value = load<u64>(vals + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3));
    isSmall = isSmall && value + SMALL < SMALL << 1;
  }
  return isSmall;
}

/** True when all vectors can take the bound rows; `isGoingOn`: beside what they hold. */
export function fits(vectors: usize, isGoingOn: bool): bool {
  const count = load<u32>(vectors, VECTORS);
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(vectors, i);
    if (load<u32>(vector) == Agg.COUNT_ALL) continue;
    const bind = bindOf(load<u32>(vector, VECTOR_INPUT));
    const uniform = bindUniform(bind);
    if (bindIsConst(bind) || !suits(vector, uniform)) return false;
    if (sumsIntegers(vector, uniform) && !areSmall(<usize>load<u32>(bind), ctx.sel, ctx.selLen)) return false;
    if (isGoingOn && !isCount(vector) && load<u32>(vector, VECTOR_TAG) != uniform) return false;
  }
  return true;
}

/** Begins to work with rows that are bound. False when the stacks must go on. */
export function enter(node: usize, spec: usize, state: usize, vectors: usize): bool {
  if (!fits(vectors, false)) return false;
  const count = load<u32>(vectors, VECTORS);
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(vectors, i);
    if (!isCount(vector)) store<u32>(vector, bindUniform(bindOf(load<u32>(vector, VECTOR_INPUT))), VECTOR_TAG);
  }
  store<u32>(vectors, 0, FROM);
  store<u32>(vectors, 0, COUNT);
  store<u32>(vectors, 0, TAKEN);
  store<u32>(vectors, 0, AGAIN);
  const rows = load<u32>(state + W_ROWS, ROWS_COUNT);
  if (rows && !takeOver(node, spec, state, vectors, rows)) return false;
  stacksClear(state, accountOf(node));
  store<u32>(vectors, 1, ACTIVE);
  return true;
}

/** Takes what the stacks hold of so many kept rows; false when that does not suit. */
function takeOver(node: usize, spec: usize, state: usize, vectors: usize, rows: u32): bool {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const inFront = frontCount(stacks);
  const taken = stacksTaken(stacks);
  if (stacksFailed(stacks) || inFront + taken != rows || !keptFit(spec, state, vectors)) return false;
  if (!reserve(vectors, inFront, accountOf(node))) return false;
  for (let i: u32 = 0; i < inFront; i++) {
    if (!readGroup(spec, vectors, frontGroup(stacks, i), i)) return false;
  }
  if (taken && !readGroup(spec, vectors, <usize>load<u32>(state + W_SET, SET_FIRST), NONE)) return false;
  store<u32>(vectors, inFront, COUNT);
  store<u32>(vectors, taken, TAKEN);
  store<u32>(vectors, <u32>stacksAgain(stacks), AGAIN);
  return true;
}

/** True when all kept rows have values that suit the vectors. */
function keptFit(spec: usize, state: usize, vectors: usize): bool {
  const count = load<u32>(vectors, VECTORS);
  const columns = keptColumns(spec);
  for (let page = rowsFirst(state + W_ROWS); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    const uniforms = pageUniforms(page, columns);
    for (let i: u32 = 0; i < count; i++) {
      const vector = vectorAt(vectors, i);
      if (load<u32>(vector) == Agg.COUNT_ALL) continue;
      const uniform = load<u8>(uniforms + load<u32>(vector, VECTOR_COLUMN));
      if (!suits(vector, uniform) || (!isCount(vector) && uniform != <u8>load<u32>(vector, VECTOR_TAG))) return false;
      if (sumsIntegers(vector, uniform) && !arePageSmall(page, load<u32>(vector, VECTOR_COLUMN))) return false;
    }
  }
  return true;
}

/** As `areSmall` of a column of kept rows. */
function arePageSmall(page: usize, column: u32): bool {
  const vals = pageVals(page, column);
  for (let i = load<u32>(page, PAGE_LEFT); i < load<u32>(page, PAGE_TO); i++) {
    if (load<u64>(vals + ((<usize>i) << 3)) + SMALL >= SMALL << 1) return false;
  }
  return true;
}

/** Reads the states of a group as row `at` of the front, or (NONE) as the back. */
function readGroup(spec: usize, vectors: usize, group: usize, at: u32): bool {
  if (!group) return false;
  const count = load<u32>(vectors, VECTORS);
  const tagsAt = load<u32>(spec, WINDOW_TAGS_AT) + load<u32>(spec, WINDOW_KEEPS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    const vector = vectorAt(vectors, i);
    if (isCount(vector)) continue;
    if (load<u8>(group + tagsAt + i) != <u8>load<u32>(vector, VECTOR_TAG)) return false;
    const value = load<u64>(group + load<u32>(agg, AGG_STATE));
    store<u64>(at == NONE ? vector + VECTOR_BACK : valuesOf(vectors, i) + ((<usize>at) << 3), value);
  }
  return true;
}

/**
 * Hands what the vectors hold to the stacks, if they are at work: the stacks make their groups of the kept rows, and
 * get the sums as they were added here. False when memory is exhausted; the stacks then begin anew with the kept rows.
 */
export function vectorsLeave(node: usize, spec: usize, state: usize): bool {
  const vectors = <usize>load<u32>(state, W_VECTORS);
  if (!vectors || !load<u32>(vectors, ACTIVE)) return true;
  store<u32>(vectors, 0, ACTIVE);
  store<u32>(vectors, 0, PASSED);
  const from = load<u32>(vectors, FROM);
  const inFront = load<u32>(vectors, COUNT) - from;
  const taken = load<u32>(vectors, TAKEN);
  if (!stacksFill(node, spec, state, inFront, taken, load<u32>(vectors, AGAIN) != 0)) return false;
  const stacks = <usize>load<u32>(state, W_STACKS);
  for (let i: u32 = 0; i < inFront; i++) writeGroup(spec, vectors, frontGroup(stacks, i), from + i);
  if (taken) writeGroup(spec, vectors, <usize>load<u32>(state + W_SET, SET_FIRST), NONE);
  return true;
}

function writeGroup(spec: usize, vectors: usize, group: usize, at: u32): void {
  const count = load<u32>(vectors, VECTORS);
  const inWindow = load<u32>(vectors, COUNT) - at;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    const vector = vectorAt(vectors, i);
    const to = group + load<u32>(agg, AGG_STATE);
    const isInt = load<u32>(vector, VECTOR_TAG) == Tag.I64;
    if (isCount(vector)) {
      if (at != NONE) store<u64>(to, inWindow);
      continue;
    }
    const value = at == NONE ? load<u64>(vector, VECTOR_BACK) : load<u64>(valuesOf(vectors, i) + ((<usize>at) << 3));
    if (load<u32>(vector) != Agg.AVG) store<u64>(to, value);
    else if (isInt) {
      averageSetInts(to, value, <i64>value >> 63, at == NONE ? <u32>averageCount(to, Tag.I64) : inWindow);
    } else {
      store<u64>(to, value);
      if (at != NONE) store<u64>(to, inWindow, 8);
    }
  }
}
