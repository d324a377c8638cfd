// The older part of a window in two stacks: partial aggregates (entries) in the order in which they leave, each joined
// with all younger ones of its key. What the part holds of a key is therefore the oldest of its entries alone, the
// head; when that leaves, the next entry of the key is the head. Neither leaving nor reading a key depends on how many
// entries there are.
//
//   front   0    keys: a group set with a group for each key (agg/group/group.ts); while in use GROUP_NEXT of these
//                groups is the place of the key's first entry
//           120  list u32 | from u32 | count u32 | capacity u32       entries `from` to `count` are in the window
//           136  marks u32 | marksBytes u32                           which entries are heads
//   entry   group u32 (0: a row that counts, but is not part of the window) | next u32 (entry of the same key) | key
//   u32
//
// Marks are bits in three levels, each with a bit for every word of the level below that is not 0, so that the heads
// are found in the order of their entries. Marks of entries that have left stay.
import { alloc, free } from '../../mem/alloc';
import { SET_SIZE, regroup, setFree, setInit, setReset } from '../../agg/group/group';
import { GROUP_NEXT, SET_FIRST } from '../../agg/group/table';
import { keepOf, mergeEnd, mergeGroup } from '../../agg/merge';

export const FRONT_SIZE: u32 = SET_SIZE + 24;
const LIST: usize = SET_SIZE;
const FROM: usize = SET_SIZE + 4;
const COUNT: usize = SET_SIZE + 8;
const CAPACITY: usize = SET_SIZE + 12;
const MARKS: usize = SET_SIZE + 16;
const MARKS_BYTES: usize = SET_SIZE + 20;

const ENTRY_SIZE: u32 = 12;
const NEXT: usize = 4;
const KEY: usize = 8;
const NONE: u32 = 0xffffffff;
/** In place of the number of an entry: there is none. */
export const FRONT_END: u32 = NONE;
/** An empty front keeps room for so many entries. */
const KEPT_ENTRIES: u32 = 1024;

export function frontInit(front: usize, acct: usize): void {
  memory.fill(front, 0, FRONT_SIZE);
  setInit(front, acct);
}

export function frontFree(front: usize, acct: usize): void {
  setFree(front);
  freeList(front, acct);
}

function freeList(front: usize, acct: usize): void {
  free(<usize>load<u32>(front, LIST), load<u32>(front, CAPACITY) * ENTRY_SIZE, acct);
  free(<usize>load<u32>(front, MARKS), load<u32>(front, MARKS_BYTES), acct);
  memory.fill(front + LIST, 0, FRONT_SIZE - SET_SIZE);
}

/** Entries that are in the window. */
// @ts-ignore: decorator
@inline export function frontCount(front: usize): u32 {
  return load<u32>(front, COUNT) - load<u32>(front, FROM);
}

/** Empties the front; a large list goes back, so that one peak doesn't hold memory for ever. */
export function frontReset(front: usize, acct: usize): void {
  setReset(front);
  if (load<u32>(front, CAPACITY) > KEPT_ENTRIES) freeList(front, acct);
  store<u32>(front, 0, FROM);
  store<u32>(front, 0, COUNT);
}

// @ts-ignore: decorator
@inline function entryAt(front: usize, i: u32): usize {
  return <usize>load<u32>(front, LIST) + <usize>(i * ENTRY_SIZE);
}

/** Makes room for `n` entries of an empty front; false when memory is exhausted. */
export function frontReserve(front: usize, n: u32, acct: usize): bool {
  if (n <= load<u32>(front, CAPACITY)) return true;
  freeList(front, acct);
  const wanted = (n + (n >> 2) + 15) & ~15;
  const bytes = (words(wanted) + words(wanted >> 6) + words(wanted >> 12)) << 3;
  const list = alloc(wanted * ENTRY_SIZE, acct);
  const marks = list ? alloc(bytes, acct) : 0;
  if (!marks) {
    free(list, wanted * ENTRY_SIZE, acct);
    return false;
  }
  store<u32>(front, <u32>list, LIST);
  store<u32>(front, wanted, CAPACITY);
  store<u32>(front, <u32>marks, MARKS);
  store<u32>(front, bytes, MARKS_BYTES);
  return true;
}

/** Words of a level of marks for so many bits; one more than are needed, which is looked at and always 0. */
// @ts-ignore: decorator
@inline function words(bits: u32): u32 {
  return (bits >> 6) + 2;
}

/** Adds an entry, for which there must be room: a group of the key that a group of the keys stands for. */
// @ts-ignore: decorator
@inline export function frontPut(front: usize, group: usize, key: usize): void {
  const i = load<u32>(front, COUNT);
  const entry = entryAt(front, i);
  store<u32>(entry, <u32>group);
  store<u32>(entry, <u32>key, KEY);
  store<u32>(front, i + 1, COUNT);
}

/** The group of entry `i` of those in the window, 0 none; with its key it was put in. */
// @ts-ignore: decorator
@inline export function frontGroup(front: usize, i: u32): usize {
  return <usize>load<u32>(entryAt(front, load<u32>(front, FROM) + i));
}

/** How many entries were put in with a key. */
export function frontKeyed(front: usize): u32 {
  const n = load<u32>(front, COUNT);
  let keyed: u32 = 0;
  for (let i: u32 = 0; i < n; i++) keyed += <u32>(load<u32>(entryAt(front, i), KEY) != 0);
  return keyed;
}

/** All entries were put in, and will be linked: no key comes any more. */
export function frontSeal(front: usize): void {
  frontSealSome(front, <usize>load<u32>(front, SET_FIRST), u32.MAX_VALUE);
}

/**
 * As `frontSeal` for so many keys from `first` on, at first that of the set; returns the one that comes next, 0 none.
 */
export function frontSealSome(front: usize, first: usize, most: u32): usize {
  let key = first;
  for (; key && most > 0; most--) {
    const next = <usize>load<u32>(key, GROUP_NEXT);
    store<u32>(key, NONE, GROUP_NEXT);
    key = next;
  }
  return key;
}

/**
 * Links the entries `from` to `to`, whose groups belong to the set, with those behind them, which are linked already;
 * `merges`: and joins them, unless they were saved as joined.
 */
export function frontLink(spec: usize, front: usize, set: usize, from: u32, to: u32, merges: bool): void {
  for (let i = to; i > from; ) {
    const entry = entryAt(front, --i);
    const group = <usize>load<u32>(entry);
    if (!group) continue;
    const key = <usize>load<u32>(entry, KEY);
    const next = load<u32>(key, GROUP_NEXT);
    store<u32>(entry, next, NEXT);
    store<u32>(key, i, GROUP_NEXT);
    if (merges && next != NONE) mergeGroup(spec, set, group, <usize>load<u32>(entryAt(front, next)));
  }
  mergeEnd();
}

/** Marks the first entry of each key, after all are linked. */
export function frontMark(front: usize): void {
  frontMarkBegin(front);
  frontMarkSome(front, 0, load<u32>(front, COUNT));
}

export function frontMarkBegin(front: usize): void {
  memory.fill(<usize>load<u32>(front, MARKS), 0, load<u32>(front, MARKS_BYTES));
}

/** As `frontMark` for the entries `from` to `to`, after `frontMarkBegin`. */
export function frontMarkSome(front: usize, from: u32, to: u32): void {
  for (let i = from; i < to; i++) {
    const entry = entryAt(front, i);
    if (load<u32>(entry) && load<u32>(<usize>load<u32>(entry, KEY), GROUP_NEXT) == i) mark(front, i);
  }
}

// @ts-ignore: decorator
@inline function setBit(level: usize, i: u32): void {
  const at = level + ((<usize>(i >> 6)) << 3);
  store<u64>(at, load<u64>(at) | ((<u64>1) << (i & 63)));
}

function mark(front: usize, i: u32): void {
  const capacity = load<u32>(front, CAPACITY);
  let level = <usize>load<u32>(front, MARKS);
  setBit(level, i);
  level += (<usize>words(capacity)) << 3;
  setBit(level, i >> 6);
  level += (<usize>words(capacity >> 6)) << 3;
  setBit(level, i >> 12);
}

/** Bits of the level from bit `i` to the end of its word. */
// @ts-ignore: decorator
@inline function bitsFrom(level: usize, i: u32): u64 {
  return load<u64>(level + ((<usize>(i >> 6)) << 3)) >> (i & 63);
}

/** The first marked entry from `i` on; NONE when there is none. */
function marked(front: usize, i: u32): u32 {
  const count = load<u32>(front, COUNT);
  if (i >= count) return NONE;
  const capacity = load<u32>(front, CAPACITY);
  const level0 = <usize>load<u32>(front, MARKS);
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

/** The oldest `n` entries leave; there must be so many. */
export function frontDrop(front: usize, n: u32): void {
  const from = load<u32>(front, FROM);
  for (let i = from; i < from + n; i++) {
    const entry = entryAt(front, i);
    if (load<u32>(entry) && load<u32>(entry, NEXT) != NONE) mark(front, load<u32>(entry, NEXT));
  }
  store<u32>(front, from + n, FROM);
}

/**
 * Adds what the front holds of each key to a set, empty at first, in the order of the oldest entries: so many keys,
 * from entry `from` on (at first 0); returns the entry that comes next, FRONT_END none, or when memory is exhausted
 * (`refusals`).
 */
export function frontJoinSome(spec: usize, front: usize, set: usize, from: u32, most: u32): u32 {
  let i = marked(front, max(from, load<u32>(front, FROM)));
  for (; i != NONE && most > 0; most--, i = marked(front, i + 1)) {
    const entry = entryAt(front, i);
    const group = regroup(spec, set, front, <usize>load<u32>(entry, KEY));
    if (!group) {
      i = NONE;
      break;
    }
    keepOf(spec, group, <usize>load<u32>(entry));
    mergeGroup(spec, set, group, <usize>load<u32>(entry));
  }
  mergeEnd();
  return i;
}
