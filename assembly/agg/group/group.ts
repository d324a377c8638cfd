// Groups of a window: a hash table from the printed key to the group's kept values and aggregate states.
//
//   set     table u32 (slots hash u32 | group u32) | mask u32 | count u32 | first u32 | last u32 | nullGroup u32
//           24 errorOff u32 | errorLen u32 | 32 groups pool | 64 values pool | 96 acct u32 | 100 rows u32
//           104 other u32 (table; bit 0: it is the one before) | cursor u32
//           112 changes u32 (agg/group/changes.ts) | 0 u32
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
import { GROUP_HEAD, NUMBER_SIZE, bindOf, bindTag, bindVal, bindUniform, keysAt, keepsAt } from './spec';
import { bytesEqual, hashLong, hashShort } from '../../value/bytes';
import { keyBegin, keyAdd, keyText, keyOff, keyLen } from './key';
import { isPinned, pinnedLeave } from './changes';
import {
  GroupSet,
  Group,
  EDGE,
  FIRST_SLOTS,
  LARGE,
  MOVES,
  ROOM,
  dropOther,
  grow,
  growTo,
  makeRoom,
  moveSome,
  otherSlots,
  place,
  tableBytes,
} from './table';
import { WindowSpec } from '../../gen/window-layouts';
import { Bind } from '../../mem/bind';

export const SET_SIZE: u32 = 120;
const GROUPS_POOL: usize = 32;

const SHORT_KEY: usize = 16;
const SHORT: u32 = 16;

export function setInit(set: GroupSet, acct: usize): void {
  memory.fill(changetype<usize>(set), 0, SET_SIZE);
  poolInit(set.groupsPool, 128, acct);
  poolInit(set.values, 128, acct);
  set.account = acct;
  memory.fill(EDGE, 0xff, 16);
}

/** Empties the set and keeps memory that the next window is likely to need again. */
export function setReset(set: GroupSet): void {
  dropOther(set);
  if (isPinned(set)) pinnedLeave(set, set.groupsPool, set.values);
  const table = <usize>set.table;
  const count = set.count;
  if (table) {
    // A table much larger than this window needed goes back, so that one peak doesn't hold memory for ever.
    if (set.mask + 1 > (count + FIRST_SLOTS) * ROOM * 4) {
      free(table, tableBytes(set), set.account);
      set.table = 0;
      set.mask = 0;
    } else memory.fill(table, 0, tableBytes(set));
  }
  poolReset(set.groupsPool);
  poolReset(set.values);
  memory.fill(changetype<usize>(set) + offsetof<GroupSet>('count'), 0, GROUPS_POOL - offsetof<GroupSet>('count'));
  set.rows = 0;
}

export function setFree(set: GroupSet): void {
  dropOther(set);
  if (isPinned(set)) pinnedLeave(set, set.groupsPool, set.values);
  const table = <usize>set.table;
  if (table) free(table, tableBytes(set), set.account);
  poolFree(set.groupsPool);
  poolFree(set.values);
  memory.fill(changetype<usize>(set), 0, GROUPS_POOL);
}

/** Takes over the groups of another set, which is empty then; an error of the set stays. */
export function setTake(set: GroupSet, from: GroupSet): void {
  const acct = from.account;
  const to = set.account;
  if (from.table) accountMove(tableBytes(from), acct, to);
  if (from.other) accountMove(otherSlots(from) << 3, acct, to);
  memory.copy(changetype<usize>(set), changetype<usize>(from), offsetof<GroupSet>('error'));
  store<u64>(
    changetype<usize>(set),
    load<u64>(changetype<usize>(from), offsetof<GroupSet>('other')),
    offsetof<GroupSet>('other'),
  );
  memory.fill(changetype<usize>(from), 0, offsetof<GroupSet>('error'));
  store<u64>(changetype<usize>(from), 0, offsetof<GroupSet>('other'));
  poolTake(set.groupsPool, from.groupsPool);
  poolTake(set.values, from.values);
}

/** Frees the memory that only finding keys needs: no group comes into the set any more. */
export function setSeal(set: GroupSet): void {
  dropOther(set);
  const table = <usize>set.table;
  if (table) free(table, tableBytes(set), set.account);
  set.table = 0;
  set.mask = 0;
}

/** Drops all groups because memory is exhausted; the message of the set fails until the next reset. */
export function setLose(set: GroupSet): void {
  setReset(set);
  noteNoMemory(set);
}

function noteNoMemory(set: GroupSet): void {
  failNoMemory();
  set.error = <u32>failOff;
  set.errorLen = failLen;
}

/** Keeps the text of an error as long as the values of the set; when memory is exhausted, that becomes the reason. */
export function keepReason(set: GroupSet, payload: u64): u64 {
  const len = min(lenOf(payload), 4096);
  const to = poolBytesCopy(set.values, offOf(payload), len);
  if (to) return span(to, len);
  failNoMemory();
  return span(failOff, failLen);
}

/** Notes the error that makes the whole message fail; the first one counts. */
export function setError(set: GroupSet, payload: u64): void {
  if (set.error) return;
  const reason = keepReason(set, payload);
  set.error = <u32>offOf(reason);
  set.errorLen = lenOf(reason);
}

/** Makes room in an empty set for `groups` groups, unless growing little by little is better. */
export function setReserve(set: GroupSet, groups: u32): void {
  if (set.table) return;
  let slots = FIRST_SLOTS;
  while (slots <= groups * ROOM && slots < LARGE) slots <<= 1;
  growTo(set, slots);
}

/** Adds a group behind the others without a place in the table; 0 when memory is exhausted. */
export function newGroup(spec: WindowSpec, set: GroupSet, hash: u32, off: usize, len: u32): Group {
  const size = spec.entrySize;
  const group = changetype<Group>(poolAlloc(set.groupsPool, size));
  if (!group) return changetype<Group>(0);
  memory.fill(changetype<usize>(group), 0, size);
  group.hash = hash;
  group.keyLen = len;
  let key = changetype<usize>(group) + 16;
  if (len <= SHORT) copyBytes(key, off, len);
  else {
    key = poolBytesCopy(set.values, off, len);
    if (!key) return changetype<Group>(0);
  }
  group.key = key;
  store<u32>(changetype<usize>(group) + spec.tagsAt - NUMBER_SIZE, set.count);
  const last = set.last;
  if (last) last.next = group;
  else set.first = group;
  set.last = group;
  set.count++;
  return group;
}

/** Number of the group in the order of its set. */
// @ts-ignore: decorator
@inline export function groupNumber(spec: WindowSpec, group: Group): u32 {
  return load<u32>(changetype<usize>(group) + spec.tagsAt - NUMBER_SIZE);
}

/** True when the last find has made the group. */
export let isNew: bool = false;

/** The bytes of a key of at most 16 bytes, padded with zeros. */
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
export function findGroup(spec: WindowSpec, set: GroupSet, off: usize, len: u32): Group {
  return findByHash(spec, set, off, len, keyHash(off, len));
}

function findByHash(spec: WindowSpec, set: GroupSet, off: usize, len: u32, hash: u32): Group {
  isNew = false;
  const table = <usize>set.table;
  if (table) {
    const group = findIn(table, set.mask, off, len, hash);
    if (group) return group;
  }
  if (set.other & MOVES) {
    const group = findIn(<usize>(set.other & ~MOVES), set.mask >> 1, off, len, hash);
    moveSome(set);
    if (group) return group;
  }
  const mask = set.mask;
  if (set.count * ROOM >= mask - (mask >> 2)) {
    if (!makeRoom(set)) return changetype<Group>(0);
  }
  const group = newGroup(spec, set, hash, off, len);
  if (!group) return changetype<Group>(0);
  place(set, group, hash);
  isNew = true;
  return group;
}

/** The group of a key in a table, 0 none. */
// @ts-ignore: decorator
@inline function findIn(table: usize, mask: u32, off: usize, len: u32, hash: u32): Group {
  let i = hash & mask;
  let group = changetype<Group>(load<u32>(table + ((<usize>i) << 3), 4));
  while (group) {
    if (load<u32>(table + ((<usize>i) << 3)) == hash && group.keyLen == len) {
      if (len <= SHORT) {
        if (!v128.any_true(v128.xor(v128.load(changetype<usize>(group), SHORT_KEY), shortKey(off, len)))) break;
      } else if (bytesEqual(group.key, off, len)) break;
    }
    i = (i + 1) & mask;
    group = changetype<Group>(load<u32>(table + ((<usize>i) << 3), 4));
  }
  return group;
}

/** The group of rows whose only key is null or missing; without keys, the only group of a window. */
export function findNullGroup(spec: WindowSpec, set: GroupSet): Group {
  isNew = false;
  let group = set.nullGroup;
  if (group) return group;
  group = newGroup(spec, set, 0, EDGE, 0);
  set.nullGroup = group;
  isNew = true;
  return group;
}

/**
 * Copies the kept values of the first row of the group; a text that is the key of group `keyed` is not copied again.
 */
function keepRow(spec: WindowSpec, set: GroupSet, group: Group, row: u32, keyed: Group = group): void {
  const count = spec.keeps;
  const keeps = keepsAt(spec);
  const tags = changetype<usize>(group) + spec.tagsAt;
  const single = spec.keys == 1 ? load<u16>(keysAt(spec)) : 0xffff;
  for (let i: u32 = 0; i < count; i++) {
    const input = load<u16>(keeps + ((<usize>i) << 1));
    const bind = bindOf(input);
    const tag = bindTag(bind, row);
    const payload = bindVal(bind, row);
    store<u8>(tags + i, tag);
    const kept =
      tag == Tag.STR && input == single ? span(keyed.key, keyed.keyLen) : copyValue(set.values, tag, payload);
    store<u64>(changetype<usize>(group) + GROUP_HEAD + ((<usize>i) << 3), kept);
  }
}

/** Hashes of the keys of a batch. */
const HASHES: usize = memory.data(4 * 1024, 16);

/**
 * As `assignGroups` for a single key that is text in all rows. All hashes are computed before the first lookup. The
 * lookups then wait for memory alone, and for that of several rows at a time.
 */
function assignTexts(spec: WindowSpec, set: GroupSet, bind: Bind, sel: usize, n: u32, groups: usize): bool {
  if (!set.table && !grow(set)) return false;
  for (let i: u32 = 0; i < n << 2; i += 4) {
    const text = bindVal(bind, load<u32>(sel + i));
    store<u32>(HASHES + i, keyHash(offOf(text), lenOf(text)));
  }
  let table = <usize>set.table;
  let mask = set.mask;
  for (let i: u32 = 0; i < n << 2; i += 4) {
    const row = load<u32>(sel + i);
    const text = bindVal(bind, row);
    const len = lenOf(text);
    const hash = load<u32>(HASHES + i);
    const slot = load<u64>(table + ((<usize>(hash & mask)) << 3));
    let group = changetype<Group>(<usize>(slot >> 32));
    // Conditions in each other: the value of a conjunction would be stored and tested once more.
    if (<u32>slot == hash) {
      if (group) {
        if (group.keyLen == len) {
          if (len <= SHORT) {
            if (
              i8x16.bitmask(i8x16.eq(v128.load(changetype<usize>(group), SHORT_KEY), shortKey(offOf(text), len))) ==
              0xffff
            ) {
              store<u32>(groups + i, changetype<u32>(group));
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
      table = <usize>set.table;
      mask = set.mask;
    }
    store<u32>(groups + i, changetype<u32>(group));
  }
  return true;
}

/** Writes the group of each selected row to `groups`; false when memory is exhausted. */
export function assignGroups(spec: WindowSpec, set: usize, sel: usize, n: u32, groups: usize): bool {
  const keyCount = spec.keys;
  if (keyCount == 0) {
    const group = findNullGroup(spec, changetype<GroupSet>(set));
    if (!group) return false;
    if (isNew) keepRow(spec, changetype<GroupSet>(set), group, load<u32>(sel));
    for (let i: u32 = 0; i < n; i++) store<u32>(groups + ((<usize>i) << 2), changetype<u32>(group));
    return true;
  }
  const keys = keysAt(spec);
  if (keyCount == 1) {
    const bind = bindOf(load<u16>(keys));
    if (bindUniform(bind) == Tag.STR) return assignTexts(spec, changetype<GroupSet>(set), bind, sel, n, groups);
    for (let i: u32 = 0; i < n; i++) {
      const row = load<u32>(sel + ((<usize>i) << 2));
      const tag = bindTag(bind, row);
      const payload = bindVal(bind, row);
      let group: Group;
      if (tag == Tag.STR) group = findGroup(spec, changetype<GroupSet>(set), offOf(payload), lenOf(payload));
      else if (tag <= Tag.NULL) group = findNullGroup(spec, changetype<GroupSet>(set));
      else {
        if (tag == Tag.ERROR) setError(changetype<GroupSet>(set), payload);
        keyText(tag, payload);
        group = findGroup(spec, changetype<GroupSet>(set), keyOff, keyLen);
      }
      if (!group) return false;
      if (isNew) keepRow(spec, changetype<GroupSet>(set), group, row);
      store<u32>(groups + ((<usize>i) << 2), changetype<u32>(group));
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
      if (tag == Tag.ERROR) setError(changetype<GroupSet>(set), payload);
      keyAdd(tag, payload);
    }
    const group = findGroup(spec, changetype<GroupSet>(set), keyOff, keyLen);
    if (!group) return false;
    if (isNew) keepRow(spec, changetype<GroupSet>(set), group, row);
    store<u32>(groups + ((<usize>i) << 2), changetype<u32>(group));
  }
  return true;
}

/**
 * Writes a group of its own for each selected row to `groups`; false when memory is exhausted. `keyed` has groups of
 * another set with the keys of the rows, and that set must live as long.
 */
export function separateGroups(spec: WindowSpec, set: GroupSet, sel: usize, n: u32, groups: usize, keyed: usize): bool {
  for (let i: u32 = 0; i < n; i++) {
    const group = newGroup(spec, set, 0, EDGE, 0);
    if (!group) return false;
    keepRow(
      spec,
      set,
      group,
      load<u32>(sel + ((<usize>i) << 2)),
      changetype<Group>(load<u32>(keyed + ((<usize>i) << 2))),
    );
    store<u32>(groups + ((<usize>i) << 2), changetype<u32>(group));
  }
  return true;
}

/** The group of `set` with the key of group `from`, which belongs to the set `other`; 0 when memory is exhausted. */
export function regroup(spec: WindowSpec, set: usize, other: GroupSet, from: Group): Group {
  if (from == other.nullGroup) return findNullGroup(spec, changetype<GroupSet>(set));
  return findGroup(spec, changetype<GroupSet>(set), from.key, from.keyLen);
}
