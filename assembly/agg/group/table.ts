// The hash table of a set of groups: how it grows, at once or little by little.
import { alloc, forgiveRefusals, free, refusals } from '../../mem/alloc';

export const SET_COUNT: usize = 8;
export const SET_FIRST: usize = 12;
export const SET_NULL_GROUP: usize = 20;
export const ACCT: usize = 96;
export const GROUP_NEXT: usize = 12;

export const TABLE: usize = 0;

export const MASK: usize = 4;

export const OTHER: usize = 104;

const CURSOR: usize = 108;

/** Of `other`: it is the table before. */
export const MOVES: u32 = 1;

export const FIRST_SLOTS: u32 = 16;

/** Slots for each group, at least: with fewer, many keys are not where they are looked for first. */
export const ROOM: u32 = 4;

/** Tables of so many slots or more grow little by little; smaller ones are moved in less than 10 ms. */
export const LARGE: u32 = 1 << 18;

/**
 * Bytes of the next table that are cleared, and slots of the one before that move, with each group that comes: double
 * of what is needed.
 */
const CLEARED: u32 = 512;

const MOVED: u32 = 16;

export const EDGE: usize = memory.data(32, 16);

export function tableBytes(set: usize): u32 {
  return (load<u32>(set, MASK) + 1) << 3;
}

export function otherSlots(set: usize): u32 {
  const slots = load<u32>(set, MASK) + 1;
  return load<u32>(set, OTHER) & MOVES ? slots >> 1 : slots << 1;
}

/** Gives the table back that another is cleared for, or that is moved from. */
export function dropOther(set: usize): void {
  const other = load<u32>(set, OTHER);
  if (!other) return;
  free(<usize>(other & ~MOVES), otherSlots(set) << 3, <usize>load<u32>(set, ACCT));
  store<u32>(set, 0, OTHER);
  store<u32>(set, 0, CURSOR);
}

export function grow(set: usize): bool {
  return growTo(set, load<u32>(set, TABLE) ? (load<u32>(set, MASK) + 1) << 1 : FIRST_SLOTS);
}

export function growTo(set: usize, slots: u32): bool {
  const old = <usize>load<u32>(set, TABLE);
  const acct = <usize>load<u32>(set, ACCT);
  const table = alloc(slots << 3, acct);
  if (!table) return false;
  memory.fill(table, 0, slots << 3);
  if (old) free(old, tableBytes(set), acct);
  store<u32>(set, <u32>table, TABLE);
  store<u32>(set, slots - 1, MASK);
  let group = <usize>load<u32>(set, SET_FIRST);
  while (group) {
    if (group != <usize>load<u32>(set, SET_NULL_GROUP)) place(set, group, load<u32>(group));
    group = <usize>load<u32>(group, GROUP_NEXT);
  }
  return true;
}

/** Makes room for another group, or prepares for it; false when memory is exhausted. */
export function makeRoom(set: usize): bool {
  const isFull = load<u32>(set, SET_COUNT) * ROOM >= load<u32>(set, MASK);
  const slots = load<u32>(set, MASK) + 1;
  if (slots < LARGE) return !isFull || grow(set);
  while (load<u32>(set, OTHER) & MOVES) {
    moveSome(set);
    if (!isFull) return true;
  }
  const bytes = slots << 4;
  if (!load<u32>(set, OTHER)) {
    // A large block that was refused is asked for again with each 1,024th group only, as long as there is room without
    // it.
    if (!isFull && load<u32>(set, SET_COUNT) & 1023) return true;
    const before = refusals;
    const next = alloc(bytes, <usize>load<u32>(set, ACCT));
    if (!next) {
      if (isFull) return false;
      forgiveRefusals(before);
      return true;
    }
    store<u32>(set, <u32>next, OTHER);
  }
  const next = <usize>load<u32>(set, OTHER);
  const cursor = load<u32>(set, CURSOR);
  const end = isFull ? bytes : min(cursor + CLEARED, bytes);
  memory.fill(next + cursor, 0, end - cursor);
  store<u32>(set, end, CURSOR);
  if (!isFull) return true;
  store<u32>(set, load<u32>(set, TABLE) | MOVES, OTHER);
  store<u32>(set, 0, CURSOR);
  store<u32>(set, <u32>next, TABLE);
  store<u32>(set, (slots << 1) - 1, MASK);
  return true;
}

/** Moves some groups from the table before; gives it back when none is left there. */
export function moveSome(set: usize): void {
  const table = <usize>(load<u32>(set, OTHER) & ~MOVES);
  const slots = (load<u32>(set, MASK) + 1) >> 1;
  const from = load<u32>(set, CURSOR);
  const to = min(from + MOVED, slots);
  for (let slot = table + ((<usize>from) << 3); slot < table + ((<usize>to) << 3); slot += 8) {
    const group = <usize>load<u32>(slot, 4);
    if (group) place(set, group, load<u32>(slot));
  }
  store<u32>(set, to, CURSOR);
  if (to == slots) dropOther(set);
}

export function place(set: usize, group: usize, hash: u32): void {
  const table = <usize>load<u32>(set, TABLE);
  const mask = load<u32>(set, MASK);
  let i = hash & mask;
  while (load<u32>(table + ((<usize>i) << 3), 4)) i = (i + 1) & mask;
  store<u32>(table + ((<usize>i) << 3), hash);
  store<u32>(table + ((<usize>i) << 3), <u32>group, 4);
}
