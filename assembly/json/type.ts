// Declared types as the decoder reads them, in prefix notation (kernels/stream-spec.ts writes them):
//
//   kind u8
//   array     … element type
//   struct    … size u32 (of all fields) | count u16 | fields: nameLen u16 | typeLen u32 | name | type
export namespace TypeKind {
  export const ANY: u8 = 0;
  export const BIGINT: u8 = 1;
  export const FLOAT: u8 = 2;
  export const STRING: u8 = 3;
  export const DATETIME: u8 = 4;
  export const BOOLEAN: u8 = 5;
  export const BYTEA: u8 = 6;
  export const ARRAY: u8 = 7;
  export const STRUCT: u8 = 8;
}
const FIELDS: usize = 7;
const FIELD_HEAD: usize = 6;

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
  return load<u16>(type, 5);
}

// @ts-ignore: decorator
@inline export function firstField(type: usize): usize {
  return type + FIELDS;
}

// @ts-ignore: decorator
@inline export function nextField(field: usize): usize {
  return field + FIELD_HEAD + load<u16>(field) + load<u32>(field, 2);
}

// @ts-ignore: decorator
@inline export function fieldName(field: usize): usize {
  return field + FIELD_HEAD;
}

// @ts-ignore: decorator
@inline export function fieldNameLen(field: usize): u32 {
  return load<u16>(field);
}

// @ts-ignore: decorator
@inline export function fieldType(field: usize): usize {
  return field + FIELD_HEAD + load<u16>(field);
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
  return <u32>(at - type) + (load<u8>(at) == TypeKind.STRUCT ? <u32>FIELDS + load<u32>(at, 1) : 1);
}
