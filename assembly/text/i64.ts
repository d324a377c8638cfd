// Decimal text of integers.
import { POW10_U64 } from './wide';

/** "00" "01" … "99". */
const PAIRS: usize = memory.data<u8>(
  [
    48, 48, 48, 49, 48, 50, 48, 51, 48, 52, 48, 53, 48, 54, 48, 55, 48, 56, 48, 57, 49, 48, 49, 49, 49, 50, 49, 51, 49,
    52, 49, 53, 49, 54, 49, 55, 49, 56, 49, 57, 50, 48, 50, 49, 50, 50, 50, 51, 50, 52, 50, 53, 50, 54, 50, 55, 50, 56,
    50, 57, 51, 48, 51, 49, 51, 50, 51, 51, 51, 52, 51, 53, 51, 54, 51, 55, 51, 56, 51, 57, 52, 48, 52, 49, 52, 50, 52,
    51, 52, 52, 52, 53, 52, 54, 52, 55, 52, 56, 52, 57, 53, 48, 53, 49, 53, 50, 53, 51, 53, 52, 53, 53, 53, 54, 53, 55,
    53, 56, 53, 57, 54, 48, 54, 49, 54, 50, 54, 51, 54, 52, 54, 53, 54, 54, 54, 55, 54, 56, 54, 57, 55, 48, 55, 49, 55,
    50, 55, 51, 55, 52, 55, 53, 55, 54, 55, 55, 55, 56, 55, 57, 56, 48, 56, 49, 56, 50, 56, 51, 56, 52, 56, 53, 56, 54,
    56, 55, 56, 56, 56, 57, 57, 48, 57, 49, 57, 50, 57, 51, 57, 52, 57, 53, 57, 54, 57, 55, 57, 56, 57, 57,
  ],
  16,
);

/** Both digits of a number below 100, the first one in the lower byte. */
// @ts-ignore: decorator
@inline export function pairOf(v: u32): u32 {
  return load<u16>(PAIRS + ((<usize>v) << 1));
}

/** Longest text of an i64, bytes. */
export const MAX_I64_TEXT: u32 = 20;

/** Number of decimal digits, 1 for 0. */
// @ts-ignore: decorator
@inline export function digitCount(v: u64): u32 {
  // 1233/4096 is log10(2) from below: the estimate is right or one too small.
  const guess = ((64 - <u32>clz(v | 1)) * 1233) >> 12;
  return guess + <u32>((v | <u64>(guess == 0)) >= load<u64>(POW10_U64 + ((<usize>guess) << 3)));
}

/** Writes `v` as exactly `n` digits, with zeros in front where it has fewer. */
// @ts-ignore: decorator
@inline export function putDigits(out: usize, v: u64, n: u32): void {
  let big = v;
  let at = out + n;
  while (big > 0xffffffff) {
    const q = big / 100;
    at -= 2;
    store<u16>(at, load<u16>(PAIRS + ((<usize>(big - q * 100)) << 1)));
    big = q;
  }
  let small = <u32>big;
  while (at >= out + 2) {
    const q = small / 100;
    at -= 2;
    store<u16>(at, load<u16>(PAIRS + ((<usize>(small - q * 100)) << 1)));
    small = q;
  }
  if (at > out) store<u8>(at - 1, 48 + <u8>small);
}

// Constants of blocks, read from memory in one instruction.
const BY_10000: usize = memory.data<u64>([109951163 | (109951163 << 32), 0], 16);
const BY_10000_BACK: usize = memory.data<u64>([10000, 10000], 16);
const BY_100: usize = memory.data<u64>([0x000028f6000028f6, 0x000028f6000028f6], 16);
const BY_100_BACK: usize = memory.data<u64>([0x0064ffff0064ffff, 0x0064ffff0064ffff], 16);
const BY_10: usize = memory.data<u64>([0x0067006700670067, 0x0067006700670067], 16);
const BY_10_BACK: usize = memory.data<u64>([0xf601f601f601f601, 0xf601f601f601f601], 16);
export const ZEROS: usize = memory.data<u64>([0x3030303030303030, 0x3030303030303030], 16);
/** From the offset of the number of leading zeros on: the digits behind them come first. */
const TO_FRONT: usize = memory.data<u64>(
  [0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x8080808080808080, 0x8080808080808080],
  16,
);

/** Sixteen digits of two numbers below 10^8, as letters. */
// @ts-ignore: decorator
@inline export function sixteenDigits(high: u32, low: u32): v128 {
  const both = i32x4.replace_lane(i32x4.splat(high), 1, low);
  const q = i64x2.shr_u(i64x2.extmul_low_i32x4_u(both, v128.load(BY_10000)), 40);
  const r = i64x2.sub(i64x2.extend_low_i32x4_u(both), i32x4.dot_i16x8_s(q, v128.load(BY_10000_BACK)));
  const fours = v128.or(q, i64x2.shl(r, 32));
  const q100 = i32x4.shr_u(i32x4.dot_i16x8_s(fours, v128.load(BY_100)), 20);
  const back = i16x8.mul(v128.or(q100, i32x4.shl(q100, 16)), v128.load(BY_100_BACK));
  const pairs = i16x8.sub(i32x4.shl(fours, 16), back);
  const tens = i16x8.shr_u(i16x8.mul(pairs, v128.load(BY_10)), 10);
  return v128.or(i16x8.add(i16x8.shl(pairs, 8), i16x8.mul(tens, v128.load(BY_10_BACK))), v128.load(ZEROS));
}

/**
 * Writes an unsigned integer and returns the end of the text; at most MAX_I64_TEXT bytes are touched. The number of
 * digits is no jump: it changes from one number to the next.
 */
export function printU64(out: usize, v: u64): usize {
  if (v < 10000) {
    const small = <u32>v;
    const hundreds = small / 100;
    const count = 1 + <u32>(small >= 10) + <u32>(small >= 100) + <u32>(small >= 1000);
    store<u32>(out, (pairOf(hundreds) | (pairOf(small - hundreds * 100) << 16)) >> ((4 - count) << 3));
    return out + count;
  }
  const n = digitCount(v);
  if (n <= 16) {
    const high = v / 100000000;
    const all = sixteenDigits(<u32>high, <u32>(v - high * 100000000));
    v128.store(out, i8x16.swizzle(all, v128.load(TO_FRONT + (16 - n))));
  } else putDigits(out, v, n);
  return out + n;
}

/** Writes an integer and returns the end of the text (at most MAX_I64_TEXT bytes are touched). */
export function printI64(out: usize, v: i64): usize {
  const isNegative = v < 0;
  store<u8>(out, 0x2d);
  return printU64(out + <usize>isNegative, <u64>(isNegative ? 0 - v : v));
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
