// Saved state of an interval join: the rows of both sides in their order, each with its time and key. The lists are
// made again from them.
import { accountOf } from '../../node/node';
import { LoadFault } from '../../gen/state-layouts';
import { lenOf, offOf } from '../../mem/layout';
import { Pool, poolFree, poolInit } from '../../mem/pool';
import { entryKey, entryKeyLen, findEntry, findNullEntry, isNullEntry } from '../../partitions/table';
import { rowLoad, rowSave } from '../../rows/save';
import { rowsFirst } from '../../rows/store';
import { Members } from '../../state/members';
import { readBytes, readFail, readFails, readLength, readTime, readUpTo, readVersion } from '../../state/reader';
import { writeBytes, writeTime, writeU32, writeVersion } from '../../state/writer';
import {
  Side,
  INTERVAL_ENTRY,
  entryOf,
  isMatched,
  linkRow,
  linksReserve,
  noteMatched,
  sideCount,
  sideOf,
  timeOf,
} from './state';
import { IntervalSpec } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { PartitionTable } from '../../partitions/table-slots';

const VERSION: u32 = 1;
/** Marks of a row: it has met one of the other side; it is on the list of its key. */
const MATCHED: u32 = 1;
const LISTED: u32 = 2;

/** Saves the rows of both sides. */
export function intervalSave(node: Node): void {
  writeVersion(VERSION);
  const state = changetype<PartitionTable>(node.state);
  saveSide(state, sideOf(changetype<usize>(state), false));
  saveSide(state, sideOf(changetype<usize>(state), true));
}

function saveSide(state: PartitionTable, side: Side): void {
  writeU32(sideCount(side));
  let position: u32 = 0;
  for (let page = rowsFirst(side); page; page = page.next) {
    const to = page.to;
    for (let row = page.left; row < to; row++, position++) {
      const entry = entryOf(side, position);
      writeTime(timeOf(side, position));
      writeU32((isMatched(side, position) ? MATCHED : 0) | (entry ? LISTED : 0));
      if (entry && !isNullEntry(state, entry)) writeBytes(entryKey(entry), entryKeyLen(entry));
      rowSave(side, page, row);
    }
  }
}

/** Fills a node that was just made. */
export function intervalLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  loadSide(node, false);
  loadSide(node, true);
  return !readFails();
}

function loadSide(node: Node, isRight: bool): void {
  const state = changetype<PartitionTable>(node.state);
  const side = sideOf(changetype<usize>(state), isRight);
  const hasKeys = changetype<IntervalSpec>(node.spec).keys != 0;
  const acct = accountOf(node);
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const ms = readTime();
    const marks = readUpTo(MATCHED | LISTED);
    const entry: usize = marks & LISTED && !readFails() ? readEntry(state, hasKeys, acct) : 0;
    if (readFails() || !rowLoad(side, count - i, isRight ? Members.KEPT : Members.ROWS)) return;
    if (!linksReserve(side, acct)) {
      readFail(LoadFault.MEMORY);
      return;
    }
    linkRow(side, isRight, entry, ms);
    if (marks & MATCHED) noteMatched(side, i);
  }
}

const KEY_POOL: Pool = changetype<Pool>(memory.data(32, 16));

function readEntry(state: PartitionTable, hasKeys: bool, acct: usize): usize {
  let entry: usize = 0;
  if (!hasKeys) entry = findNullEntry(state, INTERVAL_ENTRY, acct);
  else {
    poolInit(KEY_POOL, 256, 0);
    const key = readBytes(KEY_POOL);
    if (!readFails()) entry = findEntry(state, INTERVAL_ENTRY, offOf(key), lenOf(key), acct);
    poolFree(KEY_POOL);
  }
  if (!entry) readFail(LoadFault.MEMORY);
  return entry;
}
