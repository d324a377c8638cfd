// The rows of a keyed table: for each value of its key the newest row, in the order in which they were set.
//
//   table   0   shapes u32 | slots u32 -> u32[capacity] | capacity u32 | used u32 (slots that were ever taken)
//           16  free u32 (slot + 1) | count u32 | first u32 (record) | last u32
//           32  key u32 -> index by the key (names-index.ts) | indexes u32 -> the first of the others | serial u32 | 0
//           u32
//   slot    record u32, or of a free one the next free slot + 1, times 2, + 1
import { alloc, free } from '../mem/alloc';
import { hashAdd, hashDone } from '../value/equal-hash';
import {
  indexAdd,
  indexAfter,
  indexChain,
  indexEquals,
  indexFirst,
  indexFit,
  indexFree,
  indexHasHash,
  indexIsBy,
  indexIsCrowded,
  indexNew,
  indexNext,
  indexRemove,
  indexPlace,
  indexReserve,
  indexUse,
  indexWiden,
  isKey,
  setIndexNext,
} from './names-index';
import {
  recordFree,
  recordNew,
  recordNext,
  recordPrevious,
  recordSlot,
  recordTag,
  recordVal,
  setRecordNext,
  setRecordPrevious,
  setRecordSlot,
} from './record';
import { shapesFree, shapesNew } from './shape';

const TABLE_SLOTS: usize = 4;
const TABLE_CAPACITY: usize = 8;
const TABLE_USED: usize = 12;
const TABLE_FREE: usize = 16;
const TABLE_COUNT: usize = 20;
const TABLE_FIRST: usize = 24;
const TABLE_LAST: usize = 28;
const TABLE_KEY: usize = 32;
const TABLE_INDEXES: usize = 36;
const TABLE_SERIAL: usize = 40;
export const TABLE_SIZE: u32 = 48;
const FIRST_CAPACITY: u32 = 16;

/** What came of setting a row. */
export namespace SetOutcome {
  export const DONE: u32 = 0;
  /** The row has no value for the key that rows can be looked up by. */
  export const NO_KEY: u32 = 1;
  export const NO_MEMORY: u32 = 2;
}

const NAMES: usize = memory.data(8);
let lastSerial: u32 = 0;

/** Prepares a table, in zeroed memory, with rows by the key of that name; false when memory is exhausted. */
export function tableInit(table: usize, name: usize, len: u32, acct: usize): bool {
  store<u32>(table, ++lastSerial, TABLE_SERIAL);
  store<u32>(table, <u32>shapesNew(acct));
  if (!load<u32>(table)) return false;
  store<u32>(NAMES, <u32>name);
  store<u32>(NAMES, len, 4);
  store<u32>(table, <u32>indexNew(NAMES, 1, FIRST_CAPACITY, acct), TABLE_KEY);
  return load<u32>(table, TABLE_KEY) != 0 && reserve(table, FIRST_CAPACITY, acct);
}

export function tableFree(table: usize, acct: usize): void {
  const shapes = <usize>load<u32>(table);
  let record = tableFirst(table);
  while (record) {
    const next = recordNext(record);
    recordFree(shapes, record, acct);
    record = next;
  }
  shapesFree(shapes, acct);
  indexFree(tableKey(table), acct);
  let index = <usize>load<u32>(table, TABLE_INDEXES);
  while (index) {
    const next = indexNext(index);
    indexFree(index, acct);
    index = next;
  }
  free(<usize>load<u32>(table, TABLE_SLOTS), load<u32>(table, TABLE_CAPACITY) << 2, acct);
}

// @ts-ignore: decorator
@inline export function tableCount(table: usize): u32 {
  return load<u32>(table, TABLE_COUNT);
}

/** Tells the table from all others that there are and were: indexes of one are none of another. */
// @ts-ignore: decorator
@inline export function tableSerial(table: usize): u32 {
  return load<u32>(table, TABLE_SERIAL);
}

/** The row that was set first, 0 none; `recordNext` goes on. */
// @ts-ignore: decorator
@inline export function tableFirst(table: usize): usize {
  return <usize>load<u32>(table, TABLE_FIRST);
}

/** The index by the key. */
// @ts-ignore: decorator
@inline export function tableKey(table: usize): usize {
  return <usize>load<u32>(table, TABLE_KEY);
}

// @ts-ignore: decorator
@inline export function tableRecord(table: usize, slot: u32): usize {
  return <usize>load<u32>(<usize>load<u32>(table, TABLE_SLOTS) + ((<usize>slot) << 2));
}

/** Makes room for that many slots, everywhere; false when memory is exhausted. */
function reserve(table: usize, capacity: u32, acct: usize): bool {
  const before = load<u32>(table, TABLE_CAPACITY);
  if (capacity <= before) return true;
  if (capacity > 1 << 27 || !indexReserve(tableKey(table), capacity, acct)) return false;
  for (let index = <usize>load<u32>(table, TABLE_INDEXES); index; index = indexNext(index)) {
    if (!indexReserve(index, capacity, acct)) return false;
  }
  const slots = alloc(capacity << 2, acct);
  if (!slots) return false;
  const old = <usize>load<u32>(table, TABLE_SLOTS);
  if (old) memory.copy(slots, old, before << 2);
  free(old, before << 2, acct);
  store<u32>(table, <u32>slots, TABLE_SLOTS);
  store<u32>(table, capacity, TABLE_CAPACITY);
  return true;
}

/**
 * Sets the row in the place of one with the same key; where that can't be nothing has changed. Returns a SetOutcome.
 */
export function tableSet(table: usize, object: u64, acct: usize): u32 {
  const shapes = <usize>load<u32>(table);
  const capacity = load<u32>(table, TABLE_CAPACITY);
  const isFull = !load<u32>(table, TABLE_FREE) && load<u32>(table, TABLE_USED) == capacity;
  if (isFull && !reserve(table, capacity << 1, acct)) return SetOutcome.NO_MEMORY;
  const record = recordNew(shapes, object, acct);
  if (!record) return SetOutcome.NO_MEMORY;
  const key = tableKey(table);
  const place = indexPlace(key, 0, record);
  if (place < 0 || !isKey(recordTag(record, place))) {
    recordFree(shapes, record, acct);
    return SetOutcome.NO_KEY;
  }
  const before = tableFind(table, recordTag(record, place), recordVal(record, place));
  if (before) remove(table, before, acct);
  add(table, record, acct);
  return SetOutcome.DONE;
}

/** Deletes the row with that key, if there is one. */
export function tableDelete(table: usize, tag: u8, val: u64, acct: usize): void {
  if (!isKey(tag)) return;
  const record = tableFind(table, tag, val);
  if (record) remove(table, record, acct);
}

/** The row with that key, 0 none. */
function tableFind(table: usize, tag: u8, val: u64): usize {
  const key = tableKey(table);
  const hash = hashDone(hashAdd(0, tag, val));
  for (let slot = indexFirst(key, hash); slot; slot = indexAfter(key, slot)) {
    if (!indexHasHash(key, slot, hash)) continue;
    const record = tableRecord(table, slot - 1);
    if (indexEquals(key, 0, record, tag, val)) return record;
  }
  return 0;
}

function add(table: usize, record: usize, acct: usize): void {
  const free = load<u32>(table, TABLE_FREE);
  let slot: u32;
  if (free) {
    slot = free - 1;
    store<u32>(table, <u32>tableRecord(table, slot) >> 1, TABLE_FREE);
  } else {
    slot = load<u32>(table, TABLE_USED);
    store<u32>(table, slot + 1, TABLE_USED);
  }
  store<u32>(<usize>load<u32>(table, TABLE_SLOTS) + ((<usize>slot) << 2), <u32>record);
  setRecordSlot(record, slot);
  const last = <usize>load<u32>(table, TABLE_LAST);
  setRecordPrevious(record, last);
  setRecordNext(record, 0);
  if (last) setRecordNext(last, record);
  else store<u32>(table, <u32>record, TABLE_FIRST);
  store<u32>(table, <u32>record, TABLE_LAST);
  store<u32>(table, tableCount(table) + 1, TABLE_COUNT);
  indexRow(table, tableKey(table), slot, record, acct);
  for (let index = <usize>load<u32>(table, TABLE_INDEXES); index; index = indexNext(index)) {
    indexRow(table, index, slot, record, acct);
  }
}

function indexRow(table: usize, index: usize, slot: u32, record: usize, acct: usize): void {
  indexAdd(index, slot, record);
  if (!indexIsCrowded(index) || !indexWiden(index, acct)) return;
  for (let row = tableFirst(table); row; row = recordNext(row)) indexChain(index, recordSlot(row));
}

function remove(table: usize, record: usize, acct: usize): void {
  const slot = recordSlot(record);
  indexRemove(tableKey(table), slot);
  for (let index = <usize>load<u32>(table, TABLE_INDEXES); index; index = indexNext(index)) indexRemove(index, slot);
  const next = recordNext(record);
  const previous = recordPrevious(record);
  if (previous) setRecordNext(previous, next);
  else store<u32>(table, <u32>next, TABLE_FIRST);
  if (next) setRecordPrevious(next, previous);
  else store<u32>(table, <u32>previous, TABLE_LAST);
  store<u32>(<usize>load<u32>(table, TABLE_SLOTS) + ((<usize>slot) << 2), (load<u32>(table, TABLE_FREE) << 1) | 1);
  store<u32>(table, slot + 1, TABLE_FREE);
  store<u32>(table, tableCount(table) - 1, TABLE_COUNT);
  recordFree(<usize>load<u32>(table), record, acct);
}

/**
 * An index by these names, made of the rows if there is none; 0 when memory is exhausted. `tableLeave` gives it back.
 */
export function tableJoin(table: usize, names: usize, count: u32, acct: usize): usize {
  if (indexIsBy(tableKey(table), names, count)) return tableKey(table);
  for (let index = <usize>load<u32>(table, TABLE_INDEXES); index; index = indexNext(index)) {
    if (!indexIsBy(index, names, count)) continue;
    indexUse(index, 1);
    return index;
  }
  const index = indexNew(names, count, load<u32>(table, TABLE_CAPACITY), acct);
  if (!index) return 0;
  indexUse(index, 1);
  indexFit(index, tableCount(table), acct);
  for (let record = tableFirst(table); record; record = recordNext(record)) indexAdd(index, recordSlot(record), record);
  setIndexNext(index, <usize>load<u32>(table, TABLE_INDEXES));
  store<u32>(table, <u32>index, TABLE_INDEXES);
  return index;
}

/** Frees an index that nobody looks up by any more. */
export function tableLeave(table: usize, index: usize, acct: usize): void {
  if (!index || index == tableKey(table) || indexUse(index, -1)) return;
  let before: usize = 0;
  let at = <usize>load<u32>(table, TABLE_INDEXES);
  while (at != index) {
    before = at;
    at = indexNext(at);
  }
  if (before) setIndexNext(before, indexNext(index));
  else store<u32>(table, <u32>indexNext(index), TABLE_INDEXES);
  indexFree(index, acct);
}
