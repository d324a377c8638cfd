// The types of a schema (layouts.json): fields by number, and what an empty message is as a value.
//
// The template of a type are the members of the object that an empty message is, one for each field, names ascending.
// Fields of a oneof have no value there; they are left out where an object is made of the members.
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, span, Tag } from '../mem/layout';
import { Pool, poolAlloc } from '../mem/pool';
import {
  FieldFlag,
  MessageField,
  MessageType,
  MessageTypes,
  MESSAGE_FIELD_SIZE_OF,
  MESSAGE_TYPES_SIZE_OF,
  MESSAGE_TYPE_SIZE_OF,
  TypeFlag,
} from '../gen/protobuf-layouts';

// @ts-ignore: decorator
@inline export function typeAt(types: usize, index: u32): MessageType {
  return changetype<MessageType>(types + MESSAGE_TYPES_SIZE_OF + <usize>index * MESSAGE_TYPE_SIZE_OF);
}

// @ts-ignore: decorator
@inline export function firstField(types: usize, type: MessageType): usize {
  return types + type.fields;
}

/** The field of a number among those that begin at `first`; 0 when there is none. */
export function findField(types: usize, type: MessageType, first: usize, number: u32): usize {
  if (number < type.numbersCount) {
    const index = <u32>load<u16>(types + type.numbers + ((<usize>number) << 1));
    return index ? first + (index - 1) * MESSAGE_FIELD_SIZE_OF : 0;
  }
  let low: u32 = 0;
  let high = type.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = first + <usize>middle * MESSAGE_FIELD_SIZE_OF;
    const found = changetype<MessageField>(at).number;
    if (found == number) return at;
    if (found < number) low = middle + 1;
    else high = middle;
  }
  return 0;
}

/** Makes the templates of all types in the pool; false when memory is exhausted. */
export function linkTypes(types: usize, pool: Pool): bool {
  const count = changetype<MessageTypes>(types).count;
  for (let i: u32 = 0; i < count; i++) if (!linkType(types, typeAt(types, i), pool)) return false;
  return true;
}

function linkType(types: usize, type: MessageType, pool: Pool): bool {
  if (type.isLinked) return true;
  type.isLinked = 1;
  const template = poolAlloc(pool, type.count * MEMBER_SIZE);
  if (!template) return false;
  type.template = <u32>template;
  const end = firstField(types, type) + <usize>type.count * MESSAGE_FIELD_SIZE_OF;
  for (let at = firstField(types, type); at < end; at += MESSAGE_FIELD_SIZE_OF) {
    const field = changetype<MessageField>(at);
    if (!linkField(types, field, pool)) return false;
    const member = template + <usize>field.cell * MEMBER_SIZE;
    store<u64>(member, field.none);
    store<u32>(member, <u32>field.noneTag, MEMBER_TAG);
    store<u32>(member, field.nameLen, MEMBER_KEY_LEN);
    store<u32>(member, <u32>(types + field.nameOff), MEMBER_KEY_OFF);
    store<u32>(member, 0, MEMBER_KEY_OFF + 4);
  }
  const none = poolAlloc(pool, type.count * MEMBER_SIZE);
  if (!none) return false;
  memory.copy(none, template, type.count * MEMBER_SIZE);
  for (let at = firstField(types, type); at < end; at += MESSAGE_FIELD_SIZE_OF) {
    // What a message must have is looked for only in one that was sent.
    const field = changetype<MessageField>(at);
    const member = template + <usize>field.cell * MEMBER_SIZE;
    if (field.flags & FieldFlag.REQUIRED) store<u32>(member, Tag.MISSING, MEMBER_TAG);
  }
  type.none = span(none, compact(none, type.count));
  return true;
}

/** Finds what the field is in a message that does not have it. */
function linkField(types: usize, field: MessageField, pool: Pool): bool {
  const tag = field.noneTag;
  if (tag == Tag.STR || tag == Tag.BYTES) field.none += types;
  // No message holds itself in such fields.
  if (tag != Tag.OBJECT || field.flags & FieldFlag.MAP) return true;
  const type = typeAt(types, field.type);
  if (!linkType(types, type, pool)) return false;
  if (type.flags & TypeFlag.WRAPPER) {
    const value = changetype<MessageField>(firstField(types, type));
    field.noneTag = value.noneTag;
    field.none = value.none;
  } else field.none = type.none;
  return true;
}

/** Copies members, which are few: memory.copy costs more for them. */
// @ts-ignore: decorator
@inline export function copyMembers(to: usize, from: usize, size: usize): void {
  let at: usize = 0;
  for (; at + 16 <= size; at += 16) v128.store(to + at, v128.load(from + at));
  if (at < size) store<u64>(to + at, load<u64>(from + at));
}

/** Drops members without a value; returns how many are left. */
export function compact(members: usize, count: u32): u32 {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const at = members + <usize>i * MEMBER_SIZE;
    if (load<u8>(at, MEMBER_TAG) == Tag.MISSING) continue;
    if (kept != i) memory.copy(members + <usize>kept * MEMBER_SIZE, at, MEMBER_SIZE);
    kept++;
  }
  return kept;
}
