// Rows as they were at one moment, written while the stores go on. A snapshot has the pages that hold them
// (rows/page.ts), each with how many of its rows were there; a page that leaves its store meanwhile stays until it is
// written. What operators save in place of the rows are the numbers of the pages.
//
// Large sets of groups belong to it as well (agg/save/walk.ts). They change with each row, and each snapshot writes all
// of them.
//
// Snapshots of a chain follow one another: each writes only rows that none before has written. A page has a number of
// its own in the chain, and knows how many of its rows are written, and in which of the segments that the snapshots
// have written; so it is known which of these are needed still.
//
//   snapshot   0   entries u32 | count u32 | capacity u32 | next u32 (entry to be written)
//              16  row u32 (of that entry) | slices u32 (written) | chain u32 | serial u32 (of the next new page)
//              32  segment u32 | live u32 (-> u32[segment + 1]: pages with rows in each) | least u32 (serial) | changes
//              u32
//              48  most u32 (values of a store that is not worth it) | lacking u32 (there was no memory for all pages)
//              56  walks u32 (of sets that are not written yet) | sets u32 | runs u32 (of groups)
//   entry      page u32 | serial u32 | from u16 | to u16 | form u32 (columns, has times)
import { alloc, allocZeroed, free, WORKSPACE } from '../mem/alloc';
import { poolBytes } from '../mem/pool';
import { Written } from '../gen/state-layouts';
import { WALK_NEXT } from '../agg/group/pinned';
import { walkFree, walkLacks, walkRuns, walkWrite, walksBegin, walksLack, walksTaken } from '../agg/save/walk';
import { apartBegin, apartNext, apartNumber } from '../state/apart';
import { bytesSaved, saveEnd, savePause, saveResume, writeU32, writeU64 } from '../state/writer';
import { ROWS_COLUMNS, ROWS_COUNT, ROWS_FLAGS, RowsFlag } from './layout';
import {
  PAGE_CHAIN,
  PAGE_FIRST_SEGMENT,
  PAGE_LAST_SEGMENT,
  PAGE_LEFT,
  PAGE_NEXT,
  PAGE_POOL,
  PAGE_SAVED,
  PAGE_SERIAL,
  PAGE_TO,
  pagePin,
  pageUnpin,
} from './page';
import { runRows, runSave } from './run';
import { changes, rowsFirst } from './store';

const COUNT: usize = 4;
const CAPACITY: usize = 8;
const NEXT: usize = 12;
const ROW: usize = 16;
const SLICES: usize = 20;
const CHAIN: usize = 24;
const SERIAL: usize = 28;
const SEGMENT: usize = 32;
const LIVE: usize = 36;
const LEAST: usize = 40;
const CHANGES: usize = 44;
const MOST_SMALL: usize = 48;
const LACKING: usize = 52;
const WALKS: usize = 56;
const SETS: usize = 60;
const RUNS: usize = 64;
const SNAPSHOT_SIZE: u32 = 68;

const ENTRY_SIZE: u32 = 16;
const ENTRY_SERIAL: usize = 4;
const ENTRY_FROM: usize = 8;
const ENTRY_TO: usize = 10;
const ENTRY_FORM: usize = 12;
const FIRST_CAPACITY: u32 = 64;

/**
 * In place of a count of rows: pages follow, each with its number and 1, the rows that have left and those that came;
 * then 0.
 */
export const BY_PAGES: u64 = 1 << 32;

/** The snapshot that is being taken, 0 none: rows are written where they are saved then. */
let current: usize = 0;

/**
 * Begins a snapshot, the number `segment` of its chain, that what is saved until `snapshotTaken` leaves its rows to;
 * `serial`: of the next page that is new to the chain. Stores of `small` values or bytes of text or fewer are saved at
 * once, and sets that have `smallSets` in all. 0 when memory is exhausted.
 */
export function snapshotNew(chain: u32, segment: u32, serial: u32, small: u32, smallSets: u32): usize {
  const snapshot = allocZeroed(SNAPSHOT_SIZE, WORKSPACE);
  if (!snapshot) return 0;
  const live = allocZeroed((segment + 1) << 2, WORKSPACE);
  if (!live) {
    free(snapshot, SNAPSHOT_SIZE, WORKSPACE);
    return 0;
  }
  store<u32>(snapshot, chain, CHAIN);
  apartBegin(serial);
  walksBegin(smallSets);
  store<u32>(snapshot, segment, SEGMENT);
  store<u32>(snapshot, <u32>live, LIVE);
  store<u32>(snapshot, serial, LEAST);
  store<u32>(snapshot, changes, CHANGES);
  store<u32>(snapshot, small, MOST_SMALL);
  current = snapshot;
  return snapshot;
}

/** Nothing more is left to the snapshot. */
export function snapshotTaken(): void {
  const snapshot = current;
  current = 0;
  if (!snapshot) return;
  const first = walksTaken();
  let sets: u32 = 0;
  let runs: u32 = 0;
  for (let walk = first; walk; walk = <usize>load<u32>(walk, WALK_NEXT)) {
    sets++;
    runs += walkRuns(walk);
  }
  const live = <usize>load<u32>(snapshot, LIVE) + ((<usize>load<u32>(snapshot, SEGMENT)) << 2);
  store<u32>(live, load<u32>(live) + runs);
  store<u32>(snapshot, <u32>first, WALKS);
  store<u32>(snapshot, sets, SETS);
  store<u32>(snapshot, runs, RUNS);
  store<u32>(snapshot, apartNext(), SERIAL);
  if (walksLack()) store<u32>(snapshot, 1, LACKING);
}

/** Pages and runs of groups that are to be written; above 0 where there was no memory for them. */
export function snapshotCount(snapshot: usize): u32 {
  return load<u32>(snapshot, COUNT) + load<u32>(snapshot, RUNS) + load<u32>(snapshot, LACKING);
}

/** Sets of groups that it has. */
export function snapshotSets(snapshot: usize): u32 {
  return load<u32>(snapshot, SETS);
}

/** Number of the next page that is new to the chain. */
export function snapshotSerial(snapshot: usize): u32 {
  return load<u32>(snapshot, SERIAL);
}

/** Number of the oldest page that is in the snapshot; that of the next new one when there is none. */
export function snapshotLeast(snapshot: usize): u32 {
  return load<u32>(snapshot, LEAST);
}

/**
 * Address of how many pages of the snapshot have rows in each segment, a u32 for each, that of the snapshot as well.
 */
export function snapshotLive(snapshot: usize): usize {
  return <usize>load<u32>(snapshot, LIVE);
}

/** Frees the snapshot and the pages and groups that nobody else has. */
export function snapshotFree(snapshot: usize): void {
  if (current == snapshot) snapshotTaken();
  for (let walk = <usize>load<u32>(snapshot, WALKS); walk; ) walk = walkFree(walk);
  for (let i = load<u32>(snapshot, NEXT); i < load<u32>(snapshot, COUNT); i++) unpin(entryAt(snapshot, i));
  free(<usize>load<u32>(snapshot), load<u32>(snapshot, CAPACITY) * ENTRY_SIZE, WORKSPACE);
  free(<usize>load<u32>(snapshot, LIVE), (load<u32>(snapshot, SEGMENT) + 1) << 2, WORKSPACE);
  free(snapshot, SNAPSHOT_SIZE, WORKSPACE);
}

// @ts-ignore: decorator
@inline function entryAt(snapshot: usize, i: u32): usize {
  return <usize>load<u32>(snapshot) + <usize>(i * ENTRY_SIZE);
}

function unpin(entry: usize): void {
  const form = load<u32>(entry, ENTRY_FORM);
  pageUnpin(<usize>load<u32>(entry), form >> 1, (form & 1) != 0);
}

/**
 * Leaves the rows of a store to the snapshot that is being taken and saves the numbers of their pages; false when there
 * is none.
 */
export function snapshotRows(rows: usize): bool {
  const snapshot = current;
  if (!snapshot || isSmall(rows, load<u32>(snapshot, MOST_SMALL))) return false;
  const form = (load<u32>(rows, ROWS_COLUMNS) << 1) | <u32>((load<u32>(rows, ROWS_FLAGS) & RowsFlag.TIMES) != 0);
  writeU64(BY_PAGES);
  for (let page = rowsFirst(rows); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    const left = load<u32>(page, PAGE_LEFT);
    const to = load<u32>(page, PAGE_TO);
    if (left >= to) continue;
    if (!take(snapshot, page, form)) break;
    writeU32(load<u32>(page, PAGE_SERIAL) + 1);
    writeU32(left);
    writeU32(to);
  }
  writeU32(0);
  return true;
}

/** True when the store has so few values that to write them now takes no time to speak of. */
function isSmall(rows: usize, most: u32): bool {
  if (<u64>load<u32>(rows, ROWS_COUNT) * (load<u32>(rows, ROWS_COLUMNS) + 1) > most) return false;
  let bytes: u32 = 0;
  for (let page = rowsFirst(rows); page && bytes <= most; page = <usize>load<u32>(page, PAGE_NEXT))
    bytes += poolBytes(page + PAGE_POOL);
  return bytes <= most;
}

/**
 * Notes a page and pins it if it has rows that are not written; false when memory is exhausted: the snapshot comes to
 * nothing then.
 */
function take(snapshot: usize, page: usize, form: u32): bool {
  const segment = load<u32>(snapshot, SEGMENT);
  const to = load<u32>(page, PAGE_TO);
  if (load<u32>(page, PAGE_CHAIN) != load<u32>(snapshot, CHAIN)) {
    store<u32>(page, load<u32>(snapshot, CHAIN), PAGE_CHAIN);
    store<u32>(page, apartNumber(), PAGE_SERIAL);
    store<u16>(page, 0, PAGE_SAVED);
    store<u16>(page, <u16>segment, PAGE_FIRST_SEGMENT);
  }
  store<u32>(snapshot, min(load<u32>(page, PAGE_SERIAL), load<u32>(snapshot, LEAST)), LEAST);
  const from = <u32>load<u16>(page, PAGE_SAVED);
  if (from < to) {
    const count = load<u32>(snapshot, COUNT);
    if (count == load<u32>(snapshot, CAPACITY) && !grow(snapshot)) {
      store<u32>(snapshot, 1, LACKING);
      return false;
    }
    const entry = entryAt(snapshot, count);
    store<u32>(entry, <u32>page);
    store<u32>(entry, load<u32>(page, PAGE_SERIAL), ENTRY_SERIAL);
    store<u16>(entry, <u16>from, ENTRY_FROM);
    store<u16>(entry, <u16>to, ENTRY_TO);
    store<u32>(entry, form, ENTRY_FORM);
    store<u32>(snapshot, count + 1, COUNT);
    store<u16>(page, <u16>to, PAGE_SAVED);
    store<u16>(page, <u16>segment, PAGE_LAST_SEGMENT);
    pagePin(page);
  }
  const last = <u32>load<u16>(page, PAGE_LAST_SEGMENT);
  for (let s = <u32>load<u16>(page, PAGE_FIRST_SEGMENT); s <= last; s++) {
    const at = <usize>load<u32>(snapshot, LIVE) + ((<usize>s) << 2);
    store<u32>(at, load<u32>(at) + 1);
  }
  return true;
}

/** Room for more entries; false when memory is exhausted. */
function grow(snapshot: usize): bool {
  const count = load<u32>(snapshot, COUNT);
  const capacity = load<u32>(snapshot, CAPACITY);
  const wanted = max(capacity << 1, FIRST_CAPACITY);
  const made = alloc(wanted * ENTRY_SIZE, WORKSPACE);
  if (!made) return false;
  if (count) memory.copy(made, <usize>load<u32>(snapshot), count * ENTRY_SIZE);
  free(<usize>load<u32>(snapshot), capacity * ENTRY_SIZE, WORKSPACE);
  store<u32>(snapshot, <u32>made);
  store<u32>(snapshot, wanted, CAPACITY);
  return true;
}

/** Writes the next groups and rows, some more than `most` bytes of them at most; returns what came of it (Written). */
export function snapshotWrite(snapshot: usize, most: u32): u32 {
  if (load<u32>(snapshot, CHANGES) != changes) return Written.CHANGED;
  let walk = <usize>load<u32>(snapshot, WALKS);
  if (load<u32>(snapshot, LACKING) || (walk && walkLacks(walk)) || !saveResume(load<u32>(snapshot, SLICES)))
    return Written.MEMORY;
  const until = bytesSaved + most;
  // Groups first: as long as they are not written, rows have more work with them.
  while (walk && bytesSaved < until && !walkLacks(walk)) if (walkWrite(walk, most, until)) walk = walkFree(walk);
  store<u32>(snapshot, <u32>walk, WALKS);
  const count = load<u32>(snapshot, COUNT);
  let next = load<u32>(snapshot, NEXT);
  let row = load<u32>(snapshot, ROW);
  for (; next < count && bytesSaved < until && !walk; ) {
    const entry = entryAt(snapshot, next);
    const page = <usize>load<u32>(entry);
    const form = load<u32>(entry, ENTRY_FORM);
    const from = <u32>load<u16>(entry, ENTRY_FROM) + row;
    const to = <u32>load<u16>(entry, ENTRY_TO);
    const n = runRows(page, from, to);
    runSave(page, load<u32>(entry, ENTRY_SERIAL), from, n, form >> 1, (form & 1) != 0);
    row += n;
    if (from + n < to) continue;
    unpin(entry);
    next++;
    row = 0;
  }
  store<u32>(snapshot, next, NEXT);
  store<u32>(snapshot, row, ROW);
  if (next < count || walk) {
    store<u32>(snapshot, savePause(), SLICES);
    return Written.MORE;
  }
  saveEnd();
  return Written.ALL;
}
