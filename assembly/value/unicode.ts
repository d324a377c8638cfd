// Characters: decoding, case, white space.
import { LOWER, LOWER_COUNT, UPPER, UPPER_COUNT } from '../gen/case';
import { sequenceLength } from '../text/utf8';

/** Character in the place of bytes that are no UTF-8. */
const REPLACEMENT: u32 = 0xfffd;

/** Bytes of the character read last, at least 1. */
export let runeLen: u32 = 0;

/** Reads the character at `p`; its length is in `runeLen`. A byte that starts none counts as one REPLACEMENT. */
export function runeAt(p: usize, end: usize): u32 {
  const c = <u32>load<u8>(p);
  runeLen = 1;
  if (c < 0x80) return c;
  const n = <u32>sequenceLength(p, end);
  if (n == 0) return REPLACEMENT;
  runeLen = n;
  const c1 = <u32>load<u8>(p, 1) & 63;
  if (n == 2) return ((c & 31) << 6) | c1;
  const c2 = <u32>load<u8>(p, 2) & 63;
  if (n == 3) return ((c & 15) << 12) | (c1 << 6) | c2;
  return ((c & 7) << 18) | (c1 << 12) | (c2 << 6) | (<u32>load<u8>(p, 3) & 63);
}

/** Says whether all bytes of the range are ASCII; nothing is read outside of it. */
export function isAscii(at: usize, len: u32): bool {
  if (len >= 16) {
    const last = at + len - 16;
    for (let p = at; p < last; p += 16) if (i8x16.bitmask(v128.load(p))) return false;
    return i8x16.bitmask(v128.load(last)) == 0;
  }
  if (len >= 8) return ((load<u64>(at) | load<u64>(at + len - 8)) & 0x8080808080808080) == 0;
  if (len >= 4) return ((load<u32>(at) | load<u32>(at + len - 4)) & 0x80808080) == 0;
  for (let i: u32 = 0; i < len; i++) if (load<u8>(at + i) >= 0x80) return false;
  return true;
}

/** Characters in the range, malformed bytes one each. */
export function runeCount(at: usize, len: u32): u32 {
  if (isAscii(at, len)) return len;
  const end = at + len;
  let p = at;
  let n: u32 = 0;
  while (p < end) {
    if (load<u8>(p) < 0x80) p++;
    else p += max(sequenceLength(p, end), 1);
    n++;
  }
  return n;
}

function mapped(table: usize, count: u32, c: u32): u32 {
  let low: u32 = 0;
  let high = count;
  while (low < high) {
    const mid = (low + high) >> 1;
    const run = table + ((<usize>mid) << 4);
    if (c < load<u32>(run)) high = mid;
    else if (c > load<u32>(run, 4)) low = mid + 1;
    else return (c - load<u32>(run)) % load<u32>(run, 12) == 0 ? c + load<u32>(run, 8) : c;
  }
  return c;
}

export function upperOf(c: u32): u32 {
  if (c < 0x80) return c - 0x61 < 26 ? c - 32 : c;
  return mapped(UPPER, UPPER_COUNT, c);
}

export function lowerOf(c: u32): u32 {
  if (c < 0x80) return c - 0x41 < 26 ? c + 32 : c;
  return mapped(LOWER, LOWER_COUNT, c);
}

/** White space by the Unicode property. */
export function isSpace(c: u32): bool {
  if (c < 0x80) return c == 0x20 || c - 9 <= 4;
  if (c == 0x85 || c == 0xa0 || c == 0x1680 || c == 0x3000) return true;
  return c - 0x2000 <= 10 || c - 0x2028 <= 1 || c == 0x202f || c == 0x205f;
}
