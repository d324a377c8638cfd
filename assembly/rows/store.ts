// Rows that wait: a list of pages (rows/page.ts), filled one after the other, each freed when the last of its rows has
// left. Windows, event time, joins with their tables and sort keep their rows here.
//
// A row is named by its page and its place there, for as long as it is held. Where rows leave in the order in which
// they came, it has a number as well. Pages grow with what the store holds, from 8 to 1024 rows, so that small stores
// stay small.
import { alloc, refusals } from '../mem/alloc';
import { Bind, BIND_SIZE, bindIsConst, bindUniform } from '../mem/bind';
import { BATCH_ROWS, Tag } from '../mem/layout';
import { poolBytes, poolChunk, poolFilled, poolFree, poolInit, poolReset, poolReturn, poolUsed } from '../mem/pool';
import { Rows, MIN_NUMBERED_PAGE, MIN_PAGE, ROWS_SIZE, RowsFlag } from './layout';
import { numbersAdd, numbersDropFirst, numbersDropLast, numbersFree } from './number';
import {
  Page,
  PAGE_TIMES,
  copyOne,
  copyPlain,
  copyReferring,
  isBlock,
  isPlain,
  pageFree,
  pageIsShared,
  pageLay,
  pageMove,
  pageSize,
  pageUniforms,
  referringAdd,
  referringBegin,
  referringCopy,
  refersToAny,
  timeAt,
} from './page';

/** Bytes up to which an empty store keeps its page, and the text of the page, for the next rows. */
const KEPT_BYTES: u32 = 4096;

/** Prepares a store in the ROWS_SIZE bytes at `rows`. */
export function rowsInit(rows: Rows, columns: u32, flags: u32, acct: usize): void {
  memory.fill(changetype<usize>(rows), 0, ROWS_SIZE);
  rows.account = acct;
  rows.columns = columns;
  rows.flags = flags;
}

// @ts-ignore: decorator
@inline export function rowsFirst(rows: Rows): Page {
  return rows.first;
}

/** The page that is being filled. */
// @ts-ignore: decorator
@inline export function rowsLast(rows: Rows): Page {
  return rows.last;
}

// @ts-ignore: decorator
@inline function hasTimes(rows: Rows): bool {
  return (rows.flags & RowsFlag.TIMES) != 0;
}

// @ts-ignore: decorator
@inline function isNumbered(rows: Rows): bool {
  return (rows.flags & RowsFlag.NUMBERED) != 0;
}

// @ts-ignore: decorator
@inline function refers(rows: Rows): bool {
  return (rows.flags & RowsFlag.REFERS) != 0;
}

/**
 * Rows of the next page: a quarter of the rows held then, so that little memory of left rows waits for the whole page
 * to be freed.
 */
function nextCapacity(rows: Rows, n: u32): u32 {
  if (rows.flags & RowsFlag.AT_ONCE) return (<u32>1) << (32 - clz(max(atOnce(rows, n), MIN_NUMBERED_PAGE) - 1));
  const quarter = (rows.count + n) >> 2;
  const least = isNumbered(rows) ? MIN_NUMBERED_PAGE : MIN_PAGE;
  return (<u32>1) << (31 - clz(min(max(quarter, least), BATCH_ROWS)));
}

/** Rows of a page to which `n` rows come at once; the first page has room for as many as the last time. */
// @ts-ignore: decorator
@inline function atOnce(rows: Rows, n: u32): u32 {
  return min(rows.count ? n : max(n, rows.most), BATCH_ROWS);
}

/** Adds a page; 0 when memory is exhausted. */
function addPage(rows: Rows, capacity: u32): Page {
  const acct = rows.account;
  const columns = rows.columns;
  const page = changetype<Page>(alloc(pageSize(columns, hasTimes(rows), capacity), acct));
  if (!page) return changetype<Page>(0);
  pageLay(page, columns, hasTimes(rows), capacity);
  const last = rows.last;
  poolInit(page.pool, firstChunk(last, capacity), acct);
  if (linkPage(rows, page)) return page;
  pageFree(page, columns, hasTimes(rows), acct);
  return changetype<Page>(0);
}

/** Puts a page behind the last one; false when memory is exhausted. */
function linkPage(rows: Rows, page: Page): bool {
  const last = rows.last;
  if (last) page.number = last.number + last.capacity;
  if (isNumbered(rows) && !numbersAdd(rows, page, rows.account)) return false;
  page.previous = last;
  page.next = changetype<Page>(0);
  if (last) last.next = page;
  else rows.first = page;
  rows.last = page;
  return true;
}

/**
 * True when a page that was filled elsewhere may come behind the others. The last page must be full; where rows have
 * numbers, the page must not be smaller than such pages are.
 */
export function rowsCanTake(rows: Rows, page: Page): bool {
  const last = rows.last;
  if (last && last.to != last.capacity) return false;
  return !isNumbered(rows) || page.capacity >= MIN_NUMBERED_PAGE;
}

/**
 * Adds a page that was filled elsewhere, charged to `acct`, behind the last one, which is full. Its first `left` rows
 * are not held. False when memory is exhausted: the page stays the caller's.
 */
export function rowsTakePage(rows: Rows, page: Page, left: u32, acct: usize): bool {
  if (!linkPage(rows, page)) return false;
  pageMove(page, rows.columns, hasTimes(rows), acct, rows.account);
  page.left = left;
  rows.count = rows.count + page.to - left;
  return true;
}

/** Bytes of the first chunk of text of a page: a little more for each row than the page before has needed. */
function firstChunk(before: Page, capacity: u32): u32 {
  const used: u64 = before ? poolUsed(before.pool) : 0;
  if (used == 0) return max(capacity << 4, 128);
  const needed = (used * capacity) / before.capacity;
  return <u32>min<u64>(needed + (needed >> 3) + 64, 65536);
}

/**
 * Keeps the rows `sel[0 … n)` of the columns at `binds` (mem/bind.ts), constants left out, with the times at `times` +
 * 8 * row (0: the store has none). False when memory is exhausted: the store is unchanged then.
 */
export function rowsAppend(rows: Rows, binds: usize, count: u32, sel: usize, n: u32, times: usize): bool {
  if (rows.flags & RowsFlag.AT_ONCE) dropSmall(rows, n);
  const last = rows.last;
  const to = last ? last.to : 0;
  const chunk = last ? poolChunk(last.pool) : 0;
  const filled = last ? poolFilled(last.pool) : 0;
  const before = refusals;
  let page = last;
  let done: u32 = 0;
  while (done < n) {
    if (!page || page.to == page.capacity) {
      page = addPage(rows, nextCapacity(rows, n));
      if (!page) break;
    }
    const part = min(n - done, page.capacity - page.to);
    if (n == 1 && !refers(rows)) fillRow(rows, page, binds, count, load<u32>(sel), times);
    else fill(rows, page, binds, count, sel + ((<usize>done) << 2), part, times);
    done += part;
  }
  if (refusals == before) {
    rows.count += n;
    return true;
  }
  while (rows.last != last) removePage(rows, rows.last, false);
  if (last) {
    last.to = to;
    poolReturn(last.pool, chunk, filled);
  }
  return false;
}

/** Frees an empty page that has no room for `n` rows, so that rows that come at once stand in one page. */
function dropSmall(rows: Rows, n: u32): void {
  const page = rows.last;
  if (page && !rows.count && page.capacity < atOnce(rows, n)) removePage(rows, page, true);
}

/**
 * Makes room for one row behind the last, the first of `more`, and returns its page, in which it is the last row. The
 * caller stores its values. Returns 0 when memory is exhausted.
 */
export function rowsAdd(rows: Rows, more: u32): Page {
  let page = rows.last;
  if (!page || page.to == page.capacity) page = addPage(rows, nextCapacity(rows, more));
  if (!page) return changetype<Page>(0);
  page.to++;
  rows.count++;
  return page;
}

/** Fills rows of a page that has room for them. */
function fill(rows: Rows, page: Page, binds: usize, count: u32, sel: usize, n: u32, times: usize): void {
  const capacity = page.capacity;
  const to = page.to;
  let vals = page.vals + ((<usize>to) << 3);
  let tags = page.tags + to;
  let uniforms = pageUniforms(page, rows.columns);
  const asBlock = isBlock(sel, n);
  const isReferring = refers(rows);
  const end = binds + <usize>(count * BIND_SIZE);
  referringBegin();
  for (let bind = binds; bind < end; bind += BIND_SIZE) {
    if (bindIsConst(changetype<Bind>(bind))) continue;
    let uniform = bindUniform(changetype<Bind>(bind));
    if (isPlain(changetype<Bind>(bind)) || (isReferring && uniform != Tag.MIXED))
      copyPlain(changetype<Bind>(bind), sel, n, asBlock, vals, tags);
    else {
      let isDone = false;
      if (uniform == Tag.MIXED) {
        uniform = copyReferring(changetype<Bind>(bind), sel, n, asBlock, vals, tags);
        isDone = isReferring || !refersToAny;
      }
      if (!isDone && !referringAdd(changetype<Bind>(bind), vals, tags)) {
        referringCopy(page.pool, sel, n);
        referringBegin();
        referringAdd(changetype<Bind>(bind), vals, tags);
      }
    }
    if (to == 0) store<u8>(uniforms, uniform);
    else if (load<u8>(uniforms) != uniform) store<u8>(uniforms, Tag.MIXED);
    vals += (<usize>capacity) << 3;
    tags += capacity;
    uniforms++;
  }
  referringCopy(page.pool, sel, n);
  if (times) {
    const at = changetype<usize>(page) + PAGE_TIMES + ((<usize>to) << 3);
    if (asBlock) memory.copy(at, times + ((<usize>load<u32>(sel)) << 3), (<usize>n) << 3);
    else {
      for (let i: u32 = 0; i < n; i++) {
        store<f64>(at + ((<usize>i) << 3), load<f64>(times + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3)));
      }
    }
  }
  page.to = to + n;
}

/** As `fill` for one row, without the preparations that pay only for many. */
function fillRow(rows: Rows, page: Page, binds: usize, count: u32, row: usize, times: usize): void {
  const capacity = page.capacity;
  const to = page.to;
  let val = page.vals + ((<usize>to) << 3);
  let tag = page.tags + to;
  let uniforms = pageUniforms(page, rows.columns);
  const end = binds + <usize>(count * BIND_SIZE);
  for (let bind = binds; bind < end; bind += BIND_SIZE) {
    if (bindIsConst(changetype<Bind>(bind))) continue;
    const uniform = copyOne(page.pool, changetype<Bind>(bind), row, val, tag);
    if (to == 0) store<u8>(uniforms, uniform);
    else if (load<u8>(uniforms) != uniform) store<u8>(uniforms, Tag.MIXED);
    val += (<usize>capacity) << 3;
    tag += capacity;
    uniforms++;
  }
  if (times) store<f64>(changetype<usize>(page) + ((<usize>to) << 3), load<f64>(times + (row << 3)), PAGE_TIMES);
  page.to = to + 1;
}

/**
 * Notes that `n` more rows of the page are no longer held; an empty page is freed, unless it is small and being filled.
 */
// @ts-ignore: decorator
@inline export function rowsLeave(rows: Rows, page: Page, n: u32): void {
  rows.count -= n;
  const left = page.left + n;
  page.left = left;
  if (left == page.to) empty(rows, page);
}

/** Drops the rows whose time is before `ms`. */
export function rowsDropBefore(rows: Rows, ms: f64): void {
  let page = rows.first;
  while (page) {
    const next = page.next;
    const to = page.to;
    const left = page.left;
    let from = left;
    if (to > from && timeAt(page, to - 1) < ms) from = to;
    else while (from < to && timeAt(page, from) < ms) from++;
    if (from > left) rowsLeave(rows, page, from - left);
    if (from < to) return;
    page = next;
  }
}

/** Number of rows behind the first `after` ones that `rowsDropBefore` would drop, if these were not there. */
export function rowsBefore(rows: Rows, after: u32, ms: f64): u32 {
  let n: u32 = 0;
  let skipped = after;
  for (let page = rowsFirst(rows); page; page = page.next) {
    const to = page.to;
    const held = to - page.left;
    if (skipped >= held) {
      skipped -= held;
      continue;
    }
    let from = to - held + skipped;
    skipped = 0;
    const first = from;
    if (timeAt(page, to - 1) < ms) from = to;
    else while (from < to && timeAt(page, from) < ms) from++;
    n += from - first;
    if (from < to) break;
  }
  return n;
}

/** Number of changes to rows that a snapshot may have. */
export let changes: u32 = 0;

/** Makes the times of all rows earlier by `ms`. */
export function rowsSetBack(rows: Rows, ms: f64): void {
  changes++;
  for (let page = rowsFirst(rows); page; page = page.next) {
    page.chain = 0;
    const to = page.to;
    for (let row = page.left; row < to; row++) {
      store<f64>(changetype<usize>(page) + ((<usize>row) << 3), timeAt(page, row) - ms, PAGE_TIMES);
    }
  }
}

/** Drops the first `n` rows. */
export function rowsDrop(rows: Rows, n: u32): void {
  while (n > 0) {
    const page = rows.first;
    const part = min(n, page.to - page.left);
    rowsLeave(rows, page, part);
    n -= part;
  }
}

/** Drops all rows. */
export function rowsClear(rows: Rows): void {
  rows.most = rows.count;
  rowsDrop(rows, rows.count);
}

/** Frees an empty page; a small one that is being filled stays for the next rows. */
function empty(rows: Rows, page: Page): void {
  const columns = rows.columns;
  const isLast = page == rows.last;
  if (!isLast || pageIsShared(page) || pageSize(columns, hasTimes(rows), page.capacity) > KEPT_BYTES) {
    removePage(rows, page, true);
    return;
  }
  if (poolBytes(page.pool) > KEPT_BYTES) {
    poolFree(page.pool);
    poolInit(page.pool, page.capacity << 4, rows.account);
  } else poolReset(page.pool);
  page.left = 0;
  page.to = 0;
  page.chain = 0;
}

/** Takes a page out of the list and frees it. In a numbered store it is the first page (`isFirst`) or the last one. */
function removePage(rows: Rows, page: Page, isFirst: bool): void {
  const previous = page.previous;
  const next = page.next;
  if (previous) previous.next = next;
  else rows.first = next;
  if (next) next.previous = previous;
  else rows.last = previous;
  if (isNumbered(rows)) {
    if (isFirst) numbersDropFirst(rows, page);
    else numbersDropLast(rows, page);
  }
  pageFree(page, rows.columns, hasTimes(rows), rows.account);
}

/** Frees everything; the store can be used again. */
export function rowsFree(rows: Rows): void {
  while (rows.first) removePage(rows, rows.first, true);
  if (isNumbered(rows)) numbersFree(rows, rows.account);
  rows.count = 0;
}
