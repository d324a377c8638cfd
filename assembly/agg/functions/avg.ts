// avg(x): of integers an integer, whose sum has 128 bits.
import { Agg } from '../../gen/aggregates';
import { Tag } from '../../mem/layout';
import { giveResult } from '../result';
import { addToSum } from '../take';

const COUNT: usize = 8;
const UPPER: usize = 16;

export function avgTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  if (tag <= Tag.NULL) return;
  add(set, state, tagAt, tag, payload, <u64>(<i64>payload >> 63));
  store<u64>(state, load<u64>(state, COUNT) + 1, COUNT);
}

/** Adds a number, of which an integer has an upper half. */
function add(set: usize, state: usize, tagAt: usize, tag: u8, payload: u64, upper: u64): void {
  const have = load<u8>(tagAt);
  if (have == Tag.I64) {
    if (tag == Tag.I64) {
      const sum = load<u64>(state) + payload;
      store<u64>(state, sum);
      store<u64>(state, load<u64>(state, UPPER) + upper + <u64>(sum < payload), UPPER);
      return;
    }
    store<u64>(state, reinterpret<u64>(wideToF64(load<u64>(state), load<i64>(state, UPPER))));
    store<u8>(tagAt, Tag.F64);
  } else if (tag == Tag.I64) {
    if (have == Tag.MISSING) store<u64>(state, upper, UPPER);
    else if (upper != <u64>(<i64>payload >> 63)) {
      addToSum(set, Agg.AVG, state, tagAt, Tag.F64, reinterpret<u64>(wideToF64(payload, <i64>upper)));
      return;
    }
  }
  addToSum(set, Agg.AVG, state, tagAt, tag, payload);
}

/** The number of 128 bits as a double. */
function wideToF64(lower: u64, upper: i64): f64 {
  if (upper == <i64>lower >> 63) return <f64>(<i64>lower);
  return <f64>upper * 18446744073709551616.0 + <f64>lower;
}

export function avgDoubles(set: usize, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    const from = vals + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) store<f64>(group + at, load<f64>(group + at) + load<f64>(from));
    else add(set, group + at, group + tagAt, Tag.F64, load<u64>(from), 0);
    store<u64>(group + at, load<u64>(group + at, COUNT) + 1, COUNT);
  }
}

export function avgMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag != Tag.MISSING) add(set, to, tagTo, tag, load<u64>(from), load<u64>(from, UPPER));
  store<u64>(to, load<u64>(to, COUNT) + load<u64>(from, COUNT), COUNT);
}

/** The sum by the count, cut towards zero. */
function quotient(lower: u64, upper: i64, count: u64): i64 {
  if (upper == <i64>lower >> 63) return <i64>lower / <i64>count;
  const isNegative = upper < 0;
  let high = <u64>upper;
  let low = lower;
  if (isNegative) {
    low = 0 - low;
    high = ~high + <u64>(low == 0);
  }
  // Below the count, so that the quotient has 64 bits: a bit of it with each step.
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

export function avgFinish(agg: usize, state: usize, tag: u8): void {
  if (tag == Tag.I64)
    giveResult(Tag.I64, <u64>quotient(load<u64>(state), load<i64>(state, UPPER), load<u64>(state, COUNT)));
  else if (tag == Tag.F64) giveResult(Tag.F64, reinterpret<u64>(load<f64>(state) / <f64>load<u64>(state, COUNT)));
  else giveResult(Tag.NULL, 0);
}
