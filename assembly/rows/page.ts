// A page of a row store (rows/store.ts): columns with the text of their rows, freed as a whole.
//
//   page    0   next u32 | previous u32 | capacity u32 | left u32 | to u32 | number u32 | vals u32 | tags u32
//           32  pool 32                                  text and nested values of the rows
//           64  chain u32 | serial u32 | saved u16 | firstSegment u16 | lastSegment u16 | pins u16     rows/snapshot.ts
//           80  holds u32 | 0 u32                        rows/view.ts
//           88  times f64[capacity]                      where the store keeps times
//               payloads u64[capacity] for each column   from `vals`
//               tags u8[capacity] for each column        from `tags`
//               uniform u8 for each column               tag of all rows that ever came in, or MIXED
//
// `left`: rows that are no longer held; these are the first ones where rows leave in order. `number`: number of row 0
// (rows/number.ts). Payloads refer only to the pool of the page. Rows do not change once they are in. A page that
// snapshots (`pins`) or views (`holds`) have is freed with the last of them.
import { copyBytes } from '../mem/copy';
import { accountMove, free } from '../mem/alloc';
import { Bind, bindUniform } from '../mem/bind';
import { Tag, lenOf, offOf, span } from '../mem/layout';
import { Pool, copyValue, poolAlloc, poolFree, poolMove } from '../mem/pool';

/** Head of a page. */
// @ts-ignore: decorator
@unmanaged
export class Page {
  next: Page;
  previous: Page;
  capacity: u32;
  left: u32;
  to: u32;
  number: u32;
  vals: usize;
  tags: usize;
  private gap32: u64;
  private gap40: u64;
  private gap48: u64;
  private gap56: u64;
  chain: u32;
  serial: u32;
  saved: u16;
  firstSegment: u16;
  lastSegment: u16;
  pins: u16;
  holds: u32;

  get pool(): Pool {
    return changetype<Pool>(changetype<usize>(this) + PAGE_POOL);
  }
}

const PAGE_POOL: usize = 32;
export const PAGE_TIMES: u32 = 88;

/** Account of pages that have left their store and stay for snapshots alone. */
const PINNED: usize = memory.data(8, 8);
/**
 * Flag in `previous` of a page that has left its store; the other bits are the address of the account that is charged
 * for the page.
 */
const GONE: u32 = 1;

/** Bytes of a page. */
export function pageSize(columns: u32, hasTimes: bool, capacity: u32): u32 {
  return PAGE_TIMES + capacity * (columns * 9 + (hasTimes ? 8 : 0)) + columns;
}

/** Lays out an empty page in the block; its links and its pool are the caller's. */
export function pageLay(page: Page, columns: u32, hasTimes: bool, capacity: u32): void {
  memory.fill(changetype<usize>(page), 0, PAGE_TIMES);
  const vals = changetype<usize>(page) + PAGE_TIMES + (hasTimes ? (<usize>capacity) << 3 : 0);
  page.capacity = capacity;
  page.vals = vals;
  page.tags = <u32>vals + ((columns * capacity) << 3);
}

/**
 * Frees a page that `pageLay` has laid out, unless snapshots or views have it. While views have it, its owner is
 * charged for it, who lives as long as the views.
 */
export function pageFree(page: Page, columns: u32, hasTimes: bool, acct: usize): void {
  if (page.holds) {
    page.previous = changetype<Page>(<u32>acct | GONE);
    return;
  }
  if (page.pins) {
    pageMove(page, columns, hasTimes, acct, PINNED);
    page.previous = changetype<Page>(<u32>PINNED | GONE);
    return;
  }
  poolFree(page.pool);
  free(changetype<usize>(page), pageSize(columns, hasTimes, page.capacity), acct);
}

/** Charges the page to another account. */
export function pageMove(page: Page, columns: u32, hasTimes: bool, from: usize, to: usize): void {
  accountMove(pageSize(columns, hasTimes, page.capacity), from, to);
  poolMove(page.pool, to);
}

/** Pins a page for a snapshot, so that it is not freed before `pageUnpin`. */
export function pagePin(page: Page): void {
  page.pins++;
}

export function pageUnpin(page: Page, columns: u32, hasTimes: bool): void {
  page.pins--;
  freeGone(page, columns, hasTimes);
}

/** Holds a page for a view, so that it is not freed before `pageRelease`. */
// @ts-ignore: decorator
@inline export function pageHold(page: Page): void {
  page.holds++;
}

export function pageRelease(page: Page, columns: u32, hasTimes: bool): void {
  page.holds--;
  freeGone(page, columns, hasTimes);
}

/** Frees a page that has left its store, unless snapshots or views still have it. */
function freeGone(page: Page, columns: u32, hasTimes: bool): void {
  const previous = page.previous;
  if (changetype<usize>(previous) & GONE)
    pageFree(page, columns, hasTimes, <usize>(changetype<usize>(previous) & ~GONE));
}

/** True when a snapshot or a view has the page. */
// @ts-ignore: decorator
@inline export function pageIsShared(page: Page): bool {
  return page.pins != 0 || page.holds != 0;
}

// @ts-ignore: decorator
@inline export function timeAt(page: Page, row: u32): f64 {
  return load<f64>(changetype<usize>(page) + ((<usize>row) << 3), PAGE_TIMES);
}

/** Address of the payloads of column `c`. */
// @ts-ignore: decorator
@inline export function pageVals(page: Page, c: u32): usize {
  return page.vals + ((<usize>(c * page.capacity)) << 3);
}

/** Address of the tags of column `c`. */
// @ts-ignore: decorator
@inline export function pageTags(page: Page, c: u32): usize {
  return page.tags + <usize>(c * page.capacity);
}

// @ts-ignore: decorator
@inline export function pageVal(page: Page, c: u32, row: u32): u64 {
  return load<u64>(pageVals(page, c) + ((<usize>row) << 3));
}

// @ts-ignore: decorator
@inline export function pageTag(page: Page, c: u32, row: u32): u8 {
  return load<u8>(pageTags(page, c) + row);
}

/** Address of the uniform tags of a page with `columns` columns. */
// @ts-ignore: decorator
@inline export function pageUniforms(page: Page, columns: u32): usize {
  return pageTags(page, columns);
}

/** True when the values of a bound column refer to no memory. */
// @ts-ignore: decorator
@inline export function isPlain(bind: Bind): bool {
  const uniform = bindUniform(bind);
  return uniform < Tag.STR || uniform == Tag.TIME;
}

/** Rows below which copying one by one costs less than a block. */
const FEW_ROWS: u32 = 16;

/** The numbers 0 to 3, as lanes of a vector. */
const LANES: usize = memory.data<u32>([0, 1, 2, 3], 16);

/** True when the rows `sel[0 … n)` follow each other, and are enough to be copied as a block. */
export function isBlock(sel: usize, n: u32): bool {
  const first = load<u32>(sel);
  if (n < FEW_ROWS || load<u32>(sel + ((<usize>(n - 1)) << 2)) - first != n - 1) return false;
  // Where rows were put in another order, the first and the last may have the right distance by chance.
  const last = n - 4;
  let expected = i32x4.add(i32x4.splat(first), v128.load(LANES));
  let other = v128.xor(v128.load(sel + ((<usize>last) << 2)), i32x4.add(expected, i32x4.splat(last)));
  for (let i: u32 = 0; i < last; i += 4) {
    other = v128.or(other, v128.xor(v128.load(sel + ((<usize>i) << 2)), expected));
    expected = i32x4.add(expected, i32x4.splat(4));
  }
  return !v128.any_true(other);
}

/**
 * Copies the rows `sel[0 … n)` of a column of one tag to the addresses of payloads and tags; `isBlock`: the rows follow
 * each other.
 */
export function copyPlain(bind: Bind, sel: usize, n: u32, isBlock: bool, vals: usize, tags: usize): void {
  const from = bind.vals;
  const uniform = bindUniform(bind);
  if (isBlock) {
    if (uniform <= Tag.NULL) memory.fill(vals, 0, (<usize>n) << 3);
    else memory.copy(vals, from + ((<usize>load<u32>(sel)) << 3), (<usize>n) << 3);
  } else {
    for (let i: u32 = 0; i < n; i++) {
      const row = <usize>load<u32>(sel + ((<usize>i) << 2));
      store<u64>(vals + ((<usize>i) << 3), load<u64>(from + (row << 3)));
    }
  }
  memory.fill(tags, uniform, n);
}

/**
 * As `copyPlain` for any column; memory that payloads refer to is not copied. Returns the tag of all rows, or MIXED.
 * `refersToAny` is set when a payload may refer to memory.
 */
export function copyReferring(bind: Bind, sel: usize, n: u32, isBlock: bool, vals: usize, tags: usize): u8 {
  const fromVals = bind.vals;
  const fromTags = bind.tags;
  if (isBlock) {
    const first = <usize>load<u32>(sel);
    memory.copy(vals, fromVals + (first << 3), (<usize>n) << 3);
    memory.copy(tags, fromTags + first, n);
    return tagsOfBlock(tags, n);
  }
  let least: u8 = 0xff;
  let most: u8 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    const tag = load<u8>(fromTags + row);
    store<u64>(vals + ((<usize>i) << 3), load<u64>(fromVals + (row << 3)));
    store<u8>(tags + i, tag);
    most = max(most, tag);
    least = min(least, tag);
  }
  refersToAny = most >= Tag.STR;
  return least == most ? most : Tag.MIXED;
}

/** Set by `copyReferring`: a payload may refer to memory. */
export let refersToAny: bool = false;

/** The common tag of at least 16 rows, or MIXED; sets `refersToAny`. */
function tagsOfBlock(tags: usize, n: u32): u8 {
  const last = tags + n - 16;
  const first = load<u8>(tags);
  const all = i8x16.splat(<i8>first);
  let most = v128.load(last);
  let other = v128.xor(most, all);
  for (let at = tags; at < last; at += 16) {
    const block = v128.load(at);
    most = i8x16.max_u(most, block);
    other = v128.or(other, v128.xor(block, all));
  }
  refersToAny = v128.any_true(i8x16.ge_u(most, i8x16.splat(<i8>Tag.STR)));
  return v128.any_true(other) ? <u8>Tag.MIXED : first;
}

// Columns that refer to the pool: fromVals u32 | fromTags u32 (0: all are texts) | vals u32 | tags u32, for each.
const REFERRING: usize = memory.data(512, 16);
const REFERRING_SIZE: u32 = 16;
const MAX_REFERRING: u32 = 32;
let referring: usize = REFERRING;

/** Begins a list of columns whose values refer to the pool. */
export function referringBegin(): void {
  referring = REFERRING;
}

/** Adds a column, with the addresses to which payloads and tags are copied; false when the list is full. */
export function referringAdd(bind: Bind, vals: usize, tags: usize): bool {
  if (referring == REFERRING + REFERRING_SIZE * MAX_REFERRING) return false;
  store<u32>(referring, bind.vals);
  store<u32>(referring, bindUniform(bind) == Tag.STR ? 0 : bind.tags, 4);
  store<u32>(referring, <u32>vals, 8);
  store<u32>(referring, <u32>tags, 12);
  referring += REFERRING_SIZE;
  return true;
}

/**
 * Copies the rows `sel[0 … n)` of the listed columns row by row, with their texts and nested values into the pool. The
 * texts of a row thus stand beside each other. Where the pool has no room, it acts as `copyOne`.
 */
export function referringCopy(pool: Pool, sel: usize, n: u32): void {
  const end = referring;
  if (end == REFERRING) return;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    for (let at = REFERRING; at < end; at += REFERRING_SIZE) {
      const payload = load<u64>(<usize>load<u32>(at) + (row << 3));
      const tags = <usize>load<u32>(at, 4);
      const to = <usize>load<u32>(at, 8) + ((<usize>i) << 3);
      if (!tags) store<u64>(to, copyText(pool, payload));
      else {
        const tag = load<u8>(tags + row);
        store<u8>(<usize>load<u32>(at, 12) + i, tag);
        store<u64>(to, copyPayload(pool, tag, payload));
      }
    }
  }
  for (let at = REFERRING; at < end; at += REFERRING_SIZE) {
    if (!load<u32>(at, 4)) memory.fill(<usize>load<u32>(at, 12), Tag.STR, n);
  }
}

/**
 * Copies a value of a bound column, with its text into the pool, and returns its tag. Where the pool has no room,
 * `refusals` (mem/alloc.ts) grows.
 */
// @ts-ignore: decorator
@inline export function copyOne(pool: Pool, bind: Bind, row: usize, val: usize, tag: usize): u8 {
  const t = load<u8>(bind.tags + row);
  const payload = load<u64>(bind.vals + (row << 3));
  store<u8>(tag, t);
  store<u64>(val, copyPayload(pool, t, payload));
  return t;
}

/** Copies the memory that the payload refers to into the pool, and returns the payload of the copy. */
// @ts-ignore: decorator
@inline export function copyPayload(pool: Pool, tag: u8, payload: u64): u64 {
  return tag < Tag.STR ? payload : tag == Tag.STR ? copyText(pool, payload) : copyValue(pool, tag, payload);
}

/**
 * Copies a text in whole blocks: these are read behind the text and written behind its copy, where the pool is still
 * empty.
 */
// @ts-ignore: decorator
@inline function copyText(pool: Pool, payload: u64): u64 {
  const len = lenOf(payload);
  const to = poolAlloc(pool, len);
  if (!to) return 0;
  const from = offOf(payload);
  v128.store(to, v128.load(from));
  if (len > 16) copyBytes(to, from, len);
  return span(to, len);
}
