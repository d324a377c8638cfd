// Names and values of the members.
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  Tag,
  isNull,
  lenOf,
  offOf,
  span,
} from '../../mem/layout';
import { isAbsentAs } from '../numeric';
import { giveList, giveWrong, listRoom, putItem } from '../list/items';
import { resultRoom } from '../result';
import { giveI64, giveNull, map1 } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

/** False, and null or the error given, when the value is no object. */
export function isObject(tag: u8, val: u64): bool {
  if (isAbsentAs(Tag.OBJECT, tag, val)) giveNull();
  else if (tag != Tag.OBJECT) giveWrong(1, 'an object', tag, val);
  else return true;
  return false;
}

// @ts-ignore: decorator
@inline function keyOf(member: usize): u64 {
  return span(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
}

export function objectKeys(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    const to = isObject(tag, val) ? listRoom('keys', lenOf(val)) : 0;
    if (!to) return;
    let member = offOf(val);
    for (let i: u32 = 0; i < lenOf(val); i++, member += MEMBER_SIZE)
      putItem(to + i * SLOT_SIZE, Tag.STR, keyOf(member));
    giveList('keys', to, lenOf(val), false);
  });
}

export function objectValues(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    const to = isObject(tag, val) ? listRoom('values', lenOf(val)) : 0;
    if (!to) return;
    let member = offOf(val);
    for (let i: u32 = 0; i < lenOf(val); i++, member += MEMBER_SIZE) {
      putItem(to + i * SLOT_SIZE, load<u8>(member, MEMBER_TAG), load<u64>(member));
    }
    giveList('values', to, lenOf(val), false);
  });
}

export function objectItems(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    const n = lenOf(val);
    // The list, and behind it the two elements of each of its lists.
    const to = isObject(tag, val) ? listRoom('items', <u64>n * 3) : 0;
    if (!to) return;
    let member = offOf(val);
    let pair = to + n * SLOT_SIZE;
    for (let i: u32 = 0; i < n; i++, member += MEMBER_SIZE, pair += SLOT_SIZE * 2) {
      putItem(pair, Tag.STR, keyOf(member));
      putItem(pair + SLOT_SIZE, load<u8>(member, MEMBER_TAG), load<u64>(member));
      putItem(to + i * SLOT_SIZE, Tag.ARRAY, span(pair, 2));
    }
    giveList('items', to, n, false);
  });
}

// The names of the members of a pair, with room to be read in blocks.
const KEY: usize = memory.data<u8>([0x6b, 0x65, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16);
const VALUE: usize = memory.data<u8>([0x76, 0x61, 0x6c, 0x75, 0x65, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16);
const KEY_LEN: u32 = 3;
const VALUE_LEN: u32 = 5;

function putMember(at: usize, name: usize, len: u32, tag: u8, val: u64): void {
  store<u64>(at, val);
  store<u32>(at, <u32>tag, MEMBER_TAG);
  store<u32>(at, len, MEMBER_KEY_LEN);
  store<u64>(at, <u64>name, MEMBER_KEY_OFF);
}

export function objectPairs(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    const n = lenOf(val);
    const to = isObject(tag, val) ? resultRoom('obj_to_kvpair_array', <u64>n * (SLOT_SIZE + MEMBER_SIZE * 2)) : 0;
    if (!to) return;
    let member = offOf(val);
    let pair = to + n * SLOT_SIZE;
    for (let i: u32 = 0; i < n; i++, member += MEMBER_SIZE, pair += MEMBER_SIZE * 2) {
      putMember(pair, KEY, KEY_LEN, Tag.STR, keyOf(member));
      putMember(pair + MEMBER_SIZE, VALUE, VALUE_LEN, load<u8>(member, MEMBER_TAG), load<u64>(member));
      putItem(to + i * SLOT_SIZE, Tag.OBJECT, span(pair, 2));
    }
    giveList('obj_to_kvpair_array', to, n, false);
  });
}

/** The member of a pair that holds its key, 0 when the object is no pair of a text `key` and a `value`. */
export function keyOfPair(object: u64): usize {
  if (lenOf(object) != 2) return 0;
  const first = offOf(object);
  const second = first + MEMBER_SIZE;
  const isPair =
    isNamed(first, KEY, KEY_LEN) && isNamed(second, VALUE, VALUE_LEN) && load<u8>(first, MEMBER_TAG) == Tag.STR;
  return isPair ? first : 0;
}

function isNamed(member: usize, name: usize, len: u32): bool {
  if (load<u32>(member, MEMBER_KEY_LEN) != len) return false;
  return memory.compare(<usize>load<u32>(member, MEMBER_KEY_OFF), name, len) == 0;
}

export function objectSize(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isNull(tag)) giveI64(0);
    else if (tag == Tag.OBJECT) giveI64(lenOf(val));
    else giveWrong(1, 'an object', tag, val);
  });
}
