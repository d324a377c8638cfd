// Values and columns, which every kernel shares (mem/layouts.json).

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
//   TIME      an instant and the offset it was written with, in one of three forms (text/time.ts)
//   ARRAY     off u32 | count u32 << 32           off -> count slots of 16 bytes
//   OBJECT    off u32 | count u32 << 32           off -> count members of 24 bytes, keys ascending by bytes, unique
//   ERROR     off u32 | len u32 << 32             text of the error
//
//   slot      payload u64 | tag u32 | 0 u32
//   member    payload u64 | tag u32 | keyLen u32 | keyOff u32 | 0 u32
export { Tag, BATCH_ROWS, REGISTER_COUNT, OPERAND_COL, OPERAND_CONST, OPERAND_NONE } from '../gen/mem-layouts';
export { SLOT_TAG, SLOT_SIZE_OF as SLOT_SIZE } from '../gen/mem-layouts';
export { MEMBER_TAG, MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE_OF as MEMBER_SIZE } from '../gen/mem-layouts';
export { COL_UNIFORM, COL_HAS_RAW, COL_VALS, COL_TAGS, COL_RAW, COL_SIZE_OF as COL_SIZE } from '../gen/mem-layouts';
import { COL_TAGS, COL_VALS, Tag } from '../gen/mem-layouts';

// ---- operands of programs -----------------------------------------------------------------------------------
// u16: 0x0000+i temporary register, 0x4000+i column i of the current batch, 0x8000+i constant i of the program,
// 0xffff none.

// ---- helpers ------------------------------------------------------------------------------------------------
// @ts-ignore: decorator
@inline export function span(off: usize, len: u32): u64 {
  return <u64>off | ((<u64>len) << 32);
}

/**
 * Payload of an ARRAY that is no list at all: it has no elements, and is written as null, also where nulls are left
 * out.
 */
export const NO_LIST: u64 = 1;

// @ts-ignore: decorator
@inline export function isNoList(tag: u8, payload: u64): bool {
  return tag == Tag.ARRAY && payload == NO_LIST;
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
  return load<u64>(col + ((<usize>row) << 3), COL_VALS);
}

// @ts-ignore: decorator
@inline export function setAt(col: usize, row: u32, tag: u8, payload: u64): void {
  store<u8>(col + row, tag, COL_TAGS);
  store<u64>(col + ((<usize>row) << 3), payload, COL_VALS);
}
