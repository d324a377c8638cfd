// The hash table of a set of groups: how it grows, at once or little by little.
import { alloc, forgiveRefusals, free, refusals } from '../../mem/alloc';
import { Pool } from '../../mem/pool';

/** A set of groups (agg/group/group.ts). */
// @ts-ignore: decorator
@unmanaged
export class GroupSet {
  table: u32;
  mask: u32;
  count: u32;
  first: Group;
  last: Group;
  nullGroup: Group;
  error: u32;
  errorLen: u32;
  private gap32: u64;
  private gap40: u64;
  private gap48: u64;
  private gap56: u64;
  private gap64: u64;
  private gap72: u64;
  private gap80: u64;
  private gap88: u64;
  account: usize;
  /** Rows taken in since the set was emptied. */
  rows: u32;
  other: u32;
  cursor: u32;
  /** What has changed since a snapshot (agg/group/changes.ts), 0: no snapshot has the set. */
  changes: u32;
  private gap116: u32;

  get groupsPool(): Pool {
    return changetype<Pool>(changetype<usize>(this) + 32);
  }

  get values(): Pool {
    return changetype<Pool>(changetype<usize>(this) + 64);
  }
}

/** Head of a group. */
// @ts-ignore: decorator
@unmanaged
export class Group {
  hash: u32;
  keyLen: u32;
  key: usize;
  next: Group;
}

/** Flag in `other`: it is the table before, whose slots move. */
export const MOVES: u32 = 1;

export const FIRST_SLOTS: u32 = 16;

/** Slots for each group at least; with fewer, many keys are not found at the first look. */
export const ROOM: u32 = 4;

/** Slots from which a table grows little by little; smaller tables are moved in less than 10 ms. */
export const LARGE: u32 = 1 << 18;

/**
 * Bytes of the next table that are cleared, and slots of the one before that move, with each new group: double of the
 * need.
 */
const CLEARED: u32 = 512;

const MOVED: u32 = 16;

export const EDGE: usize = memory.data(32, 16);

export function tableBytes(set: GroupSet): u32 {
  return (set.mask + 1) << 3;
}

export function otherSlots(set: GroupSet): u32 {
  const slots = set.mask + 1;
  return set.other & MOVES ? slots >> 1 : slots << 1;
}

/** Frees the second table: the next one that is being cleared, or the one before that is moved from. */
export function dropOther(set: GroupSet): void {
  const other = set.other;
  if (!other) return;
  free(<usize>(other & ~MOVES), otherSlots(set) << 3, set.account);
  set.other = 0;
  set.cursor = 0;
}

export function grow(set: GroupSet): bool {
  return growTo(set, set.table ? (set.mask + 1) << 1 : FIRST_SLOTS);
}

export function growTo(set: GroupSet, slots: u32): bool {
  const old = <usize>set.table;
  const acct = set.account;
  const table = alloc(slots << 3, acct);
  if (!table) return false;
  memory.fill(table, 0, slots << 3);
  if (old) free(old, tableBytes(set), acct);
  set.table = <u32>table;
  set.mask = slots - 1;
  let group = set.first;
  while (group) {
    if (group != set.nullGroup) place(set, group, group.hash);
    group = group.next;
  }
  return true;
}

/** Makes room for another group, or prepares for it; false when memory is exhausted. */
export function makeRoom(set: GroupSet): bool {
  const isFull = set.count * ROOM >= set.mask;
  const slots = set.mask + 1;
  if (slots < LARGE) return !isFull || grow(set);
  while (set.other & MOVES) {
    moveSome(set);
    if (!isFull) return true;
  }
  const bytes = slots << 4;
  if (!set.other) {
    // After a refusal, a large block is asked for again only with each 1,024th group, as long as there is room without
    // it.
    // it.
    if (!isFull && set.count & 1023) return true;
    const before = refusals;
    const next = alloc(bytes, set.account);
    if (!next) {
      if (isFull) return false;
      forgiveRefusals(before);
      return true;
    }
    set.other = <u32>next;
  }
  const next = <usize>set.other;
  const cursor = set.cursor;
  const end = isFull ? bytes : min(cursor + CLEARED, bytes);
  memory.fill(next + cursor, 0, end - cursor);
  set.cursor = end;
  if (!isFull) return true;
  set.other = set.table | MOVES;
  set.cursor = 0;
  set.table = <u32>next;
  set.mask = (slots << 1) - 1;
  return true;
}

/** Moves some slots of the table before, and frees it when none is left there. */
export function moveSome(set: GroupSet): void {
  const table = <usize>(set.other & ~MOVES);
  const slots = (set.mask + 1) >> 1;
  const from = set.cursor;
  const to = min(from + MOVED, slots);
  for (let slot = table + ((<usize>from) << 3); slot < table + ((<usize>to) << 3); slot += 8) {
    const group = changetype<Group>(load<u32>(slot, 4));
    if (group) place(set, group, load<u32>(slot));
  }
  set.cursor = to;
  if (to == slots) dropOther(set);
}

export function place(set: GroupSet, group: Group, hash: u32): void {
  const table = <usize>set.table;
  const mask = set.mask;
  let i = hash & mask;
  while (load<u32>(table + ((<usize>i) << 3), 4)) i = (i + 1) & mask;
  store<u32>(table + ((<usize>i) << 3), hash);
  store<u32>(table + ((<usize>i) << 3), changetype<u32>(group), 4);
}
