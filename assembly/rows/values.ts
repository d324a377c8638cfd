// Values of rows by their numbers.
import { pageTags, pageVals } from './page';
import { firstNumber, pageOf } from './number';
import { Tag } from '../mem/layout';
import { Rows } from './layout';

/** Flag of a position that belongs to no row of the store; its value is missing. */
const NO_POSITION: u32 = 0x80000000;
/** Flag beside the tags that were seen: some positions belong to no row. */
export const LACKS_ROWS: u32 = 0x80000000;

/** The tag in `seen`, or MIXED when there are several. */
// @ts-ignore: decorator
@inline export function tagOfSeen(seen: u32): u8 {
  const tags = seen & ~LACKS_ROWS;
  return popcnt(tags) == 1 ? <u8>ctz(tags) : Tag.MIXED;
}

/**
 * Copies `n` values of column `slot` to `tags` and `vals`. Positions, counted from the first row, stand `stride` bytes
 * apart from `positions` on. `from` lists the positions to use, and `to` the places for their values; 0 for all in
 * order. Returns a bit for each tag seen. Inlined, so that each caller's loop has only what it needs.
 */
// @ts-ignore: decorator
@inline export function copyValues(
  rows: Rows,
  slot: u32,
  positions: usize,
  stride: u32,
  from: usize,
  to: usize,
  n: u32,
  tags: usize,
  vals: usize,
): u32 {
  const first: u32 = rows.count ? firstNumber(rows) : 0;
  // Rows that follow each other are mostly in one page.
  let start: u32 = 0;
  let capacity: u32 = 0;
  let pageValsAt: usize = 0;
  let pageTagsAt: usize = 0;
  let seen: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const which = from ? load<u32>(from + ((<usize>i) << 2)) : i;
    const isNone = from != 0 && (which & NO_POSITION) != 0;
    const position = isNone ? NO_POSITION : load<u32>(positions + <usize>which * <usize>stride);
    const at = <usize>(to ? load<u32>(to + ((<usize>i) << 2)) : i);
    let tag: u8 = Tag.MISSING;
    let payload: u64 = 0;
    if (position & NO_POSITION) seen |= LACKS_ROWS;
    else {
      const number = first + position;
      if (number - start >= capacity) {
        const page = pageOf(rows, number);
        start = page.number;
        capacity = page.capacity;
        pageValsAt = pageVals(page, slot);
        pageTagsAt = pageTags(page, slot);
      }
      const row = <usize>(number - start);
      tag = load<u8>(pageTagsAt + row);
      payload = load<u64>(pageValsAt + (row << 3));
    }
    seen |= (<u32>1) << tag;
    store<u8>(tags + at, tag);
    store<u64>(vals + (at << 3), payload);
  }
  return seen;
}
