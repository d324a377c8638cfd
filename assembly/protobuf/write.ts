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
import { timeMicros, timeNanos } from '../text/time';
import { bytesCompare } from '../value/bytes';
import { textAt, textByte, textBytes, textFails, textGrow, textLen, textRoom } from '../value/text';
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

/** Appends a message of the members; false: the reason is in batch/failure.ts. */
export function writeMessage(type: MessageType, members: usize, count: u32): bool {
  const first = firstField(types, type);
  const end = first + <usize>type.count * MESSAGE_FIELD_SIZE_OF;
  for (let at = first; at < end; at += MESSAGE_FIELD_SIZE_OF) {
    const field = changetype<MessageField>(at);
    const member = find(field, members, count);
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
  if (!(flags & FieldFlag.PRESENCE) && isZero(field)) return true;
  putTag(field.number, field.wire);
  putScalar(field);
  return true;
}

// @ts-ignore: decorator
@inline function isZero(field: MessageField): bool {
  return field.wire == Wire.LENGTH ? lenOf(converted) == 0 : converted == 0;
}

/** Appends the value just converted. */
function putScalar(field: MessageField): void {
  switch (<u32>field.wire) {
    case Wire.VARINT:
      putVarint(converted);
      break;
    case Wire.LENGTH:
      putVarint(lenOf(converted));
      textBytes(offOf(converted), lenOf(converted));
      break;
    default: {
      const size: u32 = field.wire == Wire.FIXED64 ? 8 : 4;
      const to = textRoom(8);
      if (!to) return;
      store<u64>(to, converted);
      textGrow(size);
    }
  }
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
    if (!isPacked) putTag(field.number, field.wire);
    putScalar(field);
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
  } else if (type.flags & TypeFlag.WRAPPER && tag > Tag.NULL) {
    if (!writeField(changetype<MessageField>(firstField(types, type)), tag, val)) return false;
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
    putTag(1, key.wire);
    putScalar(key);
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

function storeVarint(to: usize, number: u64): usize {
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
