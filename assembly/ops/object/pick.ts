// Objects with some of their members.
import * as ctx from '../../batch/context';
import { push, stacked, takeGroups, takeObject, taken, unstack } from '../../json/tree';
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
import { bytesCompare, bytesEqual, bytesFind } from '../../value/bytes';
import { giveWrong, itemAt, itemTag, listRoom, putItem } from '../list/items';
import { setAdd, setBegin, setEnd, setHas } from '../list/set';
import { charge, noMemory, resultRoom } from '../result';
import { argCount, argSlots, argTag, argVal, firstArgError, give, giveNull, map2, mapA } from '../row-loops';
import { textOf } from '../string/text-of';
import { isObject } from './parts';
import { Operation } from '../../gen/ops-layouts';

// ---- erase ---------------------------------------------------------------------------------------------------

/** Lists of more names are looked up in a set. */
const FEW_NAMES: u32 = 8;
/** The key of a member as an element of a list. */
const KEY_SLOT: usize = memory.data(16, 16);

let names: u64 = 0;

/** Takes the name, or the list of names as texts; false, and the error given, when there is no room for them. */
function readNames(tag: u8, val: u64): bool {
  const n: u32 = tag == Tag.STR ? 1 : lenOf(val);
  const to = listRoom('erase', n);
  if (!to) return false;
  for (let i: u32 = 0; i < n; i++) {
    const slot = itemAt(val, i);
    const name = tag == Tag.STR ? val : textOf(itemTag(slot), load<u64>(slot));
    putItem(to + i * SLOT_SIZE, Tag.STR, name);
  }
  names = span(to, n);
  if (n <= FEW_NAMES) return true;
  if (!setBegin('erase', n)) return false;
  for (let i: u32 = 0; i < n; i++) setAdd(itemAt(names, i));
  return true;
}

function isErased(member: usize): bool {
  const key = <usize>load<u32>(member, MEMBER_KEY_OFF);
  const len = load<u32>(member, MEMBER_KEY_LEN);
  if (lenOf(names) > FEW_NAMES) {
    putItem(KEY_SLOT, Tag.STR, span(key, len));
    return setHas(KEY_SLOT);
  }
  for (let i: u32 = 0; i < lenOf(names); i++) {
    const name = load<u64>(itemAt(names, i));
    if (len == lenOf(name) && bytesEqual(key, offOf(name), len)) return true;
  }
  return false;
}

export function objectErase(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tagB, b)) {
      giveNull();
      return;
    }
    if (!isObject(tagA, a)) return;
    if (tagB != Tag.STR && tagB != Tag.ARRAY) {
      giveWrong(2, 'a string or a list', tagB, b);
      return;
    }
    const to = resultRoom('erase', <u64>lenOf(a) * MEMBER_SIZE);
    if (!to || !readNames(tagB, b)) return;
    let at = to;
    let member = offOf(a);
    for (let i: u32 = 0; i < lenOf(a); i++, member += MEMBER_SIZE) {
      if (isErased(member)) continue;
      memory.copy(at, member, MEMBER_SIZE);
      at += MEMBER_SIZE;
    }
    if (lenOf(names) > FEW_NAMES) setEnd();
    give(Tag.OBJECT, span(to, <u32>(at - to) / MEMBER_SIZE));
  });
}

// ---- pick ----------------------------------------------------------------------------------------------------

/** No path has more points. */
const MAX_DEPTH: u32 = 64;
const POINT: usize = memory.data<u8>([0x2e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16);

/** Payload of the picked object. */
let picked: u64 = 0;
/** Bytes that the objects and lists of names take. */
let length: u64 = 0;

/** Puts a name on the stack: the part before its first point, with the rest as value, or the whole with none. */
function pushName(name: u64): bool {
  const point = bytesFind(offOf(name), lenOf(name), POINT, 1, 0);
  if (point < 0) return push(Tag.NULL, 0, offOf(name), lenOf(name));
  const rest = span(offOf(name) + point + 1, lenOf(name) - point - 1);
  return push(Tag.STR, rest, offOf(name), <u32>point);
}

/** Puts a member with this key on the stack: the object's value, or the part that `names` pick from it, if any. */
function pickMember(object: u64, key: u64, namesTag: u8, names: u64, depth: u32): bool {
  const member = memberOf(object, key);
  if (!member) return true;
  const tag = load<u8>(member, MEMBER_TAG);
  if (!isPathOnly(namesTag, names)) return push(tag, load<u64>(member), offOf(key), lenOf(key));
  if (tag != Tag.OBJECT || depth == MAX_DEPTH) return true;
  const height = stacked;
  const isPushed = namesTag == Tag.STR ? pushName(names) : pushRests(names);
  if (!isPushed || !pickGroups(load<u64>(member), height, depth + 1)) return false;
  return lenOf(picked) == 0 || push(Tag.OBJECT, picked, offOf(key), lenOf(key));
}

/** True when no name ends at the key: the rest behind its points is a text, or a list of texts. */
function isPathOnly(tag: u8, val: u64): bool {
  if (tag != Tag.ARRAY) return tag == Tag.STR;
  for (let i: u32 = 0; i < lenOf(val); i++) {
    if (itemTag(itemAt(val, i)) != Tag.STR) return false;
  }
  return true;
}

function pushRests(list: u64): bool {
  for (let i: u32 = 0; i < lenOf(list); i++) {
    if (!pushName(load<u64>(itemAt(list, i)))) return false;
  }
  return true;
}

/** Picks the names on the stack above `height` from the object; false when memory is exhausted. */
function pickGroups(object: u64, height: u32, depth: u32): bool {
  length += <u64>(stacked - height) * MEMBER_SIZE;
  if (!takeGroups(ctx.scratch, height)) return false;
  const groups = taken;
  let member = offOf(groups);
  for (let i: u32 = 0; i < lenOf(groups); i++, member += MEMBER_SIZE) {
    const key = span(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
    if (!pickMember(object, key, load<u8>(member, MEMBER_TAG), load<u64>(member), depth)) return false;
  }
  length += <u64>(stacked - height) * MEMBER_SIZE;
  if (!takeObject(ctx.scratch, height)) return false;
  picked = taken;
  return true;
}

/** Picks the texts of the list, each the name of a member or a path to one. */
function giveNames(object: u64, list: u64): void {
  const height = stacked;
  length = 0;
  let isPushed = true;
  for (let i: u32 = 0; i < lenOf(list) && isPushed; i++) {
    const slot = itemAt(list, i);
    if (itemTag(slot) == Tag.STR) isPushed = pushName(load<u64>(slot));
  }
  if (isPushed && pickGroups(object, height, 0)) {
    if (charge('object_pick', length)) give(Tag.OBJECT, picked);
    return;
  }
  unstack(height);
  give(Tag.ERROR, noMemory('object_pick'));
}

/** As `findMember` in the order of the keys: many names are picked from one object. */
function memberOf(object: u64, key: u64): usize {
  let low: u32 = 0;
  let high = lenOf(object);
  while (low < high) {
    const mid = (low + high) >> 1;
    const member = offOf(object) + mid * MEMBER_SIZE;
    const order = bytesCompare(
      <usize>load<u32>(member, MEMBER_KEY_OFF),
      load<u32>(member, MEMBER_KEY_LEN),
      offOf(key),
      lenOf(key),
    );
    if (order == 0) return member;
    if (order < 0) low = mid + 1;
    else high = mid;
  }
  return 0;
}

export function objectPick(op: Operation): void {
  mapA(op, (tag: u8, val: u64): void => {
    if (isNull(tag)) {
      giveNull();
      return;
    }
    if (tag != Tag.OBJECT) {
      giveWrong(1, 'an object', tag, val);
      return;
    }
    const first = argTag(0);
    if (first == Tag.ARRAY) giveNames(val, argVal(0));
    else {
      const failed = firstArgError();
      if (failed < argCount) {
        give(Tag.ERROR, argVal(failed));
        return;
      }
      // The arguments stand in slots, as the elements of a list do.
      giveNames(val, first == Tag.STR ? span(argSlots, argCount) : 0);
    }
  });
}
