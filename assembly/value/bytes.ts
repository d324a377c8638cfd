// Comparing and hashing byte ranges. Nothing is read outside the ranges.
import { searchBytes } from './search';

/** True when the ranges at `a` and `b`, both `len` long, hold the same bytes. */
export function bytesEqual(a: usize, b: usize, len: u32): bool {
  if (len >= 16) {
    const last = len - 16;
    for (let i: u32 = 0; i < last; i += 16) {
      if (v128.any_true(v128.xor(v128.load(a + i), v128.load(b + i)))) return false;
    }
    return !v128.any_true(v128.xor(v128.load(a + last), v128.load(b + last)));
  }
  if (len >= 8) {
    const last = len - 8;
    return load<u64>(a) == load<u64>(b) && load<u64>(a + last) == load<u64>(b + last);
  }
  if (len >= 4) {
    const last = len - 4;
    return load<u32>(a) == load<u32>(b) && load<u32>(a + last) == load<u32>(b + last);
  }
  for (let i: u32 = 0; i < len; i++) {
    if (load<u8>(a + i) != load<u8>(b + i)) return false;
  }
  return true;
}

/** Order by bytes, shorter first where one is the beginning of the other: negative, 0 or positive. */
export function bytesCompare(a: usize, aLen: u32, b: usize, bLen: u32): i32 {
  const n = min(aLen, bLen);
  let i: u32 = 0;
  while (i + 8 <= n) {
    const x = load<u64>(a + i);
    const y = load<u64>(b + i);
    if (x != y) return bswap(x) < bswap(y) ? -1 : 1;
    i += 8;
  }
  while (i < n) {
    const x = <i32>load<u8>(a + i);
    const y = <i32>load<u8>(b + i);
    if (x != y) return x - y;
    i++;
  }
  return aLen < bLen ? -1 : aLen > bLen ? 1 : 0;
}

// ---- hashes -----------------------------------------------------------------------------------------------------

// Keys of groups, joins and tables come from whoever sends messages, so hashes depend on a secret that each kernel gets
// at its start: without it, keys of one hash could be made beforehand, and a table of such keys is a list. Both halves
// of a word are added to secret numbers and multiplied with each other: two different words have one product for one
// secret in 2^32. Nothing that leaves the kernel may depend on a hash; tables keep the order of their rows beside it.

let secret0: u32 = 0x9e3779b9;
let secret1: u32 = 0x7f4a7c15;
let secret2: u32 = 0xbf58476d;
let secret3: u32 = 0x1ce4e5b9;
/** Odd, so that spreading loses nothing. */
let factor: u64 = 0x94d049bb133111eb;

/** Sets the secret of all hashes from random numbers; to be called before the first hash. */
export function setHashSeed(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32): void {
  secret0 = a;
  secret1 = b;
  secret2 = c;
  secret3 = d;
  factor = <u64>e | ((<u64>f) << 32) | 1;
}

// @ts-ignore: decorator
@inline function product(x: u64, a: u32, b: u32): u64 {
  return <u64>(<u32>x + a) * <u64>(<u32>(x >> 32) + b);
}

// @ts-ignore: decorator
@inline function spread(h: u64): u32 {
  return <u32>(((h ^ (h >> 32)) * factor) >> 32);
}

/** Hash of a number of 64 bits. */
// @ts-ignore: decorator
@inline export function hashU64(x: u64): u32 {
  return spread(product(x, secret0, secret1));
}

/** Hash of at most 16 bytes, filled up with zeros. */
// @ts-ignore: decorator
@inline export function hashShort(lo: u64, hi: u64, len: u32): u32 {
  return spread(product(lo, secret0, secret1) + product(hi, secret2, secret3) + len);
}

/** Hash of 16 bytes or more. */
export function hashLong(at: usize, len: u32): u32 {
  let h: u64 = len;
  const last = at + len - 16;
  for (let p = at; p < last; p += 16) h = step(h, load<u64>(p), load<u64>(p, 8));
  return spread(step(h, load<u64>(last), load<u64>(last, 8)));
}

// @ts-ignore: decorator
@inline function step(h: u64, lo: u64, hi: u64): u64 {
  return product(lo ^ h, secret0, secret1) + product(hi, secret2, secret3) + rotl(h, 29);
}

/** Hash of the bytes. */
export function bytesHash(at: usize, len: u32): u32 {
  if (len >= 16) return hashLong(at, len);
  if (len >= 8) return hashShort(load<u64>(at), load<u64>(at + len - 8), len);
  if (len >= 4) return hashShort(<u64>load<u32>(at) | ((<u64>load<u32>(at + len - 4)) << 32), 0, len);
  if (len == 0) return hashShort(0, 0, 0);
  return hashShort(
    <u64>load<u8>(at) | ((<u64>load<u8>(at + (len >> 1))) << 8) | ((<u64>load<u8>(at + len - 1)) << 16),
    0,
    len,
  );
}

// ---- texts ------------------------------------------------------------------------------------------------------

// As the functions of bytes, without jumps for the length of short texts: one block is read at a text, also what stands
// behind it.

/** Mask bytes, 16 ones, then 16 zeros: a read that begins `BLOCK - len` bytes in has `len` ones in front. */
const EDGE: usize = memory.data<u64>([0xffffffffffffffff, 0xffffffffffffffff, 0, 0], 16);
const BLOCK: u32 = 16;

/** The text at `at`, at most 16 bytes long, filled up with zeros. */
// @ts-ignore: decorator
@inline function shortText(at: usize, len: u32): v128 {
  return v128.and(v128.load(at), v128.load(EDGE + BLOCK - len));
}

/** Hash of a text. */
// @ts-ignore: decorator
@inline export function textHash(at: usize, len: u32): u32 {
  if (len > BLOCK) return hashLong(at, len);
  const text = shortText(at, len);
  return hashShort(i64x2.extract_lane(text, 0), i64x2.extract_lane(text, 1), len);
}

/** True when the texts at `a` and `b`, both `len` long, are the same. */
// @ts-ignore: decorator
@inline export function textsEqual(a: usize, b: usize, len: u32): bool {
  if (len > BLOCK) return bytesEqual(a, b, len);
  return !v128.any_true(v128.and(v128.xor(v128.load(a), v128.load(b)), v128.load(EDGE + BLOCK - len)));
}

/**
 * Needles of more bytes are compared four times for each byte of the hay, and so often more, before `searchBytes` takes
 * over.
 */
const LONG_NEEDLE: u32 = 32;
const COMPARED_AT_FIRST: u64 = 4096;

/** First position of the needle at or after `from`, or -1. An empty needle stands at `from`. */
export function bytesFind(hay: usize, hayLen: u32, needle: usize, needleLen: u32, from: u32): i32 {
  if (needleLen == 0) return from <= hayLen ? <i32>from : -1;
  if (needleLen > hayLen) return -1;
  const first = load<u8>(needle);
  const last = hayLen - needleLen;
  const splat = i8x16.splat(<i8>first);
  let i = from;
  let compared: u64 = 0;
  while (i <= last) {
    if (i + 16 <= hayLen) {
      const hits = <u32>i8x16.bitmask(i8x16.eq(v128.load(hay + i), splat));
      if (hits == 0) {
        i += 16;
        continue;
      }
      i += ctz(hits);
      if (i > last) return -1;
    } else if (load<u8>(hay + i) != first) {
      i++;
      continue;
    }
    if (bytesEqual(hay + i, needle, needleLen)) return <i32>i;
    i++;
    if (needleLen <= LONG_NEEDLE) continue;
    compared += needleLen;
    if (compared > COMPARED_AT_FIRST + ((<u64>(i - from)) << 2)) return searchBytes(hay, hayLen, needle, needleLen, i);
  }
  return -1;
}
