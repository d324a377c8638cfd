// The rows that a store holds at one moment. They stay unchanged as long as the view does, whatever leaves the store or
// comes to it.
//
//   view (16)   pages u32 -> {page u32, from u16, to u16}[count] | count u32 | form u32 (columns, has times) | acct u32
import { alloc, free } from '../mem/alloc';
import { Rows, RowsFlag } from './layout';
import { Page, pageHold, pageRelease } from './page';
import { rowsFirst } from './store';

export const VIEW_SIZE: u32 = 16;
/** Rows that a store held at one moment. */
// @ts-ignore: decorator
@unmanaged
export class View {
  parts: usize;
  count: u32;
  form: u32;
  account: usize;
}

const PART: u32 = 8;
/** Rows of a page that a view holds. */
// @ts-ignore: decorator
@unmanaged
class Part {
  page: Page;
  from: u16;
  to: u16;
}

/** Makes a view of all rows of the store in the VIEW_SIZE bytes at `view`; false when memory is exhausted. */
export function viewRows(view: View, rows: Rows): bool {
  memory.fill(changetype<usize>(view), 0, VIEW_SIZE);
  let count: u32 = 0;
  for (let page = rowsFirst(rows); page; page = page.next) count++;
  if (!count) return true;
  const acct = rows.account;
  let part = alloc(count * PART, acct);
  if (!part) return false;
  view.parts = part;
  view.count = count;
  view.form = (rows.columns << 1) | <u32>((rows.flags & RowsFlag.TIMES) != 0);
  view.account = acct;
  for (let page = rowsFirst(rows); page; changetype<usize>((page = page.next)), part += PART) {
    store<u32>(part, changetype<u32>(page));
    store<u16>(part, <u16>page.left, offsetof<Part>('from'));
    store<u16>(part, <u16>page.to, offsetof<Part>('to'));
    pageHold(page);
  }
  return true;
}

/** Frees the view and releases its pages. */
export function viewFree(view: View): void {
  const parts = view.parts;
  if (!parts) return;
  const count = view.count;
  const form = view.form;
  for (let i: u32 = 0; i < count; i++) pageRelease(partAt(view, i).page, form >> 1, (form & 1) != 0);
  free(parts, count * PART, view.account);
  memory.fill(changetype<usize>(view), 0, VIEW_SIZE);
}

// @ts-ignore: decorator
@inline function partAt(view: View, i: u32): Part {
  return changetype<Part>(view.parts + <usize>(i * PART));
}

/** Number of pages that had rows of the view when it was made. */
// @ts-ignore: decorator
@inline export function viewPages(view: View): u32 {
  return view.count;
}

// @ts-ignore: decorator
@inline export function viewPage(view: View, i: u32): Page {
  return partAt(view, i).page;
}

/** The first row of page `i` that is in the view. */
// @ts-ignore: decorator
@inline export function viewFrom(view: View, i: u32): u32 {
  return <u32>partAt(view, i).from;
}

/** The row behind the last row of page `i` in the view. */
// @ts-ignore: decorator
@inline export function viewTo(view: View, i: u32): u32 {
  return <u32>partAt(view, i).to;
}
