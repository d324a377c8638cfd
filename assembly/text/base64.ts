// Base64 with padding (RFC 4648, section 4).

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
