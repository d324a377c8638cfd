// Columns of pairs: the values of rows, written into column blocks.
import { COL_HAS_RAW, COL_TAGS, COL_UNIFORM, COL_VALS, Tag, setAt } from '../../mem/layout';
import { pageOf } from '../../rows/number';
import { pageTag, pageUniforms, pageVal, pageVals } from '../../rows/page';
import { rowsFirst, rowsLast } from '../../rows/store';
import { copyValues, tagOfSeen } from '../../rows/values';
import { OWNER_NONE, OWNER_OTHER, branchRows } from './spec';
import { NO_ROW, lefts, placeOf, rowOf, rowsOfTuples, state, tupleSize } from './run';
import { Rows } from '../../rows/layout';

/**
 * Writes column `column` of `n` pairs, whose tuples and right rows stand as numbers in two u32[n].
 */
export function fillColumn(block: usize, column: u32, leftNumbers: usize, rightNumbers: usize, n: u32): void {
  const owner = state.owners + ((<usize>column) << 2);
  const branch = <u32>load<u16>(owner);
  const slot = <u32>load<u16>(owner, 2);
  if (branch >= OWNER_OTHER) {
    fillOther(block, branch, slot, n);
    return;
  }
  const place = placeOf(branch);
  if (place < -1) {
    fillOther(block, OWNER_NONE, 0, n);
    return;
  }
  const rows = branchRows(state, branch);
  if (n == 1) {
    fillOne(block, rows, slot, rowOf(place, load<u32>(leftNumbers), load<u32>(rightNumbers)));
    return;
  }
  const positions = place < 0 ? rightNumbers : lefts ? 0 : leftNumbers;
  if (positions && rows.count && fillFromPage(block, rows, slot, positions, n)) return;
  const tags = block + COL_TAGS;
  const vals = block + COL_VALS;
  const seen = positions
    ? copyValues(rows, slot, positions, 4, 0, 0, n, tags, vals)
    : copyValues(rows, slot, rowsOfTuples(place), tupleSize(), leftNumbers, 0, n, tags, vals);
  store<u8>(block, tagOfSeen(seen), COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
}

/**
 * As `fillColumn` where all rows of the branch stand in one page with values of one tag; false where they don't, or a
 * pair has no row.
 */
function fillFromPage(block: usize, rows: Rows, slot: u32, positions: usize, n: u32): bool {
  const page = rowsFirst(rows);
  const uniform = load<u8>(pageUniforms(page, rows.columns) + slot);
  if (page != rowsLast(rows) || uniform == Tag.MIXED) return false;
  const vals = pageVals(page, slot) + ((<usize>page.left) << 3);
  let lacks: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const position = load<u32>(positions + ((<usize>i) << 2));
    const isNone = <u32>(position == NO_ROW);
    lacks |= isNone;
    store<u64>(block + ((<usize>i) << 3), load<u64>(vals + ((<usize>(position + isNone)) << 3)), COL_VALS);
  }
  if (lacks) return false;
  memory.fill(block + COL_TAGS, uniform, n);
  store<u8>(block, uniform, COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
  return true;
}

/** As `fillColumn` for one pair, with the row at `position`. */
// @ts-ignore: decorator
@inline function fillOne(block: usize, rows: Rows, slot: u32, position: u32): void {
  if (position == NO_ROW) {
    setAt(block, 0, Tag.MISSING, 0);
    store<u8>(block, Tag.MISSING, COL_UNIFORM);
    return;
  }
  let page = rowsFirst(rows);
  let row = page.left + position;
  if (row >= page.capacity) {
    const number = page.number + row;
    page = pageOf(rows, number);
    row = number - page.number;
  }
  const tag = pageTag(page, slot, row);
  setAt(block, 0, tag, pageVal(page, slot, row));
  store<u8>(block, tag, COL_UNIFORM);
}

/** A column of no branch has the same value in all rows of the message. */
function fillOther(block: usize, owner: u32, slot: u32, n: u32): void {
  const others = state.others;
  const isKnown = owner == OWNER_OTHER && others.count != 0;
  const page = rowsFirst(others);
  const tag: u8 = isKnown ? pageTag(page, slot, page.left) : Tag.MISSING;
  const payload: u64 = isKnown ? pageVal(page, slot, page.left) : 0;
  for (let i: u32 = 0; i < n; i++) store<u64>(block + ((<usize>i) << 3), payload, COL_VALS);
  memory.fill(block + COL_TAGS, tag, n);
  store<u8>(block, tag, COL_UNIFORM);
}
