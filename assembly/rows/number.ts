// Numbers of rows that leave in the order in which they came. They count from the first page ever made and wrap around
// after 2^32, so only differences are meaningful. Pages begin at multiples of 16: one entry for each 16 rows finds the
// page.
//
//   numbers (16, in the store)   entries u32 | from u32 | to u32 | capacity u32     entries: pages u32[capacity]
import { alloc, free } from '../mem/alloc';
import { Rows, MIN_NUMBERED_PAGE } from './layout';
import { Page } from './page';

const NUMBERS_SIZE: u32 = 16;
/** Rows for one entry, as a logarithm to the base 2. */
const STEP_LOG: u32 = ctz(MIN_NUMBERED_PAGE);

/** Number of the first row that the store holds; rows behind it have the next numbers. The store must have a page. */
// @ts-ignore: decorator
@inline export function firstNumber(rows: Rows): u32 {
  const first = rows.first;
  return first.number + first.left;
}

/** The page of a held row; the place of the row there is `number` less the number of the page. */
// @ts-ignore: decorator
@inline export function pageOf(rows: Rows, number: u32): Page {
  const i = rows.numbersFrom + ((number - rows.first.number) >> STEP_LOG);
  return changetype<Page>(load<u32>(rows.numbers + ((<usize>i) << 2)));
}

// @ts-ignore: decorator
@inline function entriesOf(page: Page): u32 {
  return page.capacity >> STEP_LOG;
}

/** Adds a page behind the last one; false when memory is exhausted. */
export function numbersAdd(rows: Rows, page: Page, acct: usize): bool {
  const count = entriesOf(page);
  let to = rows.numbersTo;
  if (to + count > rows.numbersCapacity) {
    if (!makeRoom(rows, count, acct)) return false;
    to = rows.numbersTo;
  }
  const entries = rows.numbers + ((<usize>to) << 2);
  for (let i: u32 = 0; i < count; i++) store<u32>(entries + ((<usize>i) << 2), changetype<u32>(page));
  rows.numbersTo = to + count;
  return true;
}

/**
 * Moves the entries to the front of their room, or into a larger one when `more` entries would fill over half of it.
 */
function makeRoom(rows: Rows, more: u32, acct: usize): bool {
  const entries = rows.numbers;
  const capacity = rows.numbersCapacity;
  const from = rows.numbersFrom;
  const count = rows.numbersTo - from;
  let to = entries;
  if ((count + more) << 1 > capacity) {
    const wanted = max<u32>((count + more) << 1, 4);
    to = alloc(wanted << 2, acct);
    if (!to) return false;
    rows.numbers = to;
    rows.numbersCapacity = wanted;
  }
  memory.copy(to, entries + ((<usize>from) << 2), (<usize>count) << 2);
  if (to != entries) free(entries, capacity << 2, acct);
  rows.numbersFrom = 0;
  rows.numbersTo = count;
  return true;
}

export function numbersDropFirst(rows: Rows, page: Page): void {
  rows.numbersFrom += entriesOf(page);
}

export function numbersDropLast(rows: Rows, page: Page): void {
  rows.numbersTo -= entriesOf(page);
}

export function numbersFree(rows: Rows, acct: usize): void {
  free(rows.numbers, rows.numbersCapacity << 2, acct);
  memory.fill(changetype<usize>(rows) + offsetof<Rows>('numbers'), 0, NUMBERS_SIZE);
}
