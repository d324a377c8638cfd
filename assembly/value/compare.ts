// Order and equality of two values as the comparison operators see them.
import { Tag, lenOf, offOf } from '../mem/layout';
import { bytesCompare, bytesEqual } from './bytes';
import { timeInstant } from '../text/time';
import { timeOf } from './time';

/** Results besides -1, 0 and 1. */
export namespace Cmp {
  /** One side is not a number (NaN): neither less, equal nor greater. */
  export const UNORDERED: i32 = 2;
  /** The values are of kinds that do not compare. */
  export const MISMATCH: i32 = 3;
}

/** -1, 0, 1 or UNORDERED. */
// @ts-ignore: decorator
@inline function orderF64(x: f64, y: f64): i32 {
  return x < y ? -1 : x > y ? 1 : x == y ? 0 : Cmp.UNORDERED;
}

// @ts-ignore: decorator
@inline function orderI64(x: i64, y: i64): i32 {
  return x < y ? -1 : <i32>(x > y);
}

/**
 * Compares two values that are neither null nor errors: numbers by value (int with float as doubles), strings and bytes
 * bytewise, booleans false before true, a datetime on the left with anything that can be read as a time.
 */
export function compareValues(tagA: u8, a: u64, tagB: u8, b: u64): i32 {
  if (tagA == Tag.F64) {
    if (tagB == Tag.F64) return orderF64(reinterpret<f64>(a), reinterpret<f64>(b));
    if (tagB == Tag.I64) return orderF64(reinterpret<f64>(a), <f64>(<i64>b));
    return Cmp.MISMATCH;
  }
  if (tagA == Tag.I64) {
    if (tagB == Tag.I64) return orderI64(<i64>a, <i64>b);
    if (tagB == Tag.F64) return orderF64(<f64>(<i64>a), reinterpret<f64>(b));
    return Cmp.MISMATCH;
  }
  if (tagA == Tag.STR || tagA == Tag.BYTES) {
    if (tagB != tagA) return Cmp.MISMATCH;
    const order = bytesCompare(offOf(a), lenOf(a), offOf(b), lenOf(b));
    return order < 0 ? -1 : <i32>(order > 0);
  }
  if (tagA == Tag.BOOL) return tagB == Tag.BOOL ? <i32>a - <i32>b : Cmp.MISMATCH;
  if (tagA == Tag.TIME) {
    if (tagB == Tag.TIME) return orderI64(timeInstant(<i64>a), timeInstant(<i64>b));
    const t = timeOf(tagB, b);
    return t == i64.MIN_VALUE ? Cmp.MISMATCH : orderI64(timeInstant(<i64>a), timeInstant(t));
  }
  return Cmp.MISMATCH;
}

/** True when the values are equal as `=` has it; kinds that do not compare are not equal. */
export function equalValues(tagA: u8, a: u64, tagB: u8, b: u64): bool {
  if (tagA == Tag.STR && tagB == Tag.STR) {
    return lenOf(a) == lenOf(b) && bytesEqual(offOf(a), offOf(b), lenOf(a));
  }
  return compareValues(tagA, a, tagB, b) == 0;
}
