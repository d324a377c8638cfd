// Aggregates over all numbers of a group: median, percentiles, variance and standard deviation. Sums run in the order of
// arrival and means are rounded as in the reference engine, so that results agree to the last bit.
import { Agg } from '../gen/aggregates';
import { SLOT_SIZE, SLOT_TAG, Tag, isNumber } from '../mem/layout';
import { alloc, free } from '../mem/alloc';
import { noMemory } from '../ops/result';
import { giveResult } from './result';
import { numberError, parameterError, rangeError } from './error';

// @ts-ignore: decorator
@inline function asDouble(slot: usize): f64 {
  return load<u8>(slot, SLOT_TAG) == Tag.I64 ? <f64>load<i64>(slot) : load<f64>(slot);
}

/** Copies the numbers of the list; 0 when the list is empty or holds something else (the result is set then). */
function numbers(fn: u32, list: usize): usize {
  const n = load<u32>(list, 4);
  if (n == 0) {
    giveResult(Tag.NULL, 0);
    return 0;
  }
  const slots = <usize>load<u32>(list);
  for (let i: u32 = 0; i < n; i++) {
    const slot = slots + i * SLOT_SIZE;
    const tag = load<u8>(slot, SLOT_TAG);
    if (!isNumber(tag)) {
      giveResult(Tag.ERROR, numberError(fn, tag, load<u64>(slot)));
      return 0;
    }
  }
  const to = alloc(n << 3, 0);
  if (!to) {
    giveResult(Tag.ERROR, noMemory('aggregate'));
    return 0;
  }
  for (let i: u32 = 0; i < n; i++) store<f64>(to + (<usize>i << 3), asDouble(slots + i * SLOT_SIZE));
  return to;
}

/** Sorts numbers in place: heap sort, no worst case and no extra memory. */
function sort<T extends number>(at: usize, n: u32): void {
  for (let i = n >> 1; i > 0; i--) sink<T>(at, i - 1, n);
  for (let end = n - 1; end > 0; end--) {
    const top = load<T>(at);
    store<T>(at, load<T>(at + (<usize>end << 3)));
    store<T>(at + (<usize>end << 3), top);
    sink<T>(at, 0, end);
  }
}

function sink<T extends number>(at: usize, from: u32, n: u32): void {
  const x = load<T>(at + (<usize>from << 3));
  let i = from;
  for (;;) {
    let child = (i << 1) + 1;
    if (child >= n) break;
    if (child + 1 < n && load<T>(at + (<usize>(child + 1) << 3)) > load<T>(at + (<usize>child << 3))) child++;
    const y = load<T>(at + (<usize>child << 3));
    if (!(y > x)) break;
    store<T>(at + (<usize>i << 3), y);
    i = child;
  }
  store<T>(at + (<usize>i << 3), x);
}

// @ts-ignore: decorator
@inline function giveDouble(x: f64): void {
  giveResult(Tag.F64, reinterpret<u64>(x));
}

/** The middle value; the mean of the two middle ones of an even count. That of whole numbers is exact. */
export function median(list: usize): void {
  const at = numbers(Agg.MEDIAN, list);
  if (!at) return;
  const n = load<u32>(list, 4);
  const middle = at + (<usize>(n >> 1) << 3);
  if (areWhole(list)) {
    const slots = <usize>load<u32>(list);
    for (let i: u32 = 0; i < n; i++) store<i64>(at + (<usize>i << 3), load<i64>(slots + i * SLOT_SIZE));
    sort<i64>(at, n);
    if (n & 1) giveResult(Tag.I64, load<u64>(middle));
    else giveDouble(meanOf(load<i64>(middle - 8), load<i64>(middle)));
  } else {
    sort<f64>(at, n);
    giveDouble(n & 1 ? load<f64>(middle) : (load<f64>(middle - 8) + load<f64>(middle)) / 2);
  }
  free(at, n << 3, 0);
}

function areWhole(list: usize): bool {
  const slots = <usize>load<u32>(list);
  const n = load<u32>(list, 4);
  for (let i: u32 = 0; i < n; i++) if (load<u8>(slots + i * SLOT_SIZE, SLOT_TAG) != Tag.I64) return false;
  return true;
}

function meanOf(a: i64, b: i64): f64 {
  const sum = a + b;
  if (((a ^ sum) & (b ^ sum)) >= 0) return <f64>sum / 2;
  // Where the sum has no room, a half changes the result only by deciding which way it is rounded.
  return <f64>((a >> 1) + (b >> 1) + (a & b & 1) | ((a ^ b) & 1));
}

/**
 * percentile_cont takes the mean of the two values around the position n * p, percentile_disc the value at the rank
 * ceil(n * p). The parameter stands behind the list, its tag is that of the state.
 */
export function percentile(fn: u32, list: usize, parameterTag: u8): void {
  if (!isNumber(parameterTag)) {
    if (load<u32>(list, 4) == 0) giveResult(Tag.NULL, 0);
    else giveResult(Tag.ERROR, parameterError(fn, 'float64', parameterTag, load<u64>(list, 16)));
    return;
  }
  const p = parameterTag == Tag.I64 ? <f64>load<i64>(list, 16) : load<f64>(list, 16);
  const at = numbers(fn, list);
  if (!at) return;
  const n = load<u32>(list, 4);
  const percent = p * 100;
  if (!(percent >= 0 && percent <= 100)) giveResult(Tag.ERROR, rangeError(fn));
  else {
    sort<f64>(at, n);
    if (fn == Agg.PERCENTILE_DISC) {
      const rank = <u32>ceil((<f64>n * percent) / 100);
      giveDouble(load<f64>(at + (<usize>(rank == 0 ? 0 : min(rank, n) - 1) << 3)));
    } else {
      const position = (percent / 100) * <f64>n;
      const i = <u32>position;
      if (i == 0) giveDouble(load<f64>(at));
      else if (<f64>i == position || i >= n) giveDouble(load<f64>(at + (<usize>(min(i, n) - 1) << 3)));
      else giveDouble((load<f64>(at + (<usize>(i - 1) << 3)) + load<f64>(at + (<usize>i << 3))) / 2);
    }
  }
  free(at, n << 3, 0);
}

/** Variance and standard deviation, of the population or of a sample; a sample of one value has none (null). */
export function deviation(fn: u32, list: usize): void {
  const at = numbers(fn, list);
  if (!at) return;
  const n = load<u32>(list, 4);
  const isSample = fn == Agg.STDDEVS || fn == Agg.VARS;
  let sum: f64 = 0;
  for (let i: u32 = 0; i < n; i++) sum += load<f64>(at + (<usize>i << 3));
  const mean = sum / <f64>n;
  let squares: f64 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const d = load<f64>(at + (<usize>i << 3)) - mean;
    squares += d * d;
  }
  free(at, n << 3, 0);
  if (isSample && n == 1) {
    giveResult(Tag.NULL, 0);
    return;
  }
  const variance = squares / <f64>(isSample ? n - 1 : n);
  giveDouble(fn == Agg.STDDEV || fn == Agg.STDDEVS ? sqrt(variance) : variance);
}
