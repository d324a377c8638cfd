// Objects with some of their members.
import * as ctx from '../../flow/context';
import { push, stacked, takeObject, taken, unstack } from '../../json/tree';
import {
  MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, SLOT_SIZE, Tag, isNull, lenOf, offOf, span,
} from '../../mem/layout';
import { bytesCompare, bytesEqual, bytesFind } from '../../value/bytes';
import { giveWrong, itemAt, itemTag, listRoom, putItem } from '../list/items';
import { setAdd, setBegin, setEnd, setHas } from '../list/set';
import { isAbsent } from '../numeric';
import { charge, noMemory, resultRoom } from '../result';
import { argCount, argSlots, argTag, argVal, firstArgError, give, giveNull, map2, mapA } from '../row-loops';
import { textOf } from '../string/text-of';
import { hasMembers } from './parts';

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

export function objectErase(op: usize): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isAbsent(tagB, b)) {
      giveNull();
      return;
    }
    if (!hasMembers(tagA, a)) return;
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

/** No object of members that share a path is deeper. */
const MAX_DEPTH: u32 = 64;
const POINT: usize = memory.data<u8>([0x2e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16);

let picked: u64 = 0;
/** There was no room for a copy, of which the error is given. */
let isFull: bool = false;

/** The object with the member set to the value: a copy, as objects are shared. */
function withMember(object: u64, key: u64, tag: u8, val: u64): u64 {
  const n = lenOf(object);
  const to = isFull ? <usize>0 : resultRoom('object_pick', (<u64>n + 1) * MEMBER_SIZE);
  if (!to) {
    isFull = true;
    return object;
  }
  let before: u32 = 0;
  let order: i32 = 1;
  while (before < n) {
    const member = offOf(object) + before * MEMBER_SIZE;
    order = bytesCompare(
      <usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN), offOf(key), lenOf(key),
    );
    if (order >= 0) break;
    before++;
  }
  const isThere = before < n && order == 0;
  memory.copy(to, offOf(object), before * MEMBER_SIZE);
  const at = to + before * MEMBER_SIZE;
  store<u64>(at, val);
  store<u32>(at, <u32>tag, MEMBER_TAG);
  store<u32>(at, lenOf(key), MEMBER_KEY_LEN);
  store<u64>(at, <u64>offOf(key), MEMBER_KEY_OFF);
  const rest = before + <u32>isThere;
  memory.copy(at + MEMBER_SIZE, offOf(object) + rest * MEMBER_SIZE, (n - rest) * MEMBER_SIZE);
  return span(to, n + <u32>!isThere);
}

/** `into` with what the path finds in `from`; itself when there is nothing. */
function withPath(into: u64, from: u64, path: u64, depth: u32): u64 {
  const point = bytesFind(offOf(path), lenOf(path), POINT, 1, 0);
  const key = point < 0 ? path : span(offOf(path), <u32>point);
  const member = memberOf(from, key);
  if (!member) return into;
  const tag = load<u8>(member, MEMBER_TAG);
  if (point < 0) return withMember(into, key, tag, load<u64>(member));
  if (tag != Tag.OBJECT || depth == MAX_DEPTH) return into;
  const there = memberOf(into, key);
  const inner = there && load<u8>(there, MEMBER_TAG) == Tag.OBJECT ? load<u64>(there) : 0;
  const rest = span(offOf(path) + point + 1, lenOf(path) - point - 1);
  const found = withPath(inner, load<u64>(member), rest, depth + 1);
  return found == inner ? into : withMember(into, key, Tag.OBJECT, found);
}

/** Picks what the list names: members first, then paths, which find a member that is there whole already. */
function pickNames(object: u64, list: u64): void {
  isFull = false;
  const height = stacked;
  for (let i: u32 = 0; i < lenOf(list); i++) {
    const slot = itemAt(list, i);
    if (itemTag(slot) != Tag.STR || isPath(load<u64>(slot))) continue;
    const member = memberOf(object, load<u64>(slot));
    if (!member) continue;
    const key = <usize>load<u32>(member, MEMBER_KEY_OFF);
    if (push(load<u8>(member, MEMBER_TAG), load<u64>(member), key, load<u32>(member, MEMBER_KEY_LEN))) continue;
    unstack(height);
    isFull = true;
    give(Tag.ERROR, noMemory('object_pick'));
    return;
  }
  if (!charge('object_pick', <u64>(stacked - height) * MEMBER_SIZE)) {
    unstack(height);
    isFull = true;
    return;
  }
  if (!takeObject(ctx.scratch, height)) {
    unstack(height);
    isFull = true;
    give(Tag.ERROR, noMemory('object_pick'));
    return;
  }
  picked = taken;
  for (let i: u32 = 0; i < lenOf(list) && !isFull; i++) {
    const slot = itemAt(list, i);
    if (itemTag(slot) == Tag.STR && isPath(load<u64>(slot))) picked = withPath(picked, object, load<u64>(slot), 0);
  }
}

// @ts-ignore: decorator
@inline function isPath(name: u64): bool {
  return bytesFind(offOf(name), lenOf(name), POINT, 1, 0) >= 0;
}

/** As `findMember` in the order of the keys: many names are picked from one object. */
function memberOf(object: u64, key: u64): usize {
  let low: u32 = 0;
  let high = lenOf(object);
  while (low < high) {
    const mid = (low + high) >> 1;
    const member = offOf(object) + mid * MEMBER_SIZE;
    const order = bytesCompare(
      <usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN), offOf(key), lenOf(key),
    );
    if (order == 0) return member;
    if (order < 0) low = mid + 1;
    else high = mid;
  }
  return 0;
}

export function objectPick(op: usize): void {
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
    if (first == Tag.ARRAY) pickNames(val, argVal(0));
    else {
      const failed = firstArgError();
      if (failed < argCount) {
        give(Tag.ERROR, argVal(failed));
        return;
      }
      // The arguments stand in slots, as the elements of a list do.
      pickNames(val, first == Tag.STR ? span(argSlots, argCount) : 0);
    }
    if (!isFull) give(Tag.OBJECT, picked);
  });
}
