// A message into cells: members of an object (mem/layout.ts), which hold what an empty message has before it is read.
// The value of a cell is complete once `finishCells` (finish.ts) has put it in order.
import {
  lenOf,
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  offOf,
  SLOT_SIZE,
  SLOT_TAG,
  span,
  Tag,
} from '../mem/layout';
import { Pool, poolAlloc } from '../mem/pool';
import { MAX_I64_TEXT, printI64 } from '../text/i64';
import {
  FieldFlag,
  FieldKind,
  MessageField,
  MessageType,
  MESSAGE_FIELD_SIZE_OF,
  NO_CELL,
  TypeFlag,
} from '../gen/protobuf-layouts';
import { fault, faultIn } from './fault';
import { copyMembers, findField, firstField, typeAt } from './types';
import { readLength, readOne, readScalar, readTag, readVarint, scalar, skipValue, tag, varint, Wire } from './wire';

/** Elements for which a list has room at first; it doubles when it is full. */
const FIRST_ROOM: u32 = 4;
/** Most elements of a list. */
const MOST_ITEMS: u32 = 1 << 25;
/** Cell of the value of a wrapper. */
const WRAPPED: usize = memory.data(32, 16);

let types: usize = 0;
let pool: Pool = changetype<Pool>(0);

/** Sets where the types are, and the memory for values, of the messages that follow. */
export function readBegin(ofTypes: usize, inPool: Pool): void {
  types = ofTypes;
  pool = inPool;
}

/**
 * Reads a message, or the group of a number, into cells. The fields of its type begin at `first`; `depth` bounds
 * messages in messages. Returns the position behind it, 0 after noting a fault.
 */
export function readMessage(
  type: MessageType,
  first: usize,
  cells: usize,
  from: usize,
  end: usize,
  depth: i32,
  group: u32,
): usize {
  // Fields mostly come in the order of their numbers.
  let field = changetype<MessageField>(first);
  let p = from;
  while (p < end) {
    let head = <u32>load<u8>(p);
    if (head - 8 < 0x78) p++;
    else {
      p = readTag(p, end);
      if (!p) return 0;
      head = tag;
    }
    const number = head >> 3;
    const wire = head & 7;
    if (field.number != number || wire == Wire.GROUP_END) {
      const found = wire == Wire.GROUP_END ? <usize>0 : findField(types, type, first, number);
      if (!found) {
        if (wire == Wire.GROUP_END && number == group) return p;
        p = skipValue(wire, number, p, end, depth);
        if (!p) return 0;
        continue;
      }
      field = changetype<MessageField>(found);
    }
    if (field.cell == NO_CELL) {
      p = skipValue(wire, number, p, end, depth);
    } else {
      p = readField(field, first, cells + <usize>field.cell * MEMBER_SIZE, cells, wire, p, end, depth);
    }
    if (!p) return faultIn(types, field);
    if (!(field.flags & FieldFlag.REPEATED))
      field = changetype<MessageField>(changetype<usize>(field) + MESSAGE_FIELD_SIZE_OF);
  }
  return group ? fault('the message ends within a group', end) : p;
}

// @ts-ignore: decorator
@inline function readField(
  field: MessageField,
  first: usize,
  cell: usize,
  cells: usize,
  wire: u32,
  p: usize,
  end: usize,
  depth: i32,
): usize {
  const flags = field.flags;
  if (field.kind == FieldKind.MESSAGE) {
    const q = readInner(field, cell, wire, p, end, depth);
    if (q && flags & FieldFlag.ONEOF) clearPeers(field, first, cells);
    return q;
  }
  if (wire != field.wire) return readPacked(field, first, cell, cells, wire, p, end);
  const q = readOne(field.kind, p, end);
  if (!q) return 0;
  if (flags & FieldFlag.REPEATED) return append(cell, field.tag, scalar) ? q : 0;
  putSingle(field, flags, first, cell, cells);
  return q;
}

/** Stores the value just read. */
// @ts-ignore: decorator
@inline function putSingle(field: MessageField, flags: u8, first: usize, cell: usize, cells: usize): void {
  store<u64>(cell, scalar);
  store<u32>(cell, <u32>field.tag, MEMBER_TAG);
  if (flags & FieldFlag.ONEOF) clearPeers(field, first, cells);
  // No bytes are no value where the schema does not tell one from the other.
  else if (field.tag == Tag.BYTES && !(flags & FieldFlag.PRESENCE) && !lenOf(scalar)) {
    store<u64>(cell, field.none);
    store<u32>(cell, <u32>field.noneTag, MEMBER_TAG);
  }
}

/** Reads numbers that stand together; of a field that is no list the last one counts. */
function readPacked(
  field: MessageField,
  first: usize,
  cell: usize,
  cells: usize,
  wire: u32,
  from: usize,
  end: usize,
): usize {
  const kind = field.kind;
  if (wire != Wire.LENGTH || field.wire == Wire.LENGTH) return fault('its wire type is not that of the schema', from);
  let p = readLength(from, end);
  if (!p) return 0;
  const stop = p + <usize>varint;
  const flags = field.flags;
  if (flags & FieldFlag.REPEATED) return readItems(field, cell, p, stop);
  while (p < stop) {
    p = readScalar(kind, p, stop);
    if (!p) return 0;
    putSingle(field, flags, first, cell, cells);
  }
  return p;
}

/** Adds numbers that stand together to the list of a cell. */
function readItems(field: MessageField, cell: usize, from: usize, stop: usize): usize {
  const kind = field.kind;
  const itemTag = <u64>field.tag;
  const list = load<u64>(cell);
  let n = lenOf(list);
  let slots = offOf(list);
  let p = from;
  while (p < stop) {
    p = readOne(kind, p, stop);
    if (!p) return 0;
    if (isFull(n)) {
      slots = grown(slots, n, SLOT_SIZE);
      if (!slots) return 0;
    }
    const slot = slots + <usize>n * SLOT_SIZE;
    store<u64>(slot, scalar);
    store<u64>(slot, itemTag, SLOT_TAG);
    n++;
  }
  if (n) store<u64>(cell, span(slots, n));
  return p;
}

/** Takes the values of the other fields of a oneof away. */
function clearPeers(field: MessageField, first: usize, cells: usize): void {
  let peer = changetype<MessageField>(first + <usize>(field.peer - 1) * MESSAGE_FIELD_SIZE_OF);
  while (peer != field) {
    if (peer.cell != NO_CELL) store<u32>(cells + <usize>peer.cell * MEMBER_SIZE, Tag.MISSING, MEMBER_TAG);
    peer = changetype<MessageField>(first + <usize>(peer.peer - 1) * MESSAGE_FIELD_SIZE_OF);
  }
}

/** Reads a message within the message. */
function readInner(field: MessageField, cell: usize, wire: u32, from: usize, end: usize, depth: i32): usize {
  const flags = field.flags;
  let p = from;
  let stop = end;
  let group: u32 = 0;
  if (wire == Wire.LENGTH) {
    p = readLength(p, end);
    if (!p) return 0;
    stop = p + <usize>varint;
  } else if (wire == Wire.GROUP && !(flags & FieldFlag.MAP)) group = field.number;
  else return fault('its wire type is not that of the schema', from);
  if (depth <= 0) return fault('nested too deeply', from);
  const type = typeAt(types, field.type);
  if (flags & FieldFlag.MAP) return readEntry(type, cell, p, stop, depth - 1);
  if (type.flags & TypeFlag.WRAPPER) return readWrapped(type, flags, cell, p, stop, depth - 1, group);
  const count = type.count;
  let members: usize;
  const before = load<u64>(cell);
  if (!(flags & FieldFlag.REPEATED) && load<u8>(cell, MEMBER_TAG) == Tag.OBJECT && before != field.none) {
    // What comes later is merged with what was there.
    members = offOf(before);
  } else {
    members = poolAlloc(pool, count * MEMBER_SIZE);
    if (!members) return failMemory();
    copyMembers(members, type.template, count * MEMBER_SIZE);
  }
  const q = readMessage(type, firstField(types, type), members, p, stop, depth - 1, group);
  if (!q) return 0;
  const object = span(members, count);
  if (flags & FieldFlag.REPEATED) return append(cell, Tag.OBJECT, object) ? q : 0;
  store<u64>(cell, object);
  store<u32>(cell, Tag.OBJECT, MEMBER_TAG);
  return q;
}

function readWrapped(type: MessageType, flags: u8, cell: usize, p: usize, stop: usize, depth: i32, group: u32): usize {
  copyMembers(WRAPPED, type.template, MEMBER_SIZE);
  const isThere = !(flags & FieldFlag.REPEATED) && load<u8>(cell, MEMBER_TAG) != Tag.MISSING;
  if (isThere) {
    store<u64>(WRAPPED, load<u64>(cell));
    store<u32>(WRAPPED, load<u32>(cell, MEMBER_TAG), MEMBER_TAG);
  }
  const q = readMessage(type, firstField(types, type), WRAPPED, p, stop, depth, group);
  if (!q) return 0;
  const valueTag = load<u8>(WRAPPED, MEMBER_TAG);
  if (flags & FieldFlag.REPEATED) return append(cell, valueTag, load<u64>(WRAPPED)) ? q : 0;
  store<u64>(cell, load<u64>(WRAPPED));
  store<u32>(cell, <u32>valueTag, MEMBER_TAG);
  return q;
}

/** Adds a value to the list of a cell; false after noting a fault. */
function append(cell: usize, itemTag: u8, payload: u64): bool {
  const list = load<u64>(cell);
  const n = lenOf(list);
  let slots = offOf(list);
  if (isFull(n)) {
    slots = grown(slots, n, SLOT_SIZE);
    if (!slots) return false;
  }
  const slot = slots + <usize>n * SLOT_SIZE;
  store<u64>(slot, payload);
  store<u64>(slot, <u64>itemTag, SLOT_TAG);
  store<u64>(cell, span(slots, n + 1));
  return true;
}

// @ts-ignore: decorator
@inline function isFull(n: u32): bool {
  return n == 0 || (n >= FIRST_ROOM && (n & (n - 1)) == 0);
}

/** A copy of a full list with twice the room; 0 after noting a fault. */
function grown(items: usize, n: u32, size: u32): usize {
  if (n >= MOST_ITEMS) return failMemory();
  const bigger = poolAlloc(pool, (n ? n << 1 : FIRST_ROOM) * size);
  if (!bigger) return failMemory();
  if (n) memory.copy(bigger, items, <usize>n * size);
  return bigger;
}

function failMemory(): usize {
  return fault('memory is exhausted', 0);
}

/** Adds an entry to the map of a cell, which is a list of members until it is put in order. */
function readEntry(type: MessageType, cell: usize, p: usize, stop: usize, depth: i32): usize {
  const entry = poolAlloc(pool, 2 * MEMBER_SIZE);
  if (!entry) return failMemory();
  copyMembers(entry, type.template, 2 * MEMBER_SIZE);
  const first = firstField(types, type);
  const q = readMessage(type, first, entry, p, stop, depth, 0);
  if (!q) return 0;
  const key = keyText(changetype<MessageField>(first), entry);
  const map = load<u64>(cell);
  const n = lenOf(map);
  let members = offOf(map);
  if (isFull(n)) {
    members = grown(members, n, MEMBER_SIZE);
    if (!members) return 0;
  }
  const member = members + <usize>n * MEMBER_SIZE;
  const value = entry + MEMBER_SIZE;
  store<u64>(member, load<u64>(value));
  store<u32>(member, load<u32>(value, MEMBER_TAG), MEMBER_TAG);
  store<u32>(member, lenOf(key), MEMBER_KEY_LEN);
  store<u32>(member, <u32>offOf(key), MEMBER_KEY_OFF);
  store<u32>(member, 0, MEMBER_KEY_OFF + 4);
  store<u64>(cell, span(members, n + 1));
  return q;
}

const TRUE: usize = memory.data<u8>([0x74, 0x72, 0x75, 0x65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
const FALSE: usize = memory.data<u8>([0x66, 0x61, 0x6c, 0x73, 0x65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/** The key of an entry as text. */
function keyText(field: MessageField, cell: usize): u64 {
  const payload = load<u64>(cell);
  const kind = field.kind;
  if (kind == FieldKind.STRING) return payload;
  if (kind == FieldKind.BOOL) return payload ? span(TRUE, 4) : span(FALSE, 5);
  const to = poolAlloc(pool, MAX_I64_TEXT + 8);
  if (!to) return 0;
  let at = to;
  let rest = payload;
  if (<i64>payload < 0 && (kind == FieldKind.UINT64 || kind == FieldKind.FIXED64)) {
    at = printI64(to, <i64>(payload / 10));
    rest = payload % 10;
  }
  return span(to, <u32>(printI64(at, <i64>rest) - to));
}
