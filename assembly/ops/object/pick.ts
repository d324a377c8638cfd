// Objects with some of their members.
import {
  MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, SLOT_SIZE, Tag, isNull, lenOf, offOf, span,
} from '../../mem/layout';
import { bytesCompare, bytesEqual, bytesFind } from '../../value/bytes';
import { giveWrong, itemAt, itemTag } from '../list/items';
import { findMember } from '../nested/access';
import { isAbsent } from '../numeric';
import { resultRoom } from '../result';
import { argCount, argTag, argVal, give, giveNull, map2, mapA } from '../row-loops';
import { textOf } from '../string/text-of';
import { hasMembers } from './parts';

// ---- erase ---------------------------------------------------------------------------------------------------

function isErased(member: usize, tag: u8, names: u64): bool {
  const key = <usize>load<u32>(member, MEMBER_KEY_OFF);
  const len = load<u32>(member, MEMBER_KEY_LEN);
  if (tag == Tag.STR) return len == lenOf(names) && bytesEqual(key, offOf(names), len);
  for (let i: u32 = 0; i < lenOf(names); i++) {
    const slot = itemAt(names, i);
    const name = textOf(itemTag(slot), load<u64>(slot));
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
    if (!to) return;
    let at = to;
    let member = offOf(a);
    for (let i: u32 = 0; i < lenOf(a); i++, member += MEMBER_SIZE) {
      if (isErased(member, tagB, b)) continue;
      memory.copy(at, member, MEMBER_SIZE);
      at += MEMBER_SIZE;
    }
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
  const member = findMember(from, offOf(key), lenOf(key));
  if (!member) return into;
  const tag = load<u8>(member, MEMBER_TAG);
  if (point < 0) return withMember(into, key, tag, load<u64>(member));
  if (tag != Tag.OBJECT || depth == MAX_DEPTH) return into;
  const there = findMember(into, offOf(key), lenOf(key));
  const inner = there && load<u8>(there, MEMBER_TAG) == Tag.OBJECT ? load<u64>(there) : 0;
  const rest = span(offOf(path) + point + 1, lenOf(path) - point - 1);
  const found = withPath(inner, load<u64>(member), rest, depth + 1);
  return found == inner ? into : withMember(into, key, Tag.OBJECT, found);
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
    picked = 0;
    isFull = false;
    const first = argTag(0);
    if (first == Tag.ARRAY) {
      const names = argVal(0);
      for (let i: u32 = 0; i < lenOf(names); i++) {
        const slot = offOf(names) + i * SLOT_SIZE;
        if (itemTag(slot) == Tag.STR) picked = withPath(picked, val, load<u64>(slot), 0);
      }
    } else {
      for (let i: u32 = 0; i < argCount; i++) {
        if (argTag(i) == Tag.ERROR) {
          give(Tag.ERROR, argVal(i));
          return;
        }
        if (argTag(i) == Tag.STR && first == Tag.STR) picked = withPath(picked, val, argVal(i), 0);
      }
    }
    if (!isFull) give(Tag.OBJECT, picked);
  });
}
