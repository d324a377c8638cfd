// The form of saved state, which writer and reader share.
//
// State is a sequence of slices, each with a piece of the state of one node. Slices hold only numbers of variable
// length, texts and values. No address leaves the kernel, so that any other kernel can read the state.
//
//   slice   payloadLen u32 | flags u8 (SliceFlag) | format u8 | headCheck u16 | check u64 | payload
//   part    slices from a FIRST to a LAST one; the payload begins with the identity of the node (u64), then come its
//   members
//           (state/members.ts) and what its operator writes
//
// `headCheck` is over the fields before it, `check` over the payload, both with the number of the slice in the
// sequence. A missing, changed or misplaced slice is thus found before its content is used. The last slice is an empty
// one with END.
import { Tag } from '../mem/layout';

/** Version of the form of slices; operators have versions of their own for their content (`writeVersion`). */
export const FORMAT: u8 = 2;

export const SLICE_SIZE: u32 = 65536;
export const SLICE_HEAD: u32 = 16;
export const HEAD_FLAGS: usize = 4;
export const HEAD_FORMAT: usize = 5;
export const HEAD_OWN_CHECK: usize = 6;
export const HEAD_CHECK: usize = 8;
/** Bytes behind a slice that must be readable and writable. */
export const SLICE_SLACK: u32 = 64;

export namespace SliceFlag {
  /** Flag: a part begins. */
  export const FIRST: u8 = 1;
  /** Flag: the part ends. */
  export const LAST: u8 = 2;
  /** Flag: the sequence ends. */
  export const END: u8 = 4;
}

/** Tags of saved values, besides those of values (mem/layout.ts). */
export namespace SavedTag {
  /** The boolean true; BOOL is false. */
  export const TRUE: u8 = Tag.ERROR + 1;
  /** A double that is a whole number, saved as one. */
  export const WHOLE: u8 = Tag.ERROR + 2;
  /** For operators: a value that stands elsewhere in their saved state. */
  export const ELSEWHERE: u8 = Tag.ERROR + 3;
  /** NO_LIST in place of a list (mem/layout.ts). */
  export const NO_LIST: u8 = Tag.ERROR + 4;
}

/** Deepest nesting of saved values. */
export const MAX_DEPTH: u32 = 1024;

const SPREAD: u64 = 0x9e3779b97f4a7c15;

// @ts-ignore: decorator
@inline function mix(h: u64, x: u64): u64 {
  return rotl((h ^ x) * SPREAD, 29);
}

/** Checksum of `len` bytes; it does not protect against intent. */
export function checkOf(at: usize, len: u32, number: u32): u64 {
  let h = mix(((<u64>number) << 32) | len, SPREAD);
  const whole = at + (len & ~7);
  for (let p = at; p < whole; p += 8) h = mix(h, load<u64>(p));
  const end = at + len;
  for (let p = whole; p < end; p++) h = mix(h, load<u8>(p));
  return mix(h, h >> 32);
}

/** Checksum of the head of a slice. */
export function headCheckOf(slice: usize, number: u32): u16 {
  return <u16>(mix(mix(number, load<u32>(slice)), load<u16>(slice, HEAD_FLAGS)) >> 40);
}
