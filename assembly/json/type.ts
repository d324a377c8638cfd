// Declared types as the decoder reads them, in prefix notation (source/layouts.json).
export { TypeKind } from '../gen/source-layouts';
import {
  FIELD_NAME_LEN,
  FIELD_SIZE_OF as FIELD_HEAD,
  FIELD_TYPE_LEN,
  STRUCT_COUNT,
  STRUCT_SIZE,
  STRUCT_SIZE_OF as FIELDS,
  TypeKind,
} from '../gen/source-layouts';

/** Kind of the type at `type`; address 0 is any. */
// @ts-ignore: decorator
@inline export function kindOf(type: usize): u8 {
  return type ? load<u8>(type) : TypeKind.ANY;
}

/** Type of the elements of an array type; 0 (any) for any. */
// @ts-ignore: decorator
@inline export function elementOf(type: usize): usize {
  return type && load<u8>(type) == TypeKind.ARRAY ? type + 1 : 0;
}

// @ts-ignore: decorator
@inline export function fieldCount(type: usize): u32 {
  return load<u16>(type, STRUCT_COUNT);
}

// @ts-ignore: decorator
@inline export function firstField(type: usize): usize {
  return type + FIELDS;
}

// @ts-ignore: decorator
@inline export function nextField(field: usize): usize {
  return field + FIELD_HEAD + load<u16>(field, FIELD_NAME_LEN) + load<u32>(field, FIELD_TYPE_LEN);
}

// @ts-ignore: decorator
@inline export function fieldName(field: usize): usize {
  return field + FIELD_HEAD;
}

// @ts-ignore: decorator
@inline export function fieldNameLen(field: usize): u32 {
  return load<u16>(field, FIELD_NAME_LEN);
}

// @ts-ignore: decorator
@inline export function fieldType(field: usize): usize {
  return field + FIELD_HEAD + load<u16>(field, FIELD_NAME_LEN);
}

/** Finds a field of a struct type by name; 0 when there is none. */
export function findField(type: usize, name: usize, nameLen: u32): usize {
  let field = firstField(type);
  for (let n = fieldCount(type); n > 0; n--) {
    if (fieldNameLen(field) == nameLen && memory.compare(fieldName(field), name, nameLen) == 0) return field;
    field = nextField(field);
  }
  return 0;
}

/** Size of a type in bytes. */
export function typeSize(type: usize): u32 {
  let at = type;
  while (load<u8>(at) == TypeKind.ARRAY) at++;
  return <u32>(at - type) + (load<u8>(at) == TypeKind.STRUCT ? <u32>FIELDS + load<u32>(at, STRUCT_SIZE) : 1);
}
