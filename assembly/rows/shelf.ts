// Pages that were read and wait for the stores that they are of: what snapshots have written (rows/snapshot.ts) is read
// piece by piece before its operators are there, and these then take whole pages. Sets of groups wait beside them
// (agg/save/loose.ts).
//
//   shelf   pages u32 (-> page u32[count], 0 none) | count u32 | least u32 (serial of the first) | slices u32 (read of
//   the segment)
//           16  sets u32 (agg/save/loose.ts) | fresh u32
import { allocZeroed, free } from '../mem/alloc';
import { LoadFault, READ_MORE } from '../gen/state-layouts';
import { areSame, savedCount } from '../state/members';
import { loadOutcome, loadPause, loadResume, partEnds, partNext, partOwner, partSkip } from '../state/reader';
import { looseFree, looseLoad, looseUse } from '../agg/save/loose';
import { GROUPS_PART } from '../agg/save/walk';
import { Rows, RowsFlag } from './layout';
import { loosePageFree, pageSuits, pageWithOwn, runLoad } from './run';
import { rowsCanTake, rowsTakePage } from './store';
import { Page } from './page';

/** Pages of one snapshot that were read. */
// @ts-ignore: decorator
@unmanaged
class Shelf {
  pages: usize;
  count: u32;
  least: u32;
  slices: u32;
  sets: u32;
  fresh: u32;
}

const SHELF_SIZE: u32 = 24;
const MOST_PAGES: u32 = 1 << 24;

/** Who is charged for what is on shelves. */
const SHELVES: usize = memory.data(8, 8);

/** The shelf that stores take pages from, 0 none. */
let current: Shelf = changetype<Shelf>(0);

/**
 * Makes a shelf for `count` pages, of which the first has the number `least`, and for sets of groups with numbers from
 * `fresh` on: others are those of earlier snapshots. 0 when memory is exhausted or pages are too many.
 */
export function shelfNew(least: u32, count: u32, fresh: u32): Shelf {
  if (count > MOST_PAGES) return changetype<Shelf>(0);
  const shelf = changetype<Shelf>(allocZeroed(SHELF_SIZE, SHELVES));
  if (!shelf) return changetype<Shelf>(0);
  const pages = allocZeroed(max(count, 1) << 2, SHELVES);
  if (!pages) {
    free(changetype<usize>(shelf), SHELF_SIZE, SHELVES);
    return changetype<Shelf>(0);
  }
  shelf.pages = pages;
  shelf.count = count;
  shelf.least = least;
  shelf.fresh = fresh;
  return shelf;
}

/** Frees the shelf with the pages and sets that nobody took. */
export function shelfFree(shelf: Shelf): void {
  if (current == shelf) shelfUse(changetype<Shelf>(0));
  looseFree(changetype<usize>(shelf) + offsetof<Shelf>('sets'));
  const count = shelf.count;
  for (let i: u32 = 0; i < count; i++) {
    const page = changetype<Page>(load<u32>(placeOf(shelf, i)));
    if (page) loosePageFree(page, SHELVES);
  }
  free(shelf.pages, max(count, 1) << 2, SHELVES);
  free(changetype<usize>(shelf), SHELF_SIZE, SHELVES);
}

/** What is loaded takes pages and sets from the shelf until it is another one; 0 none. */
export function shelfUse(shelf: Shelf): void {
  current = shelf;
  looseUse(shelf ? changetype<usize>(shelf) + offsetof<Shelf>('sets') : 0);
}

// @ts-ignore: decorator
@inline function placeOf(shelf: Shelf, i: u32): usize {
  return shelf.pages + ((<usize>i) << 2);
}

/**
 * Reads the next `runs` runs of a segment, which begins at the first slice after the one before has ended. Returns
 * READ_MORE, NONE at the end of the segment, or why it can't be read.
 */
export function shelfFill(shelf: Shelf, runs: u32): u32 {
  if (!loadResume(shelf.slices)) return LoadFault.MEMORY;
  for (; runs > 0 && partNext(); runs--) {
    if (partOwner() & GROUPS_PART) {
      if (<u32>partOwner() >= shelf.fresh) {
        looseLoad(changetype<usize>(shelf) + offsetof<Shelf>('sets'), <u32>partOwner(), SHELVES);
        if (!partEnds()) break;
      } else if (!partSkip()) break;
      continue;
    }
    const i = <u32>partOwner() - shelf.least;
    // Pages that no store had any more.
    if (i >= shelf.count) {
      if (!partSkip()) break;
      continue;
    }
    const page = runLoad(changetype<Page>(load<u32>(placeOf(shelf, i))), SHELVES);
    if (page) store<u32>(placeOf(shelf, i), changetype<u32>(page));
    if (!page || !partEnds()) break;
  }
  const fault = loadOutcome();
  const slices = loadPause();
  const isMore = runs == 0 && !fault;
  shelf.slices = isMore ? slices : 0;
  return isMore ? READ_MORE : fault;
}

/**
 * Puts the page of that number, with `to` rows of which the first `left` are not held, behind the others of a store,
 * whose columns are the members `list` of its node; a LoadFault.
 */
export function shelfTake(rows: Rows, serial: u32, left: u32, to: u32, list: u32): u32 {
  const shelf = current;
  if (!shelf) return LoadFault.DAMAGED;
  const i = serial - shelf.least;
  let page: Page = i < shelf.count ? changetype<Page>(load<u32>(placeOf(shelf, i))) : changetype<Page>(0);
  if (!page || left >= to || page.to != to) return LoadFault.DAMAGED;
  const columns = rows.columns;
  const hasTimes = (rows.flags & RowsFlag.TIMES) != 0;
  if (!pageSuits(page, savedCount(list, columns), hasTimes)) return LoadFault.DAMAGED;
  if (!areSame(list)) {
    page = pageWithOwn(page, columns, list, SHELVES);
    if (!page) return LoadFault.MEMORY;
    store<u32>(placeOf(shelf, i), changetype<u32>(page));
  }
  if (!rowsCanTake(rows, page)) return LoadFault.DAMAGED;
  if (!rowsTakePage(rows, page, left, SHELVES)) return LoadFault.MEMORY;
  store<u32>(placeOf(shelf, i), 0);
  return LoadFault.NONE;
}
