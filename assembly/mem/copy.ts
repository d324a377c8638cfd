// Copies of short texts, which most are.

/**
 * As memory.copy, which costs more than all the rest where texts are short. Nothing outside of the ranges is touched;
 * they must not overlap.
 */
export function copyBytes(to: usize, from: usize, len: usize): void {
  if (len > 64) {
    memory.copy(to, from, len);
  } else if (len > 16) {
    // The first and the last blocks may have bytes in common.
    if (len > 32) {
      v128.store(to, v128.load(from, 16), 16);
      v128.store(to + len - 32, v128.load(from + len - 32));
    }
    v128.store(to, v128.load(from));
    v128.store(to + len - 16, v128.load(from + len - 16));
  } else if (len >= 8) {
    const last = load<u64>(from + len - 8);
    store<u64>(to, load<u64>(from));
    store<u64>(to + len - 8, last);
  } else if (len >= 4) {
    const last = load<u32>(from + len - 4);
    store<u32>(to, load<u32>(from));
    store<u32>(to + len - 4, last);
  } else if (len > 0) {
    // The first, the middle and the last of one to three.
    const middle = load<u8>(from + (len >> 1));
    const last = load<u8>(from + len - 1);
    store<u8>(to, load<u8>(from));
    store<u8>(to + (len >> 1), middle);
    store<u8>(to + len - 1, last);
  }
}
