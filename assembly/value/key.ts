// Values as keys: of groups and of ORDER BY.
//
// Group keys are equal when their printed values are: 1, 1.0 and "1" are one group, null and missing another. To stay
// off the printer, whole numbers and texts that are canonical integers are hashed as integers, all else by its text.
import { Tag, isNull, lenOf, offOf } from '../mem/layout';
import { timeInstant } from '../text/time';
import { bytesEqual, bytesHash, hashU64 } from './bytes';
import { Cmp, compareValues } from './compare';
import { printKey } from './print';
import { textAt, textBegin, textLen } from './text';

const NULL_HASH: u32 = 0x6e756c6c;
/** Doubles up to here print as the integer they are. */
const EXACT: f64 = 9007199254740992;

/** Value of the last text that an int64 would print. */
let integer: i64 = 0;

function isInteger(at: usize, len: u32): bool {
  const negative = len > 0 && load<u8>(at) == 0x2d;
  let i: u32 = negative ? 1 : 0;
  const digits = len - i;
  if (digits == 0 || digits > 19) return false;
  if (load<u8>(at + i) == 0x30) {
    integer = 0;
    return digits == 1 && !negative;
  }
  let v: u64 = 0;
  for (; i < len; i++) {
    const d = <u64>load<u8>(at + i) - 0x30;
    if (d > 9) return false;
    v = v * 10 + d;
  }
  if (v > <u64>i64.MAX_VALUE + <u64>negative) return false;
  integer = <i64>(negative ? 0 - v : v);
  return true;
}

// @ts-ignore: decorator
@inline function textHash(at: usize, len: u32): u32 {
  if (len > 0 && load<u8>(at) < 0x3a && isInteger(at, len)) return hashU64(<u64>integer);
  return bytesHash(at, len);
}

/** True for whole doubles so small that they print as the integer; -0 does not. */
// @ts-ignore: decorator
@inline function isExactInteger(bits: u64): bool {
  const x = reinterpret<f64>(bits);
  return abs(x) <= EXACT && floor(x) == x && bits != 0x8000000000000000;
}

/** Hash of a group key: equal for keys that `groupKeyEquals` takes for equal. */
export function groupKeyHash(tag: u8, val: u64): u32 {
  if (tag == Tag.STR || tag == Tag.BYTES) return textHash(offOf(val), lenOf(val));
  if (tag == Tag.I64) return hashU64(val);
  if (tag == Tag.F64 && isExactInteger(val)) return hashU64(<u64>(<i64>reinterpret<f64>(val)));
  if (isNull(tag)) return NULL_HASH;
  textBegin();
  printKey(tag, val);
  return textHash(textAt(), textLen);
}

/** True when the values belong to the same group. */
export function groupKeyEquals(tagA: u8, a: u64, tagB: u8, b: u64): bool {
  if (tagA == tagB) {
    if (a == b) return true;
    if (tagA == Tag.STR) return lenOf(a) == lenOf(b) && bytesEqual(offOf(a), offOf(b), lenOf(a));
    if (tagA < Tag.STR) return false;
    if (tagA == Tag.TIME) return timeInstant(<i64>a) == timeInstant(<i64>b);
  }
  if (isNull(tagA) || isNull(tagB)) return isNull(tagA) && isNull(tagB);
  return samePrint(tagA, a, tagB, b);
}

function samePrint(tagA: u8, a: u64, tagB: u8, b: u64): bool {
  textBegin();
  printKey(tagA, a);
  const cut = textLen;
  printKey(tagB, b);
  return textLen - cut == cut && bytesEqual(textAt(), textAt() + cut, cut);
}

/**
 * Order of two sort keys: -1, 0, 1, or Cmp.MISMATCH for kinds that have no order with each other. Nulls come behind all
 * values, and NaN behind all numbers; a descending sort must keep nulls last, so callers swap the sides only when
 * neither is null.
 */
export function orderCompare(tagA: u8, a: u64, tagB: u8, b: u64): i32 {
  if (isNull(tagA) || isNull(tagB)) return <i32>isNull(tagA) - <i32>isNull(tagB);
  const order = compareValues(tagA, a, tagB, b);
  if (order != Cmp.UNORDERED) return order;
  return <i32>isNaN(numberOf(tagA, a)) - <i32>isNaN(numberOf(tagB, b));
}

// @ts-ignore: decorator
@inline function numberOf(tag: u8, val: u64): f64 {
  return tag == Tag.F64 ? reinterpret<f64>(val) : 0;
}
