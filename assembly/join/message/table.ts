// Tables of a join: the newest rows that came, with an index by the hash of their keys (join/message/hash-index.ts)
// once rows are looked up. A large one grows little by little: a larger one catches up with it before it is full.
import { forgiveRefusals, refusals } from '../../mem/alloc';
import { firstNumber, pageOf } from '../../rows/number';
import { rowsLoad, rowsSave } from '../../rows/save';
import { rowsAppend, rowsDrop } from '../../rows/store';
import { readU32 } from '../../state/reader';
import { writeU32 } from '../../state/writer';
import {
  HashIndex,
  indexAddRow,
  indexCatchUp,
  indexDrop,
  indexDropRow,
  indexFree,
  indexLarger,
  indexReplace,
  indexRoom,
} from './hash-index';
import { Branch } from './spec';

/** Rows from which on an index grows little by little; a smaller one is made anew in a few ms. */
const LARGE: u32 = 1 << 16;

/**
 * Appends the rows `sel[0 … n)` of the columns at `binds` (mem/bind.ts) and drops the oldest beyond `retain` (0: keeps
 * all). False when memory is exhausted; the table is as it was then.
 */
export function tableAdd(
  table: Branch,
  binds: usize,
  columns: u32,
  sel: usize,
  n: u32,
  retain: u32,
  acct: usize,
): bool {
  // Rows that later ones of the batch would drop are not taken in at all.
  const skipped = retain && n > retain ? n - retain : 0;
  n -= skipped;
  if (!rowsAppend(table, binds, columns, sel + ((<usize>skipped) << 2), n, 0)) return false;
  const count = table.count;
  const drops = retain && count > retain ? count - retain : 0;
  if (table.index && !follow(table, n, drops, retain, acct)) tableDropIndex(table, acct);
  rowsDrop(table, drops);
  return true;
}

/** Takes the first `drops` rows out of the index and adds the last `n`; false when it has no room for them. */
function follow(table: Branch, n: u32, drops: u32, retain: u32, acct: usize): bool {
  const first = firstNumber(table);
  for (let i: u32 = 0; i < drops; i++) {
    const page = pageOf(table, first + i);
    indexDropRow(changetype<HashIndex>(table.index), page, first + i - page.number);
    const made = table.nextRows;
    if (!made) continue;
    indexDrop(changetype<HashIndex>(table.next));
    table.nextRows = made - 1;
  }
  const count = table.count;
  for (let i = count - n; i < count; i++) {
    const page = pageOf(table, first + i);
    if (!makeRoom(table, i - drops, retain, acct)) return false;
    indexAddRow(changetype<HashIndex>(table.index), i - drops, page, first + i - page.number);
  }
  return true;
}

/** Makes room in the index for a row more than `count`, or prepares for it; false when there is none. */
function makeRoom(table: Branch, count: u32, retain: u32, acct: usize): bool {
  const index = changetype<HashIndex>(table.index);
  const room = indexRoom(index);
  const isFull = count == room;
  let next = changetype<HashIndex>(table.next);
  if (!next) {
    if (isFull || room < LARGE || count < room >> 1 || (retain && retain <= room) || count & 1023) return !isFull;
    const before = refusals;
    next = indexLarger(index, acct);
    // The larger index is asked for again, as long as there is room without it.
    forgiveRefusals(before);
    table.next = changetype<usize>(next);
    return true;
  }
  let made = table.nextRows;
  do made = indexCatchUp(next, index, made, count);
  while (isFull && made < count);
  table.nextRows = made;
  if (!isFull) return true;
  indexReplace(next, index, acct);
  table.index = changetype<usize>(next);
  store<u64>(changetype<usize>(table), 0, offsetof<Branch>('next'));
  return true;
}

/** Saves the rows, oldest first. The index is made again when rows are looked up. */
export function tableSave(table: Branch): void {
  writeU32(table.lookups);
  rowsSave(table);
}

/** Adds saved rows to an empty table; `list`: which members of the join their columns are. */
export function tableLoad(table: Branch, list: u32): void {
  table.lookups = readU32();
  rowsLoad(table, list);
}

/** Forgets the index; a larger one is made when the next row is looked up. */
export function tableDropIndex(table: Branch, acct: usize): void {
  indexFree(changetype<HashIndex>(table.index), acct);
  table.index = 0;
  indexFree(changetype<HashIndex>(table.next), acct);
  store<u64>(changetype<usize>(table), 0, offsetof<Branch>('next'));
}
