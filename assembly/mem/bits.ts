// Lists of bits, 64 in a word.

// @ts-ignore: decorator
@inline export function setBit(bits: usize, i: u32): void {
  const at = bits + ((<usize>(i >> 6)) << 3);
  store<u64>(at, load<u64>(at) | ((<u64>1) << (i & 63)));
}

// @ts-ignore: decorator
@inline export function clearBit(bits: usize, i: u32): void {
  const at = bits + ((<usize>(i >> 6)) << 3);
  store<u64>(at, load<u64>(at) & ~((<u64>1) << (i & 63)));
}

// @ts-ignore: decorator
@inline export function hasBit(bits: usize, i: u32): bool {
  return ((load<u64>(bits + ((<usize>(i >> 6)) << 3)) >> (i & 63)) & 1) != 0;
}
