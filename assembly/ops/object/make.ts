// Objects of names and values. Of equal names the last counts.
import * as ctx from '../../batch/context';
import { push, stacked, takeObject, taken, unstack } from '../../json/tree';
import { MEMBER_SIZE, MEMBER_TAG, SLOT_SIZE, Tag, isNull, lenOf, offOf } from '../../mem/layout';
import { isAbsentAs } from '../numeric';
import { plainError, valueError } from '../../value/error';
import { giveWrong, isList, itemAt, itemTag } from '../list/items';
import { charge, noMemory, valueLength, valueLimit } from '../result';
import { argCount, argTag, argVal, give, giveNull, map1, map2, mapArgsStrict } from '../row-loops';
import { keyOfPair } from './parts';
import { Operation } from '../../gen/ops-layouts';

let height: u32 = 0;
let length: u64 = 0;

function begin(): void {
  height = stacked;
  length = 0;
}

/** Adds a member; false, and the error given, when memory is exhausted. */
function add(name: string, key: u64, tag: u8, val: u64): bool {
  length += MEMBER_SIZE + lenOf(key);
  if (tag >= Tag.STR && length <= valueLimit()) length += valueLength(tag, val, valueLimit());
  if (push(max(tag, Tag.NULL), val, offOf(key), lenOf(key))) return true;
  unstack(height);
  give(Tag.ERROR, noMemory(name));
  return false;
}

/** Takes the members off again and gives the error of an element that does not make one. */
function giveBad(text: string, tag: u8, val: u64): void {
  unstack(height);
  give(Tag.ERROR, valueError(text, tag, val));
}

function giveObject(name: string): void {
  if (!charge(name, length)) unstack(height);
  else if (takeObject(ctx.scratch, height)) give(Tag.OBJECT, taken);
  else {
    unstack(height);
    give(Tag.ERROR, noMemory(name));
  }
}

export function objectFromLists(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tagA, a) || isAbsentAs(Tag.ARRAY, tagB, b)) {
      giveNull();
      return;
    }
    if (!isList(1, tagA, a) || !isList(2, tagB, b)) return;
    if (lenOf(a) != lenOf(b)) {
      give(Tag.ERROR, plainError('the lists of names and values must have the same length'));
      return;
    }
    begin();
    for (let i: u32 = 0; i < lenOf(a); i++) {
      const name = itemAt(a, i);
      const value = itemAt(b, i);
      if (itemTag(name) != Tag.STR) {
        giveBad('argument 1 must be a list of strings, but has ', itemTag(name), load<u64>(name));
        return;
      }
      if (!add('object', load<u64>(name), itemTag(value), load<u64>(value))) return;
    }
    giveObject('object');
  });
}

export function objectFromItems(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tag, val)) {
      giveNull();
      return;
    }
    if (!isList(1, tag, val)) return;
    begin();
    for (let i: u32 = 0; i < lenOf(val); i++) {
      const slot = itemAt(val, i);
      if (isNull(itemTag(slot))) continue;
      const pair = load<u64>(slot);
      if (itemTag(slot) != Tag.ARRAY || lenOf(pair) != 2 || itemTag(offOf(pair)) != Tag.STR) {
        giveBad('elements must be lists of a name and a value, not ', itemTag(slot), pair);
        return;
      }
      const value = offOf(pair) + SLOT_SIZE;
      if (!add('zip', load<u64>(offOf(pair)), itemTag(value), load<u64>(value))) return;
    }
    giveObject('zip');
  });
}

export function objectFromPairs(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tag, val)) {
      giveNull();
      return;
    }
    if (!isList(1, tag, val)) return;
    begin();
    for (let i: u32 = 0; i < lenOf(val); i++) {
      const slot = itemAt(val, i);
      const key = itemTag(slot) == Tag.OBJECT ? keyOfPair(load<u64>(slot)) : 0;
      if (!key) {
        giveBad('elements must be objects of key and value, not ', itemTag(slot), load<u64>(slot));
        return;
      }
      const value = key + MEMBER_SIZE;
      if (!add('kvpair_array_to_obj', load<u64>(key), load<u8>(value, MEMBER_TAG), load<u64>(value))) return;
    }
    giveObject('kvpair_array_to_obj');
  });
}

export function objectConstruct(op: Operation): void {
  mapArgsStrict(op, (): void => {
    begin();
    for (let i: u32 = 0; i + 1 < argCount; i += 2) {
      const tag = argTag(i);
      if (isNull(tag)) continue;
      if (tag != Tag.STR) {
        unstack(height);
        giveWrong(i + 1, 'a string', tag, argVal(i));
        return;
      }
      if (!add('object_construct', argVal(i), argTag(i + 1), argVal(i + 1))) return;
    }
    giveObject('object_construct');
  });
}
