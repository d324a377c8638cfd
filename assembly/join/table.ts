// Tables of a join: the newest rows that came, in pages, each freed when its last row is no longer among the newest.
//
//   page    next u32 | rows u32 | live u32 | 0 u32 | pool 32
import { allocZeroed, free } from '../mem/alloc';
import { tagAt, valAt } from '../mem/layout';
import { POOL_SIZE, poolFree, poolInit } from '../mem/pool';
import { LoadFault } from '../gen/state-layouts';
import { readFail, readFails, readLength, readU32, readValue, valueRead } from '../state/reader';
import { writeU32, writeValue } from '../state/writer';
import { indexAddRecord, indexDropRecord, indexFree } from './index';
import {
  LIST_COUNT, LIST_FIRST, LIST_INDEX, LIST_LAST, LIST_LOOKUPS, listAdd, listDropFirst, listFree, listItems, recordNew, recordPut,
  recordSet, recordTag, recordVal,
} from './rows';

const NEXT: usize = 0;
const ROWS: usize = 4;
const LIVE: usize = 8;
const POOL: usize = 16;
const PAGE_SIZE: u32 = 16 + POOL_SIZE;
const PAGE_ROWS: u32 = 64;

/**
 * Appends row `row` of the columns whose blocks stand at `blocks` to a table and drops the oldest beyond `retain` (0: keeps
 * all). False when memory is exhausted; the table is as it was then.
 */
export function tableAdd(list: usize, blocks: usize, columns: u32, row: u32, retain: u32, acct: usize): bool {
  const page = pageFor(list, acct);
  if (!page) return false;
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
  const count = load<u32>(list, LIST_COUNT);
  const index = <usize>load<u32>(list, LIST_INDEX);
  if (index && !indexAddRecord(index, count - 1, record)) dropIndex(list, acct);
  if (retain && count > retain) dropOldest(list, acct);
  return true;
}

/** The page for the next row; 0 when memory is exhausted. */
function pageFor(list: usize, acct: usize): usize {
  const page = <usize>load<u32>(list, LIST_LAST);
  return page && load<u32>(page, ROWS) < PAGE_ROWS ? page : addPage(list, acct);
}

/** Saves the rows, oldest first. The index is made again when rows are looked up. */
export function tableSave(list: usize, columns: u32): void {
  const count = load<u32>(list, LIST_COUNT);
  writeU32(load<u32>(list, LIST_LOOKUPS));
  writeU32(count);
  for (let i: u32 = 0; i < count; i++) {
    const record = <usize>load<u32>(listItems(list) + (<usize>i << 2));
    for (let c: u32 = 0; c < columns; c++) writeValue(recordTag(record, columns, c), recordVal(record, c));
  }
}

/** Adds saved rows to an empty table. */
export function tableLoad(list: usize, columns: u32, acct: usize): void {
  store<u32>(list, readU32(), LIST_LOOKUPS);
  // Rows of no columns take no bytes.
  const count = columns ? readLength() : readU32();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const page = pageFor(list, acct);
    const record = page ? recordNew(page + POOL, columns) : 0;
    if (!record || !listAdd(list, record, acct)) {
      readFail(LoadFault.MEMORY);
      return;
    }
    store<u32>(page, load<u32>(page, ROWS) + 1, ROWS);
    store<u32>(page, load<u32>(page, LIVE) + 1, LIVE);
    for (let c: u32 = 0; c < columns; c++) {
      const tag = readValue(page + POOL);
      recordPut(record, columns, c, tag, valueRead);
    }
  }
}

/** A larger index is made when the next row is looked up. */
function dropIndex(list: usize, acct: usize): void {
  indexFree(<usize>load<u32>(list, LIST_INDEX), acct);
  store<u32>(list, 0, LIST_INDEX);
}

function addPage(list: usize, acct: usize): usize {
  const page = allocZeroed(PAGE_SIZE, acct);
  if (!page) return 0;
  poolInit(page + POOL, 512, acct);
  const last = <usize>load<u32>(list, LIST_LAST);
  if (last) store<u32>(last, <u32>page, NEXT);
  else store<u32>(list, <u32>page, LIST_FIRST);
  store<u32>(list, <u32>page, LIST_LAST);
  return page;
}

function dropOldest(list: usize, acct: usize): void {
  const index = <usize>load<u32>(list, LIST_INDEX);
  if (index) indexDropRecord(index, <usize>load<u32>(listItems(list)));
  listDropFirst(list);
  const page = <usize>load<u32>(list, LIST_FIRST);
  const live = load<u32>(page, LIVE) - 1;
  store<u32>(page, live, LIVE);
  const next = load<u32>(page, NEXT);
  if (live || !next) return;
  store<u32>(list, next, LIST_FIRST);
  freePage(page, acct);
}

function freePage(page: usize, acct: usize): void {
  poolFree(page + POOL);
  free(page, PAGE_SIZE, acct);
}

/** Frees the rows of a branch, with index and pages if it is a table. */
export function tableFree(list: usize, acct: usize): void {
  dropIndex(list, acct);
  let page = <usize>load<u32>(list, LIST_FIRST);
  while (page) {
    const next = <usize>load<u32>(page, NEXT);
    freePage(page, acct);
    page = next;
  }
  listFree(list, acct);
}
