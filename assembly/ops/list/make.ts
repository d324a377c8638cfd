// Making lists, and texts of lists.
import { OPERAND_NONE, Tag, isNull, lenOf, offOf } from '../../mem/layout';
import { isAbsent, isAbsentAs } from '../numeric';
import { plainError } from '../../value/error';
import { putFloatPlain } from '../../value/float';
import { printValue } from '../../value/print';
import { textBytes, textFails } from '../../value/text';
import { giveText, resultBegin, tooLong } from '../result';
import { argCount, argTag, argVal, give, giveNull, map1, map2, map3, mapArgsStrict } from '../row-loops';
import { count, isCount } from '../string/text-of';
import { giveList, giveWrong, isList, itemAt, itemTag, listRoom, putItem, sameItem } from './items';
import { Operation } from '../../gen/ops-layouts';

export function listCreate(op: Operation): void {
  mapArgsStrict(op, (): void => {
    const to = listRoom('array_create', argCount);
    if (!to) return;
    let n: u32 = 0;
    for (let i: u32 = 0; i < argCount; i++) {
      if (!isNull(argTag(i))) putItem(to + ((n++ as usize) << 4), argTag(i), argVal(i));
    }
    if (n == 0) giveNull();
    else giveList('array_create', to, n, true);
  });
}

export function listConcat(op: Operation): void {
  mapArgsStrict(op, (): void => {
    let n: u64 = 0;
    let hasList = false;
    for (let i: u32 = 0; i < argCount; i++) {
      if (isNull(argTag(i))) continue;
      if (!isList(i + 1, argTag(i), argVal(i))) return;
      n += lenOf(argVal(i));
      hasList = true;
    }
    if (!hasList) {
      giveNull();
      return;
    }
    const to = listRoom('array_concat', n);
    if (!to) return;
    let at = to;
    for (let i: u32 = 0; i < argCount; i++) {
      if (!isNull(argTag(i))) at = append(at, argVal(i));
    }
    giveList('array_concat', to, <u32>n, true);
  });
}

/** Copies the elements of the list to `at` and returns the end. */
function append(at: usize, list: u64): usize {
  memory.copy(at, offOf(list), (<usize>lenOf(list)) << 4);
  return at + ((<usize>lenOf(list)) << 4);
}

export function listRemove(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA)) {
      giveNull();
      return;
    }
    const to = isList(1, tagA, a) ? listRoom('array_remove', lenOf(a)) : 0;
    if (!to) return;
    let n: u32 = 0;
    for (let i: u32 = 0; i < lenOf(a); i++) {
      const slot = itemAt(a, i);
      if (!sameItem(itemTag(slot), load<u64>(slot), tagB, b)) memory.copy(to + ((n++ as usize) << 4), slot, 16);
    }
    giveList('array_remove', to, n, false);
  });
}

export function listFlatten(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tag, val)) {
      giveNull();
      return;
    }
    if (!isList(1, tag, val)) return;
    let n: u64 = 0;
    for (let i: u32 = 0; i < lenOf(val); i++) {
      const slot = itemAt(val, i);
      n += itemTag(slot) == Tag.ARRAY ? lenOf(load<u64>(slot)) : 1;
    }
    const to = listRoom('array_flatten', n);
    if (!to) return;
    let at = to;
    for (let i: u32 = 0; i < lenOf(val); i++) {
      const slot = itemAt(val, i);
      if (itemTag(slot) == Tag.ARRAY) at = append(at, load<u64>(slot));
      else {
        memory.copy(at, slot, 16);
        at += 16;
      }
    }
    giveList('array_flatten', to, <u32>n, false);
  });
}

export function listRepeat(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNull(tagA) || isAbsent(tagB, b)) {
      giveNull();
    } else if (!isCount(tagB, b) || count < 0) {
      giveWrong(2, 'a whole number, 0 or more', tagB, b);
    } else {
      const to = listRoom('repeat', <u64>count);
      if (!to) return;
      for (let i: u32 = 0; i < <u32>count; i++) putItem(to + ((<usize>i) << 4), tagA, a);
      giveList('repeat', to, <u32>count, true);
    }
  });
}

// ---- sequence ------------------------------------------------------------------------------------------------

let hasThird: bool = false;
let first: i64 = 0;

/** Reads argument `position` into `count`; false (and null or an error given) for anything but a whole number. */
function readWhole(position: i64, tag: u8, val: u64): bool {
  if (isCount(tag, val)) return true;
  if (tag == Tag.ERROR) give(tag, val);
  else if (isAbsent(tag, val)) giveNull();
  else giveWrong(position, 'a whole number', tag, val);
  return false;
}

export function listSequence(op: Operation): void {
  hasThird = op.c != OPERAND_NONE;
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    if (!readWhole(1, tagA, a)) return;
    first = count;
    if (!readWhole(2, tagB, b)) return;
    const last = count;
    let step: i64 = first <= last ? 1 : -1;
    if (hasThird) {
      if (!readWhole(3, tagC, c)) return;
      step = count;
      if (step == 0) {
        give(Tag.ERROR, plainError('argument 3 (step) must not be 0'));
        return;
      }
    }
    giveSequence(last, step);
  });
}

function giveSequence(last: i64, step: i64): void {
  // Distances of 64 bits need unsigned numbers; a way of 2^64 - 1 steps of 1 is longer than any list.
  let n: u64 = 0;
  if (step > 0 && first <= last) n = (<u64>last - <u64>first) / <u64>step + 1;
  else if (step < 0 && first >= last) n = (<u64>first - <u64>last) / (0 - <u64>step) + 1;
  else n = 0;
  if (n > 0x7fffffff || (n == 0 && first != last && step > 0 == first < last)) {
    give(Tag.ERROR, tooLong('sequence', 0));
    return;
  }
  const to = listRoom('sequence', n);
  if (!to) return;
  let value = first;
  for (let i: u32 = 0; i < <u32>n; i++, value += step) putItem(to + ((<usize>i) << 4), Tag.I64, <u64>value);
  giveList('sequence', to, <u32>n, false);
}

// ---- text ----------------------------------------------------------------------------------------------------

export function listJoin(op: Operation): void {
  hasThird = op.c != OPERAND_NONE;
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    if (tagB == Tag.ERROR || tagC == Tag.ERROR) {
      give(Tag.ERROR, tagB == Tag.ERROR ? b : c);
    } else if (isAbsentAs(Tag.ARRAY, tagA, a) || isAbsent(tagB, b) || (hasThird && isAbsent(tagC, c))) {
      giveNull();
    } else if (!isList(1, tagA, a)) {
      return;
    } else if (tagB != Tag.STR) {
      giveWrong(2, 'a string', tagB, b);
    } else if (hasThird && tagC != Tag.STR) {
      giveWrong(3, 'a string', tagC, c);
    } else {
      giveJoined(a, b, hasThird ? c : 0);
    }
  });
}

function giveJoined(list: u64, separator: u64, forNull: u64): void {
  resultBegin();
  let isFirst = true;
  for (let i: u32 = 0; i < lenOf(list) && !textFails; i++) {
    const slot = itemAt(list, i);
    const tag = itemTag(slot);
    const val = load<u64>(slot);
    if (isNull(tag) && lenOf(forNull) == 0) continue;
    if (!isFirst) textBytes(offOf(separator), lenOf(separator));
    isFirst = false;
    if (isNull(tag)) textBytes(offOf(forNull), lenOf(forNull));
    else if (tag == Tag.F64) putFloatPlain(reinterpret<f64>(val));
    else if (tag == Tag.BYTES) textBytes(offOf(val), lenOf(val));
    else printValue(tag, val);
  }
  giveText('array_join');
}
