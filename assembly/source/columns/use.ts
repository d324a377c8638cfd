// Uses of columns: the columns that rules read of a source's messages, and how a field finds its use by name.
//
//   use (64 bytes), one for each column index
//   0    nameOff u32 | nameLen u32
//   8    kind u8 | typeKind u8 | defaultTag u8 (0xff none) | numberAs u8
//   12   type u32 | typeSize u32
//   20   refs u32
//   24   next u32      index + 1 of the next field of the same name and another type
//   28   hash u32
//   32   defaultPayload u64
//   40   takesText u8 (strings are stored as they are) | 0 … | 44 block u32
//   48   first 16 bytes of the name, zeros behind it

import { Source } from './state';
export { UseKind } from '../../gen/source-layouts';

export const USE_SIZE: u32 = 64;
/** A column that some rule reads of the messages. */
// @ts-ignore: decorator
@unmanaged
export class Use {
  name: usize;
  nameLen: u32;
  kind: u8;
  typeKind: u8;
  defaultTag: u8;
  numberAs: u8;
  type: usize;
  typeSize: u32;
  refs: u32;
  next: u32;
  hash: u32;
  defaultPayload: u64;
  takesText: u8;
  block: usize;
}

export const USE_START: usize = 48;
export const NO_DEFAULT: u8 = 0xff;

/**
 * How a number goes into a column: as a double, an exact integer, an integer where whole, or converted (json/parse.ts).
 */
export namespace NumberAs {
  export const F64: u8 = 0;
  export const I64: u8 = 1;
  export const WHOLE_I64: u8 = 2;
  export const OTHER: u8 = 3;
}

// @ts-ignore: decorator
@inline export function useAt(state: Source, index: u32): Use {
  return changetype<Use>(state.uses + <usize>index * USE_SIZE);
}

export function hasDefault(use: Use): bool {
  return use.defaultTag != NO_DEFAULT;
}

// @ts-ignore: decorator
@inline export function hashOf(name: usize, len: u32): u32 {
  let h: u64 = len;
  if (len >= 8) h ^= load<u64>(name) ^ (load<u64>(name + len - 8) * 0x9e3779b97f4a7c15);
  else h ^= (load<u64>(name) & (((<u64>1) << (len << 3)) - 1)) << 3;
  h *= 0xbf58476d1ce4e5b9;
  return <u32>(h >> 32);
}

/** Index + 1 of the first field use of that name, 0 when nobody needs it. Reads 16 bytes at `name`. */
export function findUse(state: Source, name: usize, len: u32): u32 {
  const hash = state.hash;
  // No rule of the stream reads a column: `SELECT 1 FROM s`.
  if (!hash) return 0;
  const mask = state.hashSize - 1;
  const h = hashOf(name, len);
  let slot = h & mask;
  while (true) {
    const found = <u32>load<u16>(hash + (slot << 1));
    if (!found) return 0;
    const use = useAt(state, found - 1);
    if (use.hash == h && use.nameLen == len) {
      const equal = <u32>i8x16.bitmask(i8x16.eq(v128.load(changetype<usize>(use), USE_START), v128.load(name)));
      if (len <= 16) {
        if (len == 16 ? equal == 0xffff : (~equal & ((1 << len) - 1)) == 0) return found;
      } else if (equal == 0xffff && memory.compare(use.name + 16, name + 16, len - 16) == 0) return found;
    }
    slot = (slot + 1) & mask;
  }
}
