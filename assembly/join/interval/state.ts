// State of an interval join: of each side the rows that may still meet a row of the other, or have no match yet, in the
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
import { Rows, ROWS_SIZE } from '../../rows/layout';
import { rowsDrop } from '../../rows/store';
import { Program } from '../../gen/ops-layouts';
import { PartitionTable, PartitionEntry } from '../../partitions/table-slots';
import { IntervalJob } from './job';

/** Rows of one side. */
// @ts-ignore: decorator
@unmanaged
export class Side extends Rows {
  links: usize;
  linkMask: u32;
  oldest: u32;
  nextLink: u32;
  done: u32;
}

const SIDE_SIZE: u32 = ROWS_SIZE + 24;
/** State of an interval join. */
// @ts-ignore: decorator
@unmanaged
export class IntervalState extends PartitionTable {
  private gap48: u64;
  private gap56: u64;
  private gap64: u64;
  private gap72: u64;
  private gap80: u64;
  private gap88: u64;
  private gap96: u64;
  private gap104: u64;
  private gap112: u64;
  private gap120: u64;
  private gap128: u64;
  private gap136: u64;
  private gap144: u64;
  private gap152: u64;
  private gap160: u64;
  private gap168: u64;
  private gap176: u64;
  private gap184: u64;
  program: Program;
  job: IntervalJob;
}

export const INTERVAL_STATE_SIZE: u32 = <u32>offsetof<IntervalState>('program') + 8;

const LINK_SIZE_LOG: u32 = 4;
/** Place of a row in the list of its key. */
// @ts-ignore: decorator
@unmanaged
class RowLink {
  next: u32;
  entry: u32;
  time: f64;
}

const FIRST_LINKS: u32 = 16;
const MATCHED: u32 = 1;

/** Rows of a key on one side. */
// @ts-ignore: decorator
@unmanaged
class KeyList {
  first: u32;
  last: u32;
  count: u32;
}

const LIST_SIZE: u32 = 12;
/** Bytes of an entry. */
export const INTERVAL_ENTRY: u32 = ENTRY_HEAD + 2 * LIST_SIZE;

// @ts-ignore: decorator
@inline export function sideOf(state: usize, isRight: bool): Side {
  return changetype<Side>(state + TABLE_SIZE + (isRight ? <usize>SIDE_SIZE : 0));
}

/** The rows of a key on one side. */
// @ts-ignore: decorator
@inline export function listOf(entry: usize, isRight: bool): usize {
  return entry + ENTRY_HEAD + (isRight ? <usize>LIST_SIZE : 0);
}

// @ts-ignore: decorator
@inline export function listCount(list: usize): u32 {
  return load<u32>(list, offsetof<KeyList>('count'));
}

// @ts-ignore: decorator
@inline export function listFirst(list: usize): u32 {
  return load<u32>(list);
}

/** Number of rows at work, worked off ones included. */
// @ts-ignore: decorator
@inline export function sideCount(side: Side): u32 {
  return side.nextLink - side.oldest;
}

// @ts-ignore: decorator
@inline export function sideDone(side: Side): u32 {
  return side.done;
}

// @ts-ignore: decorator
@inline function linkOf(side: Side, position: u32): RowLink {
  return linkAt(side, side.oldest + position);
}

/** The link of the row of the number: numbers stay when rows before them go, links as long as none come. */
// @ts-ignore: decorator
@inline export function linkAt(side: Side, number: u32): RowLink {
  return changetype<RowLink>(side.links + ((<usize>(number & side.linkMask)) << LINK_SIZE_LOG));
}

/** Number of the row behind that of the link on the list of its key; it must not be the last one. */
// @ts-ignore: decorator
@inline export function nextOf(link: RowLink): u32 {
  return link.next;
}

// @ts-ignore: decorator
@inline export function linkTime(link: RowLink): f64 {
  return link.time;
}

/** Position of the row of the number. */
// @ts-ignore: decorator
@inline export function positionOf(side: Side, number: u32): u32 {
  return number - side.oldest;
}

/** Time of the row at that position, epoch ms. */
// @ts-ignore: decorator
@inline export function timeOf(side: Side, position: u32): f64 {
  return linkOf(side, position).time;
}

/** The entry of the row's key, 0 when it is on no list. */
// @ts-ignore: decorator
@inline export function entryOf(side: Side, position: u32): PartitionEntry {
  return changetype<PartitionEntry>(<usize>(linkOf(side, position).entry & ~MATCHED));
}

// @ts-ignore: decorator
@inline export function isMatched(side: Side, position: u32): bool {
  return (linkOf(side, position).entry & MATCHED) != 0;
}

// @ts-ignore: decorator
@inline export function noteMatched(side: Side, position: u32): void {
  const link = linkOf(side, position);
  link.entry |= MATCHED;
}

/** Makes room for links of all rows that are there; false when memory is exhausted. */
export function linksReserve(side: Side, acct: usize): bool {
  const links = side.links;
  const before: u32 = links ? side.linkMask + 1 : 0;
  const count = side.count;
  if (count <= before) return true;
  let room = max(before, FIRST_LINKS);
  while (room < count && room < 1 << 26) room <<= 1;
  const made: usize = room < count ? 0 : alloc(room << LINK_SIZE_LOG, acct);
  if (!made) return false;
  const oldest = side.oldest;
  for (let i: u32 = 0; i < before; i++) {
    const number = oldest + i;
    memory.copy(
      made + ((<usize>(number & (room - 1))) << LINK_SIZE_LOG),
      changetype<usize>(linkAt(side, number)),
      1 << LINK_SIZE_LOG,
    );
  }
  linksFree(side, acct);
  side.links = made;
  side.linkMask = room - 1;
  return true;
}

export function linksFree(side: Side, acct: usize): void {
  const links = side.links;
  if (links) free(links, (side.linkMask + 1) << LINK_SIZE_LOG, acct);
}

/**
 * Lets the next row come to work: on the list of its key (entry, 0 none). Returns its number. There must be room for
 * the link.
 */
export function linkRow(side: Side, isRight: bool, entry: usize, ms: f64): u32 {
  const number = side.nextLink;
  side.nextLink = number + 1;
  const link = linkAt(side, number);
  link.entry = <u32>entry;
  link.time = ms;
  if (!entry) return number;
  const list = listOf(entry, isRight);
  const count = listCount(list);
  if (count) linkAt(side, load<u32>(list, offsetof<KeyList>('last'))).next = number;
  else store<u32>(list, number);
  store<u32>(list, number, offsetof<KeyList>('last'));
  store<u32>(list, count + 1, offsetof<KeyList>('count'));
  return number;
}

/** Works off the next row of a side: it leaves the list of its key, on which it is the first. */
export function workOff(state: PartitionTable, side: Side, isRight: bool): void {
  const position = sideDone(side);
  const entry = entryOf(side, position);
  side.done = position + 1;
  if (entry) leaveList(state, entry, isRight, linkOf(side, position));
}

// @ts-ignore: decorator
@inline function leaveList(state: PartitionTable, entry: PartitionEntry, isRight: bool, link: RowLink): void {
  const list = listOf(changetype<usize>(entry), isRight);
  const count = listCount(list) - 1;
  store<u32>(list, count, offsetof<KeyList>('count'));
  if (count) store<u32>(list, link.next);
  // Rows of the batch at work may still come to the key.
  else if (listCount(listOf(changetype<usize>(entry), !isRight)) == 0) noteDirty(state, entry);
}

/** The first row of the list of the key leaves it before it is worked off. */
export function leaveEarly(state: PartitionTable, side: Side, isRight: bool, entry: PartitionEntry): void {
  const link = linkAt(side, listFirst(listOf(changetype<usize>(entry), isRight)));
  leaveList(state, entry, isRight, link);
  link.entry &= MATCHED;
}

/** Works off the first row of a side whose rows do not go on alone, if it is older than that; false when it is not. */
// @ts-ignore: decorator
@inline export function workOffOld(state: PartitionTable, side: Side, isRight: bool, waits: f64, ms: f64): bool {
  const done = sideDone(side);
  if (done >= sideCount(side) || !(timeOf(side, done) + waits < ms)) return false;
  workOff(state, side, isRight);
  return true;
}

/** Takes the next noted key, and drops it if it has no rows; false when none was noted. */
// @ts-ignore: decorator
@inline export function dropEmpty(state: PartitionTable, acct: usize): bool {
  const entry = takeDirty(state);
  if (!entry) return false;
  if (listCount(listOf(changetype<usize>(entry), false)) + listCount(listOf(changetype<usize>(entry), true)) == 0)
    entryDrop(state, entry, INTERVAL_ENTRY, acct);
  return true;
}

/** Drops the rows that are worked off, which changes the positions of later rows. */
export function dropDone(side: Side): void {
  const done = sideDone(side);
  if (!done) return;
  rowsDrop(side, done);
  side.oldest += done;
  side.done = 0;
}
