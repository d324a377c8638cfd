// What an interval join keeps, saved and loaded: of both sides the rows in their order, each with its time and key, of
// which the lists are made again.
import { N_SPEC, N_STATE, accountOf } from '../../node/node';
import { INTERVAL_KEYS } from '../../gen/join-layouts';
import { LoadFault } from '../../gen/state-layouts';
import { lenOf, offOf } from '../../mem/layout';
import { poolFree, poolInit } from '../../mem/pool';
import { entryKey, entryKeyLen, findEntry, findNullEntry, isNullEntry } from '../../partitions/table';
import { PAGE_LEFT, PAGE_NEXT, PAGE_TO } from '../../rows/page';
import { rowLoad, rowSave } from '../../rows/save';
import { rowsFirst } from '../../rows/store';
import { Members } from '../../state/members';
import { readBytes, readFail, readFails, readLength, readTime, readUpTo, readVersion } from '../../state/reader';
import { writeBytes, writeTime, writeU32, writeVersion } from '../../state/writer';
import {
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

const VERSION: u32 = 1;
/** Marks of a row: it has met one of the other side; it is on the list of its key. */
const MATCHED: u32 = 1;
const LISTED: u32 = 2;

/** Saves the rows of both sides. */
export function intervalSave(node: usize): void {
  writeVersion(VERSION);
  const state = <usize>load<u32>(node, N_STATE);
  saveSide(state, sideOf(state, false));
  saveSide(state, sideOf(state, true));
}

function saveSide(state: usize, side: usize): void {
  writeU32(sideCount(side));
  let position: u32 = 0;
  for (let page = rowsFirst(side); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    const to = load<u32>(page, PAGE_TO);
    for (let row = load<u32>(page, PAGE_LEFT); row < to; row++, position++) {
      const entry = entryOf(side, position);
      writeTime(timeOf(side, position));
      writeU32((isMatched(side, position) ? MATCHED : 0) | (entry ? LISTED : 0));
      if (entry && !isNullEntry(state, entry)) writeBytes(entryKey(entry), entryKeyLen(entry));
      rowSave(side, page, row);
    }
  }
}

/** Fills a node that was just made. */
export function intervalLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  loadSide(node, false);
  loadSide(node, true);
  return !readFails();
}

function loadSide(node: usize, isRight: bool): void {
  const state = <usize>load<u32>(node, N_STATE);
  const side = sideOf(state, isRight);
  const hasKeys = load<u32>(<usize>load<u32>(node, N_SPEC), INTERVAL_KEYS) != 0;
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

const KEY_POOL: usize = memory.data(32, 16);

function readEntry(state: usize, hasKeys: bool, acct: usize): usize {
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
