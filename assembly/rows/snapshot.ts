// Rows as they were at one moment, written while the stores go on. A snapshot has the pages with these rows
// (rows/page.ts), each with the number of its rows at that moment. A page that leaves its store meanwhile stays until
// it is written. Operators save the numbers of the pages in place of the rows.
//
// Large sets of groups belong to a snapshot too (agg/save/walk.ts), each with a number of its own.
//
// Snapshots form a chain: each writes only rows that none before has written. A page has a number of its own in the
// chain. It knows how many of its rows are written, and in which segments of the snapshots. It is thus known which
// segments are still needed.
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
import {
  walkFree,
  walkLacks,
  walkRuns,
  walkSetNumbers,
  walkSets,
  walkWrite,
  walksBegin,
  walksLack,
  walksTaken,
} from '../agg/save/walk';
import { partNumbersBegin, nextPartNumber, newPartNumber } from '../state/part-numbers';
import { bytesSaved, saveEnd, savePause, saveResume, writeU32, writeU64 } from '../state/writer';
import { Rows, RowsFlag } from './layout';
import { Page, pagePin, pageUnpin } from './page';
import { runRows, runSave } from './run';
import { changes, rowsFirst } from './store';
import { Walk } from '../agg/group/changes';

/** A snapshot while it is written. */
// @ts-ignore: decorator
@unmanaged
class Snapshot {
  entries: usize;
  count: u32;
  capacity: u32;
  next: u32;
  row: u32;
  slices: u32;
  chain: u32;
  serial: u32;
  segment: u32;
  live: usize;
  least: u32;
  changes: u32;
  mostSmall: u32;
  lacking: u32;
  walks: Walk;
  sets: u32;
  runs: u32;
}

const SNAPSHOT_SIZE: u32 = 68;

const ENTRY_SIZE: u32 = 16;
/** A page of a snapshot, with its rows. */
// @ts-ignore: decorator
@unmanaged
class PinnedPage {
  page: Page;
  serial: u32;
  from: u16;
  to: u16;
  form: u32;
}

const FIRST_CAPACITY: u32 = 64;

/**
 * Stands for a count of rows: pages follow instead, each with its number and 1, the rows that have left and those that
 * came; then 0.
 */
export const BY_PAGES: u64 = 1 << 32;

/** The snapshot that is being taken; 0 when rows are written where they are saved. */
let current: Snapshot = changetype<Snapshot>(0);

/**
 * Begins a snapshot, the number `segment` of its chain; states saved until `snapshotTaken` leave their rows to it.
 * `serial`: number of the next new page of the chain. Stores with at most `small` values or bytes of text are saved at
 * once, and sets with `smallSets` in all. Returns 0 when memory is exhausted.
 */
export function snapshotNew(chain: u32, segment: u32, serial: u32, small: u32, smallSets: u32): Snapshot {
  const snapshot = changetype<Snapshot>(allocZeroed(SNAPSHOT_SIZE, WORKSPACE));
  if (!snapshot) return changetype<Snapshot>(0);
  const live = allocZeroed((segment + 1) << 2, WORKSPACE);
  if (!live) {
    free(changetype<usize>(snapshot), SNAPSHOT_SIZE, WORKSPACE);
    return changetype<Snapshot>(0);
  }
  snapshot.chain = chain;
  partNumbersBegin(serial);
  walksBegin(chain, segment, live, smallSets);
  snapshot.segment = segment;
  snapshot.live = live;
  snapshot.least = serial;
  snapshot.changes = changes;
  snapshot.mostSmall = small;
  current = snapshot;
  return snapshot;
}

/** Ends the time in which states leave their rows to the snapshot. */
export function snapshotTaken(): void {
  const snapshot = current;
  current = changetype<Snapshot>(0);
  if (!snapshot) return;
  const first = walksTaken();
  let runs: u32 = 0;
  for (let walk = first; walk; walk = walk.next) runs += walkRuns(walk);
  snapshot.walks = first;
  snapshot.sets = walkSets();
  snapshot.runs = runs;
  snapshot.serial = nextPartNumber();
  if (walksLack()) snapshot.lacking = 1;
}

/** Number of pages and runs of groups to be written; above 0 when memory was exhausted for some. */
export function snapshotCount(snapshot: Snapshot): u32 {
  return snapshot.count + snapshot.runs + snapshot.lacking;
}

/** Number of sets of groups in the snapshot. */
export function snapshotSets(snapshot: Snapshot): u32 {
  return snapshot.sets;
}

/** Address of the numbers of these sets, a u32 each, until another snapshot is taken. */
export function snapshotSetNumbers(): usize {
  return walkSetNumbers();
}

/** Number of the next page that is new to the chain. */
export function snapshotSerial(snapshot: Snapshot): u32 {
  return snapshot.serial;
}

/** Number of the oldest page in the snapshot; without pages, the number of the next new one. */
export function snapshotLeast(snapshot: Snapshot): u32 {
  return snapshot.least;
}

/** Address of the numbers of pages of the snapshot with rows in each segment, its own included, a u32 each. */
export function snapshotLive(snapshot: Snapshot): usize {
  return snapshot.live;
}

/** Frees the snapshot, with the pages and groups that only it has. */
export function snapshotFree(snapshot: Snapshot): void {
  if (current == snapshot) snapshotTaken();
  for (let walk = snapshot.walks; walk; ) walk = walkFree(walk);
  for (let i = snapshot.next; i < snapshot.count; i++) unpin(entryAt(snapshot, i));
  free(snapshot.entries, snapshot.capacity * ENTRY_SIZE, WORKSPACE);
  free(snapshot.live, (snapshot.segment + 1) << 2, WORKSPACE);
  free(changetype<usize>(snapshot), SNAPSHOT_SIZE, WORKSPACE);
}

// @ts-ignore: decorator
@inline function entryAt(snapshot: Snapshot, i: u32): PinnedPage {
  return changetype<PinnedPage>(snapshot.entries + <usize>(i * ENTRY_SIZE));
}

function unpin(entry: PinnedPage): void {
  const form = entry.form;
  pageUnpin(entry.page, form >> 1, (form & 1) != 0);
}

/**
 * Leaves the rows of a store to the snapshot that is being taken, and saves the numbers of their pages. False when no
 * snapshot is being taken or the store is small.
 */
export function snapshotRows(rows: Rows): bool {
  const snapshot = current;
  if (!snapshot || isSmall(rows, snapshot.mostSmall)) return false;
  const form = (rows.columns << 1) | <u32>((rows.flags & RowsFlag.TIMES) != 0);
  writeU64(BY_PAGES);
  for (let page = rowsFirst(rows); page; page = page.next) {
    const left = page.left;
    const to = page.to;
    if (left >= to) continue;
    if (!take(snapshot, page, form)) break;
    writeU32(page.serial + 1);
    writeU32(left);
    writeU32(to);
  }
  writeU32(0);
  return true;
}

/** True when the store has so few values that writing them now takes hardly any time. */
function isSmall(rows: Rows, most: u32): bool {
  if (<u64>rows.count * (<u64>rows.columns + 1) > most) return false;
  let bytes: u32 = 0;
  for (let page = rowsFirst(rows); page && bytes <= most; page = page.next) bytes += poolBytes(page.pool);
  return bytes <= most;
}

/**
 * Notes a page, and pins it if it has rows that are not written. False when memory is exhausted: the snapshot fails
 * then.
 */
function take(snapshot: Snapshot, page: Page, form: u32): bool {
  const segment = snapshot.segment;
  const to = page.to;
  if (page.chain != snapshot.chain) {
    page.chain = snapshot.chain;
    page.serial = newPartNumber();
    page.saved = 0;
    page.firstSegment = <u16>segment;
  }
  snapshot.least = min(page.serial, snapshot.least);
  const from = <u32>page.saved;
  if (from < to) {
    const count = snapshot.count;
    if (count == snapshot.capacity && !grow(snapshot)) {
      snapshot.lacking = 1;
      return false;
    }
    const entry = entryAt(snapshot, count);
    entry.page = page;
    entry.serial = page.serial;
    entry.from = <u16>from;
    entry.to = <u16>to;
    entry.form = form;
    snapshot.count = count + 1;
    page.saved = <u16>to;
    page.lastSegment = <u16>segment;
    pagePin(page);
  }
  const last = <u32>page.lastSegment;
  for (let s = <u32>page.firstSegment; s <= last; s++) {
    const at = snapshot.live + ((<usize>s) << 2);
    store<u32>(at, load<u32>(at) + 1);
  }
  return true;
}

/** Makes room for more entries; false when memory is exhausted. */
function grow(snapshot: Snapshot): bool {
  const count = snapshot.count;
  const capacity = snapshot.capacity;
  const wanted = max(capacity << 1, FIRST_CAPACITY);
  const made = alloc(wanted * ENTRY_SIZE, WORKSPACE);
  if (!made) return false;
  if (count) memory.copy(made, snapshot.entries, count * ENTRY_SIZE);
  free(snapshot.entries, capacity * ENTRY_SIZE, WORKSPACE);
  snapshot.entries = made;
  snapshot.capacity = wanted;
  return true;
}

/** Writes the next groups and rows, little more than `most` bytes of them. Returns how it went (Written). */
export function snapshotWrite(snapshot: Snapshot, most: u32): u32 {
  if (snapshot.changes != changes) return Written.CHANGED;
  let walk = snapshot.walks;
  if (snapshot.lacking || (!!walk && walkLacks(walk)) || !saveResume(snapshot.slices)) return Written.MEMORY;
  const until = bytesSaved + most;
  // Groups come first: until they are written, rows cost more work with them.
  while (walk && bytesSaved < until && !walkLacks(walk)) if (walkWrite(walk, most, until)) walk = walkFree(walk);
  snapshot.walks = walk;
  const count = snapshot.count;
  let next = snapshot.next;
  let row = snapshot.row;
  for (; next < count && bytesSaved < until && !walk; ) {
    const entry = entryAt(snapshot, next);
    const page = entry.page;
    const form = entry.form;
    const from = <u32>entry.from + row;
    const to = <u32>entry.to;
    const n = runRows(page, from, to);
    runSave(page, entry.serial, from, n, form >> 1, (form & 1) != 0);
    row += n;
    if (from + n < to) continue;
    unpin(entry);
    next++;
    row = 0;
  }
  snapshot.next = next;
  snapshot.row = row;
  if (next < count || walk) {
    snapshot.slices = savePause();
    return Written.MORE;
  }
  saveEnd();
  return Written.ALL;
}
