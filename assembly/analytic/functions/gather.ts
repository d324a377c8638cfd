// inc_collect(x): the list of all values so far. inc_merge_agg(x): all objects so far merged into one; the last of
// equal members counts. Both are null where the row has no value. acc_map_agg(key, value): the newest value of each key
// so far, as an object.
//
//   state of inc_collect   room u32 (elements, of the list made in this batch) | … (ACC_SIZE bytes) | the list
//
// Within a batch the list grows in place, and earlier results are its beginnings. From one batch to the next it is
// copied, like all kept values.
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
import { isAbsentAs } from '../../ops/numeric';
import { putItem } from '../../ops/list/items';
import { mergeObjects } from '../../ops/nested/concat';
import { resultRoom } from '../../ops/result';
import { outVal } from '../../ops/row-loops';
import { argTag, argVal, failRow, isTaken, keepsBatch, put, rowAt, selLen, stateOf, whenFails } from '../run';
import { isOwned, keep, keptTag, keptVal } from '../../partitions/slot';
import { ACC_SIZE } from '../spec';
import { argumentFails, kindFault } from './fail';
import { Pool } from '../../mem/pool';

const FEW: u32 = 8;

/** Sets the kept value as the result of a row that adds nothing; null when none is kept. */
function putKept(slot: Pool, row: u32): void {
  if (keptTag(slot) == Tag.MISSING) put(row, Tag.NULL, 0);
  else put(row, keptTag(slot), keptVal(slot));
}

export function collectRows(): void {
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (argumentFails(0, row) || whenFails(row)) continue;
    const state = stateOf(row);
    const list = changetype<usize>(state) + ACC_SIZE;
    const tag = argTag(0, row);
    if (isNull(tag)) put(row, Tag.NULL, 0);
    else if (!isTaken(row)) putKept(changetype<Pool>(list), row);
    else if (append(state, list, tag, argVal(0, row))) {
      keepsBatch(row);
      put(row, Tag.ARRAY, keptVal(changetype<Pool>(list)));
    } else failRow(row, outVal);
  }
}

/** Adds an element to the list; false when the list becomes too long or memory is exhausted. */
function append(state: Pool, list: usize, tag: u8, val: u64): bool {
  const isList = keptTag(changetype<Pool>(list)) == Tag.ARRAY;
  const n = isList ? lenOf(keptVal(changetype<Pool>(list))) : 0;
  let at = isList ? offOf(keptVal(changetype<Pool>(list))) : 0;
  if (!isList || isOwned(list) || n == state.first) {
    const room = max(n << 1, FEW);
    const to = resultRoom('inc_collect', <u64>room * SLOT_SIZE);
    if (!to) return false;
    memory.copy(to, at, <usize>n * SLOT_SIZE);
    state.first = room;
    at = to;
  }
  putItem(at + n * SLOT_SIZE, tag, val);
  keep(changetype<Pool>(list), Tag.ARRAY, span(at, n + 1));
  return true;
}

const ONE_MEMBER: usize = memory.data(<i32>MEMBER_SIZE, 16);

export function mapRows(): void {
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (argumentFails(0, row) || argumentFails(1, row) || whenFails(row)) continue;
    const slot = stateOf(row);
    const key = argTag(0, row);
    if (!isTaken(row) || key <= Tag.NULL) {
      if (keptTag(slot) == Tag.OBJECT) putKept(slot, row);
      else put(row, Tag.OBJECT, 0);
      continue;
    }
    if (key != Tag.STR) {
      failRow(row, kindFault('acc_map_agg', 0, 'a text', row));
      continue;
    }
    store<u64>(ONE_MEMBER, argVal(1, row));
    store<u8>(ONE_MEMBER, argTag(1, row) == Tag.MISSING ? Tag.NULL : argTag(1, row), MEMBER_TAG);
    store<u32>(ONE_MEMBER, <u32>offOf(argVal(0, row)), MEMBER_KEY_OFF);
    store<u32>(ONE_MEMBER, lenOf(argVal(0, row)), MEMBER_KEY_LEN);
    merge(slot, row, 'acc_map_agg', span(ONE_MEMBER, 1));
  }
}

/** Merges members into the kept object; the result is kept and given to the row. */
function merge(slot: Pool, row: u32, name: string, val: u64): void {
  const before: u64 = keptTag(slot) == Tag.OBJECT ? keptVal(slot) : 0;
  const to = resultRoom(name, (<u64>lenOf(before) + lenOf(val)) * MEMBER_SIZE);
  if (!to) {
    failRow(row, outVal);
    return;
  }
  const merged = mergeObjects(to, before, val);
  keep(slot, Tag.OBJECT, merged);
  keepsBatch(row);
  put(row, Tag.OBJECT, merged);
}

export function mergeRows(): void {
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (argumentFails(0, row) || whenFails(row)) continue;
    const slot = stateOf(row);
    const tag = argTag(0, row);
    const val = argVal(0, row);
    if (isAbsentAs(Tag.OBJECT, tag, val)) put(row, Tag.NULL, 0);
    else if (!isTaken(row)) putKept(slot, row);
    else if (tag != Tag.OBJECT) failRow(row, kindFault('inc_merge_agg', 0, 'an object', row));
    else merge(slot, row, 'inc_merge_agg', val);
  }
}
