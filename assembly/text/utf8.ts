// UTF-8 validation: 16 bytes at a time while they are ASCII, by the table of well-formed sequences (Unicode, table 3-7)
// elsewhere: no surrogates, no overlong forms, nothing above U+10FFFF.

/** True when [p0, end) is well-formed. Reads up to 15 bytes beyond the end. */
export function isUtf8(p0: usize, end: usize): bool {
  let p = p0;
  while (p < end) {
    const high = <u32>i8x16.bitmask(v128.load(p));
    if (high == 0) {
      p += 16;
      continue;
    }
    p += ctz(high);
    if (p >= end) return true;
    const n = sequenceLength(p, end);
    if (n == 0) return false;
    p += n;
  }
  return true;
}

/** Length of the well-formed sequence at `p` (a byte >= 0x80), 0 when there is none. */
export function sequenceLength(p: usize, end: usize): usize {
  const c = <u32>load<u8>(p);
  const left = end - p;
  if (c < 0xc2 || left < 2) return 0;
  const c1 = <u32>load<u8>(p, 1);
  if (c < 0xe0) return (c1 & 0xc0) == 0x80 ? 2 : 0;
  if (left < 3 || (load<u8>(p, 2) & 0xc0) != 0x80) return 0;
  if (c < 0xf0) {
    const from: u32 = c == 0xe0 ? 0xa0 : 0x80;
    const to: u32 = c == 0xed ? 0x9f : 0xbf;
    return c1 >= from && c1 <= to ? 3 : 0;
  }
  if (c > 0xf4 || left < 4 || (load<u8>(p, 3) & 0xc0) != 0x80) return 0;
  const from: u32 = c == 0xf0 ? 0x90 : 0x80;
  const to: u32 = c == 0xf4 ? 0x8f : 0xbf;
  return c1 >= from && c1 <= to ? 4 : 0;
}

/** Writes a code point as UTF-8 and returns the end (1 to 4 bytes). */
export function putCodePoint(out: usize, c: u32): usize {
  if (c < 0x80) {
    store<u8>(out, <u8>c);
    return out + 1;
  }
  if (c < 0x800) {
    store<u8>(out, <u8>(0xc0 | (c >> 6)));
    store<u8>(out, <u8>(0x80 | (c & 63)), 1);
    return out + 2;
  }
  if (c < 0x10000) {
    store<u8>(out, <u8>(0xe0 | (c >> 12)));
    store<u8>(out, <u8>(0x80 | ((c >> 6) & 63)), 1);
    store<u8>(out, <u8>(0x80 | (c & 63)), 2);
    return out + 3;
  }
  store<u8>(out, <u8>(0xf0 | (c >> 18)));
  store<u8>(out, <u8>(0x80 | ((c >> 12) & 63)), 1);
  store<u8>(out, <u8>(0x80 | ((c >> 6) & 63)), 2);
  store<u8>(out, <u8>(0x80 | (c & 63)), 3);
  return out + 4;
}
