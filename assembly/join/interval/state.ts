// What an interval join keeps: of each side the rows that may still meet one of the other, or have met none yet, in the
// order of their times; and for each key the lists of its rows on both sides.
//
//   state   0    table 32                         keys (partitions/table.ts)
//           32   left side 72 | right side 72
//           176  program u32 of the condition, 0 none | job u32 (join/interval/job.ts), 0 none
//   side    0    rows 48                          columns of the output that are the side's (rows/store.ts)
//           48   links u32 -> ring of links | linkMask u32 | oldest u32 (number of the link of the first row)
//           60   next u32                         number of the next link: rows behind are there, but not at work yet
//           64   done u32                         rows in front that are worked off: they go when nobody refers to them
//   link    0    next u32 (number of the next row of the key) | entry u32 of the key, 0 none; bit 0: the row has met
//   one
//           8    time f64
//   entry   48   list of the left 12 | list of the right 12
//   list    0    first u32 | last u32 | count u32 (numbers of links)
//
// Links are numbered one by one, round after 2^32, and stand in the ring at their number.
import { alloc, free } from '../../mem/alloc';
import { ENTRY_HEAD, TABLE_SIZE, entryDrop, noteDirty, takeDirty } from '../../partitions/table';
import { ROWS_COUNT, ROWS_SIZE } from '../../rows/layout';
import { rowsDrop } from '../../rows/store';

const LINKS: usize = ROWS_SIZE;
const LINK_MASK: usize = ROWS_SIZE + 4;
const OLDEST: usize = ROWS_SIZE + 8;
const NEXT: usize = ROWS_SIZE + 12;
const DONE: usize = ROWS_SIZE + 16;
const SIDE_SIZE: u32 = ROWS_SIZE + 24;
export const INTERVAL_PROGRAM: usize = TABLE_SIZE + 2 * SIDE_SIZE;
export const INTERVAL_JOB: usize = INTERVAL_PROGRAM + 4;
export const INTERVAL_STATE_SIZE: u32 = <u32>INTERVAL_PROGRAM + 8;

const LINK_SIZE_LOG: u32 = 4;
const LINK_ENTRY: usize = 4;
const LINK_TIME: usize = 8;
const FIRST_LINKS: u32 = 16;
const MATCHED: u32 = 1;

const LIST_LAST: usize = 4;
const LIST_COUNT: usize = 8;
const LIST_SIZE: u32 = 12;
/** Bytes of an entry. */
export const INTERVAL_ENTRY: u32 = ENTRY_HEAD + 2 * LIST_SIZE;

// @ts-ignore: decorator
@inline export function sideOf(state: usize, isRight: bool): usize {
  return state + TABLE_SIZE + (isRight ? <usize>SIDE_SIZE : 0);
}

/** The rows of a key on one side. */
// @ts-ignore: decorator
@inline export function listOf(entry: usize, isRight: bool): usize {
  return entry + ENTRY_HEAD + (isRight ? <usize>LIST_SIZE : 0);
}

// @ts-ignore: decorator
@inline export function listCount(list: usize): u32 {
  return load<u32>(list, LIST_COUNT);
}

// @ts-ignore: decorator
@inline export function listFirst(list: usize): u32 {
  return load<u32>(list);
}

/** Rows that are at work, those that are worked off included. */
// @ts-ignore: decorator
@inline export function sideCount(side: usize): u32 {
  return load<u32>(side, NEXT) - load<u32>(side, OLDEST);
}

// @ts-ignore: decorator
@inline export function sideDone(side: usize): u32 {
  return load<u32>(side, DONE);
}

// @ts-ignore: decorator
@inline function linkOf(side: usize, position: u32): usize {
  return linkAt(side, load<u32>(side, OLDEST) + position);
}

/** The link of the row of the number: numbers stay when rows before them go, links as long as none come. */
// @ts-ignore: decorator
@inline export function linkAt(side: usize, number: u32): usize {
  return <usize>load<u32>(side, LINKS) + ((<usize>(number & load<u32>(side, LINK_MASK))) << LINK_SIZE_LOG);
}

/** Number of the row behind that of the link on the list of its key; it must not be the last one. */
// @ts-ignore: decorator
@inline export function nextOf(link: usize): u32 {
  return load<u32>(link);
}

// @ts-ignore: decorator
@inline export function linkTime(link: usize): f64 {
  return load<f64>(link, LINK_TIME);
}

/** Position of the row of the number. */
// @ts-ignore: decorator
@inline export function positionOf(side: usize, number: u32): u32 {
  return number - load<u32>(side, OLDEST);
}

/** Time of the row at that position, epoch ms. */
// @ts-ignore: decorator
@inline export function timeOf(side: usize, position: u32): f64 {
  return load<f64>(linkOf(side, position), LINK_TIME);
}

/** The entry of the row's key, 0 when it is on no list. */
// @ts-ignore: decorator
@inline export function entryOf(side: usize, position: u32): usize {
  return <usize>(load<u32>(linkOf(side, position), LINK_ENTRY) & ~MATCHED);
}

// @ts-ignore: decorator
@inline export function isMatched(side: usize, position: u32): bool {
  return (load<u32>(linkOf(side, position), LINK_ENTRY) & MATCHED) != 0;
}

// @ts-ignore: decorator
@inline export function noteMatched(side: usize, position: u32): void {
  const link = linkOf(side, position);
  store<u32>(link, load<u32>(link, LINK_ENTRY) | MATCHED, LINK_ENTRY);
}

/** Makes room for links of all rows that are there; false when memory is exhausted. */
export function linksReserve(side: usize, acct: usize): bool {
  const links = <usize>load<u32>(side, LINKS);
  const before: u32 = links ? load<u32>(side, LINK_MASK) + 1 : 0;
  const count = load<u32>(side, ROWS_COUNT);
  if (count <= before) return true;
  let room = max(before, FIRST_LINKS);
  while (room < count && room < 1 << 26) room <<= 1;
  const made: usize = room < count ? 0 : alloc(room << LINK_SIZE_LOG, acct);
  if (!made) return false;
  const oldest = load<u32>(side, OLDEST);
  for (let i: u32 = 0; i < before; i++) {
    const number = oldest + i;
    memory.copy(made + ((<usize>(number & (room - 1))) << LINK_SIZE_LOG), linkAt(side, number), 1 << LINK_SIZE_LOG);
  }
  linksFree(side, acct);
  store<u32>(side, <u32>made, LINKS);
  store<u32>(side, room - 1, LINK_MASK);
  return true;
}

export function linksFree(side: usize, acct: usize): void {
  const links = <usize>load<u32>(side, LINKS);
  if (links) free(links, (load<u32>(side, LINK_MASK) + 1) << LINK_SIZE_LOG, acct);
}

/**
 * Lets the next row come to work: on the list of its key (entry, 0 none). Returns its number. There must be room for
 * the link.
 */
export function linkRow(side: usize, isRight: bool, entry: usize, ms: f64): u32 {
  const number = load<u32>(side, NEXT);
  store<u32>(side, number + 1, NEXT);
  const link = linkAt(side, number);
  store<u32>(link, <u32>entry, LINK_ENTRY);
  store<f64>(link, ms, LINK_TIME);
  if (!entry) return number;
  const list = listOf(entry, isRight);
  const count = listCount(list);
  if (count) store<u32>(linkAt(side, load<u32>(list, LIST_LAST)), number);
  else store<u32>(list, number);
  store<u32>(list, number, LIST_LAST);
  store<u32>(list, count + 1, LIST_COUNT);
  return number;
}

/** The first row that is not worked off is: it leaves the list of its key, on which it is the first. */
export function workOff(state: usize, side: usize, isRight: bool): void {
  const position = sideDone(side);
  const entry = entryOf(side, position);
  store<u32>(side, position + 1, DONE);
  if (entry) leaveList(state, entry, isRight, linkOf(side, position));
}

// @ts-ignore: decorator
@inline function leaveList(state: usize, entry: usize, isRight: bool, link: usize): void {
  const list = listOf(entry, isRight);
  const count = listCount(list) - 1;
  store<u32>(list, count, LIST_COUNT);
  if (count) store<u32>(list, load<u32>(link));
  // Rows of the batch at work may come to it yet.
  else if (listCount(listOf(entry, !isRight)) == 0) noteDirty(state, entry);
}

/** The first row of the list of the key leaves it before it is worked off. */
export function leaveEarly(state: usize, side: usize, isRight: bool, entry: usize): void {
  const link = linkAt(side, listFirst(listOf(entry, isRight)));
  leaveList(state, entry, isRight, link);
  store<u32>(link, load<u32>(link, LINK_ENTRY) & MATCHED, LINK_ENTRY);
}

/** Works off the first row of a side whose rows do not go on alone, if it is older than that; false when it is not. */
// @ts-ignore: decorator
@inline export function workOffOld(state: usize, side: usize, isRight: bool, waits: f64, ms: f64): bool {
  const done = sideDone(side);
  if (done >= sideCount(side) || !(timeOf(side, done) + waits < ms)) return false;
  workOff(state, side, isRight);
  return true;
}

/** Takes the next key that was noted, and lets it go if it has no rows; false when none was noted. */
// @ts-ignore: decorator
@inline export function dropEmpty(state: usize, acct: usize): bool {
  const entry = takeDirty(state);
  if (!entry) return false;
  if (listCount(listOf(entry, false)) + listCount(listOf(entry, true)) == 0)
    entryDrop(state, entry, INTERVAL_ENTRY, acct);
  return true;
}

/** Lets the rows go that are worked off: those behind them have other positions then. */
export function dropDone(side: usize): void {
  const done = sideDone(side);
  if (!done) return;
  rowsDrop(side, done);
  store<u32>(side, load<u32>(side, OLDEST) + done, OLDEST);
  store<u32>(side, 0, DONE);
}
