// Rows that wait for the watermark, released in the order of their times, rows of equal time in the order of arrival.
//
// Rows that an input brings in order are appended to a queue (the run of that input); stragglers go to a heap. The next
// row is the smallest of the heads. Ordered input thus costs O(1) a row, however far inputs are behind each other, and
// disorder costs O(log n). Entries of both refer to rows, which stand in a store.
import { alloc, free } from '../mem/alloc';
import { Rows, ROWS_SIZE } from '../rows/layout';
import { rowsAppend, rowsFirst, rowsFree, rowsInit, rowsLast, rowsLeave } from '../rows/store';
import { Page } from '../rows/page';

export const PENDING_SIZE: u32 = ROWS_SIZE + 32;
/** Rows that wait for the watermark. */
// @ts-ignore: decorator
@unmanaged
export class Pending extends Rows {
  runs: usize;
  runCount: u32;
  heap: usize;
  heapCount: u32;
  heapCapacity: u32;
  pendingAccount: usize;
  sequence: u64;
}

/** Number of runs at most; inputs beyond it share the last run. */
export const MAX_RUNS: u32 = 64;
const RUN_SIZE: u32 = 24;
/** Rows that an input brings in order. */
// @ts-ignore: decorator
@unmanaged
export class Run {
  entries: usize;
  from: u32;
  to: u32;
  capacity: u32;
  lastTime: f64;
}

export const ENTRY_SIZE: u32 = 24;
/** A row that waits. */
// @ts-ignore: decorator
@unmanaged
export class PendingRow {
  time: f64;
  /** Place of the row in the store, {page u32, row u32}; the page is 0 for a row of the current batch. */
  page: Page;
  row: u32;
  sequence: u64;
}

export function pendingInit(pending: Pending, columns: u32, acct: usize): void {
  memory.fill(changetype<usize>(pending), 0, PENDING_SIZE);
  rowsInit(pending, columns, 0, acct);
  pending.pendingAccount = acct;
}

// @ts-ignore: decorator
@inline export function runAt(pending: Pending, i: u32): Run {
  return changetype<Run>(pending.runs + <usize>(i * RUN_SIZE));
}

// @ts-ignore: decorator
@inline export function runRest(run: Run): u32 {
  return run.to - run.from;
}

/** The run of an input, made with those before it; 0 when memory is exhausted. */
export function runOf(pending: Pending, input: u32): Run {
  const count = pending.runCount;
  if (input < count) return runAt(pending, input);
  const acct = pending.pendingAccount;
  const made = alloc((input + 1) * RUN_SIZE, acct);
  if (!made) return changetype<Run>(0);
  const before = pending.runs;
  if (before) memory.copy(made, before, count * RUN_SIZE);
  free(before, count * RUN_SIZE, acct);
  pending.runs = made;
  pending.runCount = input + 1;
  for (let i = count; i <= input; i++) {
    const run = runAt(pending, i);
    memory.fill(changetype<usize>(run), 0, RUN_SIZE);
    run.lastTime = -Infinity;
  }
  return runAt(pending, input);
}

/** Number of rows that wait. */
export function pendingCount(pending: Pending): u32 {
  let n = pending.heapCount;
  for (let i: u32 = 0; i < pending.runCount; i++) n += runRest(runAt(pending, i));
  return n;
}

// @ts-ignore: decorator
@inline export function pendingIsEmpty(pending: usize): bool {
  return pendingCount(changetype<Pending>(pending)) == 0;
}

// @ts-ignore: decorator
@inline function copyEntry(to: PendingRow, from: PendingRow): void {
  v128.store(changetype<usize>(to), v128.load(changetype<usize>(from)));
  to.sequence = from.sequence;
}

// @ts-ignore: decorator
@inline export function entryAt(list: usize, i: u32): PendingRow {
  return changetype<PendingRow>(list + <usize>(i * ENTRY_SIZE));
}

// @ts-ignore: decorator
@inline function isBefore(a: PendingRow, b: PendingRow): bool {
  const x = a.time;
  const y = b.time;
  return x < y || (x == y && a.sequence < b.sequence);
}

/**
 * Keeps the rows `sel[0 … n)` that an input brought, with the columns at `binds` (mem/bind.ts) and the times at
 * `times` + 8 * row. False when memory is exhausted.
 */
export function pendingAdd(
  pending: Pending,
  binds: usize,
  columns: u32,
  sel: usize,
  n: u32,
  times: usize,
  input: u32,
): bool {
  const run = runOf(pending, min(input, MAX_RUNS - 1));
  let page = rowsLast(pending);
  let at = page ? page.to : 0;
  if (!run || !runReserve(pending, run, n) || !rowsAppend(pending, binds, columns, sel, n, 0)) return false;
  if (!page) page = rowsFirst(pending);
  for (let i: u32 = 0; i < n; i++) {
    if (at == page.capacity) {
      page = page.next;
      at = 0;
    }
    const ms = load<f64>(times + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3));
    if (!enter(pending, run, page, at++, ms)) return false;
  }
  return true;
}

/**
 * Adds rows of `sel[0 … n)` whose time is `until` or earlier without keeping them: they stay in the current batch, and
 * their entries have page 0. They must be taken while that batch is there. The other rows move to the front of `sel`.
 * Returns the number of these, or more than `n` when memory is exhausted.
 */
export function pendingName(pending: usize, sel: usize, n: u32, times: usize, until: f64, input: u32): u32 {
  const run = runOf(changetype<Pending>(pending), min(input, MAX_RUNS - 1));
  if (!run || !runReserve(changetype<Pending>(pending), run, n)) return n + 1;
  let later: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const ms = load<f64>(times + ((<usize>row) << 3));
    if (ms > until) store<u32>(sel + ((later++ as usize) << 2), row);
    else if (!enter(changetype<Pending>(pending), run, changetype<Page>(0), row, ms)) return n + 1;
  }
  return later;
}

/** Sequence number of the next row that comes. */
// @ts-ignore: decorator
@inline export function pendingSequence(pending: Pending): u64 {
  return pending.sequence;
}

/** Number of waiting rows whose time is `ms` or earlier; in the heap at most `most` are counted. */
export function pendingReached(pending: Pending, ms: f64, most: u32): u32 {
  let n = heapReached(pending.heap, pending.heapCount, 0, ms, most);
  for (let i: u32 = 0; i < pending.runCount; i++) {
    const run = runAt(pending, i);
    const first = run.from;
    let from = first;
    let to = run.to;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (entryAt(run.entries, middle).time <= ms) from = middle + 1;
      else to = middle;
    }
    n += from - first;
  }
  return n;
}

/** Counts the entries with time `ms` or earlier at and below entry `i`; below a later entry none is earlier. */
function heapReached(heap: usize, count: u32, i: u32, ms: f64, most: u32): u32 {
  if (i >= count || entryAt(heap, i).time > ms) return 0;
  let n: u32 = 1;
  if (n < most) n += heapReached(heap, count, (i << 1) + 1, ms, most - n);
  if (n < most) n += heapReached(heap, count, (i << 1) + 2, ms, most - n);
  return n;
}

/** Puts a row in its place among the waiting rows; the run has room for it. */
// @ts-ignore: decorator
@inline function enter(pending: Pending, run: Run, page: Page, row: u32, ms: f64): bool {
  let entry: PendingRow;
  const isOrdered = ms >= run.lastTime;
  if (isOrdered) {
    const to = run.to;
    entry = entryAt(run.entries, to);
    run.to = to + 1;
    run.lastTime = ms;
  } else entry = heapRoom(pending);
  if (!entry) return false;
  const sequence = pending.sequence;
  pending.sequence = sequence + 1;
  entry.time = ms;
  entry.page = page;
  store<u32>(changetype<usize>(entry), row, offsetof<PendingRow>('page') + 4);
  entry.sequence = sequence;
  if (!isOrdered) heapUp(pending);
  return true;
}

/** Makes room for `n` more entries at the end of the run; false when memory is exhausted. */
function runReserve(pending: Pending, run: Run, n: u32): bool {
  const from = run.from;
  const to = run.to;
  const capacity = run.capacity;
  if (to + n <= capacity) return true;
  const entries = run.entries;
  const count = to - from;
  if (from > 0 && count + n <= capacity && count <= capacity >> 1)
    memory.copy(entries, changetype<usize>(entryAt(entries, from)), count * ENTRY_SIZE);
  else {
    let wanted = max(capacity << 1, 16);
    while (wanted < count + n) wanted <<= 1;
    const acct = pending.pendingAccount;
    const made = alloc(wanted * ENTRY_SIZE, acct);
    if (!made) return false;
    memory.copy(made, changetype<usize>(entryAt(entries, from)), count * ENTRY_SIZE);
    free(entries, capacity * ENTRY_SIZE, acct);
    run.entries = made;
    run.capacity = wanted;
  }
  run.from = 0;
  run.to = count;
  return true;
}

/** Room for one more entry at the end of the run; 0 when memory is exhausted. */
export function runRoom(pending: Pending, run: Run): PendingRow {
  if (!runReserve(pending, run, 1)) return changetype<PendingRow>(0);
  const to = run.to;
  run.to = to + 1;
  return entryAt(run.entries, to);
}

/** Room for one more entry at the end of the heap; `heapUp` puts it in its place. */
export function heapRoom(pending: Pending): PendingRow {
  const count = pending.heapCount;
  const capacity = pending.heapCapacity;
  if (count == capacity) {
    const wanted = max(capacity << 1, 16);
    const acct = pending.pendingAccount;
    const made = alloc(wanted * ENTRY_SIZE, acct);
    if (!made) return changetype<PendingRow>(0);
    memory.copy(made, pending.heap, count * ENTRY_SIZE);
    free(pending.heap, capacity * ENTRY_SIZE, acct);
    pending.heap = made;
    pending.heapCapacity = wanted;
  }
  pending.heapCount = count + 1;
  return entryAt(pending.heap, count);
}

const MOVING: PendingRow = changetype<PendingRow>(memory.data(32, 16));

export function heapUp(pending: Pending): void {
  const heap = pending.heap;
  let i = pending.heapCount - 1;
  copyEntry(MOVING, entryAt(heap, i));
  while (i > 0) {
    const up = (i - 1) >> 1;
    if (!isBefore(MOVING, entryAt(heap, up))) break;
    copyEntry(entryAt(heap, i), entryAt(heap, up));
    i = up;
  }
  copyEntry(entryAt(heap, i), MOVING);
}

function heapShift(pending: Pending): void {
  const heap = pending.heap;
  const count = pending.heapCount - 1;
  pending.heapCount = count;
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

/** Entry of the next row, 0 when none waits; then the run that it heads, 0 for the heap. */
let next: usize = 0;
let nextRun: Run = changetype<Run>(0);

// @ts-ignore: decorator
@inline function findNext(pending: Pending, runs: u32): void {
  next = pending.heapCount ? pending.heap : 0;
  nextRun = changetype<Run>(0);
  for (let i: u32 = 0; i < runs; i++) {
    const run = runAt(pending, i);
    if (runRest(run) == 0) continue;
    const head = entryAt(run.entries, run.from);
    if (next && !isBefore(head, changetype<PendingRow>(next))) continue;
    next = changetype<usize>(head);
    nextRun = run;
  }
}

/** Time of the next row; Infinity when none waits. */
export function pendingNext(pending: Pending): f64 {
  findNext(pending, pending.runCount);
  return next ? load<f64>(next) : Infinity;
}

/**
 * Moves the entries of the next rows whose time is `ms` or earlier to `to`, at most `room` of them. Returns their
 * number.
 */
export function pendingTake(pending: Pending, ms: f64, to: usize, room: u32): u32 {
  const runs = pending.runCount;
  for (let n: u32 = 0; n < room; n++, to += ENTRY_SIZE) {
    findNext(pending, runs);
    if (!next || load<f64>(next) > ms) return n;
    copyEntry(changetype<PendingRow>(to), changetype<PendingRow>(next));
    if (nextRun) nextRun.from++;
    else heapShift(pending);
  }
  return room;
}

/** Drops the row of a taken entry from the store, after its values were used. */
// @ts-ignore: decorator
@inline export function pendingDone(pending: Rows, entry: PendingRow): void {
  rowsLeave(pending, entry.page, 1);
}

/**
 * As `pendingTake`, but gives names {page u32, row u32} and times (i64) of the rows. Most rows come in order from two
 * inputs; these go from run to run without a look at the heap.
 */
export function pendingNames(pending: Pending, ms: f64, names: usize, times: usize, room: u32): u32 {
  const runs = pending.runCount;
  let n: u32 = 0;
  while (n < room) {
    let first: Run = changetype<Run>(0);
    let second: Run = changetype<Run>(0);
    let isMore = pending.heapCount != 0;
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
      putName(names, times, n, changetype<PendingRow>(next));
      if (nextRun) nextRun.from++;
      else heapShift(pending);
      taken = 1;
    } else if (second) taken = ofTwo(first, second, ms, names, times, n, room);
    else if (first) taken = ofOne(first, ms, names, times, n, room);
    if (taken == 0) return n;
    n += taken;
  }
  return n;
}

/** As `pendingNames` for the next rows that have the time `ms`, or an earlier one, and came before `sequence`. */
export function pendingAtTime(pending: Pending, ms: f64, sequence: u64, names: usize, times: usize, room: u32): u32 {
  const runs = pending.runCount;
  let n: u32 = 0;
  while (n < room) {
    findNext(pending, runs);
    if (!next || load<f64>(next) > ms || load<u64>(next, offsetof<PendingRow>('sequence')) >= sequence) return n;
    putName(names, times, n++, changetype<PendingRow>(next));
    if (nextRun) nextRun.from++;
    else heapShift(pending);
  }
  return n;
}

/**
 * Puts the last of `n` rows from `pendingNames` back when more rows of the same time wait, so that they go on together.
 * Nothing is put back when all `n` have that time, or when memory is exhausted. Returns the number of rows that remain.
 */
export function pendingUncut(pending: Pending, names: usize, times: usize, n: u32): u32 {
  const last = load<i64>(times + ((<usize>(n - 1)) << 3));
  if (pendingNext(pending) != <f64>last) return n;
  let left = n - 1;
  while (left > 0 && load<i64>(times + ((<usize>(left - 1)) << 3)) == last) left--;
  if (left == 0) return n;
  const count = pending.heapCount;
  for (let i = left; i < n; i++) {
    if (heapRoom(pending)) continue;
    pending.heapCount = count;
    return n;
  }
  pending.heapCount = count;
  for (let i = left; i < n; i++) {
    const entry = heapRoom(pending);
    entry.time = <f64>last;
    store<u64>(changetype<usize>(entry), load<u64>(names + ((<usize>i) << 3)), offsetof<PendingRow>('page'));
    // The rows put back came before all waiting rows of that time.
    entry.sequence = i - left;
    heapUp(pending);
  }
  return left;
}

// @ts-ignore: decorator
@inline function putName(names: usize, times: usize, i: u32, entry: PendingRow): void {
  store<u64>(names + ((<usize>i) << 3), load<u64>(changetype<usize>(entry), offsetof<PendingRow>('page')));
  store<i64>(times + ((<usize>i) << 3), <i64>entry.time);
}

function ofOne(run: Run, ms: f64, names: usize, times: usize, from: u32, room: u32): u32 {
  let entry = changetype<usize>(entryAt(run.entries, run.from));
  const end = from + min(room - from, runRest(run));
  let n = from;
  for (; n < end && load<f64>(entry) <= ms; n++, entry += ENTRY_SIZE)
    putName(names, times, n, changetype<PendingRow>(entry));
  run.from += n - from;
  return n - from;
}

/** Takes rows of two runs until one ends; the loop has no branch per row, as the next run can't be predicted. */
function ofTwo(a: Run, b: Run, ms: f64, names: usize, times: usize, from: u32, room: u32): u32 {
  let x = changetype<usize>(entryAt(a.entries, a.from));
  let y = changetype<usize>(entryAt(b.entries, b.from));
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
        (<u32>(ofY == ofX) &
          <u32>(load<u64>(y, offsetof<PendingRow>('sequence')) < load<u64>(x, offsetof<PendingRow>('sequence'))))) !=
      0;
    const entry = changetype<PendingRow>(select<usize>(y, x, isY));
    if (select<f64>(ofY, ofX, isY) > ms) break;
    putName(names, times, n++, entry);
    x += select<usize>(0, ENTRY_SIZE, isY);
    y += select<usize>(ENTRY_SIZE, 0, isY);
  }
  a.from += <u32>(x - xStart) / ENTRY_SIZE;
  b.from += <u32>(y - yStart) / ENTRY_SIZE;
  return n - from;
}

/** Drops `n` rows that `pendingNames` named from the store, after their values were used. */
export function pendingReturn(pending: usize, names: usize, n: u32): void {
  let page: Page = changetype<Page>(0);
  let rows: u32 = 0;
  for (const end = names + ((<usize>n) << 3); names < end; names += 8) {
    const at = changetype<Page>(load<u32>(names));
    if (!at) continue;
    if (at != page) {
      if (rows) rowsLeave(changetype<Rows>(pending), page, rows);
      page = at;
      rows = 0;
    }
    rows++;
  }
  if (rows) rowsLeave(changetype<Rows>(pending), page, rows);
}

export function pendingFree(pending: Pending): void {
  rowsFree(pending);
  const acct = pending.pendingAccount;
  const runs = pending.runCount;
  for (let i: u32 = 0; i < runs; i++) {
    const run = runAt(pending, i);
    free(run.entries, run.capacity * ENTRY_SIZE, acct);
  }
  free(pending.runs, runs * RUN_SIZE, acct);
  free(pending.heap, pending.heapCapacity * ENTRY_SIZE, acct);
}
