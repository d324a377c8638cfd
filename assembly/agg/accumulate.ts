// Takes rows into the aggregate states of their groups, one aggregate after the other over the whole batch.
//
// The forms of the states stand in aggregates.json. The tag byte of an aggregate is MISSING until a value was seen, so a
// group starts as zeros. A value that it cannot take makes it ERROR for good, with the reason in the place of its state:
// other aggregates and groups go on.
import * as ctx from '../flow/context';
import { Agg, functionName } from '../gen/aggregates';
import { BATCH_ROWS, SLOT_SIZE, Tag, lenOf, offOf } from '../mem/layout';
import { refusals } from '../mem/alloc';
import { copyValue, poolAlloc } from '../mem/pool';
import { compareValues, Cmp } from '../value/compare';
import {
  AGG_SIZE, G_A, G_B, G_C, G_FILTER, G_FN, G_STATE, NO_INPUT, S_AGGS, S_KEEPS, S_TAGS_AT,
  aggsAt, bindOf, bindTag, bindUniform, bindVal, isTrue,
} from './spec';
import { SET_ROWS, SET_VALUES, assignGroups, keepReason, separateGroups, setLose } from './group';
import { listPush } from './list';
import { tooLong, valueLength, valueLimit } from '../ops/result';
import { kindError } from './error';

const GROUPS: usize = memory.data(4 * 1024, 16);
const FILTERED_GROUPS: usize = memory.data(4 * 1024, 16);
const FILTERED_ROWS: usize = memory.data(4 * 1024, 16);

/** Room for the copied text of a value: twice its length, so that values which grow slowly are seldom copied anew. */
// @ts-ignore: decorator
@inline function roomFor(len: u32): u32 {
  return ((len << 1) + 15) & ~15;
}

/** Stores a value at `state`; text goes into the room that the state has, or into new room. */
export function storeValue(pool: usize, state: usize, tag: u8, payload: u64): void {
  if (tag == Tag.STR || tag == Tag.BYTES) {
    const len = lenOf(payload);
    // Without room the state holds no place but another kind of value.
    const had = load<u32>(state, 8);
    let to = offOf(load<u64>(state));
    if (!had || had < len) {
      const room = roomFor(len);
      to = poolAlloc(pool, room);
      store<u32>(state, to ? room : 0, 8);
    }
    if (to) memory.copy(to, offOf(payload), len);
    store<u64>(state, to ? <u64>to | (<u64>len << 32) : 0);
    return;
  }
  store<u32>(state, 0, 8);
  store<u64>(state, copyValue(pool, tag, payload));
}

/** Makes the aggregate fail with the error that the payload is. */
function failAggregate(set: usize, state: usize, tagAt: usize, payload: u64): void {
  store<u64>(state, keepReason(set, payload));
  store<u8>(tagAt, Tag.ERROR);
}

/** Adds a number to a sum; anything else makes the aggregate fail. */
export function addToSum(set: usize, fn: u32, state: usize, tagAt: usize, tag: u8, payload: u64): void {
  const have = load<u8>(tagAt);
  if (have == Tag.ERROR) return;
  if (tag == Tag.I64) {
    if (have == Tag.MISSING) {
      store<u64>(state, payload);
      store<u8>(tagAt, Tag.I64);
    } else if (have == Tag.I64) store<u64>(state, load<u64>(state) + payload);
    else store<f64>(state, load<f64>(state) + <f64>(<i64>payload));
    return;
  }
  if (tag == Tag.F64) {
    if (have == Tag.MISSING) store<u64>(state, payload);
    else if (have == Tag.I64) store<f64>(state, <f64>load<i64>(state) + reinterpret<f64>(payload));
    else store<f64>(state, load<f64>(state) + reinterpret<f64>(payload));
    store<u8>(tagAt, Tag.F64);
    return;
  }
  failAggregate(set, state, tagAt, kindError(fn, have, tag, payload));
}

/** Keeps the smaller (or larger) of the state's value and this one. */
export function takeExtreme(set: usize, fn: u32, state: usize, tagAt: usize, tag: u8, payload: u64): void {
  const have = load<u8>(tagAt);
  if (have == Tag.ERROR) return;
  if (tag != Tag.I64 && tag != Tag.F64 && tag != Tag.STR && tag != Tag.TIME) {
    failAggregate(set, state, tagAt, kindError(fn, have, tag, payload));
    return;
  }
  if (have != Tag.MISSING) {
    // Times compare with times only; texts with texts.
    const order = (have == Tag.TIME) == (tag == Tag.TIME) ? compareValues(tag, payload, have, load<u64>(state)) : Cmp.MISMATCH;
    if (order == Cmp.MISMATCH) {
      failAggregate(set, state, tagAt, kindError(fn, have, tag, payload));
      return;
    }
    if (fn == Agg.MIN ? order != -1 : order != 1) return;
  }
  storeValue(set + SET_VALUES, state, tag, payload);
  store<u8>(tagAt, tag);
}

/**
 * Takes the rows `sel[0 … n)` of the bound inputs into the set. Returns false when memory is exhausted: the set has lost
 * its content then, so that its memory serves others and no message is sent that leaves values out. A value that fails
 * makes its aggregate fail.
 */
export function accumulate(spec: usize, set: usize, sel: usize, n: u32): bool {
  let done: u32 = 0;
  while (done < n) {
    const part = min(n - done, BATCH_ROWS);
    if (!accumulatePart(spec, set, sel + (<usize>done << 2), part)) {
      setLose(set);
      return false;
    }
    done += part;
  }
  return true;
}

function accumulatePart(spec: usize, set: usize, sel: usize, n: u32): bool {
  ctx.addWork(n);
  const before = refusals;
  if (!assignGroups(spec, set, sel, n, GROUPS)) return false;
  takeRows(spec, set, sel, n);
  return refusals == before;
}

/** As `accumulate` for at most BATCH_ROWS rows, each of which becomes a group of its own. */
export function accumulateSeparately(spec: usize, set: usize, sel: usize, n: u32): bool {
  const before = refusals;
  if (!separateGroups(spec, set, sel, n, GROUPS)) return false;
  takeRows(spec, set, sel, n);
  return refusals == before;
}

function takeRows(spec: usize, set: usize, sel: usize, n: u32): void {
  store<u32>(set, load<u32>(set, SET_ROWS) + n, SET_ROWS);
  const count = load<u32>(spec, S_AGGS);
  let tagAt = load<u32>(spec, S_TAGS_AT) + load<u32>(spec, S_KEEPS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE, tagAt++) {
    const filter = load<u16>(agg, G_FILTER);
    if (filter == NO_INPUT) {
      step(set, agg, tagAt, sel, GROUPS, n);
      continue;
    }
    const kept = keepFiltered(set, bindOf(filter), load<u32>(agg, G_STATE), tagAt, sel, n);
    step(set, agg, tagAt, FILTERED_ROWS, FILTERED_GROUPS, kept);
  }
}

function keepFiltered(set: usize, filter: usize, at: u32, tagAt: u32, sel: usize, n: u32): u32 {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + (<usize>i << 2));
    const tag = bindTag(filter, row);
    const payload = bindVal(filter, row);
    const group = <usize>load<u32>(GROUPS + (<usize>i << 2));
    if (tag == Tag.ERROR && load<u8>(group + tagAt) != Tag.ERROR) failAggregate(set, group + at, group + tagAt, payload);
    if (!isTrue(tag, payload)) continue;
    store<u32>(FILTERED_ROWS + (<usize>kept << 2), row);
    store<u32>(FILTERED_GROUPS + (<usize>kept << 2), <u32>group);
    kept++;
  }
  return kept;
}

function step(set: usize, agg: usize, tagAt: u32, sel: usize, groups: usize, n: u32): void {
  const fn = <u32>load<u16>(agg, G_FN);
  const at = load<u32>(agg, G_STATE);
  if (fn == Agg.COUNT_ALL) {
    countRows(at, groups, n);
    return;
  }
  const bind = bindOf(load<u16>(agg, G_A));
  const uniform = bindUniform(bind);
  if (uniform == Tag.F64 && load<u32>(bind, 8) == 1) {
    const vals = <usize>load<u32>(bind);
    switch (fn) {
      case Agg.COUNT: countRows(at, groups, n); return;
      case Agg.SUM: sumDoubles(set, at, tagAt, vals, sel, groups, n); return;
      case Agg.AVG: averageDoubles(set, at, tagAt, vals, sel, groups, n); return;
      case Agg.MIN: minDoubles(set, at, tagAt, vals, sel, groups, n); return;
      case Agg.MAX: maxDoubles(set, at, tagAt, vals, sel, groups, n); return;
    }
  }
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + (<usize>i << 2));
    const tag = bindTag(bind, row);
    const payload = bindVal(bind, row);
    const group = <usize>load<u32>(groups + (<usize>i << 2));
    if (load<u8>(group + tagAt) == Tag.ERROR) continue;
    if (tag == Tag.ERROR) {
      failAggregate(set, group + at, group + tagAt, payload);
      continue;
    }
    stepRow(set, agg, fn, group + at, group + tagAt, tag, payload, row);
  }
}

/** One value of one row into one state. */
function stepRow(set: usize, agg: usize, fn: u32, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  switch (fn) {
    case Agg.COUNT:
      if (tag > Tag.NULL) store<u64>(state, load<u64>(state) + 1);
      return;
    case Agg.SUM:
      if (tag > Tag.NULL) addToSum(set, fn, state, tagAt, tag, payload);
      return;
    case Agg.AVG:
      if (tag > Tag.NULL) {
        addToSum(set, fn, state, tagAt, tag, payload);
        store<u64>(state, load<u64>(state, 8) + 1, 8);
      }
      return;
    case Agg.MIN:
    case Agg.MAX:
      if (tag > Tag.NULL) takeExtreme(set, fn, state, tagAt, tag, payload);
      return;
    case Agg.FIRST_VALUE:
      if (load<u32>(state, 12)) return;
      store<u32>(state, 1, 12);
      storeValue(set + SET_VALUES, state, tag, payload);
      store<u8>(tagAt, tag);
      return;
    case Agg.LAST_VALUE: {
      const ignore = load<u16>(agg, G_B);
      if (tag <= Tag.NULL && ignore != NO_INPUT && isTrue(bindTag(bindOf(ignore), row), bindVal(bindOf(ignore), row))) return;
      store<u32>(state, 1, 12);
      storeValue(set + SET_VALUES, state, tag, payload);
      store<u8>(tagAt, tag);
      return;
    }
    default:
      keepValue(set, agg, fn, state, tagAt, tag, payload, row);
  }
}

/** Aggregates that keep their values. */
function keepValue(set: usize, agg: usize, fn: u32, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  const b = load<u16>(agg, G_B);
  // The parameter is that of the first row.
  if (load<u32>(state, 4) == 0 && b != NO_INPUT) {
    if (bindTag(bindOf(b), row) == Tag.ERROR) {
      failAggregate(set, state, tagAt, bindVal(bindOf(b), row));
      return;
    }
    store<u64>(state, copyValue(set + SET_VALUES, bindTag(bindOf(b), row), bindVal(bindOf(b), row)), 16);
    store<u8>(tagAt, bindTag(bindOf(b), row));
  }
  if (tag <= Tag.NULL && fn != Agg.COLLECT && fn != Agg.DEDUPLICATE) return;
  if (fn == Agg.MERGE_AGG && tag != Tag.OBJECT) return;
  const pool = set + SET_VALUES;
  const isValue = fn == Agg.COLLECT || fn == Agg.MERGE_AGG || fn == Agg.DEDUPLICATE;
  if (isValue && !measure(set, fn, state, tagAt, tag, payload)) return;
  keep(pool, state, tag, payload);
  const c = load<u16>(agg, G_C);
  if (fn == Agg.DEDUPLICATE && c != NO_INPUT) {
    const rowTag = bindTag(bindOf(c), row);
    const rowVal = bindVal(bindOf(c), row);
    if (measure(set, fn, state, tagAt, rowTag, rowVal)) keep(pool, state, rowTag, rowVal);
  }
}

/** Adds an item to the length of a list; false when that is longer than a value may be: the aggregate has failed then. */
function measure(set: usize, fn: u32, list: usize, tagAt: usize, tag: u8, payload: u64): bool {
  if (load<u8>(tagAt) == Tag.ERROR) return false;
  const limit = valueLimit();
  const len = <u64>load<u32>(list, 12) + SLOT_SIZE + (tag >= Tag.STR ? valueLength(tag, payload, limit) : 0);
  if (len > limit) {
    failAggregate(set, list, tagAt, tooLong(functionName(fn), 0));
    return false;
  }
  store<u32>(list, <u32>len, 12);
  return true;
}

function keep(pool: usize, list: usize, tag: u8, payload: u64): void {
  listPush(pool, list, tag, copyValue(pool, tag, payload));
}

// ---- whole columns of doubles -------------------------------------------------------------------------------

function countRows(at: u32, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const state = <usize>load<u32>(groups + (<usize>i << 2)) + at;
    store<u64>(state, load<u64>(state) + 1);
  }
}

function sumDoubles(set: usize, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + (<usize>i << 2));
    const from = vals + (<usize>load<u32>(sel + (<usize>i << 2)) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) store<f64>(group + at, load<f64>(group + at) + load<f64>(from));
    else addToSum(set, Agg.SUM, group + at, group + tagAt, Tag.F64, load<u64>(from));
  }
}

function averageDoubles(set: usize, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + (<usize>i << 2));
    const from = vals + (<usize>load<u32>(sel + (<usize>i << 2)) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) store<f64>(group + at, load<f64>(group + at) + load<f64>(from));
    else addToSum(set, Agg.AVG, group + at, group + tagAt, Tag.F64, load<u64>(from));
    store<u64>(group + at, load<u64>(group + at, 8) + 1, 8);
  }
}

function minDoubles(set: usize, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + (<usize>i << 2));
    const from = vals + (<usize>load<u32>(sel + (<usize>i << 2)) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) {
      const x = load<f64>(from);
      if (x < load<f64>(group + at)) store<f64>(group + at, x);
    } else takeExtreme(set, Agg.MIN, group + at, group + tagAt, Tag.F64, load<u64>(from));
  }
}

function maxDoubles(set: usize, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + (<usize>i << 2));
    const from = vals + (<usize>load<u32>(sel + (<usize>i << 2)) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) {
      const x = load<f64>(from);
      if (x > load<f64>(group + at)) store<f64>(group + at, x);
    } else takeExtreme(set, Agg.MAX, group + at, group + tagAt, Tag.F64, load<u64>(from));
  }
}
