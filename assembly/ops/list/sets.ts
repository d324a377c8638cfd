// Functions that take lists as sets, for different, common and missing elements.
import { Tag, isNull, lenOf } from '../../mem/layout';
import { isAbsentAs } from '../numeric';
import { giveNull, map1, map2 } from '../row-loops';
import { giveList, isList, itemAt, listRoom } from './items';
import { setAdd, setBegin, setEnd, setForget, setHas } from './set';
import { Operation } from '../../gen/ops-layouts';

let to: usize = 0;
let n: u32 = 0;

/** Appends the element to the result. */
// @ts-ignore: decorator
@inline function take(slot: usize): void {
  memory.copy(to + ((n++ as usize) << 4), slot, 16);
}

/** Appends the elements of the list that the set has not, and puts them there. */
function takeNew(list: u64): void {
  for (let i: u32 = 0; i < lenOf(list); i++) {
    const slot = itemAt(list, i);
    if (setAdd(slot)) take(slot);
  }
}

/** Starts a result of at most `most` elements beside a set of at most `known`. */
function begin(name: string, most: u64, known: u32): bool {
  n = 0;
  to = listRoom(name, most);
  return to != 0 && setBegin(name, known);
}

export function listDistinct(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tag, val)) giveNull();
    else if (isList(1, tag, val) && begin('array_distinct', lenOf(val), lenOf(val))) {
      takeNew(val);
      setEnd();
      giveList('array_distinct', to, n, false);
    }
  });
}

export function listUnion(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    const first: u64 = isNull(tagA) ? 0 : a;
    const second: u64 = isNull(tagB) ? 0 : b;
    if ((!isNull(tagA) && !isList(1, tagA, a)) || (!isNull(tagB) && !isList(2, tagB, b))) return;
    const most = <u64>lenOf(first) + lenOf(second);
    if (!begin('array_union', most, <u32>most)) return;
    takeNew(first);
    takeNew(second);
    setEnd();
    giveList('array_union', to, n, true);
  });
}

export function listExcept(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA)) {
      giveNull();
      return;
    }
    if (!isList(1, tagA, a) || (!isNull(tagB) && !isList(2, tagB, b))) return;
    const without: u64 = isNull(tagB) ? 0 : b;
    if (!begin('array_except', lenOf(a), lenOf(a) + lenOf(without))) return;
    for (let i: u32 = 0; i < lenOf(without); i++) setAdd(itemAt(without, i));
    takeNew(a);
    setEnd();
    giveList('array_except', to, n, false);
  });
}

export function listIntersect(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tagA, a) || isAbsentAs(Tag.ARRAY, tagB, b)) {
      giveNull();
      return;
    }
    if (!isList(1, tagA, a) || !isList(2, tagB, b) || !begin('array_intersect', lenOf(b), lenOf(a))) return;
    for (let i: u32 = 0; i < lenOf(a); i++) setAdd(itemAt(a, i));
    for (let i: u32 = 0; i < lenOf(b); i++) {
      const slot = itemAt(b, i);
      if (!setHas(slot)) continue;
      take(slot);
      setForget(slot);
    }
    setEnd();
    giveList('array_intersect', to, n, false);
  });
}
