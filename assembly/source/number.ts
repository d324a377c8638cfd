// Numbers behind a known key. They mostly have as many digits as those before: where that shape fits, all digits are
// converted at once, and what stands behind the number is looked at without waiting for them. A number of another shape is
// looked at first; when there are more of them, its shape takes the place of the one before.
//
//   shape (12 bytes)
//   0    places u32      bits of the bytes that are digits; of that which is the point, 16 bits higher
//   4    mask u32        bits of all bytes of the number and of the one behind it, in both halves
//   8    length u8 | digits u8 | fraction u8 (digits behind the point) | patience u8 (other numbers until it is replaced)
import { COL_HAS_RAW, COL_RAW, COL_TAGS, COL_VALS, span, Tag } from '../mem/layout';
import { POW10_F64 } from '../text/wide';
import { NumberAs, USE_BLOCK, USE_NUMBER } from './use';

const SHAPE_MASK: usize = 4;
const SHAPE_LENGTH: usize = 8;
const SHAPE_DIGITS: usize = 9;
const SHAPE_FRACTION: usize = 10;
const SHAPE_PATIENCE: usize = 11;
export const SHAPE_SIZE: usize = 12;

/** A block of 16 bytes holds the number and the byte behind it. */
const MAX_LENGTH: u32 = 15;
const PATIENCE: u8 = 3;

/** From the offset of the number of digits on: the place of each digit when the last one goes to the end of a block. */
const PLACES: usize = memory.data<i8>([
  -16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
], 16);
/** From the offset of the number of digits behind the point on: -1 for those. */
const BEHIND: usize = memory.data<i8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
], 16);

/** Makes a shape that fits no number. */
export function shapeBegin(shape: usize): void {
  memory.fill(shape, 0, SHAPE_SIZE);
  store<u32>(shape, 1);
}

/** Says whether the digits and the point at `p` have the shape; `v` is the block there and `digits` the values of its bytes as digits. */
// @ts-ignore: decorator
@inline export function fits(shape: usize, v: v128, digits: v128): bool {
  const found = <u32>i8x16.bitmask(i8x16.le_u(digits, i8x16.splat(9))) | (<u32>i8x16.bitmask(i8x16.eq(v, i8x16.splat(0x2e))) << 16);
  return (found & load<u32>(shape, SHAPE_MASK)) == load<u32>(shape);
}

// @ts-ignore: decorator
@inline export function lengthOf(shape: usize): usize {
  return load<u8>(shape, SHAPE_LENGTH);
}

// @ts-ignore: decorator
@inline export function hasFitted(shape: usize): void {
  store<u8>(shape, PATIENCE, SHAPE_PATIENCE);
}

/** Stores the number [p0, q), which has the shape; its digits begin at `p`. */
// @ts-ignore: decorator
@inline export function putShaped(shape: usize, use: usize, p0: usize, p: usize, q: usize, digits: v128, row: u32): void {
  const count = <u32>load<u8>(shape, SHAPE_DIGITS);
  const fraction = <u32>load<u8>(shape, SHAPE_FRACTION);
  const m = valueOf(digits, count, fraction);
  const block = <usize>load<u32>(use, USE_BLOCK);
  const at = block + (<usize>row << 3);
  // What the encoder would print in another way: zeros in front or behind, small fractions, -0.
  let raw = span(p0, <u32>(q - p0));
  if (load<u8>(p) == 48 && (count - fraction != 1 || fraction > 6)) raw = 0;
  if (p != p0 && m == 0) raw = 0;
  if (fraction || load<u8>(use, USE_NUMBER) == NumberAs.F64) {
    let x = <f64>m;
    if (fraction) {
      x /= load<f64>(POW10_F64 + (<usize>fraction << 3));
      if (load<u8>(q - 1) == 48) raw = 0;
    }
    store<f64>(at, p != p0 ? -x : x, COL_VALS);
    store<u8>(block + row, Tag.F64, COL_TAGS);
  } else {
    store<i64>(at, p != p0 ? -m : m, COL_VALS);
    store<u8>(block + row, Tag.I64, COL_TAGS);
  }
  store<u64>(at, raw, COL_RAW);
  store<u8>(block, 1, COL_HAS_RAW);
}

/** Value of at most 15 digits at the start of a block, of which `fraction` stand behind a point. */
// @ts-ignore: decorator
@inline function valueOf(digits: v128, count: u32, fraction: u32): i64 {
  const right = i8x16.swizzle(digits, i8x16.sub(v128.load(PLACES + count), v128.load(BEHIND + fraction)));
  const two = i16x8.add(i16x8.mul(v128.and(right, i16x8.splat(0xff)), i16x8.splat(10)), i16x8.shr_u(right, 8));
  const four = i32x4.dot_i16x8_s(two, i16x8(100, 1, 100, 1, 100, 1, 100, 1));
  const eight = i32x4.dot_i16x8_s(i16x8.narrow_i32x4_s(four, four), i16x8(10000, 1, 10000, 1, 10000, 1, 10000, 1));
  const both = i64x2.extract_lane(eight, 0);
  return (both & 0xffffffff) * 100000000 + (both >> 32);
}

/** Shape of the number read last that did not have that of its step. */
const OTHER: usize = memory.data(12, 4);

/**
 * Finds the shape of the number whose digits begin at `p` and takes note that it is not the one of the step. 0 for what is no
 * short number without exponent, with `isWhole` also for fractions.
 */
export function otherShape(shape: usize, p: usize, isWhole: bool): usize {
  const found = <u32>i8x16.bitmask(i8x16.le_u(i8x16.sub(v128.load(p), i8x16.splat(48)), i8x16.splat(9)));
  const whole = ctz(~found);
  let length = whole;
  let fraction: u32 = 0;
  if (load<u8>(p + whole) == 0x2e) {
    fraction = ctz(~(found >> (whole + 1)));
    length += fraction + 1;
    if (fraction == 0 || isWhole) return 0;
  }
  if (whole == 0 || length > MAX_LENGTH || (load<u8>(p + length) | 32) == 0x65) return 0;
  const all: u32 = (1 << length) - 1;
  const point: u32 = fraction ? 1 << whole : 0;
  const mask = all | (1 << length);
  store<u32>(OTHER, (all ^ point) | (point << 16));
  store<u32>(OTHER, mask | (mask << 16), SHAPE_MASK);
  store<u32>(OTHER, length | ((whole + fraction) << 8) | (fraction << 16), SHAPE_LENGTH);
  const patience = load<u8>(shape, SHAPE_PATIENCE);
  if (patience) store<u8>(shape, patience - 1, SHAPE_PATIENCE);
  else memory.copy(shape, OTHER, SHAPE_SIZE);
  return OTHER;
}
