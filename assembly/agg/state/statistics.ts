// Aggregates over all numbers of a group: median and percentiles.
import { SLOT_SIZE, SLOT_TAG, Tag, isNumber } from '../../mem/layout';
import { alloc } from '../../mem/alloc';
import { noMemory } from '../../ops/result';
import { giveResult } from './result';
import { numberError } from './error';

// @ts-ignore: decorator
@inline function asDouble(slot: usize): f64 {
  return load<u8>(slot, SLOT_TAG) == Tag.I64 ? <f64>load<i64>(slot) : load<f64>(slot);
}

/** Copies the numbers of the list; 0 when the list is empty or holds other values, and the result is set then. */
export function numbers(fn: u32, list: usize): usize {
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
  for (let i: u32 = 0; i < n; i++) store<f64>(to + ((<usize>i) << 3), asDouble(slots + i * SLOT_SIZE));
  return to;
}

/** Puts the numbers of the list, if all are integers, in the place of their copies as doubles. */
export function takeWhole(list: usize, at: usize): bool {
  const slots = <usize>load<u32>(list);
  const n = load<u32>(list, 4);
  for (let i: u32 = 0; i < n; i++) if (load<u8>(slots + i * SLOT_SIZE, SLOT_TAG) != Tag.I64) return false;
  for (let i: u32 = 0; i < n; i++) store<i64>(at + ((<usize>i) << 3), load<i64>(slots + i * SLOT_SIZE));
  return true;
}

/** Sorts numbers in place: heap sort, no worst case and no extra memory. */
export function sort<T extends number>(at: usize, n: u32): void {
  for (let i = n >> 1; i > 0; i--) sink<T>(at, i - 1, n);
  for (let end = n - 1; end > 0; end--) {
    const top = load<T>(at);
    store<T>(at, load<T>(at + ((<usize>end) << 3)));
    store<T>(at + ((<usize>end) << 3), top);
    sink<T>(at, 0, end);
  }
}

function sink<T extends number>(at: usize, from: u32, n: u32): void {
  const x = load<T>(at + ((<usize>from) << 3));
  let i = from;
  for (;;) {
    let child = (i << 1) + 1;
    if (child >= n) break;
    if (child + 1 < n && load<T>(at + ((<usize>(child + 1)) << 3)) > load<T>(at + ((<usize>child) << 3))) child++;
    const y = load<T>(at + ((<usize>child) << 3));
    if (!(y > x)) break;
    store<T>(at + ((<usize>i) << 3), y);
    i = child;
  }
  store<T>(at + ((<usize>i) << 3), x);
}

// @ts-ignore: decorator
@inline export function giveDouble(x: f64): void {
  giveResult(Tag.F64, reinterpret<u64>(x));
}

/** Largest magnitude of integers that doubles hold with all digits. */
const EXACT: i64 = 1 << 53;

/** Sets an integer as the result, as a double unless that would lose digits. */
export function giveWhole(x: i64): void {
  if (x >= -EXACT && x <= EXACT) giveDouble(<f64>x);
  else giveResult(Tag.I64, x);
}
