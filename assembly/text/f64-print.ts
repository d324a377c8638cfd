// Double to shortest text that reads back as the same double (Raffaello Giulietti's Schubfach), in three layouts.
import { POW10, POW10_LOWEST } from '../gen/pow10';
import { POW10_U64, mulHigh, pow10F64 } from './wide';
import { ZEROS, digitCount, pairOf, printU64, putDigits, sixteenDigits } from './i64';

/** Longest text of printF64 and printF64General, bytes (with slack for block stores). */
export const MAX_F64_TEXT: u32 = 32;
/** Longest text of printF64Plain. */
export const MAX_F64_PLAIN_TEXT: u32 = 352;

/** Decimal of the last call of `shortest`: digits * 10^power, trailing zeros only in whole numbers (power 0). */
let digits: u64 = 0;
let power: i32 = 0;

/**
 * The middle and the high word of the three of a product, of which the lower ones only say whether anything is left.
 */
// @ts-ignore: decorator
@inline function roundToOdd(high: u64, middle: u64): u64 {
  return high | <u64>(middle > 1);
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
    if (q <= 0 && q > -53 && (c & (((<u64>1) << -q) - 1)) == 0) {
      digits = c >> -q;
      power = 0;
      return;
    }
  }
  if (fraction != 0 && shortestOfHigh(c, q)) return;
  schubfachExact(c, q, fraction == 0 && biased > 1);
}

/** Bound of what the low half of a power of ten adds to a decimal, in 2^-60: c << h has 57 bits at most. */
const LOW_HALF: u64 = 1 << 53;
const ONE: u64 = 1 << 60;

/**
 * Finds the shortest decimal by the high half of the power of ten alone: half the multiplications. Returns false when
 * the low half could decide otherwise, one time in a hundred, and for ties.
 */
// @ts-ignore: decorator
@inline function shortestOfHigh(c: u64, q: i32): bool {
  const k = (q * 1262611) >> 22;
  const h = <u64>(q + ((-k * 1741647) >> 19) + 1);
  const g = load<u64>(POW10 + ((<usize>(-k - POW10_LOWEST)) << 4));
  const scaled = c << h;
  const whole = mulHigh(g, scaled);
  const part = g * scaled;
  const tens = whole / 10;
  const tens10 = tens * 10;
  // Distance from the ten below and half the distance to the next double, in 2^-60; a double lies in less than ten
  // ones.
  const rest = ((whole - tens10) << 60) | (part >> 4);
  const half = g >> (5 - h);
  const far = 10 * ONE - half;
  const isUnsure =
    <u32>(rest - (half - LOW_HALF - 2) <= LOW_HALF + 4) |
    <u32>(rest - (far - LOW_HALF - 2) <= LOW_HALF + 4) |
    <u32>((part >> 4) - (ONE / 2 - LOW_HALF - 2) <= LOW_HALF + 4);
  if (isUnsure) return false;
  const isUp = rest > far;
  const ones = whole + (part >> 63);
  digits = select<u64>(tens10 + select<u64>(10, 0, isUp), ones, <u32>isUp | <u32>(rest < half));
  power = k;
  return true;
}

function schubfachExact(c: u64, q: i32, narrow: bool): void {
  const odd = c & 1;
  // The gap below a power of two is half as wide.
  const k = (q * 1262611 - (narrow ? 524031 : 0)) >> 22;
  const h = <u64>(q + ((-k * 1741647) >> 19) + 1);
  const at = POW10 + ((<usize>(-k - POW10_LOWEST)) << 4);
  const gh = load<u64>(at);
  const gl = load<u64>(at, 8) + <u64>(<u32>-k > 55);
  // The product g * 4c * 2^h in three words. Those of both neighbours, 2 more and 2 (1) less than 4c, differ by g
  // shifted.
  const scaled = (4 * c) << h;
  const low0 = gl * scaled;
  const highOfLow = mulHigh(gl, scaled);
  const lowOfHigh = gh * scaled;
  const low1 = lowOfHigh + highOfLow;
  const low2 = mulHigh(gh, scaled) + <u64>(low1 < highOfLow);
  const value = roundToOdd(low2, low1);
  const up = h + 1;
  const step0 = gl << up;
  const step1 = (gh << up) | (gl >> (64 - up));
  const step2 = gh >> (64 - up);
  const sum0 = low0 + step0;
  const sum1a = low1 + step1;
  const sum1 = sum1a + <u64>(sum0 < low0);
  const high = roundToOdd(low2 + step2 + (<u64>(sum1a < low1) | <u64>(sum1 < sum1a)), sum1) - odd;
  const down = up - <u64>narrow;
  const less0 = gl << down;
  const less1 = (gh << down) | (gl >> (64 - down));
  const less2 = gh >> (64 - down);
  const borrow = <u64>(low0 < less0);
  const rest1 = low1 - less1;
  const low = roundToOdd(low2 - less2 - (<u64>(low1 < less1) | <u64>(rest1 < borrow)), rest1 - borrow) + odd;
  // Often a candidate with one digit less, a multiple of ten, is enough. Without jumps: nobody can tell for which
  // numbers.
  const s = value >> 2;
  const tens = s / 10;
  const tensBelow = low <= 40 * tens;
  const tensAbove = 40 * tens + 40 <= high;
  const isTens = (<u32>(s >= 10) & <u32>(tensBelow != tensAbove)) != 0;
  const below = low <= 4 * s;
  const above = 4 * s + 4 <= high;
  const middle = 4 * s + 2;
  const nearer = <u64>(value > middle) | (<u64>(value == middle) & s & 1);
  const ones = s + select<u64>(<u64>above, nearer, below != above);
  digits = select<u64>(tens + <u64>tensAbove, ones, isTens);
  power = k + <i32>isTens;
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

/** Decimals at most three of a number below this are written by printShort, in thousandths. */
const SHORT_THOUSANDTHS: f64 = 10000000;
/** Thousandths below this are exact. */
const EXACT_THOUSANDTHS: f64 = 1e15;
/** Whole numbers below this, the times of rows among them, are those of integers. */
const EXACT_WHOLE: f64 = 1e15;

/**
 * Decimals of each number of thousandths below 1000: three digits, and in the last byte how many bytes they take with
 * the point.
 */
const DECIMALS: usize = memory.data(4000, 4);
for (let i: u32 = 0; i < 1000; i++) {
  const length: u32 = i == 0 ? 0 : i % 100 == 0 ? 2 : i % 10 == 0 ? 3 : 4;
  store<u32>(
    DECIMALS + ((<usize>i) << 2),
    0x303030 | (i / 100) | (((i / 10) % 10) << 8) | ((i % 10) << 16) | (length << 24),
  );
}

/**
 * Writes a double of at most three decimals and four digits before them, as most measured ones are, and returns the end
 * of the text. Without jumps: how long such numbers are changes from one to the next.
 */
// @ts-ignore: decorator
@inline function printShort(at: usize, all: u32): usize {
  const whole = all / 1000;
  const decimals = load<u32>(DECIMALS + ((<usize>(all - whole * 1000)) << 2));
  const hundreds = whole / 100;
  const count = 1 + <u32>(whole >= 10) + <u32>(whole >= 100) + <u32>(whole >= 1000);
  store<u32>(at, (pairOf(hundreds) | (pairOf(whole - hundreds * 100) << 16)) >> ((4 - count) << 3));
  store<u32>(at + count, 0x2e | (decimals << 8));
  return at + count + (decimals >> 24);
}

/** Digits of a double at most, with zeros behind them. */
const ALL_DIGITS: u32 = 17;
/** How 16 digits are moved to leave room for the point behind so many of them: 17 rows of 16 bytes. */
const ROOM_FOR_POINT: usize = memory.data(17 * 16, 16);
for (let row: usize = 0; row <= 16; row++) {
  for (let i: usize = 0; i < 16; i++)
    store<u8>(ROOM_FOR_POINT + (row << 4) + i, <u8>(i < row ? i : max<isize>(i - 1, 0)));
}

/**
 * Writes 17 digits without exponent, of which the point stands behind digit `point`, from -5 to 17. Without jumps, as
 * above.
 */
// @ts-ignore: decorator
@inline function printPlain(out: usize, all: u64, point: i32): usize {
  const upper = <u32>(all / 100000000);
  const lower = <u32>(all - <u64>upper * 100000000);
  const first = upper / 100000000;
  const others = sixteenDigits(upper - first * 100000000, lower);
  const zeros = <u32>i8x16.bitmask(i8x16.eq(others, v128.load(ZEROS)));
  // Digits up to the last one that is not zero.
  const used = <i32>(ALL_DIGITS - <u32>clz(~(zeros << 16)));
  if (point <= 0) {
    store<u64>(out, 0x3030303030302e30);
    const at = out + <usize>(2 - point);
    store<u8>(at, 0x30 + <u8>first);
    v128.store(at, others, 1);
    return at + used;
  }
  store<u8>(out, 0x30 + <u8>first);
  store<u8>(out, i8x16.extract_lane_u(others, 15), 17);
  v128.store(out, i8x16.swizzle(others, v128.load(ROOM_FOR_POINT + ((<usize>(point - 1)) << 4))), 1);
  store<u8>(out + point, 0x2e);
  return out + select<i32>(used + 1, point, used > point);
}

/**
 * Writes a double as JSON: shortest digits, no point in whole numbers, exponent from 1e21 on and below 1e-6 (`1e+21`,
 * `1e-7`), -0 as `-0`. NaN and infinities, which JSON does not have, come out as text; callers check before.
 */
export function printF64(out: usize, v: f64): usize {
  const a = abs(v);
  store<u8>(out, 0x2d);
  const at = out + <usize>(reinterpret<u64>(v) >> 63);
  // Values with at most three decimals, the bulk of measured data: the candidate is right when dividing gives it back.
  const thousandths = nearest(a * 1000);
  if (thousandths < EXACT_THOUSANDTHS && thousandths >= 1 && thousandths / 1000 == a) {
    if (thousandths < SHORT_THOUSANDTHS) return printShort(at, <u32>thousandths);
    if (nearest(a) == a) return printU64(at, <u64>a);
    digits = <u64>thousandths;
    power = -3;
  } else {
    if (nearest(a) == a && a < EXACT_WHOLE) return printU64(at, <u64>a);
    if (isSpecial(v)) return printSpecial(out, v);
    const bits = reinterpret<u64>(a);
    const fraction = bits & 0xfffffffffffff;
    const biased = <i32>(bits >> 52);
    if ((fraction != 0) & (biased != 0) && shortestOfHigh(fraction | 0x10000000000000, biased - 1075)) {
      // 16 digits or 17
      const isLong = digits >= 10000000000000000;
      const point = 16 + <i32>isLong + power;
      if (point <= <i32>ALL_DIGITS && point > -6)
        return printPlain(at, select<u64>(digits, digits * 10, isLong), point);
    } else schubfach(bits);
  }
  const n = digitCount(digits);
  const point = <i32>n + power;
  if (point <= <i32>ALL_DIGITS && point > -6) {
    return printPlain(at, digits * load<u64>(POW10_U64 + ((<usize>(ALL_DIGITS - n)) << 3)), point);
  }
  if (power != 0) stripZeros();
  const left = digitCount(digits);
  if (point <= 21 && point > -6) return printFixed(at, left);
  return printExponent(at, left, 1);
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
