// Ways in which aggregates take values: single values, sums and extremes. A value that an aggregate cannot take makes
// it ERROR for good, and the reason takes the place of its state.
import { copyBytes } from '../../mem/copy';
import { Tag, lenOf, offOf } from '../../mem/layout';
import { Pool, copyValue, poolAlloc } from '../../mem/pool';
import { compareValues, Cmp } from '../../value/compare';
import { kindError } from './error';
import { keepReason } from '../group/group';
import { GroupSet } from '../group/table';

/** Room for the copied text of a value: twice its length, so that values which grow slowly are seldom copied anew. */
// @ts-ignore: decorator
@inline function roomFor(len: u32): u32 {
  return ((len << 1) + 15) & ~15;
}

/** Stores a value at `state`; text goes into the room that the state has, or into new room. */
export function storeValue(pool: Pool, state: usize, tag: u8, payload: u64): void {
  if (tag == Tag.STR || tag == Tag.BYTES) {
    const len = lenOf(payload);
    // A state without room for a text holds a value of another kind there.
    const had = load<u32>(state, 8);
    let to = offOf(load<u64>(state));
    if (!had || had < len) {
      const room = roomFor(len);
      to = poolAlloc(pool, room);
      store<u32>(state, to ? room : 0, 8);
    }
    if (to) copyBytes(to, offOf(payload), len);
    store<u64>(state, to ? <u64>to | ((<u64>len) << 32) : 0);
    return;
  }
  store<u32>(state, 0, 8);
  store<u64>(state, copyValue(pool, tag, payload));
}

/** Makes the aggregate fail with the error in `payload`. */
export function failAggregate(set: GroupSet, state: usize, tagAt: usize, payload: u64): void {
  store<u64>(state, keepReason(set, payload));
  store<u8>(tagAt, Tag.ERROR);
}

/** Adds a number to a sum; anything else makes the aggregate fail. */
export function addToSum(set: GroupSet, fn: u32, state: usize, tagAt: usize, tag: u8, payload: u64): void {
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

/** Keeps the value if it compares to the value in the state as wanted: -1 smaller, 1 larger. */
export function takeExtreme(
  set: GroupSet,
  fn: u32,
  wanted: i32,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
): void {
  const have = load<u8>(tagAt);
  if (have == Tag.ERROR) return;
  if (tag != Tag.I64 && tag != Tag.F64 && tag != Tag.STR && tag != Tag.TIME) {
    failAggregate(set, state, tagAt, kindError(fn, have, tag, payload));
    return;
  }
  if (have != Tag.MISSING) {
    // Times compare with times only; texts with texts.
    const order =
      (have == Tag.TIME) == (tag == Tag.TIME) ? compareValues(tag, payload, have, load<u64>(state)) : Cmp.MISMATCH;
    if (order == Cmp.MISMATCH) {
      failAggregate(set, state, tagAt, kindError(fn, have, tag, payload));
      return;
    }
    if (order != wanted) return;
  }
  storeValue(set.values, state, tag, payload);
  store<u8>(tagAt, tag);
}
