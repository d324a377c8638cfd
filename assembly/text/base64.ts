// Base64 with padding (RFC 4648, section 4).
import { span } from '../mem/layout';
import { poolAlloc } from '../mem/pool';

// @ts-ignore: decorator
@inline function letterOf(v: u32): u8 {
  return <u8>(v < 26 ? 65 + v : v < 52 ? 71 + v : v < 62 ? v - 4 : v == 62 ? 0x2b : 0x2f);
}

/** Length of the text for `n` bytes. */
export function base64Length(n: u32): u64 {
  return ((<u64>n + 2) / 3) << 2;
}

/** Writes the text of [off, off + len) and returns its end. */
export function printBase64(out: usize, off: usize, len: u32): usize {
  let to = out;
  let p = off;
  let left = len;
  for (; left >= 3; left -= 3, p += 3, to += 4) {
    const v = (<u32>load<u8>(p) << 16) | (<u32>load<u8>(p, 1) << 8) | load<u8>(p, 2);
    store<u8>(to, letterOf(v >> 18));
    store<u8>(to, letterOf((v >> 12) & 63), 1);
    store<u8>(to, letterOf((v >> 6) & 63), 2);
    store<u8>(to, letterOf(v & 63), 3);
  }
  if (left == 0) return to;
  const v = (<u32>load<u8>(p) << 16) | (left == 2 ? <u32>load<u8>(p, 1) << 8 : 0);
  store<u8>(to, letterOf(v >> 18));
  store<u8>(to, letterOf((v >> 12) & 63), 1);
  store<u8>(to, left == 2 ? letterOf((v >> 6) & 63) : 0x3d, 2);
  store<u8>(to, 0x3d, 3);
  return to + 4;
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
export function bytesOf(off: usize, len: u32, pool: usize): u64 {
  const to = poolAlloc(pool, len);
  const end = to ? parseBase64(to, off, len) : 0;
  return end ? span(to, <u32>(end - to)) : span(off, len);
}
