// Decimal text of integers.
import { POW10_U64 } from './wide';

/** "00" "01" … "99". */
const PAIRS: usize = memory.data<u8>([
  48,48,48,49,48,50,48,51,48,52,48,53,48,54,48,55,48,56,48,57, 49,48,49,49,49,50,49,51,49,52,49,53,49,54,49,55,49,56,49,57,
  50,48,50,49,50,50,50,51,50,52,50,53,50,54,50,55,50,56,50,57, 51,48,51,49,51,50,51,51,51,52,51,53,51,54,51,55,51,56,51,57,
  52,48,52,49,52,50,52,51,52,52,52,53,52,54,52,55,52,56,52,57, 53,48,53,49,53,50,53,51,53,52,53,53,53,54,53,55,53,56,53,57,
  54,48,54,49,54,50,54,51,54,52,54,53,54,54,54,55,54,56,54,57, 55,48,55,49,55,50,55,51,55,52,55,53,55,54,55,55,55,56,55,57,
  56,48,56,49,56,50,56,51,56,52,56,53,56,54,56,55,56,56,56,57, 57,48,57,49,57,50,57,51,57,52,57,53,57,54,57,55,57,56,57,57,
], 16);

/** Both digits of a number below 100, the first one in the lower byte. */
// @ts-ignore: decorator
@inline export function pairOf(v: u32): u32 {
  return load<u16>(PAIRS + (<usize>v << 1));
}

/** Longest text of an i64, bytes. */
export const MAX_I64_TEXT: u32 = 20;

/** Number of decimal digits, 1 for 0. */
// @ts-ignore: decorator
@inline export function digitCount(v: u64): u32 {
  // 1233/4096 is log10(2) from below: the estimate is right or one too small.
  const guess = ((64 - <u32>clz(v | 1)) * 1233) >> 12;
  return guess + <u32>((v | <u64>(guess == 0)) >= load<u64>(POW10_U64 + (<usize>guess << 3)));
}

/** Writes `v` as exactly `n` digits, with zeros in front where it has fewer. */
// @ts-ignore: decorator
@inline export function putDigits(out: usize, v: u64, n: u32): void {
  let big = v;
  let at = out + n;
  while (big > 0xffffffff) {
    const q = big / 100;
    at -= 2;
    store<u16>(at, load<u16>(PAIRS + (<usize>(big - q * 100) << 1)));
    big = q;
  }
  let small = <u32>big;
  while (at >= out + 2) {
    const q = small / 100;
    at -= 2;
    store<u16>(at, load<u16>(PAIRS + (<usize>(small - q * 100) << 1)));
    small = q;
  }
  if (at > out) store<u8>(at - 1, 48 + <u8>small);
}

/** Writes an unsigned integer and returns the end of the text (at most 20 bytes). */
export function printU64(out: usize, v: u64): usize {
  const n = digitCount(v);
  putDigits(out, v, n);
  return out + n;
}

/** Writes an integer and returns the end of the text (at most 20 bytes). */
export function printI64(out: usize, v: i64): usize {
  let at = out;
  let u = <u64>v;
  if (v < 0) {
    store<u8>(at++, 0x2d);
    u = 0 - u;
  }
  return printU64(at, u);
}

export namespace I64Text {
  export const OK: u32 = 0;
  /** Not of the form `[+-]? digits`. */
  export const INVALID: u32 = 1;
  /** Out of range: i64Value is saturated. */
  export const OVERFLOW: u32 = 2;
}
/** Set by parseI64. */
export let i64Value: i64 = 0;

/** Parses the whole text [p0, end) as an integer; a sign may stand in front. Returns an I64Text code. */
export function parseI64(p0: usize, end: usize): u32 {
  i64Value = 0;
  let p = p0;
  if (p >= end) return I64Text.INVALID;
  const negative = load<u8>(p) == 0x2d;
  if (negative || load<u8>(p) == 0x2b) p++;
  if (p >= end) return I64Text.INVALID;
  let v: u64 = 0;
  let over = false;
  for (; p < end; p++) {
    const d = <u64>load<u8>(p) - 48;
    if (d >= 10) return I64Text.INVALID;
    if (v > 922337203685477580) over = true;
    v = v * 10 + d;
    if (v > <u64>i64.MAX_VALUE + <u64>negative) over = true;
    if (over) v = 0;
  }
  if (over) {
    i64Value = negative ? i64.MIN_VALUE : i64.MAX_VALUE;
    return I64Text.OVERFLOW;
  }
  i64Value = <i64>(negative ? 0 - v : v);
  return I64Text.OK;
}
