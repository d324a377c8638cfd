// State of a pattern node: for each key the rows that a match may still need, and the searches that are under way.
//
//   state       0    table 48                     keys (partitions/table.ts)
//               48   what PatternState has
//   partition   0    entry 48                     of the table
//               48   what Partition has          of a chain bits stand there as well (pattern/chain.ts)
//   ref         0    page u32 | row u32 | bits u64 (variables whose conditions on rows alone hold)
//   search      begins with the row of number `start`; rows before `at` are taken in. It has partial matches, the
//               preferred one first, and the best match so far.
//   partial     0    step u32 | rows u32          step that it is at; its last run, 0 without rows
//   run         rows of one variable that follow each other; runs are shared by the partial matches that have them
//
// Rows of a key are numbered one by one, round after 2^32.
import { alloc, allocZeroed, free } from '../mem/alloc';
import { PartitionEntry, PartitionTable } from '../partitions/table-slots';
import { Page, timeAt } from '../rows/page';
import { Rows } from '../rows/layout';
import { GroupSet } from '../agg/group/table';
import { rowsLeave } from '../rows/store';

// @ts-ignore: decorator
@unmanaged
export class PatternState extends PartitionTable {
  rows: Rows;
  /** Partitions with a time at which something becomes final, a heap (pattern/due.ts). */
  dues: usize;
  dueCount: u32;
  dueRoom: u32;
  /** Steps that were visited, a stamp for each. */
  marks: usize;
  stamp: u32;
  /** Steps that are to be visited. */
  stack: usize;
  /** Partial matches of the search at work. */
  next: usize;
  nextRoom: u32;
  /** Column of the input with the times of rows, -1 none. */
  times: i32;
  set: GroupSet;
  /** What aggregates have taken in of the match that is looked at (pattern/aggregates.ts). */
  taken: usize;
  /** Matches that were looked at. */
  match: u32;
  /** Counts how often a partition became due at another time, round after 2^32. */
  order: u32;
  /** Partial matches that were dropped because there were too many. */
  dropped: u32;
  /** Payload of the error of a condition for the row at work, 0 none. */
  error: u64;
  /** Inputs that have ended. */
  ended: u32;
  /** Work that was left for later (pattern/pieces.ts): a partition whose searches are to be ended at `resumeMs`. */
  resume: Partition;
  resumeMs: f64;
  /** Searches are to be ended whose time is before `timeMs`. */
  timeMs: f64;
  hasTime: u32;
  /** Rows that are to be taken then: partition u32 | number u32. */
  rest: usize;
  restAt: u32;
  restCount: u32;
  restRoom: u32;
  /** Some expression knows the number of the match: keys with matches stay. */
  hasNumbers: u32;
  /** A watermark follows. */
  hasMark: u32;
  mark: f64;
  /** What is known of a pattern whose matches all have one length (pattern/chain.ts), 0 for others. */
  chain: usize;
  /** Bytes of a partition. */
  entrySize: u32;
}

export const PATTERN_STATE_SIZE: u32 = <u32>offsetof<PatternState>('entrySize') + 8;

// @ts-ignore: decorator
@unmanaged
export class Partition extends PartitionEntry {
  matches: u64;
  refs: usize;
  room: u32;
  /** Place of the first row that is held. */
  from: u32;
  count: u32;
  /** Number of that row. */
  base: u32;
  /** Number behind the last row that has come; later ones of the batch at work are held already. */
  arrived: u32;
  /** Number behind the last row of which all conditions on rows are known. */
  limit: u32;
  /** Number of the row with which the next search begins. */
  begin: u32;
  search: Search;
  last: Search;
  /** Number behind the last row that a match has. */
  covered: u32;
  /** Partial matches of all searches. */
  partials: u32;
  waiting: Waiting;
  /** Its place among those that are due at the same time: the number of the change that set it. */
  order: u32;
  // What follows is there only where time makes searches final, as `dueCount` tells.
  due: f64;
  /** Place in the heap of deadlines + 1, 0 none. */
  heap: u32;
}

/** Bytes of a partition whose searches no time makes final. */
export const UNTIMED_SIZE: u32 = <u32>offsetof<Partition>('due');
export const TIMED_SIZE: u32 = UNTIMED_SIZE + 16;

/** A row of a partition. */
// @ts-ignore: decorator
@unmanaged
class Ref {
  page: Page;
  row: u32;
  bits: u64;
}
const FIRST_REFS: u32 = 1;

// @ts-ignore: decorator
@unmanaged
export class Search {
  next: Search;
  start: u32;
  at: u32;
  best: Run;
  count: u32;
  /** Room at `partials` for partial matches; with 0 one stands there itself. Bit 31: a match was found. */
  room: u32;
  partials: usize;
  private gap: u32;
}

const SEARCH_SIZE: u32 = 32;

// @ts-ignore: decorator
@unmanaged
export class Partial {
  step: u32;
  rows: Run;
}

// @ts-ignore: decorator
@unmanaged
export class Run {
  previous: Run;
  users: u32;
  /** Number behind the last row. */
  end: u32;
  variable: u8;
  /** Its rows are left out of the result. */
  isExcluded: u8;
  /** Bytes of the run, with the states of aggregates (pattern/sums.ts). */
  size: u16;
}

/** Bytes of a run without such states. */
export const RUN_SIZE: u32 = 16;

/** A run with such states, which stand behind it. */
// @ts-ignore: decorator
@unmanaged
export class Sums extends Run {
  /** Number behind the last row that they have. */
  taken: u32;
  /** False until the states are made. */
  isKnown: u32;
}

export const SUMS_SIZE: u32 = RUN_SIZE + 8;

/** What is known of rows and is not said yet. */
export namespace Wait {
  /** No match begins with the row. A match that began before it may have it, while such searches go on. */
  export const ROW: u32 = 0;
  /** The measures of the match look at a row that has not come. */
  export const MATCH: u32 = 1;
  /** A match has the rows up to `need`; those before its first row are decided before. */
  export const COVER: u32 = 2;
}

// @ts-ignore: decorator
@unmanaged
export class Waiting {
  next: Waiting;
  /** First row of the match; the row without one. */
  start: u32;
  /** Number behind the last row that is waited for. */
  need: u32;
  kind: u32;
  best: Run;
  number: u64;
}

const WAITING_SIZE: u32 = 32;

// ---- rows --------------------------------------------------------------------------------------------------------

/** The row of a number that is held. */
// @ts-ignore: decorator
@inline export function refAt(partition: Partition, number: u32): Ref {
  return changetype<Ref>(partition.refs + ((<usize>(partition.from + number - partition.base)) << 4));
}

// @ts-ignore: decorator
@inline export function timeOf(partition: Partition, number: u32): f64 {
  const ref = refAt(partition, number);
  return timeAt(ref.page, ref.row);
}

/** Number behind the last row. */
// @ts-ignore: decorator
@inline export function endOf(partition: Partition): u32 {
  return partition.base + partition.count;
}

// @ts-ignore: decorator
@inline export function isHeld(partition: Partition, number: u32): bool {
  return number - partition.base < partition.count;
}

/** Adds a row; false when memory is exhausted. */
// @ts-ignore: decorator
@inline export function addRef(partition: Partition, page: Page, row: u32, bits: u64, acct: usize): bool {
  if (partition.from + partition.count == partition.room && !roomForRef(partition, acct)) return false;
  const ref = changetype<Ref>(partition.refs + ((<usize>(partition.from + partition.count)) << 4));
  ref.page = page;
  ref.row = row;
  ref.bits = bits;
  partition.count++;
  return true;
}

function roomForRef(partition: Partition, acct: usize): bool {
  const from = partition.from;
  const count = partition.count;
  const room = partition.room;
  const refs = partition.refs;
  if (from > 0 && from >= room >> 1) {
    // They are few, mostly: a call would take longer.
    const end = refs + ((<usize>count) << 4);
    for (let to = refs; to < end; to += 16) v128.store(to, v128.load(to + ((<usize>from) << 4)));
    partition.from = 0;
    return true;
  }
  const wanted = max(room << 1, FIRST_REFS);
  const made: usize = wanted > 1 << 26 ? 0 : alloc(wanted << 4, acct);
  if (!made) return false;
  memory.copy(made, refs + ((<usize>from) << 4), (<usize>count) << 4);
  free(refs, room << 4, acct);
  partition.refs = made;
  partition.room = wanted;
  partition.from = 0;
  return true;
}

/** Drops the rows before a number. */
export function dropBefore(rows: Rows, partition: Partition, number: u32, acct: usize): void {
  const gone = number - partition.base;
  if (<i32>gone <= 0) return;
  let page = changetype<Page>(0);
  let left: u32 = 0;
  for (let i: u32 = 0; i < gone; i++) {
    const ref = refAt(partition, partition.base + i);
    if (ref.page != page) {
      if (left) rowsLeave(rows, page, left);
      page = ref.page;
      left = 0;
    }
    left++;
  }
  if (left) rowsLeave(rows, page, left);
  partition.base = number;
  partition.count -= gone;
  partition.from = partition.count ? partition.from + gone : 0;
  if (partition.room > 16 && partition.count << 3 < partition.room) shrinkRefs(partition, acct);
}

function shrinkRefs(partition: Partition, acct: usize): void {
  const room = partition.room >> 2;
  const made = alloc(room << 4, acct);
  if (!made) return;
  memory.copy(made, partition.refs + ((<usize>partition.from) << 4), (<usize>partition.count) << 4);
  free(partition.refs, partition.room << 4, acct);
  partition.refs = made;
  partition.room = room;
  partition.from = 0;
}

// ---- runs --------------------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline export function keepRun(run: Run): void {
  if (run) run.users++;
}

export function leaveRun(run: Run, acct: usize): void {
  let at = run;
  while (at) {
    if (--at.users) return;
    const previous = at.previous;
    free(changetype<usize>(at), at.size, acct);
    at = previous;
  }
}

/** The rows of a partial match, which gives them up, with one more; 0 when memory is exhausted. */
// @ts-ignore: decorator
@inline export function runWith(
  rows: Run,
  variable: u32,
  isExcluded: u32,
  number: u32,
  size: u32,
  acct: usize,
): Run {
  if (rows && rows.users == 1 && rows.variable == variable && rows.isExcluded == isExcluded) {
    rows.end = number + 1;
    return rows;
  }
  return newRun(rows, variable, isExcluded, number + 1, size, acct);
}

/** A run of `size` bytes that nothing is known of yet but its rows; 0 when memory is exhausted. */
export function newRun(previous: Run, variable: u32, isExcluded: u32, end: u32, size: u32, acct: usize): Run {
  const run = changetype<Run>(alloc(size, acct));
  if (!run) return run;
  run.previous = previous;
  run.users = 1;
  run.end = end;
  run.variable = <u8>variable;
  run.isExcluded = <u8>isExcluded;
  run.size = <u16>size;
  if (size > RUN_SIZE) changetype<Sums>(run).isKnown = 0;
  return run;
}

// ---- searches ----------------------------------------------------------------------------------------------------

/** Flag in the room of a search. */
const HAS_BEST: u32 = 0x80000000;

// @ts-ignore: decorator
@inline export function hasBest(search: Search): bool {
  return search.room >= HAS_BEST;
}

/** The search has found a match, 0: an empty one, which is its own from then on. */
// @ts-ignore: decorator
@inline export function setBest(search: Search, rows: Run): void {
  search.best = rows;
  search.room |= HAS_BEST;
}

// @ts-ignore: decorator
@inline export function leaveBest(search: Search, acct: usize): void {
  leaveRun(search.best, acct);
}

/** Where the partial matches of a search stand. */
// @ts-ignore: decorator
@inline export function partialsOf(search: Search): usize {
  return search.room & ~HAS_BEST ? search.partials : changetype<usize>(search) + offsetof<Search>('partials');
}

/** Adds a search behind the others; 0 when memory is exhausted. */
export function addSearch(partition: Partition, start: u32, acct: usize): Search {
  const search = changetype<Search>(allocZeroed(SEARCH_SIZE, acct));
  if (!search) return search;
  search.start = start;
  search.at = start;
  const last = partition.last;
  if (last) last.next = search;
  else partition.search = search;
  partition.last = search;
  return search;
}

/** Takes a search away, which stands behind `before`, 0: it is the first. */
export function dropSearch(partition: Partition, before: Search, search: Search, acct: usize): void {
  if (before) before.next = search.next;
  else partition.search = search.next;
  if (partition.last == search) partition.last = before;
  clearPartials(partition, search, acct);
  leaveRun(search.best, acct);
  const room = search.room & ~HAS_BEST;
  if (room) free(search.partials, room << 3, acct);
  free(changetype<usize>(search), SEARCH_SIZE, acct);
}

/** Gives up the partial matches of a search. */
export function clearPartials(partition: Partition, search: Search, acct: usize): void {
  const n = search.count;
  const partials = partialsOf(search);
  for (let i: u32 = 0; i < n; i++) leaveRun(changetype<Partial>(partials + ((<usize>i) << 3)).rows, acct);
  partition.partials -= n;
  search.count = 0;
}

/** Gives a search the `n` partial matches at `from`; false when memory is exhausted. */
export function setPartials(partition: Partition, search: Search, from: usize, n: u32, acct: usize): bool {
  const before = search.room & ~HAS_BEST;
  if (n > max(before, 1)) {
    const room = n <= 2 ? n : n + (n >> 1);
    const made = alloc(room << 3, acct);
    if (!made) return false;
    if (before) free(search.partials, before << 3, acct);
    search.partials = made;
    search.room = room | (search.room & HAS_BEST);
  }
  memory.copy(partialsOf(search), from, (<usize>n) << 3);
  partition.partials += n - search.count;
  search.count = n;
  return true;
}

/** Adds one that waits, in the order of the first rows; 0 when memory is exhausted. */
export function addWaiting(partition: Partition, start: u32, kind: u32, need: u32, acct: usize): Waiting {
  const one = changetype<Waiting>(allocZeroed(WAITING_SIZE, acct));
  if (!one) return one;
  one.start = start;
  one.kind = kind;
  one.need = need;
  let before = changetype<Waiting>(0);
  for (let at = partition.waiting; at && <i32>(at.start - start) <= 0; at = at.next) before = at;
  if (before) {
    one.next = before.next;
    before.next = one;
  } else {
    one.next = partition.waiting;
    partition.waiting = one;
  }
  return one;
}

/** Takes one away, which stands behind `before`, 0: it is the first. */
export function dropWaiting(partition: Partition, before: Waiting, one: Waiting, acct: usize): void {
  if (before) before.next = one.next;
  else partition.waiting = one.next;
  leaveRun(one.best, acct);
  free(changetype<usize>(one), WAITING_SIZE, acct);
}

/** Frees what a partition has beside its entry. */
export function partitionFree(partition: Partition, acct: usize): void {
  while (partition.waiting) dropWaiting(partition, changetype<Waiting>(0), partition.waiting, acct);
  while (partition.search) dropSearch(partition, changetype<Search>(0), partition.search, acct);
  free(partition.refs, partition.room << 4, acct);
}
