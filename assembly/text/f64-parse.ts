// Text to double, correctly rounded: exact arithmetic for short numbers (Clinger), a 128-bit product for all numbers of
// up to 19 digits (Eisel and Lemire), big integers where more digits leave the rounding open.
import { POW10, POW10_LOWEST } from '../gen/pow10';
import { mulHigh, pow10F64 } from './wide';

/** Set by parseF64: first byte after the number. */
export let f64End: usize = 0;
/** Set by parseF64: the text has neither fraction nor exponent. */
export let f64Whole: bool = false;
/** Set by parseF64: the text is what printF64 writes for the value (see `canonical`). */
export let f64Canonical: bool = false;

const INFINITY_BITS: u64 = 0x7ff0000000000000;

/** Bits of the double nearest to `digits` * 10^exponent, ties to even; digits below 2^64. */
function decimalToBits(digits: u64, exponent: i32): u64 {
  if (digits == 0 || exponent < POW10_LOWEST) return 0;
  if (exponent > 308) return INFINITY_BITS;
  const zeros = <i32>clz(digits);
  const w = digits << zeros;
  const at = POW10 + ((<usize>(exponent - POW10_LOWEST)) << 4);
  const th = load<u64>(at);
  let hi = mulHigh(w, th);
  let lo = w * th;
  if ((hi & 0x1ff) == 0x1ff) {
    // Reciprocals of the powers that are exact doubles have to be rounded up.
    const tl = load<u64>(at, 8) + <u64>(exponent < 0 && exponent >= -27);
    const more = mulHigh(w, tl);
    lo += more;
    if (more > lo) hi++;
  }
  const upper = <i32>(hi >> 63);
  const shift = upper + 9;
  let m = hi >> shift;
  let e = ((217706 * exponent) >> 16) + 63 + upper - zeros + 1023;
  if (e <= 0) {
    if (1 - e >= 64) return 0;
    m >>= 1 - e;
    m += m & 1;
    m >>= 1;
    return m; // a carry into bit 52 is the exponent of the smallest normal number
  }
  if (lo <= 1 && exponent >= -4 && exponent <= 23 && (m & 3) == 1 && m << shift == hi) m &= ~1;
  m += m & 1;
  m >>= 1;
  if (m >= 0x20000000000000) {
    m = 0x10000000000000;
    e++;
  }
  if (e >= 0x7ff) return INFINITY_BITS;
  return (m & 0xfffffffffffff) | ((<u64>e) << 52);
}

/**
 * Parses `-? digits (. digits)? ([eE] [+-]? digits)?` at `p0`, the longest such prefix before `end`; leading zeros are
 * accepted. Returns NaN when there is no number (f64End = p0). Numbers too large give ±Infinity.
 */
export function parseF64(p0: usize, end: usize): f64 {
  let p = p0;
  f64End = p0;
  f64Whole = true;
  f64Canonical = false;
  const negative = p < end && load<u8>(p) == 0x2d;
  p += <usize>negative;
  const start = p;
  let m: u64 = 0;
  while (p < end) {
    const d = <u32>load<u8>(p) - 48;
    if (d >= 10) break;
    m = m * 10 + d;
    p++;
  }
  const whole = <i32>(p - start);
  if (whole == 0) return NaN;
  let fraction: i32 = 0;
  if (p < end && load<u8>(p) == 0x2e) {
    const dot = ++p;
    while (p < end) {
      const d = <u32>load<u8>(p) - 48;
      if (d >= 10) break;
      m = m * 10 + d;
      p++;
    }
    fraction = <i32>(p - dot);
    if (fraction == 0) return NaN;
    f64Whole = false;
  }
  let exponent: i32 = 0;
  const mantissaEnd = p;
  if (p < end && (load<u8>(p) | 32) == 0x65) {
    p++;
    f64Whole = false;
    let down = false;
    if (p < end) {
      const c = load<u8>(p);
      if (c == 0x2d || c == 0x2b) {
        down = c == 0x2d;
        p++;
      }
    }
    const first = p;
    while (p < end) {
      const d = <u32>load<u8>(p) - 48;
      if (d >= 10) break;
      if (exponent < 100000) exponent = exponent * 10 + d;
      p++;
    }
    if (p == first) return NaN;
    if (down) exponent = -exponent;
  }
  f64End = p;
  let v: f64;
  const digits = whole + fraction;
  if (digits <= 19) {
    const scale = exponent - fraction;
    if (m < 0x20000000000000 && scale >= -22 && scale <= 22) {
      v = scale < 0 ? <f64>m / pow10F64(-scale) : <f64>m * pow10F64(scale);
    } else v = reinterpret<f64>(decimalToBits(m, scale));
    if (p == mantissaEnd) f64Canonical = canonical(start, <u32>whole, <u32>fraction, negative, m);
  } else v = parseLong(start, mantissaEnd, exponent);
  return negative ? -v : v;
}

/**
 * True when a number without exponent is spelled as the printer would: no superfluous zeros, at most 15 significant
 * digits (all of which a double keeps), not below 1e-6 (where the printer changes to exponents), not -0.
 */
// @ts-ignore: decorator
@inline function canonical(start: usize, whole: u32, fraction: u32, negative: bool, m: u64): bool {
  if (m >= 1000000000000000) return false;
  if (whole > 1 && load<u8>(start) == 48) return false;
  if (fraction == 0) return m != 0 || !negative;
  return fraction <= 6 + (load<u8>(start) != 48 ? 14 : 0)
    ? load<u8>(start + whole + fraction) != 48
    : m >= <u64>(fraction <= 21 ? pow10F64(<i32>fraction - 6) : 1e15) && load<u8>(start + whole + fraction) != 48;
}

// ---- more than 19 digits --------------------------------------------------------------------------------------
const LIMBS: u32 = 320; // 10240 bits: 800 digits and the powers that bring both sides to one scale
const LEFT: usize = memory.data(4 * 322, 16);
const RIGHT: usize = memory.data(4 * 322, 16);
const MAX_DIGITS: u32 = 800; // the midpoint of two doubles has at most 767 digits; the rest only breaks ties

function parseLong(start: usize, end: usize, exponent: i32): f64 {
  let p = start;
  let m: u64 = 0;
  let taken: i32 = 0;
  let scale = exponent;
  let inFraction = false;
  let dropped = false;
  for (; p < end; p++) {
    const c = load<u8>(p);
    if (c == 0x2e) {
      inFraction = true;
      continue;
    }
    if (taken < 19) {
      m = m * 10 + (c - 48);
      if (m) taken++;
      if (inFraction) scale--;
    } else {
      if (c != 48) dropped = true;
      if (!inFraction) scale++;
    }
  }
  const low = decimalToBits(m, scale);
  if (!dropped) return reinterpret<f64>(low);
  if (low == decimalToBits(m + 1, scale)) return reinterpret<f64>(low);
  return reinterpret<f64>(settle(start, end, exponent, low));
}

/** Decides between `low` and its successor by comparing the decimal with the midpoint of the two. */
function settle(start: usize, end: usize, exponent: i32, low: u64): u64 {
  memory.fill(LEFT, 0, 4 * (LIMBS + 2));
  memory.fill(RIGHT, 0, 4 * (LIMBS + 2));
  let digits: u32 = 0;
  let scale = exponent;
  let inFraction = false;
  let sticky = false;
  for (let p = start; p < end; p++) {
    const c = load<u8>(p);
    if (c == 0x2e) {
      inFraction = true;
      continue;
    }
    if (digits < MAX_DIGITS) {
      bigMulAdd(LEFT, 10, c - 48);
      if (digits != 0 || c != 48) digits++;
      if (inFraction) scale--;
    } else {
      if (c != 48) sticky = true;
      if (!inFraction) scale++;
    }
  }
  if (sticky) {
    bigMulAdd(LEFT, 10, 1);
    scale--;
  }
  const e = <i32>(low >> 52);
  const m = e == 0 ? low : (low & 0xfffffffffffff) | 0x10000000000000;
  const middle = (m << 1) + 1;
  store<u64>(RIGHT, middle);
  const binary = (e == 0 ? -1074 : e - 1075) - 1; // midpoint = middle * 2^binary
  if (scale >= 0) bigMulPow10(LEFT, scale);
  else bigMulPow10(RIGHT, -scale);
  if (binary >= 0) bigShift(RIGHT, binary);
  else bigShift(LEFT, -binary);
  for (let i = <i32>LIMBS - 1; i >= 0; i--) {
    const a = load<u32>(LEFT + ((<usize>i) << 2));
    const b = load<u32>(RIGHT + ((<usize>i) << 2));
    if (a != b) return a > b ? low + 1 : low;
  }
  return low + (low & 1);
}

function bigMulAdd(big: usize, factor: u32, add: u32): void {
  let carry: u64 = add;
  for (let i: usize = 0; i < LIMBS << 2; i += 4) {
    carry += <u64>load<u32>(big + i) * factor;
    store<u32>(big + i, <u32>carry);
    carry >>= 32;
  }
}

function bigMulPow10(big: usize, power: i32): void {
  let left = power;
  for (; left >= 9; left -= 9) bigMulAdd(big, 1000000000, 0);
  for (; left > 0; left--) bigMulAdd(big, 10, 0);
}

function bigShift(big: usize, bits: i32): void {
  const limbs = bits >> 5;
  const rest = <u64>(bits & 31);
  for (let i = <i32>LIMBS - 1; i >= 0; i--) {
    const from = i - limbs;
    let v: u64 = 0;
    if (from >= 0) v = (<u64>load<u32>(big + ((<usize>from) << 2))) << 32;
    if (from >= 1) v |= <u64>load<u32>(big + ((<usize>(from - 1)) << 2));
    store<u32>(big + ((<usize>i) << 2), <u32>((v << rest) >> 32));
  }
}
