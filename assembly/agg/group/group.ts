// Groups of a window: a hash table from the printed key to the group's kept values and aggregate states.
//
//   set     table u32 (slots hash u32 | group u32) | mask u32 | count u32 | first u32 | last u32 | nullGroup u32
//           24 errorOff u32 | errorLen u32 | 32 groups pool | 64 values pool | 96 acct u32 | 100 rows u32
//           104 other u32 (table; bit 0: it is the one before) | cursor u32
//           112 walk u32 | walkId u32 (agg/group/pinned.ts)
//   group   hash u32 | keyLen u32 | key u32 | next u32 | short key 16 | kept payloads | states | number u32 | tags
//   (agg/group/spec.ts)
//
// Groups are linked in the order of their first row. Keys of up to 16 bytes stand in the group itself and are compared
// with one vector instruction; a key is read 16 bytes wide, so text must be followed by 16 readable bytes.
//
// A large table grows little by little with the groups that come, so that no call has to move all of them: first the
// next table is cleared (`other`, `cursor` bytes of it), then it takes the place of the one before, whose slots move
// (`other`, `cursor` of them) while keys are looked for in both.
import { accountMove, free } from '../../mem/alloc';
import { copyBytes } from '../../mem/copy';
import { failLen, failNoMemory, failOff } from '../../batch/failure';
import { poolInit, poolAlloc, poolBytesCopy, poolFree, poolReset, poolTake, copyValue } from '../../mem/pool';
import { Tag, lenOf, offOf, span } from '../../mem/layout';
import {
  WINDOW_KEYS,
  WINDOW_KEEPS,
  WINDOW_ENTRY_SIZE,
  WINDOW_TAGS_AT,
  GROUP_HEAD,
  NUMBER_SIZE,
  bindOf,
  bindTag,
  bindVal,
  bindUniform,
  keysAt,
  keepsAt,
} from './spec';
import { bytesEqual, hashLong, hashShort } from '../../value/bytes';
import { keyBegin, keyAdd, keyText, keyOff, keyLen } from './key';
import { isPinned, pinnedLeave } from './pinned';
import {
  EDGE,
  FIRST_SLOTS,
  LARGE,
  MASK,
  MOVES,
  OTHER,
  ROOM,
  TABLE,
  dropOther,
  grow,
  growTo,
  makeRoom,
  moveSome,
  otherSlots,
  place,
  tableBytes,
  SET_COUNT,
  SET_FIRST,
  SET_NULL_GROUP,
  ACCT,
  GROUP_NEXT,
} from './table';

export const SET_SIZE: u32 = 120;
const LAST: usize = 16;
export const SET_ERROR: usize = 24;
export const SET_ERROR_LEN: usize = 28;
export const GROUPS_POOL: usize = 32;
export const SET_VALUES: usize = 64;
/** Rows taken in since the set was emptied. */
export const SET_ROWS: usize = 100;

export const GROUP_KEY_LEN: usize = 4;
export const GROUP_KEY: usize = 8;
const SHORT_KEY: usize = 16;
const SHORT: u32 = 16;

export function setInit(set: usize, acct: usize): void {
  memory.fill(set, 0, SET_SIZE);
  poolInit(set + GROUPS_POOL, 128, acct);
  poolInit(set + SET_VALUES, 128, acct);
  store<u32>(set, <u32>acct, ACCT);
  memory.fill(EDGE, 0xff, 16);
}

/** Empties the set and keeps memory that the next window is likely to need again. */
export function setReset(set: usize): void {
  dropOther(set);
  if (isPinned(set)) pinnedLeave(set, set + GROUPS_POOL, set + SET_VALUES);
  const table = <usize>load<u32>(set, TABLE);
  const count = load<u32>(set, SET_COUNT);
  if (table) {
    // A table much larger than this window needed goes back, so that one peak doesn't hold memory for ever.
    if (load<u32>(set, MASK) + 1 > (count + FIRST_SLOTS) * ROOM * 4) {
      free(table, tableBytes(set), <usize>load<u32>(set, ACCT));
      store<u32>(set, 0, TABLE);
      store<u32>(set, 0, MASK);
    } else memory.fill(table, 0, tableBytes(set));
  }
  poolReset(set + GROUPS_POOL);
  poolReset(set + SET_VALUES);
  memory.fill(set + SET_COUNT, 0, GROUPS_POOL - SET_COUNT);
  store<u32>(set, 0, SET_ROWS);
}

export function setFree(set: usize): void {
  dropOther(set);
  if (isPinned(set)) pinnedLeave(set, set + GROUPS_POOL, set + SET_VALUES);
  const table = <usize>load<u32>(set, TABLE);
  if (table) free(table, tableBytes(set), <usize>load<u32>(set, ACCT));
  poolFree(set + GROUPS_POOL);
  poolFree(set + SET_VALUES);
  memory.fill(set, 0, GROUPS_POOL);
}

/** Takes the groups of another set over, which is empty then; what failed the set stays. */
export function setTake(set: usize, from: usize): void {
  const acct = <usize>load<u32>(from, ACCT);
  const to = <usize>load<u32>(set, ACCT);
  if (load<u32>(from, TABLE)) accountMove(tableBytes(from), acct, to);
  if (load<u32>(from, OTHER)) accountMove(otherSlots(from) << 3, acct, to);
  memory.copy(set, from, SET_ERROR);
  store<u64>(set, load<u64>(from, OTHER), OTHER);
  memory.fill(from, 0, SET_ERROR);
  store<u64>(from, 0, OTHER);
  poolTake(set + GROUPS_POOL, from + GROUPS_POOL);
  poolTake(set + SET_VALUES, from + SET_VALUES);
}

/** Gives back what only looking for keys needs: nothing comes into the set any more. */
export function setSeal(set: usize): void {
  dropOther(set);
  const table = <usize>load<u32>(set, TABLE);
  if (table) free(table, tableBytes(set), <usize>load<u32>(set, ACCT));
  store<u32>(set, 0, TABLE);
  store<u32>(set, 0, MASK);
}

/** Forgets what was taken in for want of memory; what is sent of the set before its next reset fails. */
export function setLose(set: usize): void {
  setReset(set);
  noteNoMemory(set);
}

function noteNoMemory(set: usize): void {
  failNoMemory();
  store<u32>(set, <u32>failOff, SET_ERROR);
  store<u32>(set, failLen, SET_ERROR_LEN);
}

/** Keeps the text of an error as long as the set's values; where memory is exhausted that is the reason. */
export function keepReason(set: usize, payload: u64): u64 {
  const len = min(lenOf(payload), 4096);
  const to = poolBytesCopy(set + SET_VALUES, offOf(payload), len);
  if (to) return span(to, len);
  failNoMemory();
  return span(failOff, failLen);
}

/** Notes the error that the whole message fails with; the first one counts. */
export function setError(set: usize, payload: u64): void {
  if (load<u32>(set, SET_ERROR)) return;
  const reason = keepReason(set, payload);
  store<u32>(set, <u32>offOf(reason), SET_ERROR);
  store<u32>(set, lenOf(reason), SET_ERROR_LEN);
}

/**
 * Makes room in an empty set for that many groups, which come one by one, as far as that is not better done little by
 * little.
 */
export function setReserve(set: usize, groups: u32): void {
  if (load<u32>(set, TABLE)) return;
  let slots = FIRST_SLOTS;
  while (slots <= groups * ROOM && slots < LARGE) slots <<= 1;
  growTo(set, slots);
}

/** Makes a group behind the others that nobody finds yet; 0 when memory is exhausted. */
export function newGroup(spec: usize, set: usize, hash: u32, off: usize, len: u32): usize {
  const size = load<u32>(spec, WINDOW_ENTRY_SIZE);
  const group = poolAlloc(set + GROUPS_POOL, size);
  if (!group) return 0;
  memory.fill(group, 0, size);
  store<u32>(group, hash);
  store<u32>(group, len, 4);
  let key = group + 16;
  if (len <= SHORT) copyBytes(key, off, len);
  else {
    key = poolBytesCopy(set + SET_VALUES, off, len);
    if (!key) return 0;
  }
  store<u32>(group, <u32>key, 8);
  store<u32>(group + load<u32>(spec, WINDOW_TAGS_AT) - NUMBER_SIZE, load<u32>(set, SET_COUNT));
  const last = <usize>load<u32>(set, LAST);
  if (last) store<u32>(last, <u32>group, GROUP_NEXT);
  else store<u32>(set, <u32>group, SET_FIRST);
  store<u32>(set, <u32>group, LAST);
  store<u32>(set, load<u32>(set, SET_COUNT) + 1, SET_COUNT);
  return group;
}

/** Number of the group among those of its set, in their order. */
// @ts-ignore: decorator
@inline export function groupNumber(spec: usize, group: usize): u32 {
  return load<u32>(group + load<u32>(spec, WINDOW_TAGS_AT) - NUMBER_SIZE);
}

/** True when the group was made by the last find. */
export let isNew: bool = false;

/** The key's bytes, of which there are at most 16, with zeros behind them. */
// @ts-ignore: decorator
@inline function shortKey(off: usize, len: u32): v128 {
  return v128.and(v128.load(off), v128.load(EDGE + SHORT - len));
}

// @ts-ignore: decorator
@inline function keyHash(off: usize, len: u32): u32 {
  if (len > SHORT) return hashLong(off, len);
  const key = shortKey(off, len);
  return hashShort(i64x2.extract_lane(key, 0), i64x2.extract_lane(key, 1), len);
}

/** Returns the group of a key, made when there is none; 0 when memory is exhausted. */
export function findGroup(spec: usize, set: usize, off: usize, len: u32): usize {
  return findByHash(spec, set, off, len, keyHash(off, len));
}

function findByHash(spec: usize, set: usize, off: usize, len: u32, hash: u32): usize {
  isNew = false;
  const table = <usize>load<u32>(set, TABLE);
  if (table) {
    const group = findIn(table, load<u32>(set, MASK), off, len, hash);
    if (group) return group;
  }
  if (load<u32>(set, OTHER) & MOVES) {
    const group = findIn(<usize>(load<u32>(set, OTHER) & ~MOVES), load<u32>(set, MASK) >> 1, off, len, hash);
    moveSome(set);
    if (group) return group;
  }
  const mask = load<u32>(set, MASK);
  if (load<u32>(set, SET_COUNT) * ROOM >= mask - (mask >> 2)) {
    if (!makeRoom(set)) return 0;
  }
  const group = newGroup(spec, set, hash, off, len);
  if (!group) return 0;
  place(set, group, hash);
  isNew = true;
  return group;
}

/** The group of a key in a table, 0 none. */
// @ts-ignore: decorator
@inline function findIn(table: usize, mask: u32, off: usize, len: u32, hash: u32): usize {
  let i = hash & mask;
  let group = <usize>load<u32>(table + ((<usize>i) << 3), 4);
  while (group) {
    if (load<u32>(table + ((<usize>i) << 3)) == hash && load<u32>(group, GROUP_KEY_LEN) == len) {
      if (len <= SHORT) {
        if (!v128.any_true(v128.xor(v128.load(group, SHORT_KEY), shortKey(off, len)))) break;
      } else if (bytesEqual(<usize>load<u32>(group, GROUP_KEY), off, len)) break;
    }
    i = (i + 1) & mask;
    group = <usize>load<u32>(table + ((<usize>i) << 3), 4);
  }
  return group;
}

/** The group of rows whose only key is null or missing, and the only group of a window without keys. */
export function findNullGroup(spec: usize, set: usize): usize {
  isNew = false;
  let group = <usize>load<u32>(set, SET_NULL_GROUP);
  if (group) return group;
  group = newGroup(spec, set, 0, EDGE, 0);
  store<u32>(set, <u32>group, SET_NULL_GROUP);
  isNew = true;
  return group;
}

/** Copies the kept values of the group's first row; text that is the key of group `keyed` is not copied again. */
function keepRow(spec: usize, set: usize, group: usize, row: u32, keyed: usize = group): void {
  const count = load<u32>(spec, WINDOW_KEEPS);
  const keeps = keepsAt(spec);
  const tags = group + load<u32>(spec, WINDOW_TAGS_AT);
  const single = load<u32>(spec, WINDOW_KEYS) == 1 ? load<u16>(keysAt(spec)) : 0xffff;
  for (let i: u32 = 0; i < count; i++) {
    const input = load<u16>(keeps + ((<usize>i) << 1));
    const bind = bindOf(input);
    const tag = bindTag(bind, row);
    const payload = bindVal(bind, row);
    store<u8>(tags + i, tag);
    const kept =
      tag == Tag.STR && input == single
        ? span(<usize>load<u32>(keyed, GROUP_KEY), load<u32>(keyed, GROUP_KEY_LEN))
        : copyValue(set + SET_VALUES, tag, payload);
    store<u64>(group + GROUP_HEAD + ((<usize>i) << 3), kept);
  }
}

/** Hashes of the keys of a batch. */
const HASHES: usize = memory.data(4 * 1024, 16);

/**
 * As `assignGroups` for a single key that is text in all rows. All hashes are there before the first group is looked
 * for, so that looking waits for memory alone, and for that of several rows at a time.
 */
function assignTexts(spec: usize, set: usize, bind: usize, sel: usize, n: u32, groups: usize): bool {
  if (!load<u32>(set, TABLE) && !grow(set)) return false;
  for (let i: u32 = 0; i < n << 2; i += 4) {
    const text = bindVal(bind, load<u32>(sel + i));
    store<u32>(HASHES + i, keyHash(offOf(text), lenOf(text)));
  }
  let table = <usize>load<u32>(set, TABLE);
  let mask = load<u32>(set, MASK);
  for (let i: u32 = 0; i < n << 2; i += 4) {
    const row = load<u32>(sel + i);
    const text = bindVal(bind, row);
    const len = lenOf(text);
    const hash = load<u32>(HASHES + i);
    const slot = load<u64>(table + ((<usize>(hash & mask)) << 3));
    let group = <usize>(slot >> 32);
    // Conditions in each other: the value of a conjunction would be stored and tested once more.
    if (<u32>slot == hash) {
      if (group) {
        if (load<u32>(group, GROUP_KEY_LEN) == len) {
          if (len <= SHORT) {
            if (i8x16.bitmask(i8x16.eq(v128.load(group, SHORT_KEY), shortKey(offOf(text), len))) == 0xffff) {
              store<u32>(groups + i, <u32>group);
              continue;
            }
          }
        }
      }
    }
    group = findByHash(spec, set, offOf(text), len, hash);
    if (!group) return false;
    if (isNew) {
      keepRow(spec, set, group, row);
      table = <usize>load<u32>(set, TABLE);
      mask = load<u32>(set, MASK);
    }
    store<u32>(groups + i, <u32>group);
  }
  return true;
}

/** Writes the group of each selected row to `groups`; false when memory is exhausted. */
export function assignGroups(spec: usize, set: usize, sel: usize, n: u32, groups: usize): bool {
  const keyCount = load<u32>(spec, WINDOW_KEYS);
  if (keyCount == 0) {
    const group = findNullGroup(spec, set);
    if (!group) return false;
    if (isNew) keepRow(spec, set, group, load<u32>(sel));
    for (let i: u32 = 0; i < n; i++) store<u32>(groups + ((<usize>i) << 2), <u32>group);
    return true;
  }
  const keys = keysAt(spec);
  if (keyCount == 1) {
    const bind = bindOf(load<u16>(keys));
    if (bindUniform(bind) == Tag.STR) return assignTexts(spec, set, bind, sel, n, groups);
    for (let i: u32 = 0; i < n; i++) {
      const row = load<u32>(sel + ((<usize>i) << 2));
      const tag = bindTag(bind, row);
      const payload = bindVal(bind, row);
      let group: usize;
      if (tag == Tag.STR) group = findGroup(spec, set, offOf(payload), lenOf(payload));
      else if (tag <= Tag.NULL) group = findNullGroup(spec, set);
      else {
        if (tag == Tag.ERROR) setError(set, payload);
        keyText(tag, payload);
        group = findGroup(spec, set, keyOff, keyLen);
      }
      if (!group) return false;
      if (isNew) keepRow(spec, set, group, row);
      store<u32>(groups + ((<usize>i) << 2), <u32>group);
    }
    return true;
  }
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    keyBegin();
    for (let k: u32 = 0; k < keyCount; k++) {
      const bind = bindOf(load<u16>(keys + ((<usize>k) << 1)));
      const tag = bindTag(bind, row);
      const payload = bindVal(bind, row);
      if (tag == Tag.ERROR) setError(set, payload);
      keyAdd(tag, payload);
    }
    const group = findGroup(spec, set, keyOff, keyLen);
    if (!group) return false;
    if (isNew) keepRow(spec, set, group, row);
    store<u32>(groups + ((<usize>i) << 2), <u32>group);
  }
  return true;
}

/**
 * Writes a group of its own for each selected row to `groups`; false when memory is exhausted. `keyed` has groups of
 * another set with the keys of the rows, which that set must hold as long.
 */
export function separateGroups(spec: usize, set: usize, sel: usize, n: u32, groups: usize, keyed: usize): bool {
  for (let i: u32 = 0; i < n; i++) {
    const group = newGroup(spec, set, 0, EDGE, 0);
    if (!group) return false;
    keepRow(spec, set, group, load<u32>(sel + ((<usize>i) << 2)), <usize>load<u32>(keyed + ((<usize>i) << 2)));
    store<u32>(groups + ((<usize>i) << 2), <u32>group);
  }
  return true;
}

/** The group of `set` with the key of group `from`, which belongs to the set `other`; 0 when memory is exhausted. */
export function regroup(spec: usize, set: usize, other: usize, from: usize): usize {
  if (from == <usize>load<u32>(other, SET_NULL_GROUP)) return findNullGroup(spec, set);
  return findGroup(spec, set, <usize>load<u32>(from, 8), load<u32>(from, 4));
}
