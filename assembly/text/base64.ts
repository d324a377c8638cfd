// Base64 with padding (RFC 4648, section 4).
import { span } from '../mem/layout';
import { Pool, poolAlloc } from '../mem/pool';

/** Bytes that one step turns into 16 letters. */
const STEP: u32 = 12;
/** Bytes that `printBase64` may store behind the text. */
export const BASE64_SLACK: u32 = 16;

//   constants of a step, 16 bytes each
//   0 order of the bytes: three of each four, the last first | 16 … 64 the six bits of each letter of four
//   80 25 | 96 51 | 112 what is added to a value: letters, digits, '+', '/' | 128 '=' | 144 0 … 15 | 160 -6
const STEPS: usize = memory.data<u64>(
  [
    0xff030405ff000102, 0xff090a0bff060708, 0x0000003f0000003f, 0x0000003f0000003f, 0x00003f0000003f00,
    0x00003f0000003f00, 0x003f0000003f0000, 0x003f0000003f0000, 0x3f0000003f000000, 0x3f0000003f000000,
    0x1919191919191919, 0x1919191919191919, 0x3333333333333333, 0x3333333333333333, 0xfcfcfcfcfcfcfc47,
    0x000000f0edfcfcfc, 0x3d3d3d3d3d3d3d3d, 0x3d3d3d3d3d3d3d3d, 0x0706050403020100, 0x0f0e0d0c0b0a0908,
    0xfafafafafafafafa, 0xfafafafafafafafa,
  ],
  16,
);

/** The letters of the first 12 bytes of a block. */
// @ts-ignore: decorator
@inline function lettersOf(bytes: v128): v128 {
  const threes = i8x16.swizzle(bytes, v128.load(STEPS));
  const values = v128.or(
    v128.or(
      v128.and(i32x4.shr_u(threes, 18), v128.load(STEPS, 16)),
      v128.and(i32x4.shr_u(threes, 4), v128.load(STEPS, 32)),
    ),
    v128.or(
      v128.and(i32x4.shl(threes, 10), v128.load(STEPS, 48)),
      v128.and(i32x4.shl(threes, 24), v128.load(STEPS, 64)),
    ),
  );
  // Lower case letters have entry 0, digits 1 to 10, '+' 11, '/' 12; upper case ones 6 less than lower case ones.
  const entries = i8x16.sub_sat_u(values, v128.load(STEPS, 96));
  const isUpper = i8x16.le_u(values, v128.load(STEPS, 80));
  const added = i8x16.swizzle(v128.load(STEPS, 112), entries);
  return i8x16.add(i8x16.add(values, added), v128.and(isUpper, v128.load(STEPS, 160)));
}

/** Length of the text for `n` bytes. */
export function base64Length(n: u32): u64 {
  return ((<u64>n + 2) / 3) << 2;
}

/** Writes the text of [off, off + len) and returns its end; block stores reach up to BASE64_SLACK behind it. */
export function printBase64(out: usize, off: usize, len: u32): usize {
  let to = out;
  let p = off;
  let left = len;
  for (; left >= STEP; left -= STEP, p += STEP, to += 16) v128.store(to, lettersOf(v128.load(p)));
  if (left == 0) return to;
  const places = v128.load(STEPS, 144);
  const bytes = v128.and(v128.load(p), i8x16.lt_u(places, i8x16.splat(<i8>left)));
  const isLetter = i8x16.lt_u(places, i8x16.splat(<i8>((left * 8 + 5) / 6)));
  v128.store(to, v128.bitselect(lettersOf(bytes), v128.load(STEPS, 128), isLetter));
  return to + <usize>base64Length(left);
}

// @ts-ignore: decorator
@inline function valueOf(c: u32): u32 {
  if (c - 65 < 26) return c - 65;
  if (c - 97 < 26) return c - 71;
  if (c - 48 < 10) return c + 4;
  return c == 0x2b ? 62 : c == 0x2f ? 63 : 64;
}

/** Writes the bytes of the text (line ends in it do not count) and returns their end; 0 when it is no base64. */
export function parseBase64(out: usize, off: usize, len: u32): usize {
  const end = off + len;
  let to = out;
  let bits: u32 = 0;
  let n: u32 = 0;
  let padding: u32 = 0;
  for (let p = off; p < end; p++) {
    const c = <u32>load<u8>(p);
    if (c == 0x0a || c == 0x0d) continue;
    if (c == 0x3d) {
      padding++;
      continue;
    }
    const v = valueOf(c);
    if (v > 63 || padding) return 0;
    bits = (bits << 6) | v;
    if (++n < 4) continue;
    store<u8>(to, <u8>(bits >> 16));
    store<u8>(to, <u8>(bits >> 8), 1);
    store<u8>(to, <u8>bits, 2);
    to += 3;
    n = 0;
  }
  if (n == 1 || padding != ((4 - n) & 3)) return 0;
  if (n == 2) store<u8>(to++, <u8>(bits >> 4));
  if (n == 3) {
    store<u8>(to, <u8>(bits >> 10));
    store<u8>(to, <u8>(bits >> 2), 1);
    to += 2;
  }
  return to;
}

/** The bytes that the text stands for, in memory of the pool: those of base64, or the text's own when it is none. */
export function bytesOf(off: usize, len: u32, pool: Pool): u64 {
  const to = poolAlloc(pool, len);
  const end = to ? parseBase64(to, off, len) : 0;
  return end ? span(to, <u32>(end - to)) : span(off, len);
}
