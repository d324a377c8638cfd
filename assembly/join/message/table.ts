// Tables of a join: the newest rows that came, with an index by the hash of their keys (join/message/hash-index.ts)
// once rows are looked up. A large one grows little by little: a larger one catches up with it before it is full.
import { forgiveRefusals, refusals } from '../../mem/alloc';
import { ROWS_COUNT } from '../../rows/layout';
import { firstNumber, pageOf } from '../../rows/number';
import { PAGE_NUMBER } from '../../rows/page';
import { rowsLoad, rowsSave } from '../../rows/save';
import { rowsAppend, rowsDrop } from '../../rows/store';
import { readU32 } from '../../state/reader';
import { writeU32 } from '../../state/writer';
import {
  indexAddRow,
  indexCatchUp,
  indexDrop,
  indexDropRow,
  indexFree,
  indexLarger,
  indexReplace,
  indexRoom,
} from './hash-index';
import { BRANCH_INDEX, BRANCH_LOOKUPS, BRANCH_NEXT, BRANCH_NEXT_ROWS } from './spec';

/** An index for so many rows or more grows little by little; a smaller one is made anew in a few ms. */
const LARGE: u32 = 1 << 16;

/**
 * Appends the rows `sel[0 … n)` of the columns at `binds` (mem/bind.ts) and drops the oldest beyond `retain` (0: keeps
 * all). False when memory is exhausted; the table is as it was then.
 */
export function tableAdd(table: usize, binds: usize, columns: u32, sel: usize, n: u32, retain: u32, acct: usize): bool {
  // Rows that those behind them would drop are not taken in at all.
  const skipped = retain && n > retain ? n - retain : 0;
  n -= skipped;
  if (!rowsAppend(table, binds, columns, sel + ((<usize>skipped) << 2), n, 0)) return false;
  const count = load<u32>(table, ROWS_COUNT);
  const drops = retain && count > retain ? count - retain : 0;
  if (load<u32>(table, BRANCH_INDEX) && !follow(table, n, drops, retain, acct)) tableDropIndex(table, acct);
  rowsDrop(table, drops);
  return true;
}

/** Takes the first `drops` rows out of the index and adds the last `n`; false when it has no room for them. */
function follow(table: usize, n: u32, drops: u32, retain: u32, acct: usize): bool {
  const first = firstNumber(table);
  for (let i: u32 = 0; i < drops; i++) {
    const page = pageOf(table, first + i);
    indexDropRow(<usize>load<u32>(table, BRANCH_INDEX), page, first + i - load<u32>(page, PAGE_NUMBER));
    const made = load<u32>(table, BRANCH_NEXT_ROWS);
    if (!made) continue;
    indexDrop(<usize>load<u32>(table, BRANCH_NEXT));
    store<u32>(table, made - 1, BRANCH_NEXT_ROWS);
  }
  const count = load<u32>(table, ROWS_COUNT);
  for (let i = count - n; i < count; i++) {
    const page = pageOf(table, first + i);
    if (!makeRoom(table, i - drops, retain, acct)) return false;
    indexAddRow(<usize>load<u32>(table, BRANCH_INDEX), i - drops, page, first + i - load<u32>(page, PAGE_NUMBER));
  }
  return true;
}

/** Makes room in the index for a row more than `count`, or prepares for it; false when there is none. */
function makeRoom(table: usize, count: u32, retain: u32, acct: usize): bool {
  const index = <usize>load<u32>(table, BRANCH_INDEX);
  const room = indexRoom(index);
  const isFull = count == room;
  let next = <usize>load<u32>(table, BRANCH_NEXT);
  if (!next) {
    if (isFull || room < LARGE || count < room >> 1 || (retain && retain <= room) || count & 1023) return !isFull;
    const before = refusals;
    next = indexLarger(index, acct);
    // It is asked for again, as long as there is room without it.
    forgiveRefusals(before);
    store<u32>(table, <u32>next, BRANCH_NEXT);
    return true;
  }
  let made = load<u32>(table, BRANCH_NEXT_ROWS);
  do made = indexCatchUp(next, index, made, count);
  while (isFull && made < count);
  store<u32>(table, made, BRANCH_NEXT_ROWS);
  if (!isFull) return true;
  indexReplace(next, index, acct);
  store<u32>(table, <u32>next, BRANCH_INDEX);
  store<u64>(table, 0, BRANCH_NEXT);
  return true;
}

/** Saves the rows, oldest first. The index is made again when rows are looked up. */
export function tableSave(table: usize): void {
  writeU32(load<u32>(table, BRANCH_LOOKUPS));
  rowsSave(table);
}

/** Adds saved rows to an empty table; `list`: which members of the join their columns are. */
export function tableLoad(table: usize, list: u32): void {
  store<u32>(table, readU32(), BRANCH_LOOKUPS);
  rowsLoad(table, list);
}

/** Forgets the index; a larger one is made when the next row is looked up. */
export function tableDropIndex(table: usize, acct: usize): void {
  indexFree(<usize>load<u32>(table, BRANCH_INDEX), acct);
  store<u32>(table, 0, BRANCH_INDEX);
  indexFree(<usize>load<u32>(table, BRANCH_NEXT), acct);
  store<u64>(table, 0, BRANCH_NEXT);
}
