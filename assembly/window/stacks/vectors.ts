// Sliding windows without keys whose aggregates are counts, sums, averages and extremes of numbers: a batch is taken in
// column by column, and all windows that it triggers are sent as one batch in which each row is a message of its own.
//
// It is the same two stacks as in window/stacks/stacks.ts, with the same order of adding, in columns (lanes) instead of
// groups: the front of a lane is a list of numbers, each joined with all younger ones; the back is one number. Rows of
// which a value is none of the numbers that the lane has had so far are left to the stacks, to which the lanes hand
// over what they hold; and what is saved are the stacks.
//
//   lanes   0   isActive u32 | lanes u32 | values u32 (f64 or i64 [capacity] for each lane) | capacity u32
//           16  from u32 | count u32             rows `from` to `count` of the front are in the window
//           24  taken u32 | again u32            as in window/stacks/stacks.ts
//           32  passed u32 | 0 u32               rows since the stacks took over
//   lane    op u32 | tag u32 | input u32 (NO_INPUT: rows are counted) | column u32 of the kept rows | back u64
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
} from '../../agg/spec';
import { averageCount, averageSetInts } from '../../agg/functions/avg';
import { SET_FIRST } from '../../agg/group-table';
import { ROWS_COUNT } from '../../rows/layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_TO, pageUniforms, pageVals } from '../../rows/page';
import { rowsFirst } from '../../rows/store';
import { frontCount, frontGroup } from './front';
import { keptColumns } from '../content/kept';
import { stacksAgain, stacksClear, stacksFailed, stacksFill, stacksTaken } from './stacks';
import { W_LANES, W_ROWS, W_SET, W_STACKS } from '../content/state';

export const ACTIVE: usize = 0;
export const LANES: usize = 4;
const VALUES: usize = 8;
const CAPACITY: usize = 12;
export const FROM: usize = 16;
export const COUNT: usize = 20;
export const TAKEN: usize = 24;
export const AGAIN: usize = 28;
export const PASSED: usize = 32;
const HEAD: u32 = 40;

export const LANE_TAG: usize = 4;
export const LANE_INPUT: usize = 8;
export const LANE_COLUMN: usize = 12;
export const LANE_BACK: usize = 16;
const LANE_SIZE: u32 = 24;

/** No place of the front. */
export const NONE: u32 = 0xffffffff;
/** Integers below this, and not below its negative, are small. */
const SMALL: u64 = 1 << 31;
/** An empty front keeps room for so many rows. */
const KEPT_ROWS: u32 = 1024;

// @ts-ignore: decorator
@inline export function laneAt(lanes: usize, i: u32): usize {
  return lanes + HEAD + <usize>(i * LANE_SIZE);
}

// @ts-ignore: decorator
@inline export function valuesOf(lanes: usize, i: u32): usize {
  return <usize>load<u32>(lanes, VALUES) + ((<usize>(i * load<u32>(lanes, CAPACITY))) << 3);
}

/** Makes lanes for a window that they serve, if it is one: each row sends it. False when memory is exhausted. */
export function lanesOpen(node: usize, spec: usize, state: usize): bool {
  if (
    !hasFlag(spec, WindowFlag.STACKS) ||
    load<u32>(spec, WINDOW_KEYS) ||
    load<u16>(spec, WINDOW_WHERE) != NO_INPUT ||
    load<u16>(spec, WINDOW_TRIGGER) != NO_INPUT
  )
    return true;
  if (load<f64>(spec, WINDOW_STEP) > 0) return true;
  const count = load<u32>(spec, WINDOW_AGGS);
  const lanes = allocZeroed(HEAD + count * LANE_SIZE, accountOf(node));
  if (!lanes) return false;
  store<u32>(lanes, count, LANES);
  store<u32>(state, <u32>lanes, W_LANES);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    if (!laneOpen(spec, laneAt(lanes, i), agg)) {
      lanesFree(node, state);
      return true;
    }
  }
  return true;
}

/** False for an aggregate that has no lane. */
function laneOpen(spec: usize, lane: usize, agg: usize): bool {
  const fn = <u32>load<u16>(agg, AGG_FN);
  const input = load<u16>(agg, AGG_A);
  if (load<u16>(agg, AGG_FILTER) != NO_INPUT) return false;
  store<u32>(lane, fn);
  store<u32>(lane, input, LANE_INPUT);
  if (fn == Agg.COUNT_ALL) return true;
  if (fn != Agg.COUNT && fn != Agg.SUM && fn != Agg.AVG && fn != Agg.MIN && fn != Agg.MAX) return false;
  if (input == NO_INPUT || isConst(inputOperand(spec, input))) return false;
  let column: u32 = 0;
  for (let i: u32 = 0; i < input; i++) column += <u32>!isConst(inputOperand(spec, i));
  store<u32>(lane, column, LANE_COLUMN);
  return true;
}

export function lanesFree(node: usize, state: usize): void {
  const lanes = <usize>load<u32>(state, W_LANES);
  if (!lanes) return;
  freeValues(lanes, accountOf(node));
  free(lanes, HEAD + load<u32>(lanes, LANES) * LANE_SIZE, accountOf(node));
  store<u32>(state, 0, W_LANES);
}

function freeValues(lanes: usize, acct: usize): void {
  free(<usize>load<u32>(lanes, VALUES), load<u32>(lanes, LANES) * load<u32>(lanes, CAPACITY) * 8, acct);
  store<u32>(lanes, 0, VALUES);
  store<u32>(lanes, 0, CAPACITY);
}

/** Makes room for the front; what it holds is lost. False when memory is exhausted. */
export function reserve(lanes: usize, n: u32, acct: usize): bool {
  const capacity = load<u32>(lanes, CAPACITY);
  if (n <= capacity && (capacity <= KEPT_ROWS || n > capacity >> 2)) return true;
  freeValues(lanes, acct);
  const wanted = (n + (n >> 2) + 15) & ~15;
  const bytes = <u64>load<u32>(lanes, LANES) * wanted * 8;
  const values = bytes < 0x7fffffff ? alloc(<u32>bytes, acct) : 0;
  if (!values) return false;
  store<u32>(lanes, <u32>values, VALUES);
  store<u32>(lanes, wanted, CAPACITY);
  return true;
}

/** The lane counts rows: it needs no values. */
// @ts-ignore: decorator
@inline export function isCount(lane: usize): bool {
  return load<u32>(lane) <= Agg.COUNT_ALL;
}

/** True when a lane can take values that all have the tag. */
// @ts-ignore: decorator
@inline function suits(lane: usize, uniform: u8): bool {
  if (isCount(lane)) return uniform > Tag.NULL && uniform != Tag.MIXED && uniform != Tag.ERROR;
  return uniform == Tag.F64 || uniform == Tag.I64;
}

/** The lane averages integers, whose sum must not need more than 64 bits. */
// @ts-ignore: decorator
@inline function sumsIntegers(lane: usize, uniform: u8): bool {
  return load<u32>(lane) == Agg.AVG && uniform == Tag.I64;
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

/** True when all lanes can take the bound rows; `isGoingOn`: beside what they hold. */
export function fits(lanes: usize, isGoingOn: bool): bool {
  const count = load<u32>(lanes, LANES);
  for (let i: u32 = 0; i < count; i++) {
    const lane = laneAt(lanes, i);
    if (load<u32>(lane) == Agg.COUNT_ALL) continue;
    const bind = bindOf(load<u32>(lane, LANE_INPUT));
    const uniform = bindUniform(bind);
    if (bindIsConst(bind) || !suits(lane, uniform)) return false;
    if (sumsIntegers(lane, uniform) && !areSmall(<usize>load<u32>(bind), ctx.sel, ctx.selLen)) return false;
    if (isGoingOn && !isCount(lane) && load<u32>(lane, LANE_TAG) != uniform) return false;
  }
  return true;
}

/** Begins to work with rows that are bound. False when the stacks must go on. */
export function enter(node: usize, spec: usize, state: usize, lanes: usize): bool {
  if (!fits(lanes, false)) return false;
  const count = load<u32>(lanes, LANES);
  for (let i: u32 = 0; i < count; i++) {
    const lane = laneAt(lanes, i);
    if (!isCount(lane)) store<u32>(lane, bindUniform(bindOf(load<u32>(lane, LANE_INPUT))), LANE_TAG);
  }
  store<u32>(lanes, 0, FROM);
  store<u32>(lanes, 0, COUNT);
  store<u32>(lanes, 0, TAKEN);
  store<u32>(lanes, 0, AGAIN);
  const rows = load<u32>(state + W_ROWS, ROWS_COUNT);
  if (rows && !takeOver(node, spec, state, lanes, rows)) return false;
  stacksClear(state, accountOf(node));
  store<u32>(lanes, 1, ACTIVE);
  return true;
}

/** Takes what the stacks hold of so many kept rows; false when that does not suit. */
function takeOver(node: usize, spec: usize, state: usize, lanes: usize, rows: u32): bool {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const inFront = frontCount(stacks);
  const taken = stacksTaken(stacks);
  if (stacksFailed(stacks) || inFront + taken != rows || !keptFit(spec, state, lanes)) return false;
  if (!reserve(lanes, inFront, accountOf(node))) return false;
  for (let i: u32 = 0; i < inFront; i++) {
    if (!readGroup(spec, lanes, frontGroup(stacks, i), i)) return false;
  }
  if (taken && !readGroup(spec, lanes, <usize>load<u32>(state + W_SET, SET_FIRST), NONE)) return false;
  store<u32>(lanes, inFront, COUNT);
  store<u32>(lanes, taken, TAKEN);
  store<u32>(lanes, <u32>stacksAgain(stacks), AGAIN);
  return true;
}

/** True when all kept rows have values that suit the lanes. */
function keptFit(spec: usize, state: usize, lanes: usize): bool {
  const count = load<u32>(lanes, LANES);
  const columns = keptColumns(spec);
  for (let page = rowsFirst(state + W_ROWS); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    const uniforms = pageUniforms(page, columns);
    for (let i: u32 = 0; i < count; i++) {
      const lane = laneAt(lanes, i);
      if (load<u32>(lane) == Agg.COUNT_ALL) continue;
      const uniform = load<u8>(uniforms + load<u32>(lane, LANE_COLUMN));
      if (!suits(lane, uniform) || (!isCount(lane) && uniform != <u8>load<u32>(lane, LANE_TAG))) return false;
      if (sumsIntegers(lane, uniform) && !arePageSmall(page, load<u32>(lane, LANE_COLUMN))) return false;
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
function readGroup(spec: usize, lanes: usize, group: usize, at: u32): bool {
  if (!group) return false;
  const count = load<u32>(lanes, LANES);
  const tagsAt = load<u32>(spec, WINDOW_TAGS_AT) + load<u32>(spec, WINDOW_KEEPS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    const lane = laneAt(lanes, i);
    if (isCount(lane)) continue;
    if (load<u8>(group + tagsAt + i) != <u8>load<u32>(lane, LANE_TAG)) return false;
    const value = load<u64>(group + load<u32>(agg, AGG_STATE));
    store<u64>(at == NONE ? lane + LANE_BACK : valuesOf(lanes, i) + ((<usize>at) << 3), value);
  }
  return true;
}

/**
 * Hands what the lanes hold to the stacks, if they are at work: the stacks make their groups of the kept rows, and get
 * the sums as they were added here. False when memory is exhausted; the stacks then begin anew with the kept rows.
 */
export function lanesLeave(node: usize, spec: usize, state: usize): bool {
  const lanes = <usize>load<u32>(state, W_LANES);
  if (!lanes || !load<u32>(lanes, ACTIVE)) return true;
  store<u32>(lanes, 0, ACTIVE);
  store<u32>(lanes, 0, PASSED);
  const from = load<u32>(lanes, FROM);
  const inFront = load<u32>(lanes, COUNT) - from;
  const taken = load<u32>(lanes, TAKEN);
  if (!stacksFill(node, spec, state, inFront, taken, load<u32>(lanes, AGAIN) != 0)) return false;
  const stacks = <usize>load<u32>(state, W_STACKS);
  for (let i: u32 = 0; i < inFront; i++) writeGroup(spec, lanes, frontGroup(stacks, i), from + i);
  if (taken) writeGroup(spec, lanes, <usize>load<u32>(state + W_SET, SET_FIRST), NONE);
  return true;
}

function writeGroup(spec: usize, lanes: usize, group: usize, at: u32): void {
  const count = load<u32>(lanes, LANES);
  const inWindow = load<u32>(lanes, COUNT) - at;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF) {
    const lane = laneAt(lanes, i);
    const to = group + load<u32>(agg, AGG_STATE);
    const isInt = load<u32>(lane, LANE_TAG) == Tag.I64;
    if (isCount(lane)) {
      if (at != NONE) store<u64>(to, inWindow);
      continue;
    }
    const value = at == NONE ? load<u64>(lane, LANE_BACK) : load<u64>(valuesOf(lanes, i) + ((<usize>at) << 3));
    if (load<u32>(lane) != Agg.AVG) store<u64>(to, value);
    else if (isInt) {
      averageSetInts(to, value, <i64>value >> 63, at == NONE ? <u32>averageCount(to, Tag.I64) : inWindow);
    } else {
      store<u64>(to, value);
      if (at != NONE) store<u64>(to, inWindow, 8);
    }
  }
}
