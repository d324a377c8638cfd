// A page of a row store (rows/store.ts): columns with the text of their rows, freed as a whole.
//
//   page    0   next u32 | previous u32 | capacity u32 | left u32 | to u32 | number u32 | vals u32 | tags u32
//           32  pool 32                                  text and nested values of the rows
//           64  chain u32 | serial u32 | saved u16 | firstSegment u16 | lastSegment u16 | pins u16     rows/snapshot.ts
//           80  times f64[capacity]                      where the store keeps times
//               payloads u64[capacity] for each column   from `vals`
//               tags u8[capacity] for each column        from `tags`
//               uniform u8 for each column               tag of all rows that ever came in, or MIXED
//
// `left`: rows that are no longer held, the first ones where rows leave in order. `number` is that of row 0 (rows/number.ts).
// What a payload refers to stands in the pool of the page and nowhere else. Rows that are there stay as they are. A page that snapshots
// have (`pins`) is freed with the last of them.
import { copyBytes } from '../mem/copy';
import { accountMove, free } from '../mem/alloc';
import { BIND_TAGS, bindUniform } from '../mem/bind';
import { Tag, lenOf, offOf, span } from '../mem/layout';
import { copyValue, poolAlloc, poolFree, poolMove } from '../mem/pool';

export const PAGE_NEXT: usize = 0;
export const PAGE_PREVIOUS: usize = 4;
export const PAGE_CAPACITY: usize = 8;
export const PAGE_LEFT: usize = 12;
export const PAGE_TO: usize = 16;
export const PAGE_NUMBER: usize = 20;
export const PAGE_VALS: usize = 24;
export const PAGE_TAGS: usize = 28;
export const PAGE_POOL: usize = 32;
export const PAGE_CHAIN: usize = 64;
export const PAGE_SERIAL: usize = 68;
export const PAGE_SAVED: usize = 72;
export const PAGE_FIRST_SEGMENT: usize = 74;
export const PAGE_LAST_SEGMENT: usize = 76;
const PAGE_PINS: usize = 78;
export const PAGE_TIMES: u32 = 80;

/** Who is charged for pages that have left their store and stay for snapshots alone. */
const PINNED: usize = memory.data(8, 8);
/** In place of the page before, of one that has left its store. */
const GONE: u32 = 1;

/** Bytes of a page. */
export function pageSize(columns: u32, hasTimes: bool, capacity: u32): u32 {
  return PAGE_TIMES + capacity * (columns * 9 + (hasTimes ? 8 : 0)) + columns;
}

/** Lays out an empty page in the block; its links and its pool are the caller's. */
export function pageLay(page: usize, columns: u32, hasTimes: bool, capacity: u32): void {
  memory.fill(page, 0, PAGE_TIMES);
  const vals = page + PAGE_TIMES + (hasTimes ? <usize>capacity << 3 : 0);
  store<u32>(page, capacity, PAGE_CAPACITY);
  store<u32>(page, <u32>vals, PAGE_VALS);
  store<u32>(page, <u32>vals + ((columns * capacity) << 3), PAGE_TAGS);
}

/** Frees a page that `pageLay` has laid out, unless snapshots have it. */
export function pageFree(page: usize, columns: u32, hasTimes: bool, acct: usize): void {
  if (load<u16>(page, PAGE_PINS)) {
    pageMove(page, columns, hasTimes, acct, PINNED);
    store<u32>(page, GONE, PAGE_PREVIOUS);
    return;
  }
  poolFree(page + PAGE_POOL);
  free(page, pageSize(columns, hasTimes, load<u32>(page, PAGE_CAPACITY)), acct);
}

/** The page belongs to another account from now on. */
export function pageMove(page: usize, columns: u32, hasTimes: bool, from: usize, to: usize): void {
  accountMove(pageSize(columns, hasTimes, load<u32>(page, PAGE_CAPACITY)), from, to);
  poolMove(page + PAGE_POOL, to);
}

/** A snapshot has the page: it is not freed before `pageUnpin`. */
export function pagePin(page: usize): void {
  store<u16>(page, load<u16>(page, PAGE_PINS) + 1, PAGE_PINS);
}

export function pageUnpin(page: usize, columns: u32, hasTimes: bool): void {
  const pins = load<u16>(page, PAGE_PINS) - 1;
  store<u16>(page, pins, PAGE_PINS);
  if (pins == 0 && load<u32>(page, PAGE_PREVIOUS) == GONE) pageFree(page, columns, hasTimes, PINNED);
}

/** A snapshot has the page. */
// @ts-ignore: decorator
@inline export function pageIsPinned(page: usize): bool {
  return load<u16>(page, PAGE_PINS) != 0;
}

// @ts-ignore: decorator
@inline export function timeAt(page: usize, row: u32): f64 {
  return load<f64>(page + (<usize>row << 3), PAGE_TIMES);
}

/** Address of the payloads of column `c`. */
// @ts-ignore: decorator
@inline export function pageVals(page: usize, c: u32): usize {
  return <usize>load<u32>(page, PAGE_VALS) + (<usize>(c * load<u32>(page, PAGE_CAPACITY)) << 3);
}

/** Address of the tags of column `c`. */
// @ts-ignore: decorator
@inline export function pageTags(page: usize, c: u32): usize {
  return <usize>load<u32>(page, PAGE_TAGS) + <usize>(c * load<u32>(page, PAGE_CAPACITY));
}

// @ts-ignore: decorator
@inline export function pageVal(page: usize, c: u32, row: u32): u64 {
  return load<u64>(pageVals(page, c) + (<usize>row << 3));
}

// @ts-ignore: decorator
@inline export function pageTag(page: usize, c: u32, row: u32): u8 {
  return load<u8>(pageTags(page, c) + row);
}

/** Address of the uniform tags of a page of so many columns. */
// @ts-ignore: decorator
@inline export function pageUniforms(page: usize, columns: u32): usize {
  return pageTags(page, columns);
}

/** True when the values of a bound column refer to nothing. */
// @ts-ignore: decorator
@inline export function isPlain(bind: usize): bool {
  const uniform = bindUniform(bind);
  return uniform < Tag.STR || uniform == Tag.TIME;
}

/** Copies the rows `sel[0 … n)` of a plain column to the addresses of payloads and tags. */
export function copyPlain(bind: usize, sel: usize, n: u32, vals: usize, tags: usize): void {
  const from = <usize>load<u32>(bind);
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + (<usize>i << 2));
    store<u64>(vals + (<usize>i << 3), load<u64>(from + (row << 3)));
  }
  memory.fill(tags, bindUniform(bind), n);
}

/** As `copyPlain` of any column: what the payloads refer to stays where it is. True when they refer to something. */
export function copyReferring(bind: usize, sel: usize, n: u32, vals: usize, tags: usize): bool {
  const fromVals = <usize>load<u32>(bind);
  const fromTags = <usize>load<u32>(bind, BIND_TAGS);
  let most: u8 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + (<usize>i << 2));
    const tag = load<u8>(fromTags + row);
    store<u64>(vals + (<usize>i << 3), load<u64>(fromVals + (row << 3)));
    store<u8>(tags + i, tag);
    most = max(most, tag);
  }
  return most >= Tag.STR;
}

/** Copies the rows `sel[0 … n)` of a column of texts, with these into the pool. As `copyOne` where the pool has no room. */
export function copyTexts(pool: usize, bind: usize, sel: usize, n: u32, vals: usize, tags: usize): void {
  const from = <usize>load<u32>(bind);
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + (<usize>i << 2));
    store<u64>(vals + (<usize>i << 3), copyText(pool, load<u64>(from + (row << 3))));
  }
  memory.fill(tags, Tag.STR, n);
}

/**
 * Copies a value of a bound column, with its text into the pool, and returns its tag. Where the pool has no room, `refusals`
 * (mem/alloc.ts) grows.
 */
// @ts-ignore: decorator
@inline export function copyOne(pool: usize, bind: usize, row: usize, val: usize, tag: usize): u8 {
  const t = load<u8>(<usize>load<u32>(bind, BIND_TAGS) + row);
  const payload = load<u64>(<usize>load<u32>(bind) + (row << 3));
  store<u8>(tag, t);
  store<u64>(val, copyPayload(pool, t, payload));
  return t;
}

/** Copies what the payload refers to into the pool and returns the payload of the copy. */
// @ts-ignore: decorator
@inline export function copyPayload(pool: usize, tag: u8, payload: u64): u64 {
  return tag < Tag.STR ? payload : tag == Tag.STR ? copyText(pool, payload) : copyValue(pool, tag, payload);
}

// @ts-ignore: decorator
@inline function copyText(pool: usize, payload: u64): u64 {
  const len = lenOf(payload);
  const to = poolAlloc(pool, len);
  if (!to) return 0;
  const from = offOf(payload);
  if (len - 8 > 24) {
    copyBytes(to, from, len);
  } else {
    // As there, without a call: most texts are as long.
    if (len > 16) {
      store<u64>(to, load<u64>(from, 8), 8);
      store<u64>(to + len - 16, load<u64>(from + len - 16));
    }
    store<u64>(to, load<u64>(from));
    store<u64>(to + len - 8, load<u64>(from + len - 8));
  }
  return span(to, len);
}
