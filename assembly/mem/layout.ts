// Fixed layouts that every kernel shares. The TypeScript side reads the same numbers in kernels/abi.ts.

// ---- values -------------------------------------------------------------------------------------------------
// A value is a tag (u8) and a payload (u64).
//
//   tag       payload
//   MISSING   0                                   the column is absent from the row
//   NULL      0
//   BOOL      0 or 1
//   I64       two's complement
//   F64       bits of the double
//   STR       off u32 | len u32 << 32             UTF-8, unescaped
//   BYTES     off u32 | len u32 << 32
//   TIME      microseconds since the epoch, i64
//   ARRAY     off u32 | count u32 << 32           off -> count slots of 16 bytes
//   OBJECT    off u32 | count u32 << 32           off -> count members of 24 bytes, keys ascending by bytes, unique
//   ERROR     off u32 | len u32 << 32             text of the error
//
//   slot      payload u64 | tag u32 | 0 u32
//   member    payload u64 | tag u32 | keyLen u32 | keyOff u32 | 0 u32
export namespace Tag {
  export const MISSING: u8 = 0;
  export const NULL: u8 = 1;
  export const BOOL: u8 = 2;
  export const I64: u8 = 3;
  export const F64: u8 = 4;
  export const STR: u8 = 5;
  export const BYTES: u8 = 6;
  export const TIME: u8 = 7;
  export const ARRAY: u8 = 8;
  export const OBJECT: u8 = 9;
  export const ERROR: u8 = 10;
  /** Column header only: rows of different tags. */
  export const MIXED: u8 = 0xff;
}

export const SLOT_SIZE: u32 = 16;
export const SLOT_TAG: usize = 8;
export const MEMBER_SIZE: u32 = 24;
export const MEMBER_TAG: usize = 8;
export const MEMBER_KEY_LEN: usize = 12;
export const MEMBER_KEY_OFF: usize = 16;

// ---- columns ------------------------------------------------------------------------------------------------
// A column block holds one value for each of the BATCH_ROWS rows of a batch.
//
//   0      uniform u8     tag of every selected row, or MIXED
//   1      hasRaw u8      1 when the raw array is filled
//   64     vals u64[1024] payloads
//   8256   tags u8[1024]
//   9280   raw u64[1024]  off u32 | len u32 << 32 of the source text of a number when that text is already what
//                         the encoder would print; len 0 where it is not
export const BATCH_ROWS: u32 = 1024;
export const COL_UNIFORM: usize = 0;
export const COL_HAS_RAW: usize = 1;
export const COL_VALS: usize = 64;
export const COL_TAGS: usize = 64 + 8192;
export const COL_RAW: usize = 64 + 8192 + 1024;
export const COL_SIZE: u32 = 64 + 8192 + 1024 + 8192;

// ---- operands of programs -----------------------------------------------------------------------------------
// u16: 0x0000+i temporary register i, 0x4000+i column i of the current batch, 0x8000+i constant i of the program,
// 0xffff none.
export const OPERAND_COL: u32 = 0x4000;
export const OPERAND_CONST: u32 = 0x8000;
export const OPERAND_NONE: u32 = 0xffff;
export const REGISTER_COUNT: u32 = 512;

// ---- helpers ------------------------------------------------------------------------------------------------
// @ts-ignore: decorator
@inline export function span(off: usize, len: u32): u64 {
  return <u64>off | (<u64>len << 32);
}

// @ts-ignore: decorator
@inline export function offOf(payload: u64): usize {
  return <usize>(<u32>payload);
}

// @ts-ignore: decorator
@inline export function lenOf(payload: u64): u32 {
  return <u32>(payload >> 32);
}

// @ts-ignore: decorator
@inline export function isNull(tag: u8): bool {
  return tag <= Tag.NULL;
}

// @ts-ignore: decorator
@inline export function isNumber(tag: u8): bool {
  return <u32>tag - 3 <= 1;
}

// @ts-ignore: decorator
@inline export function tagAt(col: usize, row: u32): u8 {
  return load<u8>(col + row, COL_TAGS);
}

// @ts-ignore: decorator
@inline export function valAt(col: usize, row: u32): u64 {
  return load<u64>(col + (<usize>row << 3), COL_VALS);
}

// @ts-ignore: decorator
@inline export function setAt(col: usize, row: u32, tag: u8, payload: u64): void {
  store<u8>(col + row, tag, COL_TAGS);
  store<u64>(col + (<usize>row << 3), payload, COL_VALS);
}
