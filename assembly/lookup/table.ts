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
  NamesIndex,
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
  Record,
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
import { RowShapes, shapesFree, shapesNew } from './shape';

/** A table that is looked up in. */
// @ts-ignore: decorator
@unmanaged
export class LookupTable {
  private gap0: u32;
  slots: usize;
  capacity: u32;
  used: u32;
  free: u32;
  count: u32;
  first: Record;
  last: Record;
  key: NamesIndex;
  indexes: NamesIndex;
  serial: u32;
}

export const TABLE_SIZE: u32 = 48;
const FIRST_CAPACITY: u32 = 16;

/** Outcome of setting a row. */
export namespace SetOutcome {
  export const DONE: u32 = 0;
  /** The row has no value for the key that rows can be looked up by. */
  export const NO_KEY: u32 = 1;
  export const NO_MEMORY: u32 = 2;
}

const NAMES: usize = memory.data(8);
let lastSerial: u32 = 0;

/** Prepares a table, in zeroed memory, with rows by the key of that name; false when memory is exhausted. */
export function tableInit(table: LookupTable, name: usize, len: u32, acct: usize): bool {
  table.serial = ++lastSerial;
  store<u32>(changetype<usize>(table), changetype<u32>(shapesNew(acct)));
  if (!load<u32>(changetype<usize>(table))) return false;
  store<u32>(NAMES, <u32>name);
  store<u32>(NAMES, len, 4);
  table.key = indexNew(NAMES, 1, FIRST_CAPACITY, acct);
  return table.key && reserve(table, FIRST_CAPACITY, acct);
}

export function tableFree(table: LookupTable, acct: usize): void {
  const shapes = changetype<RowShapes>(load<u32>(changetype<usize>(table)));
  let record = tableFirst(table);
  while (record) {
    const next = recordNext(record);
    recordFree(shapes, record, acct);
    record = next;
  }
  shapesFree(shapes, acct);
  indexFree(tableKey(table), acct);
  let index = table.indexes;
  while (index) {
    const next = indexNext(index);
    indexFree(index, acct);
    index = next;
  }
  free(table.slots, table.capacity << 2, acct);
}

// @ts-ignore: decorator
@inline export function tableCount(table: LookupTable): u32 {
  return table.count;
}

/** Serial of the table, which no other has or had: indexes of one table are none of another. */
// @ts-ignore: decorator
@inline export function tableSerial(table: LookupTable): u32 {
  return table.serial;
}

/** The row that was set first, 0 none; `recordNext` goes on. */
// @ts-ignore: decorator
@inline export function tableFirst(table: LookupTable): Record {
  return table.first;
}

/** The index by the key. */
// @ts-ignore: decorator
@inline export function tableKey(table: LookupTable): NamesIndex {
  return table.key;
}

// @ts-ignore: decorator
@inline export function tableRecord(table: LookupTable, slot: u32): Record {
  return changetype<Record>(load<u32>(table.slots + ((<usize>slot) << 2)));
}

/** Makes room for that many slots, everywhere; false when memory is exhausted. */
function reserve(table: LookupTable, capacity: u32, acct: usize): bool {
  const before = table.capacity;
  if (capacity <= before) return true;
  if (capacity > 1 << 27 || !indexReserve(tableKey(table), capacity, acct)) return false;
  for (let index = table.indexes; index; index = indexNext(index)) {
    if (!indexReserve(index, capacity, acct)) return false;
  }
  const slots = alloc(capacity << 2, acct);
  if (!slots) return false;
  const old = table.slots;
  if (old) memory.copy(slots, old, before << 2);
  free(old, before << 2, acct);
  table.slots = slots;
  table.capacity = capacity;
  return true;
}

/**
 * Sets the row in the place of one with the same key; where that can't be nothing has changed. Returns a SetOutcome.
 */
export function tableSet(table: LookupTable, object: u64, acct: usize): u32 {
  const shapes = changetype<RowShapes>(load<u32>(changetype<usize>(table)));
  const capacity = table.capacity;
  const isFull = !table.free && table.used == capacity;
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
export function tableDelete(table: LookupTable, tag: u8, val: u64, acct: usize): void {
  if (!isKey(tag)) return;
  const record = tableFind(table, tag, val);
  if (record) remove(table, record, acct);
}

/** The row with that key, 0 none. */
function tableFind(table: LookupTable, tag: u8, val: u64): Record {
  const key = tableKey(table);
  const hash = hashDone(hashAdd(0, tag, val));
  for (let slot = indexFirst(key, hash); slot; slot = indexAfter(key, slot)) {
    if (!indexHasHash(key, slot, hash)) continue;
    const record = tableRecord(table, slot - 1);
    if (indexEquals(key, 0, record, tag, val)) return record;
  }
  return changetype<Record>(0);
}

function add(table: LookupTable, record: Record, acct: usize): void {
  const free = table.free;
  let slot: u32;
  if (free) {
    slot = free - 1;
    table.free = changetype<u32>(tableRecord(table, slot)) >> 1;
  } else {
    slot = table.used;
    table.used = slot + 1;
  }
  store<u32>(table.slots + ((<usize>slot) << 2), changetype<u32>(record));
  setRecordSlot(record, slot);
  const last = table.last;
  setRecordPrevious(record, last);
  setRecordNext(record, changetype<Record>(0));
  if (last) setRecordNext(last, record);
  else table.first = record;
  table.last = record;
  table.count = tableCount(table) + 1;
  indexRow(table, tableKey(table), slot, record, acct);
  for (let index = table.indexes; index; index = indexNext(index)) {
    indexRow(table, index, slot, record, acct);
  }
}

function indexRow(table: LookupTable, index: NamesIndex, slot: u32, record: Record, acct: usize): void {
  indexAdd(index, slot, record);
  if (!indexIsCrowded(index) || !indexWiden(index, acct)) return;
  for (let row = tableFirst(table); row; row = recordNext(row)) indexChain(index, recordSlot(row));
}

function remove(table: LookupTable, record: Record, acct: usize): void {
  const slot = recordSlot(record);
  indexRemove(tableKey(table), slot);
  for (let index = table.indexes; index; index = indexNext(index)) indexRemove(index, slot);
  const next = recordNext(record);
  const previous = recordPrevious(record);
  if (previous) setRecordNext(previous, next);
  else table.first = next;
  if (next) setRecordPrevious(next, previous);
  else table.last = previous;
  store<u32>(table.slots + ((<usize>slot) << 2), (table.free << 1) | 1);
  table.free = slot + 1;
  table.count = tableCount(table) - 1;
  recordFree(changetype<RowShapes>(load<u32>(changetype<usize>(table))), record, acct);
}

/**
 * An index by these names, made of the rows if there is none; 0 when memory is exhausted. `tableLeave` gives it back.
 */
export function tableJoin(table: LookupTable, names: usize, count: u32, acct: usize): NamesIndex {
  if (indexIsBy(tableKey(table), names, count)) return tableKey(table);
  for (let index = table.indexes; index; index = indexNext(index)) {
    if (!indexIsBy(index, names, count)) continue;
    indexUse(index, 1);
    return index;
  }
  const index = indexNew(names, count, table.capacity, acct);
  if (!index) return changetype<NamesIndex>(0);
  indexUse(index, 1);
  indexFit(index, tableCount(table), acct);
  for (let record = tableFirst(table); record; record = recordNext(record)) indexAdd(index, recordSlot(record), record);
  setIndexNext(index, table.indexes);
  table.indexes = index;
  return index;
}

/** Frees an index that nobody looks up by any more. */
export function tableLeave(table: LookupTable, index: NamesIndex, acct: usize): void {
  if (!index || index == tableKey(table) || indexUse(index, -1)) return;
  let before: NamesIndex = changetype<NamesIndex>(0);
  let at = table.indexes;
  while (at != index) {
    before = at;
    at = indexNext(at);
  }
  if (before) setIndexNext(before, indexNext(index));
  else table.indexes = indexNext(index);
  indexFree(index, acct);
}
