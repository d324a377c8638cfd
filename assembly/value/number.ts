// Reading values as numbers.
import { Tag } from '../mem/layout';
import { f64End, parseF64 } from '../text/f64-parse';

/** Set by `readInteger` and `readFloat`. */
export let intValue: i64 = 0;
export let floatValue: f64 = 0;

/** The double cut to an integer has 64 bits. */
// @ts-ignore: decorator
@inline export function fitsI64(x: f64): bool {
  return x >= -9223372036854775808.0 && x < 9223372036854775808.0;
}

/** The double cut to an integer; the smallest integer for values that do not fit. */
export function truncateF64(x: f64): i64 {
  return fitsI64(x) ? <i64>x : i64.MIN_VALUE;
}

/** A number as a double; the tag is I64 or F64. */
// @ts-ignore: decorator
@inline export function toF64(tag: u8, val: u64): f64 {
  return tag == Tag.I64 ? <f64>(<i64>val) : reinterpret<f64>(val);
}

// @ts-ignore: decorator
@inline function digitOf(c: u32): u32 {
  if (c - 0x30 < 10) return c - 0x30;
  const lower = c | 0x20;
  return lower - 0x61 < 26 ? lower - 0x61 + 10 : 99;
}

/**
 * Reads the whole text as an integer into `intValue`: decimal, or by prefix 0x, 0o, 0b; a leading zero is octal. False
 * when the text is no integer or does not fit.
 */
export function readInteger(at: usize, len: u32): bool {
  let p = at;
  const end = at + len;
  let negative = false;
  if (p < end && (load<u8>(p) == 0x2d || load<u8>(p) == 0x2b)) negative = load<u8>(p++) == 0x2d;
  let base: u32 = 10;
  if (end - p > 1 && load<u8>(p) == 0x30) {
    const mark = <u32>load<u8>(p, 1) | 0x20;
    base = mark == 0x78 ? 16 : mark == 0x62 ? 2 : 8;
    p += base != 8 || mark == 0x6f ? 2 : 1;
  }
  if (p >= end) return false;
  const limit = <u64>i64.MAX_VALUE + <u64>negative;
  let v: u64 = 0;
  for (; p < end; p++) {
    const d = digitOf(<u32>load<u8>(p));
    if (d >= base || v > (limit - d) / base) return false;
    v = v * base + d;
  }
  intValue = <i64>(negative ? 0 - v : v);
  return true;
}

const COPY: usize = memory.data(72, 16);

/** Lower-case comparison of [at, at+len) with an ASCII literal in lower case. */
function isWord(at: usize, len: u32, word: string): bool {
  if (len != <u32>word.length) return false;
  const from = changetype<usize>(word);
  for (let i: u32 = 0; i < len; i++) {
    if ((load<u8>(at + i) | 0x20) != load<u8>(from + ((<usize>i) << 1))) return false;
  }
  return true;
}

/** Reads the whole text as a double into `floatValue`: decimal with exponent, `inf`, `infinity`, `nan`; no spaces. */
export function readFloat(at: usize, len: u32): bool {
  let p = at;
  const end = at + len;
  let negative = false;
  if (p < end && (load<u8>(p) == 0x2d || load<u8>(p) == 0x2b)) negative = load<u8>(p++) == 0x2d;
  const n = <u32>(end - p);
  if (n == 0) return false;
  if (isWord(p, n, 'inf') || isWord(p, n, 'infinity')) {
    floatValue = negative ? -Infinity : Infinity;
    return true;
  }
  if (isWord(p, n, 'nan')) {
    floatValue = NaN;
    return true;
  }
  let x: f64;
  let stop: usize;
  // The parser wants a digit on both sides of the point; texts such as `.5` and `5.` get theirs in a copy.
  const isOpen = load<u8>(p) == 0x2e || load<u8>(end - 1) == 0x2e;
  if (isOpen) {
    if (n == 1 || n > 64) return false;
    store<u8>(COPY, 0x30);
    memory.copy(COPY + 1, p, n);
    store<u8>(COPY + 1 + n, 0x30);
    const copied = COPY + 1 + n + <usize>(load<u8>(end - 1) == 0x2e);
    x = parseF64(COPY, copied);
    stop = f64End == copied ? end : p;
  } else {
    if (<u32>load<u8>(p) - 0x30 > 9) return false;
    x = parseF64(p, end);
    stop = f64End;
  }
  if (stop != end || isNaN(x)) return false;
  floatValue = negative ? -x : x;
  return true;
}
