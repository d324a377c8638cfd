// Rows that wait for the watermark, released in the order of their times, rows of equal time in the order of arrival.
//
// Rows that come in order are appended to a queue (the run); stragglers go to a heap. The next row is the smaller of the
// two heads, so ordered input costs O(1) a row and disorder O(log n). The values stand in pages of columns, each freed as
// a whole with its text when its last row has been released.
//
//   pending  run u32 | runFrom u32 | runTo u32 | runCapacity u32 | heap u32 | heapCount u32 | heapCapacity u32 | page u32
//            32 lastTime f64 | sequence u64 | columns u32 | acct u32
//   entry    time f64 | page u32 | row u32 | sequence u64
//   page     capacity u32 | to u32 | live u32 | bytes u32 | pool 32 | 48: payloads, then tags, of each column
import { alloc, free, refusals } from '../mem/alloc';
import { copyValue, poolFree, poolInit, poolReset } from '../mem/pool';
import { tagAt, valAt } from '../mem/layout';
import { LoadFault } from '../gen/state-layouts';
import { readF64, readFail, readFails, readLength, readU64, readValue, valueRead } from '../state/reader';
import { writeF64, writeU32, writeU64, writeValue } from '../state/writer';

export const PENDING_SIZE: u32 = 64;
const RUN: usize = 0;
const RUN_FROM: usize = 4;
const RUN_TO: usize = 8;
const RUN_CAPACITY: usize = 12;
const HEAP: usize = 16;
const HEAP_COUNT: usize = 20;
const HEAP_CAPACITY: usize = 24;
const PAGE: usize = 28;
const LAST_TIME: usize = 32;
const SEQUENCE: usize = 40;
const COLUMNS: usize = 48;
const ACCT: usize = 52;

const ENTRY: u32 = 24;
export const E_PAGE: usize = 8;
export const E_ROW: usize = 12;
const E_SEQUENCE: usize = 16;

const P_TO: usize = 4;
const P_LIVE: usize = 8;
const P_BYTES: usize = 12;
const P_POOL: usize = 16;
const P_DATA: u32 = 48;
const MAX_PAGE: u32 = 512;

export function pendingInit(pending: usize, columns: u32, acct: usize): void {
  memory.fill(pending, 0, PENDING_SIZE);
  store<f64>(pending, -Infinity, LAST_TIME);
  store<u32>(pending, columns, COLUMNS);
  store<u32>(pending, <u32>acct, ACCT);
}

// @ts-ignore: decorator
@inline export function pendingIsEmpty(pending: usize): bool {
  return load<u32>(pending, RUN_FROM) == load<u32>(pending, RUN_TO) && load<u32>(pending, HEAP_COUNT) == 0;
}

// @ts-ignore: decorator
@inline function entryAt(list: usize, i: u32): usize {
  return list + <usize>(i * ENTRY);
}

// @ts-ignore: decorator
@inline function isBefore(a: usize, b: usize): bool {
  const x = load<f64>(a);
  const y = load<f64>(b);
  return x < y || (x == y && load<u64>(a, E_SEQUENCE) < load<u64>(b, E_SEQUENCE));
}

/** Address of the payload of column `c` of a page's row; its tag is at `pageTag`. */
// @ts-ignore: decorator
@inline export function pageVal(page: usize, c: u32, row: u32): usize {
  return page + P_DATA + (<usize>(c * load<u32>(page) + row) << 3);
}

// @ts-ignore: decorator
@inline export function pageTag(page: usize, columns: u32, c: u32, row: u32): usize {
  const capacity = load<u32>(page);
  return page + P_DATA + (<usize>(columns * capacity) << 3) + <usize>(c * capacity + row);
}

function newPage(pending: usize): usize {
  const before = <usize>load<u32>(pending, PAGE);
  const columns = load<u32>(pending, COLUMNS);
  const capacity = before ? min(load<u32>(before) << 2, MAX_PAGE) : 16;
  const bytes = P_DATA + capacity * columns * 9 + 8;
  const acct = <usize>load<u32>(pending, ACCT);
  const page = alloc(bytes, acct);
  if (!page) return 0;
  memory.fill(page, 0, P_DATA);
  store<u32>(page, capacity);
  store<u32>(page, bytes, P_BYTES);
  poolInit(page + P_POOL, capacity << 4, acct);
  if (before && load<u32>(before, P_LIVE) == 0) freePage(pending, before);
  store<u32>(pending, <u32>page, PAGE);
  return page;
}

function freePage(pending: usize, page: usize): void {
  poolFree(page + P_POOL);
  free(page, load<u32>(page, P_BYTES), <usize>load<u32>(pending, ACCT));
}

/** Copies row `row` of the columns whose blocks stand at `blocks`; false when memory is exhausted. */
export function pendingAdd(pending: usize, blocks: usize, row: u32, ms: f64): bool {
  const before = refusals;
  let page = <usize>load<u32>(pending, PAGE);
  if (!page || load<u32>(page, P_TO) == load<u32>(page)) {
    page = newPage(pending);
    if (!page) return false;
  }
  const isOrdered = ms >= load<f64>(pending, LAST_TIME);
  const entry = isOrdered ? runPush(pending) : heapRoom(pending);
  if (!entry) return false;
  const at = load<u32>(page, P_TO);
  const columns = load<u32>(pending, COLUMNS);
  for (let c: u32 = 0; c < columns; c++) {
    const block = <usize>load<u32>(blocks + (<usize>c << 2));
    const tag = tagAt(block, row);
    store<u64>(pageVal(page, c, at), copyValue(page + P_POOL, tag, valAt(block, row)));
    store<u8>(pageTag(page, columns, c, at), tag);
  }
  store<u32>(page, at + 1, P_TO);
  store<u32>(page, load<u32>(page, P_LIVE) + 1, P_LIVE);
  const sequence = load<u64>(pending, SEQUENCE);
  store<u64>(pending, sequence + 1, SEQUENCE);
  store<f64>(entry, ms);
  store<u32>(entry, <u32>page, E_PAGE);
  store<u32>(entry, at, E_ROW);
  store<u64>(entry, sequence, E_SEQUENCE);
  if (isOrdered) store<f64>(pending, ms, LAST_TIME);
  else heapUp(pending);
  return refusals == before;
}

function runPush(pending: usize): usize {
  const from = load<u32>(pending, RUN_FROM);
  let to = load<u32>(pending, RUN_TO);
  const capacity = load<u32>(pending, RUN_CAPACITY);
  if (to == capacity) {
    const run = <usize>load<u32>(pending, RUN);
    const count = to - from;
    if (from > 0 && count <= capacity >> 1) memory.copy(run, entryAt(run, from), count * ENTRY);
    else {
      const wanted = max(capacity << 1, 16);
      const acct = <usize>load<u32>(pending, ACCT);
      const next = alloc(wanted * ENTRY, acct);
      if (!next) return 0;
      memory.copy(next, entryAt(run, from), count * ENTRY);
      free(run, capacity * ENTRY, acct);
      store<u32>(pending, <u32>next, RUN);
      store<u32>(pending, wanted, RUN_CAPACITY);
    }
    store<u32>(pending, 0, RUN_FROM);
    to = count;
  }
  store<u32>(pending, to + 1, RUN_TO);
  return entryAt(<usize>load<u32>(pending, RUN), to);
}

/** Room for one more entry at the end of the heap; `heapUp` puts it in its place. */
function heapRoom(pending: usize): usize {
  const count = load<u32>(pending, HEAP_COUNT);
  const capacity = load<u32>(pending, HEAP_CAPACITY);
  if (count == capacity) {
    const wanted = max(capacity << 1, 16);
    const acct = <usize>load<u32>(pending, ACCT);
    const next = alloc(wanted * ENTRY, acct);
    if (!next) return 0;
    memory.copy(next, <usize>load<u32>(pending, HEAP), count * ENTRY);
    free(<usize>load<u32>(pending, HEAP), capacity * ENTRY, acct);
    store<u32>(pending, <u32>next, HEAP);
    store<u32>(pending, wanted, HEAP_CAPACITY);
  }
  store<u32>(pending, count + 1, HEAP_COUNT);
  return entryAt(<usize>load<u32>(pending, HEAP), count);
}

const MOVING: usize = memory.data(24, 8);

function heapUp(pending: usize): void {
  const heap = <usize>load<u32>(pending, HEAP);
  let i = load<u32>(pending, HEAP_COUNT) - 1;
  memory.copy(MOVING, entryAt(heap, i), ENTRY);
  while (i > 0) {
    const up = (i - 1) >> 1;
    if (!isBefore(MOVING, entryAt(heap, up))) break;
    memory.copy(entryAt(heap, i), entryAt(heap, up), ENTRY);
    i = up;
  }
  memory.copy(entryAt(heap, i), MOVING, ENTRY);
}

function heapShift(pending: usize): void {
  const heap = <usize>load<u32>(pending, HEAP);
  const count = load<u32>(pending, HEAP_COUNT) - 1;
  store<u32>(pending, count, HEAP_COUNT);
  if (count == 0) return;
  memory.copy(MOVING, entryAt(heap, count), ENTRY);
  let i: u32 = 0;
  for (;;) {
    let child = (i << 1) + 1;
    if (child >= count) break;
    if (child + 1 < count && isBefore(entryAt(heap, child + 1), entryAt(heap, child))) child++;
    if (!isBefore(entryAt(heap, child), MOVING)) break;
    memory.copy(entryAt(heap, i), entryAt(heap, child), ENTRY);
    i = child;
  }
  memory.copy(entryAt(heap, i), MOVING, ENTRY);
}

/** Moves the next row's entry (24 bytes) to `to` if its time is `ms` or earlier; false when there is none. */
export function pendingTake(pending: usize, ms: f64, to: usize): bool {
  const hasRun = load<u32>(pending, RUN_FROM) != load<u32>(pending, RUN_TO);
  const hasHeap = load<u32>(pending, HEAP_COUNT) != 0;
  if (!hasRun && !hasHeap) return false;
  const run = hasRun ? entryAt(<usize>load<u32>(pending, RUN), load<u32>(pending, RUN_FROM)) : 0;
  const heap = hasHeap ? <usize>load<u32>(pending, HEAP) : 0;
  const fromRun = hasRun && (!hasHeap || isBefore(run, heap));
  const entry = fromRun ? run : heap;
  if (load<f64>(entry) > ms) return false;
  memory.copy(to, entry, ENTRY);
  if (fromRun) store<u32>(pending, load<u32>(pending, RUN_FROM) + 1, RUN_FROM);
  else heapShift(pending);
  return true;
}

/** Gives the row of an entry that was taken back, after its values were used. */
export function pendingDone(pending: usize, entry: usize): void {
  const page = <usize>load<u32>(entry, E_PAGE);
  const live = load<u32>(page, P_LIVE) - 1;
  store<u32>(page, live, P_LIVE);
  if (live > 0) return;
  if (page == <usize>load<u32>(pending, PAGE)) {
    store<u32>(page, 0, P_TO);
    poolReset(page + P_POOL);
  } else freePage(pending, page);
}

/** Saves the rows of the run, then those of the heap, each with time, sequence and values. */
export function pendingSave(pending: usize): void {
  writeF64(load<f64>(pending, LAST_TIME));
  writeU64(load<u64>(pending, SEQUENCE));
  const from = load<u32>(pending, RUN_FROM);
  listSave(pending, entryAt(<usize>load<u32>(pending, RUN), from), load<u32>(pending, RUN_TO) - from);
  listSave(pending, <usize>load<u32>(pending, HEAP), load<u32>(pending, HEAP_COUNT));
}

function listSave(pending: usize, list: usize, count: u32): void {
  const columns = load<u32>(pending, COLUMNS);
  writeU32(count);
  for (let i: u32 = 0; i < count; i++) {
    const entry = entryAt(list, i);
    writeF64(load<f64>(entry));
    writeU64(load<u64>(pending, SEQUENCE) - load<u64>(entry, E_SEQUENCE));
    const page = <usize>load<u32>(entry, E_PAGE);
    const row = load<u32>(entry, E_ROW);
    for (let c: u32 = 0; c < columns; c++) writeValue(load<u8>(pageTag(page, columns, c, row)), load<u64>(pageVal(page, c, row)));
  }
}

/** Adds saved rows; there must be none. */
export function pendingLoad(pending: usize): void {
  const last = readF64();
  store<u64>(pending, readU64(), SEQUENCE);
  listLoad(pending, true);
  listLoad(pending, false);
  store<f64>(pending, last, LAST_TIME);
}

function listLoad(pending: usize, isRun: bool): void {
  const columns = load<u32>(pending, COLUMNS);
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    let page = <usize>load<u32>(pending, PAGE);
    if (!page || load<u32>(page, P_TO) == load<u32>(page)) page = newPage(pending);
    const entry = page ? (isRun ? runPush(pending) : heapRoom(pending)) : 0;
    if (!entry) {
      readFail(LoadFault.MEMORY);
      return;
    }
    const at = load<u32>(page, P_TO);
    store<u32>(page, at + 1, P_TO);
    store<u32>(page, load<u32>(page, P_LIVE) + 1, P_LIVE);
    store<f64>(entry, readF64());
    store<u32>(entry, <u32>page, E_PAGE);
    store<u32>(entry, at, E_ROW);
    store<u64>(entry, load<u64>(pending, SEQUENCE) - readU64(), E_SEQUENCE);
    for (let c: u32 = 0; c < columns; c++) {
      store<u8>(pageTag(page, columns, c, at), readValue(page + P_POOL));
      store<u64>(pageVal(page, c, at), valueRead);
    }
    if (!isRun) heapUp(pending);
  }
}

const FREED: usize = memory.data(24, 8);

export function pendingFree(pending: usize): void {
  while (pendingTake(pending, Infinity, FREED)) pendingDone(pending, FREED);
  const page = <usize>load<u32>(pending, PAGE);
  if (page) freePage(pending, page);
  const acct = <usize>load<u32>(pending, ACCT);
  free(<usize>load<u32>(pending, RUN), load<u32>(pending, RUN_CAPACITY) * ENTRY, acct);
  free(<usize>load<u32>(pending, HEAP), load<u32>(pending, HEAP_CAPACITY) * ENTRY, acct);
}
