// The slots of a table of partitions: how they grow and shrink, at once or little by little.
import { alloc, allocZeroed, forgiveRefusals, free, refusals } from '../mem/alloc';

export const TABLE_COUNT: usize = 8;
export const TABLE_FIRST: usize = 12;
export const NULL_ENTRY: usize = 20;
export const ACCT: usize = 44;
export const ENTRY_NEXT: usize = 12;

export const MASK: usize = 4;

export const OTHER: usize = 32;

export const OTHER_MASK: usize = 36;

export const CURSOR: usize = 40;

/** Of `other`: they are those before. */
export const MOVES: u32 = 1;

const FIRST_SLOTS: u32 = 16;

/**
 * A table of so many slots, a power of 2, keeps them: the bytes of both halves of a larger one are a size of blocks by
 * themselves (mem/alloc.ts).
 */
const KEPT_SLOTS: u32 = 1024;

/** So many slots or more move little by little; fewer are moved in a few ms. */
const LARGE: u32 = 1 << 18;

/**
 * Bytes of the next slots that are cleared, and slots that move, with each entry that comes or goes: double of what is
 * needed at least.
 */
const CLEARED: u32 = 1024;

const MOVED: u32 = 32;

/** In the place of an entry of the slots before that is gone. */
export const HOLE: u32 = 1;

export const END: u32 = 1;

export const EDGE: usize = memory.data(32, 16);

// @ts-ignore: decorator
@inline export function slotBytes(table: usize): u32 {
  return (load<u32>(table, MASK) + 1) << 3;
}

/** After a peak the upper half of the slots goes back with the entries. */
export function shrink(table: usize, acct: usize): void {
  const half = (load<u32>(table, MASK) + 1) >> 1;
  if (half >= LARGE) {
    shrinkLarge(table, half, acct);
    return;
  }
  if (half < KEPT_SLOTS || load<u32>(table, TABLE_COUNT) > half >> 3) return;
  dropOther(table, acct);
  const slots = <usize>load<u32>(table);
  free(slots + ((<usize>half) << 3), half << 3, acct);
  memory.fill(slots, 0, half << 3);
  store<u32>(table, half - 1, MASK);
  placeAll(table);
}

function shrinkLarge(table: usize, half: u32, acct: usize): void {
  if (load<u32>(table, OTHER) & MOVES) moveSome(table);
  else if (load<u32>(table, TABLE_COUNT) <= half >> 3 && clearSome(table, half, false, acct)) takeOther(table, acct);
  // Nothing is left to move.
  if (load<u32>(table, TABLE_COUNT)) return;
  dropOther(table, acct);
  free(<usize>load<u32>(table), slotBytes(table), acct);
  store<u32>(table, 0);
  store<u32>(table, 0, MASK);
}

/** Gives the slots back that are made ready, or that those before are moved from. */
export function dropOther(table: usize, acct: usize): void {
  const other = load<u32>(table, OTHER);
  if (other) free(<usize>(other & ~MOVES), (load<u32>(table, OTHER_MASK) + 1) << 3, acct);
  store<u32>(table, 0, OTHER);
  store<u32>(table, 0, CURSOR);
}

/** Makes room for another entry, or prepares for it; false when memory is exhausted. */
export function makeRoom(table: usize, acct: usize): bool {
  const isFull = load<u32>(table, TABLE_COUNT) * 2 >= load<u32>(table, MASK);
  const slots = load<u32>(table, MASK) + 1;
  if (slots < LARGE) return !isFull || grow(table, acct);
  while (load<u32>(table, OTHER) & MOVES) {
    moveSome(table);
    if (!isFull) return true;
  }
  if (isFull && slots >= 1 << 27) return false;
  if (slots < 1 << 27 && clearSome(table, slots << 1, isFull, acct)) {
    if (isFull) takeOther(table, acct);
    return true;
  }
  return !isFull;
}

/** Clears some of the next slots, of which there are to be so many, or all that are left; true when all are clear. */
function clearSome(table: usize, slots: u32, areNeeded: bool, acct: usize): bool {
  if (load<u32>(table, OTHER) && load<u32>(table, OTHER_MASK) != slots - 1) dropOther(table, acct);
  const bytes = slots << 3;
  if (!load<u32>(table, OTHER)) {
    // A large block that was refused is asked for again with each 1,024th entry only, as long as there is room without
    // it.
    if (!areNeeded && load<u32>(table, TABLE_COUNT) & 1023) return false;
    const before = refusals;
    const made = alloc(bytes, acct);
    if (!made) {
      if (!areNeeded) forgiveRefusals(before);
      return false;
    }
    store<u32>(table, <u32>made, OTHER);
    store<u32>(table, slots - 1, OTHER_MASK);
  }
  const cursor = load<u32>(table, CURSOR);
  const end = areNeeded ? bytes : min(cursor + CLEARED, bytes);
  memory.fill(<usize>load<u32>(table, OTHER) + cursor, 0, end - cursor);
  store<u32>(table, end, CURSOR);
  return end == bytes;
}

/** The next slots, which are clear, take the place of the others. */
function takeOther(table: usize, acct: usize): void {
  const slots = load<u32>(table);
  const mask = load<u32>(table, MASK);
  store<u32>(table, load<u32>(table, OTHER));
  store<u32>(table, load<u32>(table, OTHER_MASK), MASK);
  store<u32>(table, slots | MOVES, OTHER);
  store<u32>(table, mask, OTHER_MASK);
  store<u32>(table, 0, CURSOR);
  store<u32>(table, <u32>acct, ACCT);
}

/** Moves some entries from the slots before; gives these back when none is left there. */
export function moveSome(table: usize): void {
  const slots = <usize>(load<u32>(table, OTHER) & ~MOVES);
  const count = load<u32>(table, OTHER_MASK) + 1;
  const from = load<u32>(table, CURSOR);
  const to = min(from + MOVED, count);
  for (let slot = slots + ((<usize>from) << 3); slot < slots + ((<usize>to) << 3); slot += 8) {
    const entry = load<u32>(slot, 4);
    if (entry > HOLE) place(table, <usize>entry, load<u32>(slot));
  }
  store<u32>(table, to, CURSOR);
  if (to == count) dropOther(table, <usize>load<u32>(table, ACCT));
}

function grow(table: usize, acct: usize): bool {
  const old = <usize>load<u32>(table);
  const slots = old ? (load<u32>(table, MASK) + 1) << 1 : FIRST_SLOTS;
  const made = allocZeroed(slots << 3, acct);
  if (!made) return false;
  dropOther(table, acct);
  if (old) free(old, slotBytes(table), acct);
  store<u32>(table, <u32>made);
  store<u32>(table, slots - 1, MASK);
  placeAll(table);
  return true;
}

function placeAll(table: usize): void {
  for (let entry = <usize>load<u32>(table, TABLE_FIRST); entry; entry = <usize>load<u32>(entry, ENTRY_NEXT)) {
    if (entry != <usize>load<u32>(table, NULL_ENTRY)) place(table, entry, load<u32>(entry));
  }
}

export function place(table: usize, entry: usize, hash: u32): void {
  const slots = <usize>load<u32>(table);
  const mask = load<u32>(table, MASK);
  let i = hash & mask;
  while (load<u32>(slots + ((<usize>i) << 3), 4)) i = (i + 1) & mask;
  store<u32>(slots + ((<usize>i) << 3), hash);
  store<u32>(slots + ((<usize>i) << 3), <u32>entry, 4);
}
