// Records: the rows of a table, each a block of its own, which is replaced as a whole.
//
//   record   0   shape u32 | size u32 | slot u32 | next u32 (as its owner likes) | previous u32 | 0 u32
//            24  vals u64[count] | tags u8[count] | texts and nested values
import { alloc, free } from '../mem/alloc';
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  lenOf,
  offOf,
  span,
} from '../mem/layout';
import { Pool, poolAlloc } from '../mem/pool';
import {
  RowShape,
  RowShapes,
  shapeCount,
  shapeDrop,
  shapeJoin,
  shapeLeave,
  shapeName,
  shapeNameLen,
  shapeOf,
} from './shape';

/** A row of a table. */
// @ts-ignore: decorator
@unmanaged
export class Record {
  shape: RowShape;
  size: u32;
  slot: u32;
  next: Record;
  previous: Record;
}

const RECORD_VALS: usize = 24;
/** Texts may be read by words of 16 bytes. */
const SLACK: u32 = 16;

// @ts-ignore: decorator
@inline export function recordShape(record: Record): RowShape {
  return record.shape;
}

// @ts-ignore: decorator
@inline export function recordSlot(record: Record): u32 {
  return record.slot;
}

// @ts-ignore: decorator
@inline export function setRecordSlot(record: Record, slot: u32): void {
  record.slot = slot;
}

// @ts-ignore: decorator
@inline export function recordNext(record: Record): Record {
  return record.next;
}

// @ts-ignore: decorator
@inline export function setRecordNext(record: Record, next: Record): void {
  record.next = next;
}

// @ts-ignore: decorator
@inline export function recordPrevious(record: Record): Record {
  return record.previous;
}

// @ts-ignore: decorator
@inline export function setRecordPrevious(record: Record, previous: Record): void {
  record.previous = previous;
}

// @ts-ignore: decorator
@inline export function recordVal(record: Record, i: u32): u64 {
  return load<u64>(changetype<usize>(record) + ((<usize>i) << 3), RECORD_VALS);
}

// @ts-ignore: decorator
@inline export function recordTag(record: Record, i: u32): u8 {
  return load<u8>(changetype<usize>(record) + ((<usize>shapeCount(recordShape(record))) << 3) + i, RECORD_VALS);
}

/** Makes a record of an object; 0 when memory is exhausted. */
export function recordNew(shapes: RowShapes, object: u64, acct: usize): Record {
  const members = offOf(object);
  const count = lenOf(object);
  const shape = shapeOf(shapes, members, count, acct);
  if (!shape) return changetype<Record>(0);
  let size: u64 = RECORD_VALS + <u64>count * 9 + 7 + SLACK;
  for (let i: u32 = 0; i < count; i++) {
    const member = members + <usize>(i * MEMBER_SIZE);
    size += bytesOf(load<u8>(member, MEMBER_TAG), load<u64>(member));
  }
  const record: Record = size > 0x7fffffff ? changetype<Record>(0) : changetype<Record>(alloc(<u32>size, acct));
  if (!record) {
    shapeDrop(shapes, shape, acct);
    return changetype<Record>(0);
  }
  shapeJoin(shape);
  record.shape = shape;
  record.size = <u32>size;
  store<u64>(changetype<usize>(record), 0, offsetof<Record>('slot'));
  store<u64>(changetype<usize>(record), 0, offsetof<Record>('previous'));
  const vals = changetype<usize>(record) + RECORD_VALS;
  const tags = vals + ((<usize>count) << 3);
  cursor = (tags + count + 7) & ~7;
  for (let i: u32 = 0; i < count; i++) {
    const member = members + <usize>(i * MEMBER_SIZE);
    const tag = load<u8>(member, MEMBER_TAG);
    store<u64>(vals + ((<usize>i) << 3), copied(tag, load<u64>(member)));
    store<u8>(tags + i, tag);
  }
  return record;
}

export function recordFree(shapes: RowShapes, record: Record, acct: usize): void {
  const shape = recordShape(record);
  free(changetype<usize>(record), record.size, acct);
  shapeLeave(shapes, shape, acct);
}

/** The record as an object in the pool, whose texts stay where they are; its payload, or 0 when memory is exhausted. */
export function recordObject(record: Record, pool: Pool): u64 {
  const shape = recordShape(record);
  const count = shapeCount(shape);
  const to = poolAlloc(pool, count * MEMBER_SIZE);
  if (!to) return 0;
  for (let i: u32 = 0; i < count; i++) {
    const member = to + <usize>(i * MEMBER_SIZE);
    store<u64>(member, recordVal(record, i));
    store<u32>(member, <u32>recordTag(record, i), MEMBER_TAG);
    store<u32>(member, shapeNameLen(shape, i), MEMBER_KEY_LEN);
    store<u32>(member, <u32>shapeName(shape, i), MEMBER_KEY_OFF);
    store<u32>(member, 0, MEMBER_KEY_OFF + 4);
  }
  return span(to, count);
}

// @ts-ignore: decorator
@inline function rounded(len: u32): u64 {
  return (<u64>len + 7) & ~7;
}

/** Bytes that a value refers to, as `copiedTo` lays them down. */
export function bytesOf(tag: u8, payload: u64): u64 {
  if (tag < Tag.STR || tag == Tag.TIME) return 0;
  const n = lenOf(payload);
  if (tag != Tag.ARRAY && tag != Tag.OBJECT) return rounded(n);
  let size = <u64>n * (tag == Tag.ARRAY ? SLOT_SIZE : MEMBER_SIZE);
  for (let i: u32 = 0; i < n; i++) {
    if (tag == Tag.ARRAY) {
      const slot = offOf(payload) + <usize>(i * SLOT_SIZE);
      size += bytesOf(load<u8>(slot, SLOT_TAG), load<u64>(slot));
    } else {
      const member = offOf(payload) + <usize>(i * MEMBER_SIZE);
      size += rounded(load<u32>(member, MEMBER_KEY_LEN)) + bytesOf(load<u8>(member, MEMBER_TAG), load<u64>(member));
    }
  }
  return size;
}

/** Address of the next bytes of the record that is being made. */
let cursor: usize = 0;

function take(len: u64): usize {
  const at = cursor;
  cursor += <usize>len;
  return at;
}

/**
 * Copies the bytes that a value refers to, to an address that is a multiple of 8, and returns the payload of the copy;
 * `copiedEnd` is the place behind it.
 */
export function copiedTo(to: usize, tag: u8, payload: u64): u64 {
  cursor = to;
  return copied(tag, payload);
}

// @ts-ignore: decorator
@inline export function copiedEnd(): usize {
  return cursor;
}

/** As `copiedTo`, behind what was copied before. */
function copied(tag: u8, payload: u64): u64 {
  if (tag < Tag.STR || tag == Tag.TIME) return payload;
  const from = offOf(payload);
  const n = lenOf(payload);
  if (tag == Tag.ARRAY) {
    if (!n) return payload;
    const to = take(<u64>n * SLOT_SIZE);
    for (let i: u32 = 0; i < n; i++) {
      const slot = from + <usize>(i * SLOT_SIZE);
      const item = load<u8>(slot, SLOT_TAG);
      store<u64>(to + <usize>(i * SLOT_SIZE), copied(item, load<u64>(slot)));
      store<u64>(to + <usize>(i * SLOT_SIZE), <u64>item, SLOT_TAG);
    }
    return span(to, n);
  }
  if (tag == Tag.OBJECT) {
    const to = take(<u64>n * MEMBER_SIZE);
    for (let i: u32 = 0; i < n; i++) {
      const member = from + <usize>(i * MEMBER_SIZE);
      const copy = to + <usize>(i * MEMBER_SIZE);
      const item = load<u8>(member, MEMBER_TAG);
      const keyLen = load<u32>(member, MEMBER_KEY_LEN);
      const key = take(rounded(keyLen));
      memory.copy(key, <usize>load<u32>(member, MEMBER_KEY_OFF), keyLen);
      store<u64>(copy, copied(item, load<u64>(member)));
      store<u32>(copy, <u32>item, MEMBER_TAG);
      store<u32>(copy, keyLen, MEMBER_KEY_LEN);
      store<u32>(copy, <u32>key, MEMBER_KEY_OFF);
      store<u32>(copy, 0, MEMBER_KEY_OFF + 4);
    }
    return span(to, n);
  }
  const to = take(rounded(n));
  memory.copy(to, from, n);
  return span(to, n);
}
