// Rows that a join holds, by branch: a list of records. The rows of a message stand in the pool of the node and go with
// the message, those of a table in its pages (join/table.ts).
//
//   record  payloads u64[slots], then tags u8[slots]
//   list    items u32 | from u32 | count u32 | capacity u32       items: addresses u32[capacity], the rows from `from`
//           16   first u32 | last u32 (pages) | index u32 | lookups u32       of a table: its index (join/index.ts), 0 none;
//                rows looked up before there was one
import { alloc, free } from '../mem/alloc';
import { Tag, lenOf } from '../mem/layout';
import { copyValue, poolAlloc } from '../mem/pool';

const ITEMS: usize = 0;
const FROM: usize = 4;
export const LIST_COUNT: usize = 8;
const CAPACITY: usize = 12;
export const LIST_FIRST: usize = 16;
export const LIST_LAST: usize = 20;
export const LIST_INDEX: usize = 24;
export const LIST_LOOKUPS: usize = 28;

/** Lists up to this many rows keep their room for the next message. */
const KEPT_CAPACITY: u32 = 1024;

// @ts-ignore: decorator
@inline export function recordVal(record: usize, slot: u32): u64 {
  return load<u64>(record + (<usize>slot << 3));
}

// @ts-ignore: decorator
@inline export function recordTag(record: usize, slots: u32, slot: u32): u8 {
  return load<u8>(record + (<usize>slots << 3) + slot);
}

/** Makes a record in the pool, all values missing; 0 when memory is exhausted. */
export function recordNew(pool: usize, slots: u32): usize {
  const record = poolAlloc(pool, slots * 9);
  if (record) memory.fill(record, 0, slots * 9);
  return record;
}

/** Copies a value with its text into the record; false when memory is exhausted. */
export function recordSet(pool: usize, record: usize, slots: u32, slot: u32, tag: u8, payload: u64): bool {
  const copy = copyValue(pool, tag == Tag.ERROR ? Tag.STR : tag, payload);
  store<u64>(record + (<usize>slot << 3), copy);
  store<u8>(record + (<usize>slots << 3) + slot, tag);
  return copy != 0 || tag < Tag.STR || tag == Tag.TIME || lenOf(payload) == 0;
}

/** Puts a value that has its place in the pool into the record. */
export function recordPut(record: usize, slots: u32, slot: u32, tag: u8, payload: u64): void {
  store<u64>(record + (<usize>slot << 3), payload);
  store<u8>(record + (<usize>slots << 3) + slot, tag);
}

/** Address of the first row's address. */
// @ts-ignore: decorator
@inline export function listItems(list: usize): usize {
  return <usize>load<u32>(list, ITEMS) + (<usize>load<u32>(list, FROM) << 2);
}

/** Appends a record; false when memory is exhausted. */
export function listAdd(list: usize, record: usize, acct: usize): bool {
  const count = load<u32>(list, LIST_COUNT);
  if (load<u32>(list, FROM) + count == load<u32>(list, CAPACITY) && !makeRoom(list, count, acct)) return false;
  store<u32>(listItems(list) + (<usize>count << 2), <u32>record);
  store<u32>(list, count + 1, LIST_COUNT);
  return true;
}

/** Moves the rows to the front of their room, into twice as much when more than half is in use. */
function makeRoom(list: usize, count: u32, acct: usize): bool {
  const items = <usize>load<u32>(list, ITEMS);
  const capacity = load<u32>(list, CAPACITY);
  let to = items;
  if (count << 1 >= capacity) {
    const wanted = max<u32>(16, capacity << 1);
    to = alloc(wanted << 2, acct);
    if (!to) return false;
    store<u32>(list, <u32>to, ITEMS);
    store<u32>(list, wanted, CAPACITY);
  }
  memory.copy(to, items + (<usize>load<u32>(list, FROM) << 2), <usize>count << 2);
  store<u32>(list, 0, FROM);
  if (to != items) free(items, capacity << 2, acct);
  return true;
}

/** Forgets the rows of a message; their records go with the pool. */
export function listClear(list: usize, acct: usize): void {
  store<u32>(list, 0, LIST_COUNT);
  store<u32>(list, 0, FROM);
  const capacity = load<u32>(list, CAPACITY);
  if (capacity <= KEPT_CAPACITY) return;
  free(<usize>load<u32>(list, ITEMS), capacity << 2, acct);
  store<u32>(list, 0, ITEMS);
  store<u32>(list, 0, CAPACITY);
}

/** Takes the first row off the list. */
export function listDropFirst(list: usize): void {
  store<u32>(list, load<u32>(list, FROM) + 1, FROM);
  store<u32>(list, load<u32>(list, LIST_COUNT) - 1, LIST_COUNT);
}

export function listFree(list: usize, acct: usize): void {
  free(<usize>load<u32>(list, ITEMS), load<u32>(list, CAPACITY) << 2, acct);
  memory.fill(list, 0, 32);
}
