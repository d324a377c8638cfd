// Objects as messages, put together in the text buffer (value/text.ts): fields ascend by number, members that are no
// fields are left out, as are nulls.
import { fail, failNoMemory } from '../batch/failure';
import {
  lenOf,
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  NO_LIST,
  offOf,
  SLOT_SIZE,
  SLOT_TAG,
  span,
  Tag,
} from '../mem/layout';
import { copyBytes } from '../mem/copy';
import { timeMicros, timeNanos } from '../text/time';
import { bytesCompare, textsEqual } from '../value/bytes';
import { textAt, textByte, textFails, textGrow, textLen, textRoom } from '../value/text';
import {
  FieldFlag,
  FieldKind,
  MessageField,
  MessageType,
  MESSAGE_FIELD_SIZE_OF,
  TypeFlag,
} from '../gen/protobuf-layouts';
import { failRequired, failValue } from './unfit';
import { convert, converted, keyOf } from './convert';
import { firstField, typeAt } from './types';
import { Wire } from './wire';

let types: usize = 0;

/** Sets where the types of the messages are that follow. */
export function writeBegin(ofTypes: usize): void {
  types = ofTypes;
}

/** Place of a field that has no member. */
const NO_PLACE: u32 = 0xffff;

/** Finds the places of the fields of the message among names in the order of members: a u16 each. */
export function findPlaces(places: usize, members: usize, count: u32): void {
  const type = typeAt(types, 0);
  for (let i: u32 = 0; i < type.count; i++) {
    const field = changetype<MessageField>(firstField(types, type) + <usize>i * MESSAGE_FIELD_SIZE_OF);
    const member = find(field, members, count);
    const place = member ? <u32>(member - members) / MEMBER_SIZE : NO_PLACE;
    store<u16>(places + ((<usize>i) << 1), <u16>place);
  }
}

/**
 * Appends a message of the members, whose `places` may be known; false: the reason is in batch/failure.ts.
 */
export function writeMessage(type: MessageType, members: usize, count: u32, places: usize = 0): bool {
  const first = firstField(types, type);
  const end = first + <usize>type.count * MESSAGE_FIELD_SIZE_OF;
  let place = places;
  for (let at = first; at < end; at += MESSAGE_FIELD_SIZE_OF) {
    const field = changetype<MessageField>(at);
    let member: usize;
    if (place) {
      const index = <u32>load<u16>(place);
      place += 2;
      member = index == NO_PLACE ? 0 : members + <usize>index * MEMBER_SIZE;
    } else member = find(field, members, count);
    const tag = member ? load<u8>(member, MEMBER_TAG) : Tag.MISSING;
    if (tag <= Tag.NULL) {
      if (field.flags & FieldFlag.REQUIRED) return failRequired(types, field);
      continue;
    }
    if (field.flags & FieldFlag.ONEOF && isOverridden(field, first, members, count)) continue;
    if (!writeField(field, tag, load<u64>(member))) return false;
  }
  if (!textFails) return true;
  failNoMemory();
  return false;
}

/** The member with the name of a field, 0 when there is none. */
function find(field: MessageField, members: usize, count: u32): usize {
  // An object with all fields has each at the place of its name.
  if (field.cell < count) {
    const at = members + <usize>field.cell * MEMBER_SIZE;
    const len = load<u32>(at, MEMBER_KEY_LEN);
    if (len == field.nameLen && textsEqual(<usize>load<u32>(at, MEMBER_KEY_OFF), types + field.nameOff, len)) return at;
  }
  let low: u32 = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = members + <usize>middle * MEMBER_SIZE;
    const order = bytesCompare(
      <usize>load<u32>(at, MEMBER_KEY_OFF),
      load<u32>(at, MEMBER_KEY_LEN),
      types + field.nameOff,
      field.nameLen,
    );
    if (order == 0) return at;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return 0;
}

/** True when a field of the same oneof that is declared later has a value: the last one counts. */
function isOverridden(field: MessageField, first: usize, members: usize, count: u32): bool {
  let peer = changetype<MessageField>(first + <usize>(field.peer - 1) * MESSAGE_FIELD_SIZE_OF);
  while (peer != field) {
    if (peer.order > field.order) {
      const member = find(peer, members, count);
      if (member && load<u8>(member, MEMBER_TAG) > Tag.NULL) return true;
    }
    peer = changetype<MessageField>(first + <usize>(peer.peer - 1) * MESSAGE_FIELD_SIZE_OF);
  }
  return false;
}

function writeField(field: MessageField, tag: u8, val: u64): bool {
  if (tag == Tag.ERROR) {
    fail(offOf(val), lenOf(val));
    return false;
  }
  const flags = field.flags;
  if (flags & FieldFlag.MAP) return writeMap(field, tag, val);
  if (flags & FieldFlag.REPEATED) return writeList(field, tag, val);
  if (field.kind == FieldKind.MESSAGE) return writeInner(field, tag, val);
  if (!convert(types, field, tag, val)) return false;
  if (flags & FieldFlag.PRESENCE || !isZero(field)) putScalar((field.number << 3) | field.wire, field.wire);
  return true;
}

// @ts-ignore: decorator
@inline function isZero(field: MessageField): bool {
  return field.wire == Wire.LENGTH ? lenOf(converted) == 0 : converted == 0;
}

/** Appends the value just converted, with its tag unless that is 0. */
function putScalar(tag: u32, wire: u32): void {
  const value = converted;
  if (wire == Wire.LENGTH) {
    const len = lenOf(value);
    const to = textRoom(len + 10);
    if (!to) return;
    const at = storeVarint(storeTag(to, tag), len);
    copyBytes(at, offOf(value), len);
    textGrow(<u32>(at - to) + len);
    return;
  }
  const to = textRoom(16);
  if (!to) return;
  let at = storeTag(to, tag);
  if (wire == Wire.VARINT) at = storeVarint(at, value);
  else {
    store<u64>(at, value);
    at += wire == Wire.FIXED64 ? 8 : 4;
  }
  textGrow(<u32>(at - to));
}

// @ts-ignore: decorator
@inline function storeTag(to: usize, tag: u32): usize {
  return tag ? storeVarint(to, tag) : to;
}

function writeList(field: MessageField, tag: u8, val: u64): bool {
  if (tag != Tag.ARRAY) return failValue(types, field, tag, val);
  if (val == NO_LIST || !lenOf(val)) return true;
  const isPacked = (field.flags & FieldFlag.PACKED) != 0;
  let from: u32 = 0;
  if (isPacked) {
    putTag(field.number, Wire.LENGTH);
    from = openLength();
  }
  const end = offOf(val) + <usize>lenOf(val) * SLOT_SIZE;
  for (let slot = offOf(val); slot < end; slot += SLOT_SIZE) {
    const itemTag = load<u8>(slot, SLOT_TAG);
    const item = load<u64>(slot);
    if (field.kind == FieldKind.MESSAGE) {
      if (!writeInner(field, itemTag, item)) return false;
      continue;
    }
    if (!convert(types, field, itemTag, item)) return false;
    putScalar(isPacked ? 0 : (field.number << 3) | field.wire, field.wire);
  }
  if (isPacked) closeLength(from);
  return true;
}

/** Appends a message within the message. */
function writeInner(field: MessageField, tag: u8, val: u64): bool {
  const type = typeAt(types, field.type);
  const isGroup = (field.flags & FieldFlag.GROUP) != 0;
  putTag(field.number, isGroup ? Wire.GROUP : Wire.LENGTH);
  const from = isGroup ? 0 : openLength();
  if (tag == Tag.OBJECT) {
    if (!writeMessage(type, offOf(val), lenOf(val))) return false;
  } else if (type.flags & TypeFlag.WRAPPER) {
    const value = changetype<MessageField>(firstField(types, type));
    if (tag > Tag.NULL && !writeField(value, tag, val)) return false;
  } else if (type.flags & TypeFlag.TIME && tag == Tag.TIME) putTime(<i64>val);
  else return failValue(types, field, tag, val);
  if (isGroup) putTag(field.number, Wire.GROUP_END);
  else closeLength(from);
  return true;
}

/** Appends seconds and nanoseconds. */
function putTime(time: i64): void {
  const micros = timeMicros(time);
  let seconds = micros / 1000000;
  if (seconds * 1000000 > micros) seconds--;
  const nanos = <u64>(micros - seconds * 1000000) * 1000 + timeNanos(time);
  if (seconds) {
    putTag(1, Wire.VARINT);
    putVarint(<u64>seconds);
  }
  if (nanos) {
    putTag(2, Wire.VARINT);
    putVarint(nanos);
  }
}

function writeMap(field: MessageField, tag: u8, val: u64): bool {
  if (tag != Tag.OBJECT) return failValue(types, field, tag, val);
  const key = changetype<MessageField>(firstField(types, typeAt(types, field.type)));
  const value = changetype<MessageField>(changetype<usize>(key) + MESSAGE_FIELD_SIZE_OF);
  const end = offOf(val) + <usize>lenOf(val) * MEMBER_SIZE;
  for (let member = offOf(val); member < end; member += MEMBER_SIZE) {
    const valueTag = load<u8>(member, MEMBER_TAG);
    if (valueTag <= Tag.NULL) continue;
    const name = span(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
    putTag(field.number, Wire.LENGTH);
    const from = openLength();
    if (!keyOf(key, name)) return failValue(types, key, Tag.STR, name);
    putScalar(8 | key.wire, key.wire);
    if (!writeField(value, valueTag, load<u64>(member))) return false;
    closeLength(from);
  }
  return true;
}

// ---- bytes ---------------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline function putTag(number: u32, wire: u32): void {
  putVarint((number << 3) | wire);
}

function putVarint(number: u64): void {
  const to = textRoom(10);
  if (to) textGrow(<u32>(storeVarint(to, number) - to));
}

// @ts-ignore: decorator
@inline function storeVarint(to: usize, number: u64): usize {
  if (number < 0x80) {
    store<u8>(to, <u8>number);
    return to + 1;
  }
  return storeLong(to, number);
}

function storeLong(to: usize, number: u64): usize {
  let rest = number;
  let at = to;
  while (rest > 0x7f) {
    store<u8>(at++, <u8>(rest | 0x80));
    rest >>= 7;
  }
  store<u8>(at, <u8>rest);
  return at + 1;
}

/** Leaves a byte for the length of what follows; returns where that begins. */
function openLength(): u32 {
  textByte(0);
  return textLen;
}

/** Writes the length of what was written from there on; a long one moves it on. */
function closeLength(from: u32): void {
  if (textFails) return;
  const length = textLen - from;
  if (length > 0x7f) {
    const more = (31 - clz(length)) / 7;
    if (!textRoom(more)) return;
    memory.copy(textAt() + from + more, textAt() + from, length);
    textGrow(more);
  }
  storeVarint(textAt() + from - 1, length);
}
