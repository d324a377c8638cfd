// What is put in order when a message has ended: entries of maps by their keys, the last of equal ones; objects without
// the members that have no value. Fields that must be there are.
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
import { push, stacked, taken, takeObject } from '../json/tree';
import { Pool } from '../mem/pool';
import {
  FieldFlag,
  MessageField,
  MessageType,
  MESSAGE_FIELD_SIZE_OF,
  NO_CELL,
  TypeFlag,
} from '../gen/protobuf-layouts';
import { fault, faultIn } from './fault';
import { compact, firstField, typeAt } from './types';

let types: usize = 0;
let pool: Pool = changetype<Pool>(0);
/** Address of the end of the message, where required fields are missing. */
let end: usize = 0;

/** Sets what holds for the message at work. */
export function finishBegin(ofTypes: usize, inPool: Pool, ofEnd: usize): void {
  types = ofTypes;
  pool = inPool;
  end = ofEnd;
}

/** Puts the cells of a message in order; false after noting a fault. */
export function finishCells(first: usize, count: u32, cells: usize): bool {
  const stop = first + <usize>count * MESSAGE_FIELD_SIZE_OF;
  for (let at = first; at < stop; at += MESSAGE_FIELD_SIZE_OF) {
    const field = changetype<MessageField>(at);
    const flags = field.flags;
    if (!(flags & (FieldFlag.FINISH | FieldFlag.REQUIRED)) || field.cell == NO_CELL) continue;
    const cell = cells + <usize>field.cell * MEMBER_SIZE;
    if (load<u8>(cell, MEMBER_TAG) == Tag.MISSING) {
      if (!(flags & FieldFlag.REQUIRED)) continue;
      fault('a required field is missing', end);
    } else if (!(flags & FieldFlag.FINISH) || finishValue(field, flags, cell)) continue;
    faultIn(types, field);
    return false;
  }
  return true;
}

/** The value that `finishObject` has put in order. */
export let finished: u64 = 0;

/** Puts the members of a message in order and makes an object of them; false after noting a fault. */
export function finishObject(type: MessageType, object: u64): bool {
  const members = offOf(object);
  const flags = type.flags;
  finished = object;
  if (flags & TypeFlag.FINISH && !finishCells(firstField(types, type), type.count, members)) return false;
  finished = flags & TypeFlag.SPARSE ? span(members, compact(members, type.count)) : object;
  return true;
}

function finishValue(field: MessageField, flags: u8, cell: usize): bool {
  const value = load<u64>(cell);
  const type = typeAt(types, field.type);
  if (flags & FieldFlag.MAP) return sort(type, cell, value);
  if (!(flags & FieldFlag.REPEATED)) {
    if (value == field.none || load<u8>(cell, MEMBER_TAG) != Tag.OBJECT) return true;
    if (!finishObject(type, value)) return false;
    store<u64>(cell, finished);
    return true;
  }
  const n = lenOf(value);
  for (let i: u32 = 0; i < n; i++) {
    const slot = offOf(value) + <usize>i * SLOT_SIZE;
    if (load<u8>(slot, SLOT_TAG) != Tag.OBJECT) continue;
    if (!finishObject(type, load<u64>(slot))) return false;
    store<u64>(slot, finished);
  }
  return true;
}

function sort(type: MessageType, cell: usize, map: u64): bool {
  const value = changetype<MessageField>(firstField(types, type) + MESSAGE_FIELD_SIZE_OF);
  const height = stacked;
  const n = lenOf(map);
  for (let i: u32 = 0; i < n; i++) {
    const member = offOf(map) + <usize>i * MEMBER_SIZE;
    if (value.flags & FieldFlag.FINISH && !finishValue(value, value.flags, member)) return false;
    const key = <usize>load<u32>(member, MEMBER_KEY_OFF);
    if (!push(load<u8>(member, MEMBER_TAG), load<u64>(member), key, load<u32>(member, MEMBER_KEY_LEN)))
      return noMemory();
  }
  if (!takeObject(pool, height)) return noMemory();
  store<u64>(cell, taken);
  return true;
}

function noMemory(): bool {
  fault('memory is exhausted', 0);
  return false;
}
