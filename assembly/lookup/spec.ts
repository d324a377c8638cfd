// The description of a lookup as the host writes it (kernels/nodes/lookup.ts), and the state of its node.
//
//   state   0    program u32 (of the condition) | index u32 | serial u32 (of the table that the index is of) | begun
//   u32
//           16   failOff u32 | failLen u32 | isByKey u32 (one row of the table at most) | keyAt u32 (which of the keys
//           it is)
//           32   {serial u32 (of the shape looked at last), place i32}[fields + keys]
import {
  LOOKUP_COLUMNS_AT,
  LOOKUP_FIELD_SIZE_OF,
  LOOKUP_FIELDS,
  LOOKUP_FIELDS_AT,
  LOOKUP_KEY_SIZE_OF,
  LOOKUP_KEYS,
  LOOKUP_KEYS_AT,
} from '../gen/lookup-layouts';

export {
  LOOKUP_COLUMNS,
  LOOKUP_CONDITION,
  LOOKUP_FIELDS,
  LOOKUP_IS_LEFT,
  LOOKUP_KEYS,
  LOOKUP_PROGRAM,
  LOOKUP_PROGRAM_LEN,
  LOOKUP_TABLE,
  LOOKUP_FIELD_KIND,
  LOOKUP_FIELD_NAME_AT,
  LOOKUP_FIELD_NAME_LEN,
  LOOKUP_KEY_NAME_AT,
  LOOKUP_KEY_NAME_LEN,
  LOOKUP_KEY_OPERAND,
  LookupFieldKind,
} from '../gen/lookup-layouts';

export const LOOK_PROGRAM: usize = 0;
export const LOOK_INDEX: usize = 4;
export const LOOK_SERIAL: usize = 8;
export const LOOK_BEGUN: usize = 12;
export const LOOK_FAIL: usize = 16;
export const LOOK_FAIL_LEN: usize = 20;
export const LOOK_IS_BY_KEY: usize = 24;
export const LOOK_KEY: usize = 28;
const LOOK_PLACES: u32 = 32;

/** Bytes of the state of a lookup. */
export function stateSize(spec: usize): u32 {
  return LOOK_PLACES + ((load<u32>(spec, LOOKUP_FIELDS) + load<u32>(spec, LOOKUP_KEYS)) << 3);
}

/** The operand of column `i` that goes on. */
// @ts-ignore: decorator
@inline export function columnOperand(spec: usize, i: u32): u32 {
  return load<u16>(spec + <usize>load<u32>(spec, LOOKUP_COLUMNS_AT) + ((<usize>i) << 1));
}

// @ts-ignore: decorator
@inline export function fieldAt(spec: usize, i: u32): usize {
  return spec + <usize>load<u32>(spec, LOOKUP_FIELDS_AT) + <usize>(i * LOOKUP_FIELD_SIZE_OF);
}

// @ts-ignore: decorator
@inline export function keyAt(spec: usize, i: u32): usize {
  return spec + <usize>load<u32>(spec, LOOKUP_KEYS_AT) + <usize>(i * LOOKUP_KEY_SIZE_OF);
}

/** Where the place of field `i` is kept, or with `fields + k` that of key k. */
// @ts-ignore: decorator
@inline export function placeAt(state: usize, i: u32): usize {
  return state + LOOK_PLACES + ((<usize>i) << 3);
}
