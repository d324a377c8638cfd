// avg(x): of integers an integer, whose sum has 128 bits.
import { Agg } from '../../gen/aggregates';
import { Tag } from '../../mem/layout';
import { giveResult } from '../state/result';
import { addToSum } from '../state/take';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

/** Offset of the count: u64 for doubles; for integers u32, with the upper half of the sum behind it. */
const COUNT: usize = 8;
const UPPER: usize = 12;

export function avgTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (tag > Tag.NULL) add(set, state, tagAt, tag, payload, <i64>payload >> 63, 1);
}

/** Adds a sum of `count` numbers, which has an upper half for integers. */
function add(set: GroupSet, state: usize, tagAt: usize, tag: u8, payload: u64, upper: i64, count: u64): void {
  const have = load<u8>(tagAt);
  const all = averageCount(state, have) + count;
  if (tag == Tag.I64 && (have == Tag.I64 || have == Tag.MISSING) && all <= u32.MAX_VALUE) {
    const sum = have == Tag.I64 ? load<u64>(state) + payload : payload;
    const before: i64 = have == Tag.I64 ? averageUpper(state) + <i64>(sum < payload) : 0;
    averageSetInts(state, sum, before + upper, <u32>all);
    store<u8>(tagAt, Tag.I64);
    return;
  }
  if (have == Tag.I64) {
    store<f64>(state, wideToF64(load<u64>(state), averageUpper(state)));
    store<u8>(tagAt, Tag.F64);
  }
  if (tag == Tag.I64) addToSum(set, Agg.AVG, state, tagAt, Tag.F64, reinterpret<u64>(wideToF64(payload, upper)));
  else addToSum(set, Agg.AVG, state, tagAt, tag, payload);
  store<u64>(state, all, COUNT);
}

/** Number of values in the sum. */
export function averageCount(state: usize, tag: u8): u64 {
  return tag == Tag.I64 ? <u64>load<u32>(state, COUNT) : load<u64>(state, COUNT);
}

/** Upper half of a sum of integers; it is below half of their count, as each has 64 bits. */
export function averageUpper(state: usize): i64 {
  return <i64>load<i32>(state, UPPER);
}

/** Stores a sum of integers in the state. */
export function averageSetInts(state: usize, sum: u64, upper: i64, count: u32): void {
  store<u64>(state, sum);
  store<u32>(state, count, COUNT);
  store<i32>(state, <i32>upper, UPPER);
}

/** The number of 128 bits as a double. */
function wideToF64(lower: u64, upper: i64): f64 {
  if (upper == <i64>lower >> 63) return <f64>(<i64>lower);
  return <f64>upper * 18446744073709551616.0 + <f64>lower;
}

export function avgDoubles(set: GroupSet, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    const from = vals + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) {
      store<f64>(group + at, load<f64>(group + at) + load<f64>(from));
      store<u64>(group + at, load<u64>(group + at, COUNT) + 1, COUNT);
    } else add(set, group + at, group + tagAt, Tag.F64, load<u64>(from), 0, 1);
  }
}

export function avgMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag == Tag.MISSING) return;
  add(set, to, tagTo, tag, load<u64>(from), averageUpper(from), averageCount(from, tag));
}

/** The quotient of sum and count, cut towards zero. */
function quotient(lower: u64, upper: i64, count: u64): i64 {
  if (upper == <i64>lower >> 63) return <i64>lower / <i64>count;
  const isNegative = upper < 0;
  let high = <u64>upper;
  let low = lower;
  if (isNegative) {
    low = 0 - low;
    high = ~high + <u64>(low == 0);
  }
  // `rest` stays below the count, so that the quotient has 64 bits; each step gives one bit.
  let rest = high;
  for (let i: u32 = 0; i < 64; i++) {
    rest = (rest << 1) | (low >> 63);
    low <<= 1;
    if (rest >= count) {
      rest -= count;
      low |= 1;
    }
  }
  return <i64>(isNegative ? 0 - low : low);
}

export function avgFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  const count = averageCount(state, tag);
  if (tag == Tag.I64) giveResult(Tag.I64, <u64>quotient(load<u64>(state), averageUpper(state), count));
  else if (tag == Tag.F64) giveResult(Tag.F64, reinterpret<u64>(load<f64>(state) / <f64>count));
  else giveResult(Tag.NULL, 0);
}
