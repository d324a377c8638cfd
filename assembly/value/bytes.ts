// Comparing and hashing byte ranges. Nothing is read outside the ranges.

/** The ranges at `a` and `b`, both `len` long, hold the same bytes. */
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

const K0: u64 = 0x9e3779b97f4a7c15;
const K1: u64 = 0xbf58476d1ce4e5b9;
const K2: u64 = 0x94d049bb133111eb;

/** Spreads a 64-bit number over 32 bits. */
// @ts-ignore: decorator
@inline export function hashU64(x: u64): u32 {
  x = (x ^ (x >> 32)) * K1;
  x = (x ^ (x >> 29)) * K2;
  return <u32>(x >> 32);
}

/** Hash of the bytes. */
export function bytesHash(at: usize, len: u32): u32 {
  let h: u64 = <u64>len * K0;
  let i: u32 = 0;
  while (i + 8 <= len) {
    h = rotl(h ^ load<u64>(at + i), 29) * K0;
    i += 8;
  }
  let tail: u64 = 0;
  const left = len - i;
  if (left >= 4) {
    tail = <u64>load<u32>(at + i) | (<u64>load<u32>(at + len - 4) << 32);
  } else if (left > 0) {
    tail = <u64>load<u8>(at + i) | (<u64>load<u8>(at + i + (left >> 1)) << 8) | (<u64>load<u8>(at + len - 1) << 16);
  }
  return hashU64((h ^ tail) * K1);
}

/** First position of the needle at or after `from`, or -1. An empty needle stands at `from`. */
export function bytesFind(hay: usize, hayLen: u32, needle: usize, needleLen: u32, from: u32): i32 {
  if (needleLen == 0) return from <= hayLen ? <i32>from : -1;
  if (needleLen > hayLen) return -1;
  const first = load<u8>(needle);
  const last = hayLen - needleLen;
  const splat = i8x16.splat(<i8>first);
  let i = from;
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
  }
  return -1;
}
