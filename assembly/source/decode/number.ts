// Numbers behind a known key. Most have as many digits as the numbers before, and the same byte behind them. Where that
// shape fits, as one comparison of a block tells, all digits are converted at once; the bytes behind the number are
// looked at without waiting for the digits. A step knows two shapes; a number of a third is measured. A shape gives way
// when numbers of others come in a row.
//
//   shape (68 bytes)
//   0    expected 16     the smallest bytes: sign, '0' for each digit, '1' for the first of several before the point,
//   point, the
//                        byte behind; then zeros
//   16   most 16         how much larger each byte may be: up to '9' for digits, anything behind the number
//   32   places 16       place of each digit when the last one goes to the end of a block
//   48   divisor f64     power of ten, of the number's sign
//   56   least i64       the digits expected, as a number
//   64   nonzero u16     digits that a number has not as zero whose text is what the encoder would print
//   66   length u8 | patience u8 (other numbers until it is replaced)
import { COL_HAS_RAW, COL_RAW, COL_TAGS, COL_VALS, span, Tag } from '../../mem/layout';
import { POW10_F64 } from '../../text/wide';
import { Use, NumberAs } from '../columns/use';

const SHAPE_MOST: usize = 16;
const SHAPE_PLACES: usize = 32;
const SHAPE_DIVISOR: usize = 48;
const SHAPE_LEAST: usize = 56;
const SHAPE_NONZERO: usize = 64;
const SHAPE_LENGTH: usize = 66;
const SHAPE_PATIENCE: usize = 67;
const SHAPE_SIZE: usize = 68;

/** A block of 16 bytes holds the number and the byte behind it. */
const MAX_LENGTH: u32 = 15;
const PATIENCE: u8 = 31;
/** Fractions of more places below one are printed with an exponent. */
const MAX_FRACTION_BELOW_ONE: u32 = 6;

/** From the offset of the number of digits on: the place of each digit when the last one goes to the end of a block. */
const PLACES: usize = memory.data<i8>(
  [
    -16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
    14, 15,
  ],
  16,
);
/** From the offset of the number of digits behind the point on: -1 for those. */
const BEHIND: usize = memory.data<i8>(
  [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1],
  16,
);
// Constants of blocks: read from memory in one instruction, where the compiler would build each of them by three.
const TENS: usize = memory.data<u16>([2561, 2561, 2561, 2561, 2561, 2561, 2561, 2561], 16);
const HUNDREDS: usize = memory.data<i16>([100, 1, 100, 1, 100, 1, 100, 1], 16);
const TEN_THOUSANDS: usize = memory.data<i16>([10000, 1, 10000, 1, 10000, 1, 10000, 1], 16);

/** The block at `p` as its difference to what the shape expects: zeros, and by how much digits are larger. */
// @ts-ignore: decorator
@inline export function offset(shape: usize, p: usize): v128 {
  return i8x16.sub(v128.load(p), v128.load(shape));
}

/** Says whether the number with this difference has the shape. */
// @ts-ignore: decorator
@inline export function fits(shape: usize, x: v128): bool {
  return i8x16.bitmask(i8x16.le_u(x, v128.load(shape, SHAPE_MOST))) == 0xffff;
}

// @ts-ignore: decorator
@inline export function lengthOf(shape: usize): usize {
  return load<u8>(shape, SHAPE_LENGTH);
}

// @ts-ignore: decorator
@inline export function hasFitted(shape: usize): void {
  store<u8>(shape, PATIENCE, SHAPE_PATIENCE);
}

/** Stores the number at `p`, which has the shape. */
// @ts-ignore: decorator
@inline export function putDouble(shape: usize, use: Use, p: usize, x: v128, row: u32): void {
  const block = use.block;
  const at = block + ((<usize>row) << 3);
  store<f64>(at, <f64>numberOf(shape, x) / load<f64>(shape, SHAPE_DIVISOR), COL_VALS);
  store<u8>(block + row, Tag.F64, COL_TAGS);
  store<u64>(at, textOf(shape, p, x), COL_RAW);
  store<u8>(block, 1, COL_HAS_RAW);
}

/** As `putDouble` for a number without point. */
// @ts-ignore: decorator
@inline export function putInteger(shape: usize, use: Use, p: usize, x: v128, row: u32): void {
  const block = use.block;
  const at = block + ((<usize>row) << 3);
  const m = numberOf(shape, x);
  store<i64>(at, load<i64>(shape, SHAPE_DIVISOR) < 0 ? -m : m, COL_VALS);
  store<u8>(block + row, Tag.I64, COL_TAGS);
  store<u64>(at, textOf(shape, p, x), COL_RAW);
  store<u8>(block, 1, COL_HAS_RAW);
}

/** The source text as a span, 0 when the encoder would print the number in another way. */
// @ts-ignore: decorator
@inline function textOf(shape: usize, p: usize, x: v128): u64 {
  const zeros = <u32>i8x16.bitmask(i8x16.eq(x, i64x2.splat(0)));
  return select<u64>(0, span(p, load<u8>(shape, SHAPE_LENGTH)), (zeros & load<u16>(shape, SHAPE_NONZERO)) != 0);
}

/** All digits of the number with this difference, as one number. */
// @ts-ignore: decorator
@inline function numberOf(shape: usize, x: v128): i64 {
  return valueOf(x, v128.load(shape, SHAPE_PLACES), load<i64>(shape, SHAPE_LEAST));
}

/** Value of at most 15 digits, each of which has its place, and `least`, which is added where nothing waits for it. */
// @ts-ignore: decorator
@inline function valueOf(digits: v128, places: v128, least: i64): i64 {
  // Times ten to the next byte, and the byte there, are in the upper half of the product.
  const two = i16x8.shr_u(i16x8.mul(i8x16.swizzle(digits, places), v128.load(TENS)), 8);
  const four = i32x4.dot_i16x8_s(two, v128.load(HUNDREDS));
  const eight = i32x4.dot_i16x8_s(i16x8.narrow_i32x4_s(four, four), v128.load(TEN_THOUSANDS));
  const both = i64x2.extract_lane(eight, 0);
  return (both & 0xffffffff) * 100000000 + ((both >> 32) + least);
}

// ---- numbers of other shapes ------------------------------------------------------------------------------------

/** Set by measure: 1 for a number with a sign, digits before and behind the point, the position behind the number. */
let sign: u32 = 0;
let whole: u32 = 0;
let fraction: u32 = 0;
export let measuredEnd: usize = 0;

/**
 * Measures the number at `p`; false unless it is a short JSON number without exponent, with `isWhole` also without
 * fraction.
 */
export function measure(p: usize, isWhole: bool): bool {
  const minus = <u32>(load<u8>(p) == 0x2d);
  const first = p + minus;
  const found = <u32>i8x16.bitmask(i8x16.le_u(i8x16.sub(v128.load(first), i8x16.splat(48)), i8x16.splat(9)));
  const n = ctz(~found);
  let behind: u32 = 0;
  let end = first + n;
  if (load<u8>(end) == 0x2e) {
    behind = ctz(~(found >> (n + 1)));
    end += behind + 1;
    if (behind == 0 || isWhole) return false;
  }
  if (n == 0 || end - p > MAX_LENGTH || (load<u8>(end) | 32) == 0x65 || (n > 1 && load<u8>(first) == 48)) return false;
  sign = minus;
  whole = n;
  fraction = behind;
  measuredEnd = end;
  return true;
}

/** Whether the number measured becomes a double. */
// @ts-ignore: decorator
@inline export function isDouble(as: u8): bool {
  return fraction != 0 || as == NumberAs.F64;
}

/** Stores the number at `p`, which was measured. */
export function putMeasured(use: Use, p: usize, row: u32): void {
  const first = p + sign;
  const digits = i8x16.sub(v128.load(first), i8x16.splat(48));
  const m = valueOf(digits, i8x16.sub(v128.load(PLACES + whole + fraction), v128.load(BEHIND + fraction)), 0);
  const block = use.block;
  const at = block + ((<usize>row) << 3);
  // Texts that the encoder would print in another way are not kept: zeros behind, small fractions, -0.
  let raw = span(p, <u32>(measuredEnd - p));
  if (load<u8>(first) == 48 && fraction > MAX_FRACTION_BELOW_ONE) raw = 0;
  if (sign && m == 0) raw = 0;
  if (isDouble(use.numberAs)) {
    let x = <f64>m;
    if (fraction) {
      x /= load<f64>(POW10_F64 + ((<usize>fraction) << 3));
      if (load<u8>(measuredEnd - 1) == 48) raw = 0;
    }
    store<f64>(at, sign ? -x : x, COL_VALS);
    store<u8>(block + row, Tag.F64, COL_TAGS);
  } else {
    store<i64>(at, sign ? -m : m, COL_VALS);
    store<u8>(block + row, Tag.I64, COL_TAGS);
  }
  store<u64>(at, raw, COL_RAW);
  store<u8>(block, 1, COL_HAS_RAW);
}

/** Whether the shape makes a double of a number that becomes what `as` says. */
// @ts-ignore: decorator
@inline export function shapeIsDouble(shape: usize, as: u8): bool {
  return as == NumberAs.F64 || abs(load<f64>(shape, SHAPE_DIVISOR)) != 1;
}

/** Notes a number of another shape; true when so many have come that the shape is to be replaced. */
// @ts-ignore: decorator
@inline export function mayReplace(shape: usize): bool {
  const patience = load<u8>(shape, SHAPE_PATIENCE);
  if (!patience) return true;
  store<u8>(shape, patience - 1, SHAPE_PATIENCE);
  return false;
}

export function shapesSwap(a: usize, b: usize): void {
  for (let i: usize = 0; i < SHAPE_SIZE; i += 4) {
    const v = load<u32>(a + i);
    store<u32>(a + i, load<u32>(b + i));
    store<u32>(b + i, v);
  }
}

/** Makes the shape that of the number at `p`, which was measured. */
export function shapeLearn(shape: usize, p: usize): void {
  const length = <u32>(measuredEnd - p);
  memory.fill(shape, 0, SHAPE_PLACES);
  memory.fill(shape + SHAPE_MOST + length + 1, 0xff, MAX_LENGTH - length);
  for (let i: u32 = 0; i <= length; i++) {
    const c = load<u8>(p + i);
    const isDigit = c - 48 < 10 && i < length;
    store<u8>(shape + i, isDigit ? 48 : c);
    if (isDigit) store<u8>(shape + i, 9, SHAPE_MOST);
  }
  let least: i64 = 0;
  if (whole > 1) {
    store<u8>(shape + sign, 49);
    store<u8>(shape + sign, 8, SHAPE_MOST);
    least = <i64>load<f64>(POW10_F64 + ((<usize>(whole + fraction - 1)) << 3));
  }
  store<i64>(shape, least, SHAPE_LEAST);
  const places = i8x16.sub(v128.load(PLACES + whole + fraction), v128.load(BEHIND + fraction));
  // The places that no digit comes from are negative; with a sign the first digit stands one byte further on.
  v128.store(
    shape,
    i8x16.add(places, v128.and(i8x16.splat(<i8>sign), i8x16.ge_s(places, i8x16.splat(0)))),
    SHAPE_PLACES,
  );
  const power = load<f64>(POW10_F64 + ((<usize>fraction) << 3));
  store<f64>(shape, sign ? -power : power, SHAPE_DIVISOR);
  let nonzero: u32 = 0;
  if (whole == 1 && (fraction > MAX_FRACTION_BELOW_ONE || (sign && !fraction))) nonzero = 1 << sign;
  if (fraction) nonzero |= 1 << (length - 1);
  store<u16>(shape, <u16>nonzero, SHAPE_NONZERO);
  store<u8>(shape, <u8>length, SHAPE_LENGTH);
  store<u8>(shape, PATIENCE, SHAPE_PATIENCE);
}
