// Pages that were read and wait for their stores. Snapshots (rows/snapshot.ts) are read in pieces before their
// operators are there; the operators then take whole pages. Sets of groups wait beside the pages
// (agg/save/loaded-groups.ts).
//
//   loaded   pages u32 (-> page u32[count], 0 none) | count u32 | least u32 (serial of the first) |
//            slices u32 (read of the segment)
//            16  sets u32 (agg/save/loaded-groups.ts) | fresh u32
//            24  wanted u32 (-> numbers u32[room]) | wantedCount u32 | room u32
import { alloc, allocZeroed, free } from '../mem/alloc';
import { LoadFault, READ_MORE } from '../gen/state-layouts';
import { areSame, savedCount } from '../state/members';
import { loadOutcome, loadPause, loadResume, partEnds, partNext, partOwner, partSkip } from '../state/reader';
import {
  loadedChangesLoad,
  loadedGroupsDrop,
  loadedGroupsFree,
  loadedGroupsLoad,
  loadedGroupsNumber,
  loadedGroupsUse,
} from '../agg/save/loaded-groups';
import { CHANGES_PART, GROUPS_PART } from '../agg/save/walk';
import { Rows, RowsFlag } from './layout';
import { unownedPageFree, pageSuits, pageWithOwn, runLoad } from './run';
import { rowsCanTake, rowsTakePage } from './store';
import { Page } from './page';

/** Pages of one snapshot that were read. */
// @ts-ignore: decorator
@unmanaged
class LoadedSnapshot {
  pages: usize;
  count: u32;
  least: u32;
  slices: u32;
  sets: u32;
  fresh: u32;
  wanted: usize;
  wantedCount: u32;
  room: u32;
}

const LOADED_SNAPSHOT_SIZE: u32 = 36;
const MOST_PAGES: u32 = 1 << 24;

/** Account of the memory of loaded snapshots. */
const LOADED_SNAPSHOTS: usize = memory.data(8, 8);

/** The loaded snapshot that stores take pages from, 0 none. */
let current: LoadedSnapshot = changetype<LoadedSnapshot>(0);

/**
 * Makes a loaded snapshot for `count` pages, the first with the number `least`, and for sets of groups with numbers
 * from `fresh` on, and those that `loadedSnapshotWant` names. Returns 0 when memory is exhausted or pages are too many.
 */
export function loadedSnapshotNew(least: u32, count: u32, fresh: u32): LoadedSnapshot {
  if (count > MOST_PAGES) return changetype<LoadedSnapshot>(0);
  const loadedSnapshot = changetype<LoadedSnapshot>(allocZeroed(LOADED_SNAPSHOT_SIZE, LOADED_SNAPSHOTS));
  if (!loadedSnapshot) return changetype<LoadedSnapshot>(0);
  const pages = allocZeroed(max(count, 1) << 2, LOADED_SNAPSHOTS);
  if (!pages) {
    free(changetype<usize>(loadedSnapshot), LOADED_SNAPSHOT_SIZE, LOADED_SNAPSHOTS);
    return changetype<LoadedSnapshot>(0);
  }
  loadedSnapshot.pages = pages;
  loadedSnapshot.count = count;
  loadedSnapshot.least = least;
  loadedSnapshot.fresh = fresh;
  return loadedSnapshot;
}

/** Names a set of groups of the snapshot; false when memory is exhausted. */
export function loadedSnapshotWant(loadedSnapshot: LoadedSnapshot, number: u32): bool {
  const count = loadedSnapshot.wantedCount;
  const room = loadedSnapshot.room;
  if (count == room) {
    const more = max(room << 1, 16);
    const made = alloc(more << 2, LOADED_SNAPSHOTS);
    if (!made) return false;
    memory.copy(made, loadedSnapshot.wanted, count << 2);
    free(loadedSnapshot.wanted, room << 2, LOADED_SNAPSHOTS);
    loadedSnapshot.wanted = made;
    loadedSnapshot.room = more;
  }
  store<u32>(loadedSnapshot.wanted + ((<usize>count) << 2), number);
  loadedSnapshot.wantedCount = count + 1;
  return true;
}

/** True for a set of the snapshot; others are of snapshots before it. */
function isWanted(loadedSnapshot: LoadedSnapshot, number: u32): bool {
  if (number >= loadedSnapshot.fresh) return true;
  const end = loadedSnapshot.wanted + ((<usize>loadedSnapshot.wantedCount) << 2);
  for (let at = loadedSnapshot.wanted; at < end; at += 4) if (load<u32>(at) == number) return true;
  return false;
}

/** Frees the loaded snapshot with the pages and sets that were not taken. */
export function loadedSnapshotFree(loadedSnapshot: LoadedSnapshot): void {
  if (current == loadedSnapshot) loadedSnapshotUse(changetype<LoadedSnapshot>(0));
  loadedGroupsFree(changetype<usize>(loadedSnapshot) + offsetof<LoadedSnapshot>('sets'));
  const count = loadedSnapshot.count;
  for (let i: u32 = 0; i < count; i++) {
    const page = changetype<Page>(load<u32>(placeOf(loadedSnapshot, i)));
    if (page) unownedPageFree(page, LOADED_SNAPSHOTS);
  }
  free(loadedSnapshot.pages, max(count, 1) << 2, LOADED_SNAPSHOTS);
  free(loadedSnapshot.wanted, loadedSnapshot.room << 2, LOADED_SNAPSHOTS);
  free(changetype<usize>(loadedSnapshot), LOADED_SNAPSHOT_SIZE, LOADED_SNAPSHOTS);
}

/**
 * Makes a snapshot whose segments were read ready for those of a later one of its chain: pages below the number `least`
 * are freed, and the sets of the later one are to be named. False when memory is exhausted or pages are too many; then
 * nothing changes.
 */
export function loadedSnapshotMoveOn(loadedSnapshot: LoadedSnapshot, least: u32, count: u32, fresh: u32): bool {
  if (count > MOST_PAGES) return false;
  const pages = allocZeroed(max(count, 1) << 2, LOADED_SNAPSHOTS);
  if (!pages) return false;
  const before = loadedSnapshot.count;
  for (let i: u32 = 0; i < before; i++) {
    const page = load<u32>(placeOf(loadedSnapshot, i));
    if (!page) continue;
    // A number below `least` wraps around.
    const to = loadedSnapshot.least + i - least;
    if (to < count) store<u32>(pages + ((<usize>to) << 2), page);
    else unownedPageFree(changetype<Page>(page), LOADED_SNAPSHOTS);
  }
  free(loadedSnapshot.pages, max(before, 1) << 2, LOADED_SNAPSHOTS);
  loadedSnapshot.pages = pages;
  loadedSnapshot.count = count;
  loadedSnapshot.least = least;
  loadedSnapshot.fresh = fresh;
  loadedSnapshot.wantedCount = 0;
  return true;
}

/** Sets the loaded snapshot from which stores and sets take their content; 0 none. */
export function loadedSnapshotUse(loadedSnapshot: LoadedSnapshot): void {
  current = loadedSnapshot;
  loadedGroupsUse(loadedSnapshot ? changetype<usize>(loadedSnapshot) + offsetof<LoadedSnapshot>('sets') : 0);
}

// @ts-ignore: decorator
@inline function placeOf(loadedSnapshot: LoadedSnapshot, i: u32): usize {
  return loadedSnapshot.pages + ((<usize>i) << 2);
}

/**
 * Reads the next `runs` runs of a segment, which begins at the first slice behind the segment before. Returns
 * READ_MORE, NONE at the end of the segment, or the reason why it can't be read.
 */
export function loadedSnapshotFill(loadedSnapshot: LoadedSnapshot, runs: u32): u32 {
  if (!loadedSnapshot.slices) dropOthers(loadedSnapshot);
  if (!loadResume(loadedSnapshot.slices)) return LoadFault.MEMORY;
  for (; runs > 0 && partNext(); runs--) {
    if (partOwner() & GROUPS_PART) {
      const number = <u32>partOwner();
      if (!isWanted(loadedSnapshot, number)) {
        if (!partSkip()) break;
        continue;
      }
      const sets = changetype<usize>(loadedSnapshot) + offsetof<LoadedSnapshot>('sets');
      if (partOwner() & CHANGES_PART) loadedChangesLoad(sets, number);
      else loadedGroupsLoad(sets, number, LOADED_SNAPSHOTS);
      if (!partEnds()) break;
      continue;
    }
    const i = <u32>partOwner() - loadedSnapshot.least;
    // Pages that no store had any more are skipped.
    if (i >= loadedSnapshot.count) {
      if (!partSkip()) break;
      continue;
    }
    const page = runLoad(changetype<Page>(load<u32>(placeOf(loadedSnapshot, i))), LOADED_SNAPSHOTS);
    if (page) store<u32>(placeOf(loadedSnapshot, i), changetype<u32>(page));
    if (!page || !partEnds()) break;
  }
  const fault = loadOutcome();
  const slices = loadPause();
  const isMore = runs == 0 && !fault;
  loadedSnapshot.slices = isMore ? slices : 0;
  return isMore ? READ_MORE : fault;
}

/** Frees sets that the snapshot no longer has. */
function dropOthers(loadedSnapshot: LoadedSnapshot): void {
  // The pointer to the next set is the first member of each.
  let at = changetype<usize>(loadedSnapshot) + offsetof<LoadedSnapshot>('sets');
  while (load<u32>(at)) {
    if (isWanted(loadedSnapshot, loadedGroupsNumber(at))) at = <usize>load<u32>(at);
    else loadedGroupsDrop(at);
  }
}

/**
 * Puts the page of that number behind the others of a store; it has `to` rows, of which the first `left` are not held.
 * The columns of the store are the members `list` of its node. Returns a LoadFault.
 */
export function loadedSnapshotTake(rows: Rows, serial: u32, left: u32, to: u32, list: u32): u32 {
  const loadedSnapshot = current;
  if (!loadedSnapshot) return LoadFault.DAMAGED;
  const i = serial - loadedSnapshot.least;
  let page: Page =
    i < loadedSnapshot.count ? changetype<Page>(load<u32>(placeOf(loadedSnapshot, i))) : changetype<Page>(0);
  if (!page || left >= to || page.to != to) return LoadFault.DAMAGED;
  const columns = rows.columns;
  const hasTimes = (rows.flags & RowsFlag.TIMES) != 0;
  if (!pageSuits(page, savedCount(list, columns), hasTimes)) return LoadFault.DAMAGED;
  if (!areSame(list)) {
    page = pageWithOwn(page, columns, list, LOADED_SNAPSHOTS);
    if (!page) return LoadFault.MEMORY;
    store<u32>(placeOf(loadedSnapshot, i), changetype<u32>(page));
  }
  if (!rowsCanTake(rows, page)) return LoadFault.DAMAGED;
  if (!rowsTakePage(rows, page, left, LOADED_SNAPSHOTS)) return LoadFault.MEMORY;
  store<u32>(placeOf(loadedSnapshot, i), 0);
  return LoadFault.NONE;
}
