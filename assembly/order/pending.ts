// Rows that wait for the watermark, released in the order of their times, rows of equal time in the order of arrival.
//
// Rows that an input brings in order are appended to a queue (the run of that input); stragglers go to a heap. The next
// row is the smallest of the heads, so ordered input costs O(1) a row, however far inputs are behind each other, and
// disorder O(log n). Both refer to the rows, which stand in a store.
//
//   pending  0   rows 48 (rows/store.ts)
//            48  runs u32 -> runs | runCount u32 | heap u32 | heapCount u32 | heapCapacity u32 | acct u32
//            72  sequence u64
//   run      entries u32 | from u32 | to u32 | capacity u32 | lastTime f64
//   entry    time f64 | page u32 | row u32 | sequence u64
import { alloc, free } from '../mem/alloc';
import { ROWS_SIZE } from '../rows/layout';
import { PAGE_CAPACITY, PAGE_NEXT, PAGE_TO } from '../rows/page';
import { rowsAppend, rowsFirst, rowsFree, rowsInit, rowsLast, rowsLeave } from '../rows/store';

export const PENDING_SIZE: u32 = ROWS_SIZE + 32;
const RUNS: usize = ROWS_SIZE;
export const RUN_COUNT: usize = ROWS_SIZE + 4;
export const HEAP: usize = ROWS_SIZE + 8;
export const HEAP_COUNT: usize = ROWS_SIZE + 12;
const HEAP_CAPACITY: usize = ROWS_SIZE + 16;
const ACCT: usize = ROWS_SIZE + 20;
export const SEQUENCE: usize = ROWS_SIZE + 24;

/** Inputs beyond that share the last run. */
export const MAX_RUNS: u32 = 64;
const RUN_SIZE: u32 = 24;
export const RUN_FROM: usize = 4;
export const RUN_TO: usize = 8;
const RUN_CAPACITY: usize = 12;
export const LAST_TIME: usize = 16;

export const ENTRY_SIZE: u32 = 24;
/** Where an entry names its row, as {page u32, row u32}. */
export const PENDING_ROW: usize = 8;
export const PENDING_SEQUENCE: usize = 16;

export function pendingInit(pending: usize, columns: u32, acct: usize): void {
  memory.fill(pending, 0, PENDING_SIZE);
  rowsInit(pending, columns, 0, acct);
  store<u32>(pending, <u32>acct, ACCT);
}

// @ts-ignore: decorator
@inline export function runAt(pending: usize, i: u32): usize {
  return <usize>load<u32>(pending, RUNS) + <usize>(i * RUN_SIZE);
}

// @ts-ignore: decorator
@inline export function runRest(run: usize): u32 {
  return load<u32>(run, RUN_TO) - load<u32>(run, RUN_FROM);
}

/** The run of an input, made with those before it; 0 when memory is exhausted. */
export function runOf(pending: usize, input: u32): usize {
  const count = load<u32>(pending, RUN_COUNT);
  if (input < count) return runAt(pending, input);
  const acct = <usize>load<u32>(pending, ACCT);
  const made = alloc((input + 1) * RUN_SIZE, acct);
  if (!made) return 0;
  const before = <usize>load<u32>(pending, RUNS);
  if (before) memory.copy(made, before, count * RUN_SIZE);
  free(before, count * RUN_SIZE, acct);
  store<u32>(pending, <u32>made, RUNS);
  store<u32>(pending, input + 1, RUN_COUNT);
  for (let i = count; i <= input; i++) {
    const run = runAt(pending, i);
    memory.fill(run, 0, RUN_SIZE);
    store<f64>(run, -Infinity, LAST_TIME);
  }
  return runAt(pending, input);
}

/** How many rows wait. */
export function pendingCount(pending: usize): u32 {
  let n = load<u32>(pending, HEAP_COUNT);
  for (let i: u32 = 0; i < load<u32>(pending, RUN_COUNT); i++) n += runRest(runAt(pending, i));
  return n;
}

// @ts-ignore: decorator
@inline export function pendingIsEmpty(pending: usize): bool {
  return pendingCount(pending) == 0;
}

// @ts-ignore: decorator
@inline function copyEntry(to: usize, from: usize): void {
  v128.store(to, v128.load(from));
  store<u64>(to, load<u64>(from, 16), 16);
}

// @ts-ignore: decorator
@inline export function entryAt(list: usize, i: u32): usize {
  return list + <usize>(i * ENTRY_SIZE);
}

// @ts-ignore: decorator
@inline function isBefore(a: usize, b: usize): bool {
  const x = load<f64>(a);
  const y = load<f64>(b);
  return x < y || (x == y && load<u64>(a, PENDING_SEQUENCE) < load<u64>(b, PENDING_SEQUENCE));
}

/**
 * Keeps the rows `sel[0 … n)` of the columns at `binds` (mem/bind.ts), which an input brought, whose times stand at
 * `times` + 8 * row. False when memory is exhausted.
 */
export function pendingAdd(
  pending: usize,
  binds: usize,
  columns: u32,
  sel: usize,
  n: u32,
  times: usize,
  input: u32,
): bool {
  const run = runOf(pending, min(input, MAX_RUNS - 1));
  let page = rowsLast(pending);
  let at = page ? load<u32>(page, PAGE_TO) : 0;
  if (!run || !runReserve(pending, run, n) || !rowsAppend(pending, binds, columns, sel, n, 0)) return false;
  if (!page) page = rowsFirst(pending);
  for (let i: u32 = 0; i < n; i++) {
    if (at == load<u32>(page, PAGE_CAPACITY)) {
      page = <usize>load<u32>(page, PAGE_NEXT);
      at = 0;
    }
    const ms = load<f64>(times + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3));
    if (!enter(pending, run, page, at++, ms)) return false;
  }
  return true;
}

/**
 * Lets rows wait that are not kept, those of `sel[0 … n)` whose time is `until` or earlier: they stand in the batch at
 * work, and their entries name no page (0). They must be taken while that batch is there. The others move to the front
 * of `sel`. Returns how many these are; more than `n` when memory is exhausted.
 */
export function pendingName(pending: usize, sel: usize, n: u32, times: usize, until: f64, input: u32): u32 {
  const run = runOf(pending, min(input, MAX_RUNS - 1));
  if (!run || !runReserve(pending, run, n)) return n + 1;
  let later: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const ms = load<f64>(times + ((<usize>row) << 3));
    if (ms > until) store<u32>(sel + ((later++ as usize) << 2), row);
    else if (!enter(pending, run, 0, row, ms)) return n + 1;
  }
  return later;
}

/** Number of the next row that comes. */
// @ts-ignore: decorator
@inline export function pendingSequence(pending: usize): u64 {
  return load<u64>(pending, SEQUENCE);
}

/** How many rows wait whose time is `ms` or earlier; of those in the heap `most` are counted. */
export function pendingReached(pending: usize, ms: f64, most: u32): u32 {
  let n = heapReached(<usize>load<u32>(pending, HEAP), load<u32>(pending, HEAP_COUNT), 0, ms, most);
  for (let i: u32 = 0; i < load<u32>(pending, RUN_COUNT); i++) {
    const run = runAt(pending, i);
    const first = load<u32>(run, RUN_FROM);
    let from = first;
    let to = load<u32>(run, RUN_TO);
    while (from < to) {
      const middle = (from + to) >> 1;
      if (load<f64>(entryAt(<usize>load<u32>(run), middle)) <= ms) from = middle + 1;
      else to = middle;
    }
    n += from - first;
  }
  return n;
}

/** Counts the entries of that time or earlier at and below entry `i`; nothing below a later one is earlier. */
function heapReached(heap: usize, count: u32, i: u32, ms: f64, most: u32): u32 {
  if (i >= count || load<f64>(entryAt(heap, i)) > ms) return 0;
  let n: u32 = 1;
  if (n < most) n += heapReached(heap, count, (i << 1) + 1, ms, most - n);
  if (n < most) n += heapReached(heap, count, (i << 1) + 2, ms, most - n);
  return n;
}

/** Puts a row in its place among those that wait; the run has room for it. */
// @ts-ignore: decorator
@inline function enter(pending: usize, run: usize, page: usize, row: u32, ms: f64): bool {
  let entry: usize;
  const isOrdered = ms >= load<f64>(run, LAST_TIME);
  if (isOrdered) {
    const to = load<u32>(run, RUN_TO);
    entry = entryAt(<usize>load<u32>(run), to);
    store<u32>(run, to + 1, RUN_TO);
    store<f64>(run, ms, LAST_TIME);
  } else entry = heapRoom(pending);
  if (!entry) return false;
  const sequence = load<u64>(pending, SEQUENCE);
  store<u64>(pending, sequence + 1, SEQUENCE);
  store<f64>(entry, ms);
  store<u32>(entry, <u32>page, PENDING_ROW);
  store<u32>(entry, row, PENDING_ROW + 4);
  store<u64>(entry, sequence, PENDING_SEQUENCE);
  if (!isOrdered) heapUp(pending);
  return true;
}

/** Makes room for `n` more entries at the end of the run; false when memory is exhausted. */
function runReserve(pending: usize, run: usize, n: u32): bool {
  const from = load<u32>(run, RUN_FROM);
  const to = load<u32>(run, RUN_TO);
  const capacity = load<u32>(run, RUN_CAPACITY);
  if (to + n <= capacity) return true;
  const entries = <usize>load<u32>(run);
  const count = to - from;
  if (from > 0 && count + n <= capacity && count <= capacity >> 1)
    memory.copy(entries, entryAt(entries, from), count * ENTRY_SIZE);
  else {
    let wanted = max(capacity << 1, 16);
    while (wanted < count + n) wanted <<= 1;
    const acct = <usize>load<u32>(pending, ACCT);
    const made = alloc(wanted * ENTRY_SIZE, acct);
    if (!made) return false;
    memory.copy(made, entryAt(entries, from), count * ENTRY_SIZE);
    free(entries, capacity * ENTRY_SIZE, acct);
    store<u32>(run, <u32>made);
    store<u32>(run, wanted, RUN_CAPACITY);
  }
  store<u32>(run, 0, RUN_FROM);
  store<u32>(run, count, RUN_TO);
  return true;
}

/** Room for one more entry at the end of the run; 0 when memory is exhausted. */
export function runRoom(pending: usize, run: usize): usize {
  if (!runReserve(pending, run, 1)) return 0;
  const to = load<u32>(run, RUN_TO);
  store<u32>(run, to + 1, RUN_TO);
  return entryAt(<usize>load<u32>(run), to);
}

/** Room for one more entry at the end of the heap; `heapUp` puts it in its place. */
export function heapRoom(pending: usize): usize {
  const count = load<u32>(pending, HEAP_COUNT);
  const capacity = load<u32>(pending, HEAP_CAPACITY);
  if (count == capacity) {
    const wanted = max(capacity << 1, 16);
    const acct = <usize>load<u32>(pending, ACCT);
    const made = alloc(wanted * ENTRY_SIZE, acct);
    if (!made) return 0;
    memory.copy(made, <usize>load<u32>(pending, HEAP), count * ENTRY_SIZE);
    free(<usize>load<u32>(pending, HEAP), capacity * ENTRY_SIZE, acct);
    store<u32>(pending, <u32>made, HEAP);
    store<u32>(pending, wanted, HEAP_CAPACITY);
  }
  store<u32>(pending, count + 1, HEAP_COUNT);
  return entryAt(<usize>load<u32>(pending, HEAP), count);
}

const MOVING: usize = memory.data(32, 16);

export function heapUp(pending: usize): void {
  const heap = <usize>load<u32>(pending, HEAP);
  let i = load<u32>(pending, HEAP_COUNT) - 1;
  copyEntry(MOVING, entryAt(heap, i));
  while (i > 0) {
    const up = (i - 1) >> 1;
    if (!isBefore(MOVING, entryAt(heap, up))) break;
    copyEntry(entryAt(heap, i), entryAt(heap, up));
    i = up;
  }
  copyEntry(entryAt(heap, i), MOVING);
}

function heapShift(pending: usize): void {
  const heap = <usize>load<u32>(pending, HEAP);
  const count = load<u32>(pending, HEAP_COUNT) - 1;
  store<u32>(pending, count, HEAP_COUNT);
  if (count == 0) return;
  copyEntry(MOVING, entryAt(heap, count));
  let i: u32 = 0;
  for (;;) {
    let child = (i << 1) + 1;
    if (child >= count) break;
    if (child + 1 < count && isBefore(entryAt(heap, child + 1), entryAt(heap, child))) child++;
    if (!isBefore(entryAt(heap, child), MOVING)) break;
    copyEntry(entryAt(heap, i), entryAt(heap, child));
    i = child;
  }
  copyEntry(entryAt(heap, i), MOVING);
}

/** The entry of the next row, 0 when none waits; and the run that it heads, 0: the heap. */
let next: usize = 0;
let nextRun: usize = 0;

// @ts-ignore: decorator
@inline function findNext(pending: usize, runs: u32): void {
  next = load<u32>(pending, HEAP_COUNT) ? <usize>load<u32>(pending, HEAP) : 0;
  nextRun = 0;
  for (let i: u32 = 0; i < runs; i++) {
    const run = runAt(pending, i);
    if (runRest(run) == 0) continue;
    const head = entryAt(<usize>load<u32>(run), load<u32>(run, RUN_FROM));
    if (next && !isBefore(head, next)) continue;
    next = head;
    nextRun = run;
  }
}

/** Time of the next row; Infinity when none waits. */
export function pendingNext(pending: usize): f64 {
  findNext(pending, load<u32>(pending, RUN_COUNT));
  return next ? load<f64>(next) : Infinity;
}

/**
 * Moves the entries of the next rows whose time is `ms` or earlier to `to`, `room` of them at most; returns how many
 * they are.
 */
export function pendingTake(pending: usize, ms: f64, to: usize, room: u32): u32 {
  const runs = load<u32>(pending, RUN_COUNT);
  for (let n: u32 = 0; n < room; n++, to += ENTRY_SIZE) {
    findNext(pending, runs);
    if (!next || load<f64>(next) > ms) return n;
    copyEntry(to, next);
    if (nextRun) store<u32>(nextRun, load<u32>(nextRun, RUN_FROM) + 1, RUN_FROM);
    else heapShift(pending);
  }
  return room;
}

/** Gives the row of an entry that was taken back, after its values were used. */
// @ts-ignore: decorator
@inline export function pendingDone(pending: usize, entry: usize): void {
  rowsLeave(pending, <usize>load<u32>(entry, PENDING_ROW), 1);
}

/**
 * As `pendingTake`, but gives names {page u32, row u32} and times (i64) of the rows. Rows of two inputs in order, which
 * most are, go from run to run without a look at the heap.
 */
export function pendingNames(pending: usize, ms: f64, names: usize, times: usize, room: u32): u32 {
  const runs = load<u32>(pending, RUN_COUNT);
  let n: u32 = 0;
  while (n < room) {
    let first: usize = 0;
    let second: usize = 0;
    let isMore = load<u32>(pending, HEAP_COUNT) != 0;
    for (let i: u32 = 0; i < runs; i++) {
      const run = runAt(pending, i);
      if (runRest(run) == 0) continue;
      if (!first) first = run;
      else if (!second) second = run;
      else isMore = true;
    }
    let taken: u32 = 0;
    if (isMore) {
      findNext(pending, runs);
      if (load<f64>(next) > ms) return n;
      putName(names, times, n, next);
      if (nextRun) store<u32>(nextRun, load<u32>(nextRun, RUN_FROM) + 1, RUN_FROM);
      else heapShift(pending);
      taken = 1;
    } else if (second) taken = ofTwo(first, second, ms, names, times, n, room);
    else if (first) taken = ofOne(first, ms, names, times, n, room);
    if (taken == 0) return n;
    n += taken;
  }
  return n;
}

/** As `pendingNames` of the next rows that are of that time, and came before `sequence`. */
export function pendingAtTime(pending: usize, ms: f64, sequence: u64, names: usize, times: usize, room: u32): u32 {
  const runs = load<u32>(pending, RUN_COUNT);
  let n: u32 = 0;
  while (n < room) {
    findNext(pending, runs);
    if (!next || load<f64>(next) > ms || load<u64>(next, PENDING_SEQUENCE) >= sequence) return n;
    putName(names, times, n++, next);
    if (nextRun) store<u32>(nextRun, load<u32>(nextRun, RUN_FROM) + 1, RUN_FROM);
    else heapShift(pending);
  }
  return n;
}

/**
 * Puts the last of `n` rows that `pendingNames` has named back when further ones of the same time wait: these are to
 * come together. Not where all `n` are of that time, or memory is exhausted. Returns how many are left.
 */
export function pendingUncut(pending: usize, names: usize, times: usize, n: u32): u32 {
  const last = load<i64>(times + ((<usize>(n - 1)) << 3));
  if (pendingNext(pending) != <f64>last) return n;
  let left = n - 1;
  while (left > 0 && load<i64>(times + ((<usize>(left - 1)) << 3)) == last) left--;
  if (left == 0) return n;
  const count = load<u32>(pending, HEAP_COUNT);
  for (let i = left; i < n; i++) {
    if (heapRoom(pending)) continue;
    store<u32>(pending, count, HEAP_COUNT);
    return n;
  }
  store<u32>(pending, count, HEAP_COUNT);
  for (let i = left; i < n; i++) {
    const entry = heapRoom(pending);
    store<f64>(entry, <f64>last);
    store<u64>(entry, load<u64>(names + ((<usize>i) << 3)), PENDING_ROW);
    // They came before all that still wait of that time.
    store<u64>(entry, i - left, PENDING_SEQUENCE);
    heapUp(pending);
  }
  return left;
}

// @ts-ignore: decorator
@inline function putName(names: usize, times: usize, i: u32, entry: usize): void {
  store<u64>(names + ((<usize>i) << 3), load<u64>(entry, PENDING_ROW));
  store<i64>(times + ((<usize>i) << 3), <i64>load<f64>(entry));
}

function ofOne(run: usize, ms: f64, names: usize, times: usize, from: u32, room: u32): u32 {
  let entry = entryAt(<usize>load<u32>(run), load<u32>(run, RUN_FROM));
  const end = from + min(room - from, runRest(run));
  let n = from;
  for (; n < end && load<f64>(entry) <= ms; n++, entry += ENTRY_SIZE) putName(names, times, n, entry);
  store<u32>(run, load<u32>(run, RUN_FROM) + (n - from), RUN_FROM);
  return n - from;
}

/** Takes rows of two runs, until one of them is at its end. Without a jump for each: nobody knows which comes next. */
function ofTwo(a: usize, b: usize, ms: f64, names: usize, times: usize, from: u32, room: u32): u32 {
  let x = entryAt(<usize>load<u32>(a), load<u32>(a, RUN_FROM));
  let y = entryAt(<usize>load<u32>(b), load<u32>(b, RUN_FROM));
  const xEnd = x + <usize>(runRest(a) * ENTRY_SIZE);
  const yEnd = y + <usize>(runRest(b) * ENTRY_SIZE);
  const xStart = x;
  const yStart = y;
  let n = from;
  while (n < room && x < xEnd && y < yEnd) {
    const ofX = load<f64>(x);
    const ofY = load<f64>(y);
    const isY =
      (<u32>(ofY < ofX) |
        (<u32>(ofY == ofX) & <u32>(load<u64>(y, PENDING_SEQUENCE) < load<u64>(x, PENDING_SEQUENCE)))) !=
      0;
    const entry = select<usize>(y, x, isY);
    if (select<f64>(ofY, ofX, isY) > ms) break;
    putName(names, times, n++, entry);
    x += select<usize>(0, ENTRY_SIZE, isY);
    y += select<usize>(ENTRY_SIZE, 0, isY);
  }
  store<u32>(a, load<u32>(a, RUN_FROM) + <u32>(x - xStart) / ENTRY_SIZE, RUN_FROM);
  store<u32>(b, load<u32>(b, RUN_FROM) + <u32>(y - yStart) / ENTRY_SIZE, RUN_FROM);
  return n - from;
}

/** Gives `n` rows back that `pendingNames` has named, after their values were used. */
export function pendingReturn(pending: usize, names: usize, n: u32): void {
  let page: usize = 0;
  let rows: u32 = 0;
  for (const end = names + ((<usize>n) << 3); names < end; names += 8) {
    const at = <usize>load<u32>(names);
    if (!at) continue;
    if (at != page) {
      if (rows) rowsLeave(pending, page, rows);
      page = at;
      rows = 0;
    }
    rows++;
  }
  if (rows) rowsLeave(pending, page, rows);
}

export function pendingFree(pending: usize): void {
  rowsFree(pending);
  const acct = <usize>load<u32>(pending, ACCT);
  const runs = load<u32>(pending, RUN_COUNT);
  for (let i: u32 = 0; i < runs; i++) {
    const run = runAt(pending, i);
    free(<usize>load<u32>(run), load<u32>(run, RUN_CAPACITY) * ENTRY_SIZE, acct);
  }
  free(<usize>load<u32>(pending, RUNS), runs * RUN_SIZE, acct);
  free(<usize>load<u32>(pending, HEAP), load<u32>(pending, HEAP_CAPACITY) * ENTRY_SIZE, acct);
}
