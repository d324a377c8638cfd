// The older part of a window in two stacks: partial aggregates (entries) in the order in which they leave, each joined
// with all younger ones of its key. The oldest entry of a key, its head, therefore holds the aggregates of all entries
// of the key. When the head leaves, the next entry of the key becomes the head. The cost of leaving or reading a key
// does not depend on the number of entries.
//
//   front   0    keys: a group set with a group for each key (agg/group/group.ts); while in use `next` of these
//                groups is the place of the key's first entry
//           120  list u32 | from u32 | count u32 | capacity u32       entries `from` to `count` are in the window
//           136  marks u32 | marksBytes u32                           which entries are heads
//   entry   group u32 (0: a row that counts, but is not part of the window) | next u32 (entry of the same key) | key
//   u32
//
// Marks are bits in three levels, each with a bit for every word of the level below that is not 0, so that the heads
// are found in the order of their entries. Marks of entries that have left stay.
import { alloc, free } from '../../mem/alloc';
import { setBit } from '../../mem/bits';
import { SET_SIZE, regroup, setFree, setInit, setReset } from '../../agg/group/group';
import { keepOf, mergeEnd, mergeGroup } from '../../agg/merge';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from '../../agg/group/table';

export const FRONT_SIZE: u32 = SET_SIZE + 24;
/** The older part of a window in two stacks. */
// @ts-ignore: decorator
@unmanaged
export class Front extends GroupSet {
  list: usize;
  from: u32;
  entryCount: Group;
  capacity: u32;
  marks: usize;
  marksBytes: u32;
}

const ENTRY_SIZE: u32 = 12;
/** A partial aggregate. */
// @ts-ignore: decorator
@unmanaged
class FrontEntry {
  group: Group;
  next: Group;
  key: Group;
}

const NONE: u32 = 0xffffffff;
/** Stands for the number of an entry where there is none. */
export const FRONT_END: u32 = NONE;
/** Entries for which an empty front keeps room. */
const KEPT_ENTRIES: u32 = 1024;

export function frontInit(front: Front, acct: usize): void {
  memory.fill(changetype<usize>(front), 0, FRONT_SIZE);
  setInit(front, acct);
}

export function frontFree(front: Front, acct: usize): void {
  setFree(front);
  freeList(front, acct);
}

function freeList(front: Front, acct: usize): void {
  free(front.list, front.capacity * ENTRY_SIZE, acct);
  free(front.marks, front.marksBytes, acct);
  memory.fill(changetype<usize>(front) + offsetof<Front>('list'), 0, FRONT_SIZE - SET_SIZE);
}

/** Entries that are in the window. */
// @ts-ignore: decorator
@inline export function frontCount(front: Front): u32 {
  return changetype<usize>(front.entryCount) - front.from;
}

/** Empties the front; a large list goes back, so that one peak doesn't hold memory for ever. */
export function frontReset(front: Front, acct: usize): void {
  setReset(front);
  if (front.capacity > KEPT_ENTRIES) freeList(front, acct);
  front.from = 0;
  front.entryCount = changetype<Group>(0);
}

// @ts-ignore: decorator
@inline function entryAt(front: Front, i: Group): FrontEntry {
  return changetype<FrontEntry>(front.list + <usize>(changetype<usize>(i) * ENTRY_SIZE));
}

/** Makes room for `n` entries of an empty front; false when memory is exhausted. */
export function frontReserve(front: Front, n: u32, acct: usize): bool {
  if (n <= front.capacity) return true;
  freeList(front, acct);
  const wanted = (n + (n >> 2) + 15) & ~15;
  const bytes = (words(wanted) + words(wanted >> 6) + words(wanted >> 12)) << 3;
  const list = alloc(wanted * ENTRY_SIZE, acct);
  const marks = list ? alloc(bytes, acct) : 0;
  if (!marks) {
    free(list, wanted * ENTRY_SIZE, acct);
    return false;
  }
  front.list = list;
  front.capacity = wanted;
  front.marks = marks;
  front.marksBytes = bytes;
  return true;
}

/** Words of a level of marks with `bits` bits, and one more, which is always 0 and ends searches. */
// @ts-ignore: decorator
@inline function words(bits: u32): u32 {
  return (bits >> 6) + 2;
}

/** Adds an entry, for which there must be room: `group` has its aggregates, `key` is the group of its key. */
// @ts-ignore: decorator
@inline export function frontPut(front: Front, group: Group, key: Group): void {
  const i = front.entryCount;
  const entry = entryAt(front, i);
  entry.group = group;
  entry.key = key;
  front.entryCount = changetype<Group>(changetype<usize>(i) + 1);
}

/** The group of entry `i` of the window; 0 when it has none. */
// @ts-ignore: decorator
@inline export function frontGroup(front: Front, i: u32): Group {
  return entryAt(front, changetype<Group>(front.from + i)).group;
}

/** Number of entries that were added with a key. */
export function frontKeyed(front: Front): u32 {
  const n = front.entryCount;
  let keyed: u32 = 0;
  for (let i: u32 = 0; i < changetype<usize>(n); i++) keyed += <u32>!!entryAt(front, changetype<Group>(i)).key;
  return keyed;
}

/** Ends the adding of entries before they are linked: no key comes any more. */
export function frontSeal(front: GroupSet): void {
  frontSealSome(front, front.first, u32.MAX_VALUE);
}

/**
 * As `frontSeal` for at most `most` keys from `first` on, at first the first key of the set. Returns the next key, 0
 * none.
 */
export function frontSealSome(front: GroupSet, first: Group, most: u32): Group {
  let key = first;
  for (; key && most > 0; most--) {
    const next = key.next;
    key.next = changetype<Group>(NONE);
    key = next;
  }
  return key;
}

/**
 * Links the entries `from` to `to`, whose groups belong to the set, with the linked entries behind them. `merges`:
 * joins them too; saved entries are joined already.
 */
export function frontLink(spec: WindowSpec, front: Front, set: GroupSet, from: Group, to: Group, merges: bool): void {
  for (let i = changetype<usize>(to); i > changetype<usize>(from); ) {
    const entry = entryAt(front, changetype<Group>(--i));
    const group = entry.group;
    if (!group) continue;
    const key = entry.key;
    const next = key.next;
    entry.next = next;
    key.next = changetype<Group>(i);
    if (merges && changetype<usize>(next) != NONE) mergeGroup(spec, set, group, entryAt(front, next).group);
  }
  mergeEnd();
}

/** Marks the first entry of each key, after all are linked. */
export function frontMark(front: Front): void {
  frontMarkBegin(front);
  frontMarkSome(front, changetype<Group>(0), front.entryCount);
}

export function frontMarkBegin(front: Front): void {
  memory.fill(front.marks, 0, front.marksBytes);
}

/** As `frontMark` for the entries `from` to `to`, after `frontMarkBegin`. */
export function frontMarkSome(front: Front, from: Group, to: Group): void {
  for (let i = changetype<usize>(from); i < changetype<usize>(to); i++) {
    const entry = entryAt(front, changetype<Group>(i));
    if (entry.group && changetype<usize>(entry.key.next) == i) mark(front, changetype<Group>(i));
  }
}

function mark(front: Front, i: Group): void {
  const capacity = front.capacity;
  let level = front.marks;
  setBit(level, changetype<usize>(i));
  level += (<usize>words(capacity)) << 3;
  setBit(level, changetype<usize>(i) >> 6);
  level += (<usize>words(capacity >> 6)) << 3;
  setBit(level, changetype<usize>(i) >> 12);
}

/** Bits of the level from bit `i` to the end of its word. */
// @ts-ignore: decorator
@inline function bitsFrom(level: usize, i: u32): u64 {
  return load<u64>(level + ((<usize>(i >> 6)) << 3)) >> (i & 63);
}

/** The first marked entry from `i` on; NONE when there is none. */
function marked(front: Front, i: u32): u32 {
  const count = front.entryCount;
  if (i >= changetype<usize>(count)) return NONE;
  const capacity = front.capacity;
  const level0 = front.marks;
  let bits = bitsFrom(level0, i);
  if (bits) return i + <u32>ctz(bits);
  const level1 = level0 + ((<usize>words(capacity)) << 3);
  let word = (i >> 6) + 1;
  bits = bitsFrom(level1, word);
  if (!bits) {
    const level2 = level1 + ((<usize>words(capacity >> 6)) << 3);
    const end = words(capacity >> 12) << 6;
    let block = (word >> 6) + 1;
    bits = bitsFrom(level2, block);
    while (!bits) {
      block = (block | 63) + 1;
      if (block >= end) return NONE;
      bits = bitsFrom(level2, block);
    }
    word = (block + <u32>ctz(bits)) << 6;
    bits = bitsFrom(level1, word);
  }
  word += <u32>ctz(bits);
  return (word << 6) + <u32>ctz(bitsFrom(level0, word << 6));
}

/** Drops the oldest `n` entries; there must be that many. */
export function frontDrop(front: Front, n: u32): void {
  const from = front.from;
  for (let i = from; i < from + n; i++) {
    const entry = entryAt(front, changetype<Group>(i));
    if (entry.group && changetype<usize>(entry.next) != NONE) mark(front, entry.next);
  }
  front.from = from + n;
}

/**
 * Adds the aggregates of each key of the front to a set, empty at first, in the order of the oldest entries. It takes
 * at most `most` keys, from entry `from` on (at first 0). Returns the next entry, FRONT_END at the end or when memory
 * is exhausted (`refusals`).
 */
export function frontJoinSome(spec: WindowSpec, front: Front, set: GroupSet, from: Group, most: u32): u32 {
  let i = marked(front, max(changetype<usize>(from), front.from));
  for (; i != NONE && most > 0; most--, i = marked(front, i + 1)) {
    const entry = entryAt(front, changetype<Group>(i));
    const group = regroup(spec, changetype<usize>(set), front, entry.key);
    if (!group) {
      i = NONE;
      break;
    }
    keepOf(spec, group, entry.group);
    mergeGroup(spec, set, group, entry.group);
  }
  mergeEnd();
  return i;
}
