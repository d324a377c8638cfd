// Rows that wait: a list of pages (rows/page.ts), filled one after the other, each freed when the last of its rows has
// left. Windows, event time, joins with their tables and sort keep their rows here.
//
// A row is named by its page and its place there, for as long as it is held. Where rows leave in the order in which
// they came, it has a number as well. Pages grow with what the store holds, from 8 to 1024 rows, so that small stores
// stay small.
import { alloc, refusals } from '../mem/alloc';
import { BIND_SIZE, bindIsConst, bindUniform } from '../mem/bind';
import { BATCH_ROWS, Tag } from '../mem/layout';
import { poolBytes, poolChunk, poolFilled, poolFree, poolInit, poolReset, poolReturn, poolUsed } from '../mem/pool';
import {
  MIN_NUMBERED_PAGE,
  MIN_PAGE,
  ROWS_ACCT,
  ROWS_COLUMNS,
  ROWS_COUNT,
  ROWS_FIRST,
  ROWS_FLAGS,
  ROWS_LAST,
  ROWS_MOST,
  ROWS_SIZE,
  RowsFlag,
} from './layout';
import { numbersAdd, numbersDropFirst, numbersDropLast, numbersFree } from './number';
import {
  PAGE_CAPACITY,
  PAGE_CHAIN,
  PAGE_LEFT,
  PAGE_NEXT,
  PAGE_NUMBER,
  PAGE_POOL,
  PAGE_PREVIOUS,
  PAGE_TAGS,
  PAGE_TIMES,
  PAGE_TO,
  PAGE_VALS,
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

/** An empty store keeps a page and its text up to so many bytes each for the rows that come next. */
const KEPT_BYTES: u32 = 4096;

/** Prepares a store in the ROWS_SIZE bytes at `rows`. */
export function rowsInit(rows: usize, columns: u32, flags: u32, acct: usize): void {
  memory.fill(rows, 0, ROWS_SIZE);
  store<u32>(rows, <u32>acct, ROWS_ACCT);
  store<u32>(rows, columns, ROWS_COLUMNS);
  store<u32>(rows, flags, ROWS_FLAGS);
}

// @ts-ignore: decorator
@inline export function rowsFirst(rows: usize): usize {
  return <usize>load<u32>(rows, ROWS_FIRST);
}

/** The page that is being filled. */
// @ts-ignore: decorator
@inline export function rowsLast(rows: usize): usize {
  return <usize>load<u32>(rows, ROWS_LAST);
}

// @ts-ignore: decorator
@inline function hasTimes(rows: usize): bool {
  return (load<u32>(rows, ROWS_FLAGS) & RowsFlag.TIMES) != 0;
}

// @ts-ignore: decorator
@inline function isNumbered(rows: usize): bool {
  return (load<u32>(rows, ROWS_FLAGS) & RowsFlag.NUMBERED) != 0;
}

// @ts-ignore: decorator
@inline function refers(rows: usize): bool {
  return (load<u32>(rows, ROWS_FLAGS) & RowsFlag.REFERS) != 0;
}

/**
 * Rows of the next page: a quarter of those that are held then, so that little of what is freed as a whole is in vain.
 */
function nextCapacity(rows: usize, n: u32): u32 {
  if (load<u32>(rows, ROWS_FLAGS) & RowsFlag.AT_ONCE)
    return (<u32>1) << (32 - clz(max(atOnce(rows, n), MIN_NUMBERED_PAGE) - 1));
  const quarter = (load<u32>(rows, ROWS_COUNT) + n) >> 2;
  const least = isNumbered(rows) ? MIN_NUMBERED_PAGE : MIN_PAGE;
  return (<u32>1) << (31 - clz(min(max(quarter, least), BATCH_ROWS)));
}

/** Rows of a page that `n` rows come to at once: the first one has room for as many as the last time. */
// @ts-ignore: decorator
@inline function atOnce(rows: usize, n: u32): u32 {
  return min(load<u32>(rows, ROWS_COUNT) ? n : max(n, load<u32>(rows, ROWS_MOST)), BATCH_ROWS);
}

/** Adds a page; 0 when memory is exhausted. */
function addPage(rows: usize, capacity: u32): usize {
  const acct = <usize>load<u32>(rows, ROWS_ACCT);
  const columns = load<u32>(rows, ROWS_COLUMNS);
  const page = alloc(pageSize(columns, hasTimes(rows), capacity), acct);
  if (!page) return 0;
  pageLay(page, columns, hasTimes(rows), capacity);
  const last = <usize>load<u32>(rows, ROWS_LAST);
  poolInit(page + PAGE_POOL, firstChunk(last, capacity), acct);
  if (linkPage(rows, page)) return page;
  pageFree(page, columns, hasTimes(rows), acct);
  return 0;
}

/** Puts a page behind the last one; false when memory is exhausted. */
function linkPage(rows: usize, page: usize): bool {
  const last = <usize>load<u32>(rows, ROWS_LAST);
  if (last) store<u32>(page, load<u32>(last, PAGE_NUMBER) + load<u32>(last, PAGE_CAPACITY), PAGE_NUMBER);
  if (isNumbered(rows) && !numbersAdd(rows, page, <usize>load<u32>(rows, ROWS_ACCT))) return false;
  store<u32>(page, <u32>last, PAGE_PREVIOUS);
  store<u32>(page, 0, PAGE_NEXT);
  if (last) store<u32>(last, <u32>page, PAGE_NEXT);
  else store<u32>(rows, <u32>page, ROWS_FIRST);
  store<u32>(rows, <u32>page, ROWS_LAST);
  return true;
}

/**
 * A page that was filled elsewhere may come behind the others: where rows have numbers, its size and theirs must be
 * such.
 */
export function rowsCanTake(rows: usize, page: usize): bool {
  const last = <usize>load<u32>(rows, ROWS_LAST);
  if (last && load<u32>(last, PAGE_TO) != load<u32>(last, PAGE_CAPACITY)) return false;
  return !isNumbered(rows) || load<u32>(page, PAGE_CAPACITY) >= MIN_NUMBERED_PAGE;
}

/**
 * Takes in a page that was filled elsewhere, charged to `acct`, of which the first `left` rows are not held; behind the
 * last one, which is full. False when memory is exhausted: the page is the caller's then.
 */
export function rowsTakePage(rows: usize, page: usize, left: u32, acct: usize): bool {
  if (!linkPage(rows, page)) return false;
  pageMove(page, load<u32>(rows, ROWS_COLUMNS), hasTimes(rows), acct, <usize>load<u32>(rows, ROWS_ACCT));
  store<u32>(page, left, PAGE_LEFT);
  store<u32>(rows, load<u32>(rows, ROWS_COUNT) + load<u32>(page, PAGE_TO) - left, ROWS_COUNT);
  return true;
}

/** Bytes of a page's first piece of text: a little more for each row than the page before has needed. */
function firstChunk(before: usize, capacity: u32): u32 {
  const used: u64 = before ? poolUsed(before + PAGE_POOL) : 0;
  if (used == 0) return max(capacity << 4, 128);
  const needed = (used * capacity) / load<u32>(before, PAGE_CAPACITY);
  return <u32>min<u64>(needed + (needed >> 3) + 64, 65536);
}

/**
 * Keeps the rows `sel[0 … n)` of the columns at `binds` (mem/bind.ts), of which constants are left out, with the times
 * at `times` + 8 * row (0: the store has none). False when memory is exhausted: the store is as it was then.
 */
export function rowsAppend(rows: usize, binds: usize, count: u32, sel: usize, n: u32, times: usize): bool {
  if (load<u32>(rows, ROWS_FLAGS) & RowsFlag.AT_ONCE) dropSmall(rows, n);
  const last = <usize>load<u32>(rows, ROWS_LAST);
  const to = last ? load<u32>(last, PAGE_TO) : 0;
  const chunk = last ? poolChunk(last + PAGE_POOL) : 0;
  const filled = last ? poolFilled(last + PAGE_POOL) : 0;
  const before = refusals;
  let page = last;
  let done: u32 = 0;
  while (done < n) {
    if (!page || load<u32>(page, PAGE_TO) == load<u32>(page, PAGE_CAPACITY)) {
      page = addPage(rows, nextCapacity(rows, n));
      if (!page) break;
    }
    const part = min(n - done, load<u32>(page, PAGE_CAPACITY) - load<u32>(page, PAGE_TO));
    if (n == 1 && !refers(rows)) fillRow(rows, page, binds, count, load<u32>(sel), times);
    else fill(rows, page, binds, count, sel + ((<usize>done) << 2), part, times);
    done += part;
  }
  if (refusals == before) {
    store<u32>(rows, load<u32>(rows, ROWS_COUNT) + n, ROWS_COUNT);
    return true;
  }
  while (<usize>load<u32>(rows, ROWS_LAST) != last) removePage(rows, <usize>load<u32>(rows, ROWS_LAST), false);
  if (last) {
    store<u32>(last, to, PAGE_TO);
    poolReturn(last + PAGE_POOL, chunk, filled);
  }
  return false;
}

/** An empty page that has no room for `n` rows goes: all that come at once stand in one page. */
function dropSmall(rows: usize, n: u32): void {
  const page = <usize>load<u32>(rows, ROWS_LAST);
  if (page && !load<u32>(rows, ROWS_COUNT) && load<u32>(page, PAGE_CAPACITY) < atOnce(rows, n))
    removePage(rows, page, true);
}

/**
 * Makes room for one row behind the last, the first of `more` to come, and returns its page, in which it is the last
 * one; its values are the caller's to store. 0 when memory is exhausted.
 */
export function rowsAdd(rows: usize, more: u32): usize {
  let page = <usize>load<u32>(rows, ROWS_LAST);
  if (!page || load<u32>(page, PAGE_TO) == load<u32>(page, PAGE_CAPACITY))
    page = addPage(rows, nextCapacity(rows, more));
  if (!page) return 0;
  store<u32>(page, load<u32>(page, PAGE_TO) + 1, PAGE_TO);
  store<u32>(rows, load<u32>(rows, ROWS_COUNT) + 1, ROWS_COUNT);
  return page;
}

/** Fills rows of a page that has room for them. */
function fill(rows: usize, page: usize, binds: usize, count: u32, sel: usize, n: u32, times: usize): void {
  const capacity = load<u32>(page, PAGE_CAPACITY);
  const to = load<u32>(page, PAGE_TO);
  let vals = <usize>load<u32>(page, PAGE_VALS) + ((<usize>to) << 3);
  let tags = <usize>load<u32>(page, PAGE_TAGS) + to;
  let uniforms = pageUniforms(page, load<u32>(rows, ROWS_COLUMNS));
  const asBlock = isBlock(sel, n);
  const isReferring = refers(rows);
  const end = binds + <usize>(count * BIND_SIZE);
  referringBegin();
  for (let bind = binds; bind < end; bind += BIND_SIZE) {
    if (bindIsConst(bind)) continue;
    let uniform = bindUniform(bind);
    if (isPlain(bind) || (isReferring && uniform != Tag.MIXED)) copyPlain(bind, sel, n, asBlock, vals, tags);
    else {
      let isDone = false;
      if (uniform == Tag.MIXED) {
        uniform = copyReferring(bind, sel, n, asBlock, vals, tags);
        isDone = isReferring || !refersToAny;
      }
      if (!isDone && !referringAdd(bind, vals, tags)) {
        referringCopy(page + PAGE_POOL, sel, n);
        referringBegin();
        referringAdd(bind, vals, tags);
      }
    }
    if (to == 0) store<u8>(uniforms, uniform);
    else if (load<u8>(uniforms) != uniform) store<u8>(uniforms, Tag.MIXED);
    vals += (<usize>capacity) << 3;
    tags += capacity;
    uniforms++;
  }
  referringCopy(page + PAGE_POOL, sel, n);
  if (times) {
    const at = page + PAGE_TIMES + ((<usize>to) << 3);
    if (asBlock) memory.copy(at, times + ((<usize>load<u32>(sel)) << 3), (<usize>n) << 3);
    else {
      for (let i: u32 = 0; i < n; i++) {
        store<f64>(at + ((<usize>i) << 3), load<f64>(times + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3)));
      }
    }
  }
  store<u32>(page, to + n, PAGE_TO);
}

/** As `fill` for one row: what pays for many costs more than it saves. */
function fillRow(rows: usize, page: usize, binds: usize, count: u32, row: usize, times: usize): void {
  const capacity = load<u32>(page, PAGE_CAPACITY);
  const to = load<u32>(page, PAGE_TO);
  let val = <usize>load<u32>(page, PAGE_VALS) + ((<usize>to) << 3);
  let tag = <usize>load<u32>(page, PAGE_TAGS) + to;
  let uniforms = pageUniforms(page, load<u32>(rows, ROWS_COLUMNS));
  const end = binds + <usize>(count * BIND_SIZE);
  for (let bind = binds; bind < end; bind += BIND_SIZE) {
    if (bindIsConst(bind)) continue;
    const uniform = copyOne(page + PAGE_POOL, bind, row, val, tag);
    if (to == 0) store<u8>(uniforms, uniform);
    else if (load<u8>(uniforms) != uniform) store<u8>(uniforms, Tag.MIXED);
    val += (<usize>capacity) << 3;
    tag += capacity;
    uniforms++;
  }
  if (times) store<f64>(page + ((<usize>to) << 3), load<f64>(times + (row << 3)), PAGE_TIMES);
  store<u32>(page, to + 1, PAGE_TO);
}

/** Says that `n` rows of the page are no longer held; frees what nobody needs any more. */
// @ts-ignore: decorator
@inline export function rowsLeave(rows: usize, page: usize, n: u32): void {
  store<u32>(rows, load<u32>(rows, ROWS_COUNT) - n, ROWS_COUNT);
  const left = load<u32>(page, PAGE_LEFT) + n;
  store<u32>(page, left, PAGE_LEFT);
  if (left == load<u32>(page, PAGE_TO)) empty(rows, page);
}

/** Drops the rows whose time is before `ms`. */
export function rowsDropBefore(rows: usize, ms: f64): void {
  let page = <usize>load<u32>(rows, ROWS_FIRST);
  while (page) {
    const next = <usize>load<u32>(page, PAGE_NEXT);
    const to = load<u32>(page, PAGE_TO);
    const left = load<u32>(page, PAGE_LEFT);
    let from = left;
    if (to > from && timeAt(page, to - 1) < ms) from = to;
    else while (from < to && timeAt(page, from) < ms) from++;
    if (from > left) rowsLeave(rows, page, from - left);
    if (from < to) return;
    page = next;
  }
}

/** How many rows behind the first `after` ones `rowsDropBefore` would drop, were it not for these. */
export function rowsBefore(rows: usize, after: u32, ms: f64): u32 {
  let n: u32 = 0;
  let skipped = after;
  for (let page = rowsFirst(rows); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    const to = load<u32>(page, PAGE_TO);
    const held = to - load<u32>(page, PAGE_LEFT);
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

/** Counts the times that rows were changed which a snapshot may have. */
export let changes: u32 = 0;

/** The times of all rows become so many ms earlier. */
export function rowsSetBack(rows: usize, ms: f64): void {
  changes++;
  for (let page = rowsFirst(rows); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    store<u32>(page, 0, PAGE_CHAIN);
    const to = load<u32>(page, PAGE_TO);
    for (let row = load<u32>(page, PAGE_LEFT); row < to; row++) {
      store<f64>(page + ((<usize>row) << 3), timeAt(page, row) - ms, PAGE_TIMES);
    }
  }
}

/** Drops the first `n` rows. */
export function rowsDrop(rows: usize, n: u32): void {
  while (n > 0) {
    const page = <usize>load<u32>(rows, ROWS_FIRST);
    const part = min(n, load<u32>(page, PAGE_TO) - load<u32>(page, PAGE_LEFT));
    rowsLeave(rows, page, part);
    n -= part;
  }
}

/** Drops all rows. */
export function rowsClear(rows: usize): void {
  store<u32>(rows, load<u32>(rows, ROWS_COUNT), ROWS_MOST);
  rowsDrop(rows, load<u32>(rows, ROWS_COUNT));
}

/** Frees an empty page; a small one that is being filled stays for what comes. */
function empty(rows: usize, page: usize): void {
  const columns = load<u32>(rows, ROWS_COLUMNS);
  const isLast = page == <usize>load<u32>(rows, ROWS_LAST);
  if (!isLast || pageIsShared(page) || pageSize(columns, hasTimes(rows), load<u32>(page, PAGE_CAPACITY)) > KEPT_BYTES) {
    removePage(rows, page, true);
    return;
  }
  if (poolBytes(page + PAGE_POOL) > KEPT_BYTES) {
    poolFree(page + PAGE_POOL);
    poolInit(page + PAGE_POOL, load<u32>(page, PAGE_CAPACITY) << 4, <usize>load<u32>(rows, ROWS_ACCT));
  } else poolReset(page + PAGE_POOL);
  store<u32>(page, 0, PAGE_LEFT);
  store<u32>(page, 0, PAGE_TO);
  store<u32>(page, 0, PAGE_CHAIN);
}

/** Takes a page out of the list and frees it. Of a numbered store it is the first one (`isFirst`) or the last one. */
function removePage(rows: usize, page: usize, isFirst: bool): void {
  const previous = <usize>load<u32>(page, PAGE_PREVIOUS);
  const next = <usize>load<u32>(page, PAGE_NEXT);
  if (previous) store<u32>(previous, <u32>next, PAGE_NEXT);
  else store<u32>(rows, <u32>next, ROWS_FIRST);
  if (next) store<u32>(next, <u32>previous, PAGE_PREVIOUS);
  else store<u32>(rows, <u32>previous, ROWS_LAST);
  if (isNumbered(rows)) {
    if (isFirst) numbersDropFirst(rows, page);
    else numbersDropLast(rows, page);
  }
  pageFree(page, load<u32>(rows, ROWS_COLUMNS), hasTimes(rows), <usize>load<u32>(rows, ROWS_ACCT));
}

/** Frees everything; the store can be used again. */
export function rowsFree(rows: usize): void {
  while (load<u32>(rows, ROWS_FIRST)) removePage(rows, <usize>load<u32>(rows, ROWS_FIRST), true);
  if (isNumbered(rows)) numbersFree(rows, <usize>load<u32>(rows, ROWS_ACCT));
  store<u32>(rows, 0, ROWS_COUNT);
}
