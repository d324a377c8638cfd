// Rows by number, where they leave in the order in which they came. Numbers count from the first page that there ever
// was and come round after 2^32, so only differences count. Pages begin at multiples of 16: one entry for each 16 rows
// finds the page.
//
//   numbers (16, in the store)   entries u32 | from u32 | to u32 | capacity u32     entries: pages u32[capacity]
import { alloc, free } from '../mem/alloc';
import { MIN_NUMBERED_PAGE, ROWS_FIRST, ROWS_NUMBERS } from './layout';
import { PAGE_CAPACITY, PAGE_LEFT, PAGE_NUMBER } from './page';

const ENTRIES: usize = ROWS_NUMBERS;
const FROM: usize = ROWS_NUMBERS + 4;
const TO: usize = ROWS_NUMBERS + 8;
const CAPACITY: usize = ROWS_NUMBERS + 12;
const NUMBERS_SIZE: u32 = 16;
/** Rows for one entry, log2. */
const STEP_LOG: u32 = ctz(MIN_NUMBERED_PAGE);

/** Number of the first row that the store holds; rows behind it follow one by one. The store must have a page. */
// @ts-ignore: decorator
@inline export function firstNumber(rows: usize): u32 {
  const first = <usize>load<u32>(rows, ROWS_FIRST);
  return load<u32>(first, PAGE_NUMBER) + load<u32>(first, PAGE_LEFT);
}

/** The page of a row that is held; its place there is `number` less the number of the page. */
// @ts-ignore: decorator
@inline export function pageOf(rows: usize, number: u32): usize {
  const i = load<u32>(rows, FROM) + ((number - load<u32>(<usize>load<u32>(rows, ROWS_FIRST), PAGE_NUMBER)) >> STEP_LOG);
  return <usize>load<u32>(<usize>load<u32>(rows, ENTRIES) + ((<usize>i) << 2));
}

// @ts-ignore: decorator
@inline function entriesOf(page: usize): u32 {
  return load<u32>(page, PAGE_CAPACITY) >> STEP_LOG;
}

/** Adds a page behind the last one; false when memory is exhausted. */
export function numbersAdd(rows: usize, page: usize, acct: usize): bool {
  const count = entriesOf(page);
  let to = load<u32>(rows, TO);
  if (to + count > load<u32>(rows, CAPACITY)) {
    if (!makeRoom(rows, count, acct)) return false;
    to = load<u32>(rows, TO);
  }
  const entries = <usize>load<u32>(rows, ENTRIES) + ((<usize>to) << 2);
  for (let i: u32 = 0; i < count; i++) store<u32>(entries + ((<usize>i) << 2), <u32>page);
  store<u32>(rows, to + count, TO);
  return true;
}

/** Moves the entries to the front of their room, into more of it when `more` would fill over half. */
function makeRoom(rows: usize, more: u32, acct: usize): bool {
  const entries = <usize>load<u32>(rows, ENTRIES);
  const capacity = load<u32>(rows, CAPACITY);
  const from = load<u32>(rows, FROM);
  const count = load<u32>(rows, TO) - from;
  let to = entries;
  if ((count + more) << 1 > capacity) {
    const wanted = max<u32>((count + more) << 1, 4);
    to = alloc(wanted << 2, acct);
    if (!to) return false;
    store<u32>(rows, <u32>to, ENTRIES);
    store<u32>(rows, wanted, CAPACITY);
  }
  memory.copy(to, entries + ((<usize>from) << 2), (<usize>count) << 2);
  if (to != entries) free(entries, capacity << 2, acct);
  store<u32>(rows, 0, FROM);
  store<u32>(rows, count, TO);
  return true;
}

export function numbersDropFirst(rows: usize, page: usize): void {
  store<u32>(rows, load<u32>(rows, FROM) + entriesOf(page), FROM);
}

export function numbersDropLast(rows: usize, page: usize): void {
  store<u32>(rows, load<u32>(rows, TO) - entriesOf(page), TO);
}

export function numbersFree(rows: usize, acct: usize): void {
  free(<usize>load<u32>(rows, ENTRIES), load<u32>(rows, CAPACITY) << 2, acct);
  memory.fill(rows + ENTRIES, 0, NUMBERS_SIZE);
}
