// Rows that a join holds, by branch: a list of records. The rows of a message stand in the pool of the node and go with
// the message; those of a table stand in pages, each freed when its last row is no longer among the newest.
//
//   record  payloads u64[slots], then tags u8[slots]
//   list    items u32 | from u32 | count u32 | capacity u32       items: addresses u32[capacity], the rows from `from`
//           16   first u32 | last u32 (pages) | index u32 | lookups u32       of a table: join/hash.ts, 0 none; rows looked up
//                since the last change while there was none
//   page    next u32 | rows u32 | live u32 | 0 u32 | pool 32
import { alloc, allocZeroed, free } from '../mem/alloc';
import { Tag, lenOf, tagAt, valAt } from '../mem/layout';
import { POOL_SIZE, copyValue, poolAlloc, poolFree, poolInit } from '../mem/pool';
import { indexFree } from './hash';

const ITEMS: usize = 0;
const FROM: usize = 4;
export const LIST_COUNT: usize = 8;
const CAPACITY: usize = 12;
const FIRST: usize = 16;
const LAST: usize = 20;
export const LIST_INDEX: usize = 24;
export const LIST_LOOKUPS: usize = 28;

const NEXT: usize = 0;
const ROWS: usize = 4;
const LIVE: usize = 8;
const POOL: usize = 16;
const PAGE_SIZE: u32 = 16 + POOL_SIZE;
const PAGE_ROWS: u32 = 64;
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

// ---- tables ---------------------------------------------------------------------------------------------------

/**
 * Appends row `row` of the columns whose blocks stand at `blocks` to a table and drops the oldest beyond `retain` (0: keeps
 * all). False when memory is exhausted; the table is as it was then.
 */
export function tableAdd(list: usize, blocks: usize, columns: u32, row: u32, retain: u32, acct: usize): bool {
  dropIndex(list, acct);
  let page = <usize>load<u32>(list, LAST);
  if (!page || load<u32>(page, ROWS) == PAGE_ROWS) {
    page = addPage(list, acct);
    if (!page) return false;
  }
  const pool = page + POOL;
  const record = recordNew(pool, columns);
  if (!record) return false;
  for (let c: u32 = 0; c < columns; c++) {
    const block = <usize>load<u32>(blocks + (<usize>c << 2));
    if (!recordSet(pool, record, columns, c, tagAt(block, row), valAt(block, row))) return false;
  }
  if (!listAdd(list, record, acct)) return false;
  store<u32>(page, load<u32>(page, ROWS) + 1, ROWS);
  store<u32>(page, load<u32>(page, LIVE) + 1, LIVE);
  if (retain && load<u32>(list, LIST_COUNT) > retain) dropOldest(list, acct);
  return true;
}

/** The rows of the table change: what was made of them is no longer true. */
function dropIndex(list: usize, acct: usize): void {
  indexFree(<usize>load<u32>(list, LIST_INDEX), acct);
  store<u64>(list, 0, LIST_INDEX);
}

function addPage(list: usize, acct: usize): usize {
  const page = allocZeroed(PAGE_SIZE, acct);
  if (!page) return 0;
  poolInit(page + POOL, 512, acct);
  const last = <usize>load<u32>(list, LAST);
  if (last) store<u32>(last, <u32>page, NEXT);
  else store<u32>(list, <u32>page, FIRST);
  store<u32>(list, <u32>page, LAST);
  return page;
}

function dropOldest(list: usize, acct: usize): void {
  store<u32>(list, load<u32>(list, FROM) + 1, FROM);
  store<u32>(list, load<u32>(list, LIST_COUNT) - 1, LIST_COUNT);
  const page = <usize>load<u32>(list, FIRST);
  const live = load<u32>(page, LIVE) - 1;
  store<u32>(page, live, LIVE);
  const next = load<u32>(page, NEXT);
  if (live || !next) return;
  store<u32>(list, next, FIRST);
  freePage(page, acct);
}

function freePage(page: usize, acct: usize): void {
  poolFree(page + POOL);
  free(page, PAGE_SIZE, acct);
}

/** Frees the list with the pages of a table. */
export function listFree(list: usize, acct: usize): void {
  dropIndex(list, acct);
  free(<usize>load<u32>(list, ITEMS), load<u32>(list, CAPACITY) << 2, acct);
  let page = <usize>load<u32>(list, FIRST);
  while (page) {
    const next = <usize>load<u32>(page, NEXT);
    freePage(page, acct);
    page = next;
  }
  memory.fill(list, 0, 32);
}
