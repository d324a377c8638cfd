// Rows that a store holds at one moment, as they were then: they stay as long as the view does, whatever leaves the
// store or comes to it.
//
//   view (16)   pages u32 -> {page u32, from u16, to u16}[count] | count u32 | form u32 (columns, has times) | acct u32
import { alloc, free } from '../mem/alloc';
import { ROWS_ACCT, ROWS_COLUMNS, ROWS_FLAGS, RowsFlag } from './layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_TO, pageHold, pageRelease } from './page';
import { rowsFirst } from './store';

export const VIEW_SIZE: u32 = 16;
const COUNT: usize = 4;
const FORM: usize = 8;
const ACCT: usize = 12;
const PART: u32 = 8;
const PART_FROM: usize = 4;
const PART_TO: usize = 6;

/** Makes a view of all rows of the store in the VIEW_SIZE bytes at `view`; false when memory is exhausted. */
export function viewRows(view: usize, rows: usize): bool {
  memory.fill(view, 0, VIEW_SIZE);
  let count: u32 = 0;
  for (let page = rowsFirst(rows); page; page = <usize>load<u32>(page, PAGE_NEXT)) count++;
  if (!count) return true;
  const acct = <usize>load<u32>(rows, ROWS_ACCT);
  let part = alloc(count * PART, acct);
  if (!part) return false;
  store<u32>(view, <u32>part);
  store<u32>(view, count, COUNT);
  store<u32>(
    view,
    (load<u32>(rows, ROWS_COLUMNS) << 1) | <u32>((load<u32>(rows, ROWS_FLAGS) & RowsFlag.TIMES) != 0),
    FORM,
  );
  store<u32>(view, <u32>acct, ACCT);
  for (let page = rowsFirst(rows); page; page = <usize>load<u32>(page, PAGE_NEXT), part += PART) {
    store<u32>(part, <u32>page);
    store<u16>(part, <u16>load<u32>(page, PAGE_LEFT), PART_FROM);
    store<u16>(part, <u16>load<u32>(page, PAGE_TO), PART_TO);
    pageHold(page);
  }
  return true;
}

/** Lets the rows go. */
export function viewFree(view: usize): void {
  const parts = <usize>load<u32>(view);
  if (!parts) return;
  const count = load<u32>(view, COUNT);
  const form = load<u32>(view, FORM);
  for (let i: u32 = 0; i < count; i++) pageRelease(<usize>load<u32>(partAt(view, i)), form >> 1, (form & 1) != 0);
  free(parts, count * PART, <usize>load<u32>(view, ACCT));
  memory.fill(view, 0, VIEW_SIZE);
}

// @ts-ignore: decorator
@inline function partAt(view: usize, i: u32): usize {
  return <usize>load<u32>(view) + <usize>(i * PART);
}

/** How many pages have rows of the view, or did when it was made. */
// @ts-ignore: decorator
@inline export function viewPages(view: usize): u32 {
  return load<u32>(view, COUNT);
}

// @ts-ignore: decorator
@inline export function viewPage(view: usize, i: u32): usize {
  return <usize>load<u32>(partAt(view, i));
}

/** The first row of page `i` that is in the view. */
// @ts-ignore: decorator
@inline export function viewFrom(view: usize, i: u32): u32 {
  return <u32>load<u16>(partAt(view, i), PART_FROM);
}

/** The row behind the last one of page `i` that is in the view. */
// @ts-ignore: decorator
@inline export function viewTo(view: usize, i: u32): u32 {
  return <u32>load<u16>(partAt(view, i), PART_TO);
}
