// Double to shortest text that reads back as the same double (Raffaello Giulietti's Schubfach), in three layouts.
import { POW10, POW10_LOWEST } from '../gen/pow10';
import { mulHigh, pow10F64 } from './wide';
import { digitCount, pairOf, putDigits } from './i64';

/** Longest text of printF64 and printF64General, bytes (with slack for block stores). */
export const MAX_F64_TEXT: u32 = 32;
/** Longest text of printF64Plain. */
export const MAX_F64_PLAIN_TEXT: u32 = 352;

/** Decimal of the last call of `shortest`: digits * 10^power, trailing zeros only in whole numbers (power 0). */
let digits: u64 = 0;
let power: i32 = 0;

// @ts-ignore: decorator
@inline function roundToOdd(gh: u64, gl: u64, c: u64): u64 {
  const x = mulHigh(gl, c);
  const y = gh * c;
  const s = y + x;
  return (mulHigh(gh, c) + <u64>(s < y)) | <u64>(s > 1);
}

/** Finds the shortest decimal of a finite value > 0, the closest of the shortest ones. */
function schubfach(bits: u64): void {
  const fraction = bits & 0xfffffffffffff;
  const biased = <i32>(bits >> 52);
  let c = fraction;
  let q = -1074;
  if (biased != 0) {
    c |= 0x10000000000000;
    q = biased - 1075;
    if (q <= 0 && q > -53 && (c & ((<u64>1 << -q) - 1)) == 0) {
      digits = c >> -q;
      power = 0;
      return;
    }
  }
  const odd = c & 1;
  const narrow = fraction == 0 && biased > 1; // the gap below a power of two is half as wide
  const k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22;
  const h = <u64>(q + ((-k * 1741647) >> 19) + 1);
  const at = POW10 + (<usize>(-k - POW10_LOWEST) << 4);
  const gh = load<u64>(at);
  const gl = load<u64>(at, 8) + <u64>(<u32>(-k) > 55);
  const low = roundToOdd(gh, gl, (4 * c - 2 + <u64>narrow) << h) + odd;
  const value = roundToOdd(gh, gl, (4 * c) << h);
  const high = roundToOdd(gh, gl, (4 * c + 2) << h) - odd;
  const s = value >> 2;
  if (s >= 10) {
    const tens = s / 10;
    const below = low <= 40 * tens;
    const above = 40 * tens + 40 <= high;
    if (below != above) {
      digits = tens + <u64>above;
      power = k + 1;
      return;
    }
  }
  const below = low <= 4 * s;
  const above = 4 * s + 4 <= high;
  power = k;
  if (below != above) {
    digits = s + <u64>above;
    return;
  }
  const middle = 4 * s + 2;
  digits = s + <u64>(value > middle || (value == middle && (s & 1) != 0));
}

// @ts-ignore: decorator
@inline function shortest(a: f64): void {
  // Values with at most two decimals, the bulk of measured data: the candidate is right when dividing gives it back.
  const hundreds = nearest(a * 100);
  if (hundreds < 1e15 && hundreds >= 1 && hundreds / 100 == a) {
    digits = <u64>hundreds;
    power = -2;
    const tens = digits / 10;
    if (tens * 10 == digits) {
      digits = tens;
      power = -1;
      const ones = tens / 10;
      if (ones * 10 == tens) {
        digits = ones;
        power = 0;
      }
    }
    return;
  }
  schubfach(reinterpret<u64>(a));
  if (power != 0) stripZeros();
}

function stripZeros(): void {
  while (true) {
    const tens = digits / 10;
    if (tens * 10 != digits) return;
    digits = tens;
    power++;
  }
}

/** Writes NaN, +Inf, -Inf as Go names them. */
function printSpecial(out: usize, v: f64): usize {
  if (v != v) {
    store<u16>(out, 0x614e);
    store<u8>(out, 0x4e, 2);
    return out + 3;
  }
  store<u32>(out, v > 0 ? 0x666e492b : 0x666e492d);
  return out + 4;
}

// @ts-ignore: decorator
@inline function isSpecial(v: f64): bool {
  return (reinterpret<u64>(v) & 0x7ff0000000000000) == 0x7ff0000000000000;
}

/** Writes digits * 10^power without exponent. */
// @ts-ignore: decorator
@inline function printFixed(out: usize, n: u32): usize {
  let at = out;
  const point = <i32>n + power;
  if (power >= 0) {
    putDigits(at, digits, n);
    at += n;
    for (let i = 0; i < power; i++) store<u8>(at++, 48);
    return at;
  }
  if (point > 0) {
    const whole = digits / pow10Int(-power);
    putDigits(at, whole, <u32>point);
    at += <usize>point;
    store<u8>(at++, 0x2e);
    putDigits(at, digits - whole * pow10Int(-power), <u32>-power);
    return at - power;
  }
  store<u16>(at, 0x2e30);
  at += 2;
  for (let i = point; i < 0; i++) store<u8>(at++, 48);
  putDigits(at, digits, n);
  return at + n;
}

// @ts-ignore: decorator
@inline function pow10Int(k: i32): u64 {
  return <u64>pow10F64(k);
}

/** Writes digits * 10^power as d.ddde±x with at least `minExponentDigits`. */
function printExponent(out: usize, n: u32, minExponentDigits: u32): usize {
  let at = out;
  putDigits(at + 1, digits, n);
  store<u8>(at, load<u8>(at, 1));
  if (n > 1) {
    store<u8>(at, 0x2e, 1);
    at += n + 1;
  } else at++;
  let e = <i32>n + power - 1;
  store<u16>(at, e < 0 ? 0x2d65 : 0x2b65);
  at += 2;
  if (e < 0) e = -e;
  const width = max(digitCount(<u64>e), minExponentDigits);
  putDigits(at, <u64>e, width);
  return at + width;
}

/** Writes the sign of a finite value, finds its digits and returns where they go; 0 has one digit. */
// @ts-ignore: decorator
@inline function begin(out: usize, v: f64): usize {
  let at = out;
  if (reinterpret<i64>(v) < 0) store<u8>(at++, 0x2d);
  if (v == 0) {
    digits = 0;
    power = 0;
  } else shortest(abs(v));
  return at;
}

/** Largest whole part that printShort writes. */
const SHORT_WHOLE: f64 = 9999;

/**
 * Writes a double of at most two decimals and four digits before them, as most measured ones are, and returns the end of the
 * text; 0 for others. Without jumps: how long such numbers are changes from one to the next.
 */
// @ts-ignore: decorator
@inline function printShort(out: usize, v: f64): usize {
  const a = abs(v);
  const hundreds = nearest(a * 100);
  if (!(hundreds >= 1 && hundreds < (SHORT_WHOLE + 1) * 100 && hundreds / 100 == a)) return 0;
  store<u8>(out, 0x2d);
  const at = out + <usize>(v < 0);
  const all = <u32>hundreds;
  const whole = all / 100;
  const decimals = all - whole * 100;
  const thousands = whole / 100;
  const count = 1 + <u32>(whole >= 10) + <u32>(whole >= 100) + <u32>(whole >= 1000);
  store<u32>(at, (pairOf(thousands) | (pairOf(whole - thousands * 100) << 16)) >> ((4 - count) << 3));
  store<u32>(at + count, 0x2e | (pairOf(decimals) << 8));
  return at + count + select<u32>(0, select<u32>(2, 3, decimals % 10 == 0), decimals == 0);
}

/**
 * Writes a double as JSON: shortest digits, no point in whole numbers, exponent from 1e21 on and below 1e-6 (`1e+21`,
 * `1e-7`), -0 as `-0`. NaN and infinities, which JSON does not have, come out as text; callers check before.
 */
export function printF64(out: usize, v: f64): usize {
  const short = printShort(out, v);
  if (short) return short;
  if (isSpecial(v)) return printSpecial(out, v);
  const at = begin(out, v);
  const n = digitCount(digits);
  const point = <i32>n + power;
  if (point <= 21 && point > -6) return printFixed(at, n);
  return printExponent(at, n, 1);
}

/** Writes a double as Go's `%v` does: exponent of at least two digits from 1e6 on and below 1e-4 (`1e+06`, `1e-05`). */
export function printF64General(out: usize, v: f64): usize {
  if (isSpecial(v)) return printSpecial(out, v);
  const at = begin(out, v);
  if (digits != 0) stripZeros();
  const n = digitCount(digits);
  const point = <i32>n + power;
  if (point <= 6 && point > -4) return printFixed(at, n);
  return printExponent(at, n, 2);
}

/** Writes a double without exponent, whatever its size (at most MAX_F64_PLAIN_TEXT bytes). */
export function printF64Plain(out: usize, v: f64): usize {
  if (isSpecial(v)) return printSpecial(out, v);
  const at = begin(out, v);
  return printFixed(at, digitCount(digits));
}
