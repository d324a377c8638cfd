// Rows that wait for the watermark, released in the order of their times, rows of equal time in the order of arrival.
//
// Rows that come in order are appended to a queue (the run); stragglers go to a heap. The next row is the smaller of the
// two heads, so ordered input costs O(1) a row and disorder O(log n). Both refer to the rows, which stand in a store.
//
//   pending  0   rows 48 (rows/store.ts)
//            48  run u32 | runFrom u32 | runTo u32 | runCapacity u32 | heap u32 | heapCount u32 | heapCapacity u32 | acct u32
//            80  lastTime f64 | sequence u64
//   entry    time f64 | page u32 | row u32 | sequence u64
import { alloc, free } from '../mem/alloc';
import { ROWS_SIZE } from '../rows/layout';
import { PAGE_CAPACITY, PAGE_NEXT, PAGE_TO } from '../rows/page';
import { rowLoad, rowSave } from '../rows/save';
import { rowsAppend, rowsFirst, rowsFree, rowsInit, rowsLast, rowsLeave } from '../rows/store';
import { LoadFault } from '../gen/state-layouts';
import { readF64, readFail, readFails, readLength, readTime, readU64 } from '../state/reader';
import { writeF64, writeTime, writeU32, writeU64 } from '../state/writer';

export const PENDING_SIZE: u32 = ROWS_SIZE + 48;
const RUN: usize = ROWS_SIZE;
const RUN_FROM: usize = ROWS_SIZE + 4;
const RUN_TO: usize = ROWS_SIZE + 8;
const RUN_CAPACITY: usize = ROWS_SIZE + 12;
const HEAP: usize = ROWS_SIZE + 16;
const HEAP_COUNT: usize = ROWS_SIZE + 20;
const HEAP_CAPACITY: usize = ROWS_SIZE + 24;
const ACCT: usize = ROWS_SIZE + 28;
const LAST_TIME: usize = ROWS_SIZE + 32;
const SEQUENCE: usize = ROWS_SIZE + 40;

export const ENTRY_SIZE: u32 = 24;
/** Where an entry names its row, as {page u32, row u32}. */
export const PENDING_ROW: usize = 8;
const PENDING_SEQUENCE: usize = 16;

export function pendingInit(pending: usize, columns: u32, acct: usize): void {
  memory.fill(pending, 0, PENDING_SIZE);
  rowsInit(pending, columns, 0, acct);
  store<f64>(pending, -Infinity, LAST_TIME);
  store<u32>(pending, <u32>acct, ACCT);
}

// @ts-ignore: decorator
@inline export function pendingIsEmpty(pending: usize): bool {
  return load<u32>(pending, RUN_FROM) == load<u32>(pending, RUN_TO) && load<u32>(pending, HEAP_COUNT) == 0;
}

/** How many rows wait. */
export function pendingCount(pending: usize): u32 {
  return load<u32>(pending, RUN_TO) - load<u32>(pending, RUN_FROM) + load<u32>(pending, HEAP_COUNT);
}

// @ts-ignore: decorator
@inline function entryAt(list: usize, i: u32): usize {
  return list + <usize>(i * ENTRY_SIZE);
}

// @ts-ignore: decorator
@inline function isBefore(a: usize, b: usize): bool {
  const x = load<f64>(a);
  const y = load<f64>(b);
  return x < y || (x == y && load<u64>(a, PENDING_SEQUENCE) < load<u64>(b, PENDING_SEQUENCE));
}

/**
 * Keeps the rows `sel[0 … n)` of the columns at `binds` (mem/bind.ts), whose times stand at `times` + 8 * row. False when
 * memory is exhausted.
 */
export function pendingAdd(pending: usize, binds: usize, columns: u32, sel: usize, n: u32, times: usize): bool {
  let page = rowsLast(pending);
  let at = page ? load<u32>(page, PAGE_TO) : 0;
  if (!rowsAppend(pending, binds, columns, sel, n, 0)) return false;
  if (!page) page = rowsFirst(pending);
  for (let i: u32 = 0; i < n; i++) {
    if (at == load<u32>(page, PAGE_CAPACITY)) {
      page = <usize>load<u32>(page, PAGE_NEXT);
      at = 0;
    }
    const ms = load<f64>(times + (<usize>load<u32>(sel + (<usize>i << 2)) << 3));
    if (!enter(pending, page, at++, ms)) return false;
  }
  return true;
}

/** Puts a row that is kept in its place among those that wait. */
function enter(pending: usize, page: usize, row: u32, ms: f64): bool {
  const isOrdered = ms >= load<f64>(pending, LAST_TIME);
  const entry = isOrdered ? runPush(pending) : heapRoom(pending);
  if (!entry) return false;
  const sequence = load<u64>(pending, SEQUENCE);
  store<u64>(pending, sequence + 1, SEQUENCE);
  store<f64>(entry, ms);
  store<u32>(entry, <u32>page, PENDING_ROW);
  store<u32>(entry, row, PENDING_ROW + 4);
  store<u64>(entry, sequence, PENDING_SEQUENCE);
  if (isOrdered) store<f64>(pending, ms, LAST_TIME);
  else heapUp(pending);
  return true;
}
function runPush(pending: usize): usize {
  const from = load<u32>(pending, RUN_FROM);
  let to = load<u32>(pending, RUN_TO);
  const capacity = load<u32>(pending, RUN_CAPACITY);
  if (to == capacity) {
    const run = <usize>load<u32>(pending, RUN);
    const count = to - from;
    if (from > 0 && count <= capacity >> 1) memory.copy(run, entryAt(run, from), count * ENTRY_SIZE);
    else {
      const wanted = max(capacity << 1, 16);
      const acct = <usize>load<u32>(pending, ACCT);
      const next = alloc(wanted * ENTRY_SIZE, acct);
      if (!next) return 0;
      memory.copy(next, entryAt(run, from), count * ENTRY_SIZE);
      free(run, capacity * ENTRY_SIZE, acct);
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
    const next = alloc(wanted * ENTRY_SIZE, acct);
    if (!next) return 0;
    memory.copy(next, <usize>load<u32>(pending, HEAP), count * ENTRY_SIZE);
    free(<usize>load<u32>(pending, HEAP), capacity * ENTRY_SIZE, acct);
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
  memory.copy(MOVING, entryAt(heap, i), ENTRY_SIZE);
  while (i > 0) {
    const up = (i - 1) >> 1;
    if (!isBefore(MOVING, entryAt(heap, up))) break;
    memory.copy(entryAt(heap, i), entryAt(heap, up), ENTRY_SIZE);
    i = up;
  }
  memory.copy(entryAt(heap, i), MOVING, ENTRY_SIZE);
}

function heapShift(pending: usize): void {
  const heap = <usize>load<u32>(pending, HEAP);
  const count = load<u32>(pending, HEAP_COUNT) - 1;
  store<u32>(pending, count, HEAP_COUNT);
  if (count == 0) return;
  memory.copy(MOVING, entryAt(heap, count), ENTRY_SIZE);
  let i: u32 = 0;
  for (;;) {
    let child = (i << 1) + 1;
    if (child >= count) break;
    if (child + 1 < count && isBefore(entryAt(heap, child + 1), entryAt(heap, child))) child++;
    if (!isBefore(entryAt(heap, child), MOVING)) break;
    memory.copy(entryAt(heap, i), entryAt(heap, child), ENTRY_SIZE);
    i = child;
  }
  memory.copy(entryAt(heap, i), MOVING, ENTRY_SIZE);
}

/** Time of the next row; Infinity when none waits. */
export function pendingNext(pending: usize): f64 {
  let next: f64 = Infinity;
  if (load<u32>(pending, RUN_FROM) != load<u32>(pending, RUN_TO)) {
    next = load<f64>(entryAt(<usize>load<u32>(pending, RUN), load<u32>(pending, RUN_FROM)));
  }
  return load<u32>(pending, HEAP_COUNT) ? min(next, load<f64>(<usize>load<u32>(pending, HEAP))) : next;
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
  memory.copy(to, entry, ENTRY_SIZE);
  if (fromRun) store<u32>(pending, load<u32>(pending, RUN_FROM) + 1, RUN_FROM);
  else heapShift(pending);
  return true;
}

/** Gives the row of an entry that was taken back, after its values were used. */
// @ts-ignore: decorator
@inline export function pendingDone(pending: usize, entry: usize): void {
  rowsLeave(pending, <usize>load<u32>(entry, PENDING_ROW), 1);
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
  writeU32(count);
  for (let i: u32 = 0; i < count; i++) {
    const entry = entryAt(list, i);
    writeTime(load<f64>(entry));
    writeU64(load<u64>(pending, SEQUENCE) - load<u64>(entry, PENDING_SEQUENCE));
    rowSave(pending, <usize>load<u32>(entry, PENDING_ROW), load<u32>(entry, PENDING_ROW + 4));
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
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const ms = readTime();
    const sequence = load<u64>(pending, SEQUENCE) - readU64();
    const page = rowLoad(pending, count - i);
    if (!page) return;
    const entry = isRun ? runPush(pending) : heapRoom(pending);
    if (!entry) {
      readFail(LoadFault.MEMORY);
      return;
    }
    store<f64>(entry, ms);
    store<u32>(entry, <u32>page, PENDING_ROW);
    store<u32>(entry, load<u32>(page, PAGE_TO) - 1, PENDING_ROW + 4);
    store<u64>(entry, sequence, PENDING_SEQUENCE);
    if (!isRun) heapUp(pending);
  }
}

export function pendingFree(pending: usize): void {
  rowsFree(pending);
  const acct = <usize>load<u32>(pending, ACCT);
  free(<usize>load<u32>(pending, RUN), load<u32>(pending, RUN_CAPACITY) * ENTRY_SIZE, acct);
  free(<usize>load<u32>(pending, HEAP), load<u32>(pending, HEAP_CAPACITY) * ENTRY_SIZE, acct);
}
