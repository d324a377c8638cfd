// Functions that find elements in a list, and their places.
import { MEMBER_TAG, Tag, isNull, lenOf, offOf } from '../../mem/layout';
import { isAbsent } from '../numeric';
import { textBegin, textI64, textLiteral, textTakeError } from '../../value/text';
import { findMember } from '../nested/access';
import { give, giveBool, giveI64, giveNull, map1, map2 } from '../row-loops';
import { count, isCount } from '../string/text-of';
import { giveList, giveWrong, isList, itemAt, itemTag, listRoom, putItem, sameItem } from './items';
import { setAdd, setBegin, setEnd, setHas } from './set';
import { Operation } from '../../gen/ops-layouts';

export function listSize(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => giveI64(tag == Tag.ARRAY ? lenOf(val) : 0));
}

export function listCount(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsent(tag, val)) {
      giveI64(0);
      return;
    }
    if (!isList(1, tag, val)) return;
    let n: i64 = 0;
    for (let i: u32 = 0; i < lenOf(val); i++) n += <i64>!isNull(itemTag(itemAt(val, i)));
    giveI64(n);
  });
}

/** Index of the first or last element equal to the value, -1 when there is none. */
function indexOf(list: u64, tag: u8, val: u64, isLast: bool): i32 {
  const n = <i32>lenOf(list);
  for (let k: i32 = 0; k < n; k++) {
    const i = isLast ? n - 1 - k : k;
    const slot = itemAt(list, i);
    if (sameItem(itemTag(slot), load<u64>(slot), tag, val)) return i;
  }
  return -1;
}

export function listContains(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA)) giveBool(false);
    else if (isList(1, tagA, a)) giveBool(indexOf(a, tagB, b, false) >= 0);
  });
}

export function listPosition(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA)) giveI64(-1);
    else if (isList(1, tagA, a)) giveI64(indexOf(a, tagB, b, false));
  });
}

export function listLastPosition(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA)) giveI64(-1);
    else if (isList(1, tagA, a)) giveI64(indexOf(a, tagB, b, true));
  });
}

export function listPositions(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (!isNull(tagA) && !isList(1, tagA, a)) return;
    const n: u32 = isNull(tagA) ? 0 : lenOf(a);
    const to = listRoom('array_positions', n);
    if (!to) return;
    let found: u32 = 0;
    for (let i: u32 = 0; i < n; i++) {
      const slot = itemAt(a, i);
      if (sameItem(itemTag(slot), load<u64>(slot), tagB, b)) putItem(to + ((found++ as usize) << 4), Tag.I64, i);
    }
    giveList('array_positions', to, found, false);
  });
}

export function listContainsAny(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA)) {
      giveBool(false);
      return;
    }
    if (!isList(1, tagA, a) || !isList(2, tagB, b) || !setBegin('array_contains_any', lenOf(b))) return;
    for (let i: u32 = 0; i < lenOf(b); i++) setAdd(itemAt(b, i));
    let found = false;
    for (let i: u32 = 0; i < lenOf(a) && !found; i++) found = setHas(itemAt(a, i));
    setEnd();
    giveBool(found);
  });
}

export function listElementAt(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isAbsent(tagA, a) || isAbsent(tagB, b)) {
      giveNull();
    } else if (tagA == Tag.OBJECT) {
      if (tagB != Tag.STR) {
        giveWrong(2, 'a string', tagB, b);
        return;
      }
      const member = findMember(a, offOf(b), lenOf(b));
      if (member) give(load<u8>(member, MEMBER_TAG), load<u64>(member));
      else giveNull();
    } else if (tagA != Tag.ARRAY) {
      giveWrong(1, 'a list or an object', tagA, a);
    } else if (!isCount(tagB, b)) {
      giveWrong(2, 'a whole number', tagB, b);
    } else {
      const n = <i64>lenOf(a);
      if (count >= n || count < -n) {
        textBegin();
        textLiteral('index ');
        textI64(count);
        textLiteral(' is out of range');
        give(Tag.ERROR, textTakeError());
        return;
      }
      const slot = itemAt(a, <u32>(count < 0 ? count + n : count));
      give(itemTag(slot), load<u64>(slot));
    }
  });
}
