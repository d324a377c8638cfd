// The slots of a table of partitions: how they grow and shrink, at once or little by little.
import { alloc, allocZeroed, forgiveRefusals, free, refusals } from '../mem/alloc';

/** A table of partitions (partitions/table.ts). */
// @ts-ignore: decorator
@unmanaged
export class PartitionTable {
  slots: usize;
  mask: u32;
  count: u32;
  first: PartitionEntry;
  last: PartitionEntry;
  nullEntry: PartitionEntry;
  dirty: PartitionEntry;
  isAging: u32;
  other: u32;
  otherMask: u32;
  cursor: u32;
  account: usize;
}

/** Head of an entry of a table. */
// @ts-ignore: decorator
@unmanaged
export class PartitionEntry {
  hash: u32;
  keyLen: u32;
  key: usize;
  next: PartitionEntry;
  private gap16: u64;
  private gap24: u64;
  dirty: PartitionEntry;
  previous: PartitionEntry;
  seen: f64;
}

/** Flag in `other`: the slots there are the ones before, whose entries move. */
export const MOVES: u32 = 1;

const FIRST_SLOTS: u32 = 16;

/**
 * Smallest number of slots, a power of 2, to which a table shrinks. Both halves of a larger block are blocks of a usual
 * size (mem/alloc.ts).
 */
const KEPT_SLOTS: u32 = 1024;

/** Slots from which they move little by little; fewer are moved in a few ms. */
const LARGE: u32 = 1 << 18;

/**
 * Bytes of the next slots that are cleared, and slots that move, with each entry that comes or goes: at least double of
 * the need.
 */
const CLEARED: u32 = 2048;

/** The next slots are made when half of the slots are in use, less this part of them as a shift. */
export const PREPARED: u32 = 5;

const MOVED: u32 = 32;

/** Stands for an entry that was removed from the slots before. */
export const HOLE: u32 = 1;

export const END: u32 = 1;

export const EDGE: usize = memory.data(32, 16);

// @ts-ignore: decorator
@inline export function slotBytes(table: PartitionTable): u32 {
  return (table.mask + 1) << 3;
}

/** Frees the upper half of the slots after a peak. */
export function shrink(table: PartitionTable, acct: usize): void {
  const half = (table.mask + 1) >> 1;
  if (half >= LARGE) {
    shrinkLarge(table, half, acct);
    return;
  }
  if (half < KEPT_SLOTS || table.count > half >> 3) return;
  dropOther(table, acct);
  const slots = table.slots;
  free(slots + ((<usize>half) << 3), half << 3, acct);
  memory.fill(slots, 0, half << 3);
  table.mask = half - 1;
  placeAll(table);
}

function shrinkLarge(table: PartitionTable, half: u32, acct: usize): void {
  if (table.other & MOVES) moveSome(table);
  else if (table.count <= half >> 3 && clearSome(table, half, false, acct)) takeOther(table, acct);
  // Without entries nothing is left to move.
  if (table.count) return;
  dropOther(table, acct);
  free(table.slots, slotBytes(table), acct);
  table.slots = 0;
  table.mask = 0;
}

/** Frees the second slots: the next ones that are being cleared, or those before that are moved from. */
export function dropOther(table: PartitionTable, acct: usize): void {
  const other = table.other;
  if (other) free(<usize>(other & ~MOVES), (table.otherMask + 1) << 3, acct);
  table.other = 0;
  table.cursor = 0;
}

/** Makes room for another entry, or prepares for it; false when memory is exhausted. */
export function makeRoom(table: PartitionTable, acct: usize): bool {
  const isFull = table.count * 2 >= table.mask;
  const slots = table.mask + 1;
  if (slots < LARGE) return !isFull || grow(table, acct);
  while (table.other & MOVES) {
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

/** Clears some of the next `slots` slots, or all of them where `areNeeded`; true when all are clear. */
function clearSome(table: PartitionTable, slots: u32, areNeeded: bool, acct: usize): bool {
  if (table.other && table.otherMask != slots - 1) dropOther(table, acct);
  const bytes = slots << 3;
  if (!table.other) {
    // After a refusal, a large block is asked for again only with each 1,024th entry, as long as there is room without
    // it.
    // it.
    if (!areNeeded && table.count & 1023) return false;
    const before = refusals;
    const made = alloc(bytes, acct);
    if (!made) {
      if (!areNeeded) forgiveRefusals(before);
      return false;
    }
    table.other = <u32>made;
    table.otherMask = slots - 1;
  }
  const cursor = table.cursor;
  const end = areNeeded ? bytes : min(cursor + CLEARED, bytes);
  memory.fill(<usize>table.other + cursor, 0, end - cursor);
  table.cursor = end;
  return end == bytes;
}

/** Puts the next slots, which are clear, in the place of the current ones. */
function takeOther(table: PartitionTable, acct: usize): void {
  const slots = table.slots;
  const mask = table.mask;
  table.slots = table.other;
  table.mask = table.otherMask;
  table.other = slots | MOVES;
  table.otherMask = mask;
  table.cursor = 0;
  table.account = acct;
}

/** Moves some entries from the slots before, and frees these when none is left there. */
export function moveSome(table: PartitionTable): void {
  const slots = <usize>(table.other & ~MOVES);
  const count = table.otherMask + 1;
  const from = table.cursor;
  const to = min(from + MOVED, count);
  for (let slot = slots + ((<usize>from) << 3); slot < slots + ((<usize>to) << 3); slot += 8) {
    const entry = changetype<PartitionEntry>(load<u32>(slot, 4));
    if (changetype<usize>(entry) > HOLE) place(table, entry, load<u32>(slot));
  }
  table.cursor = to;
  if (to == count) dropOther(table, table.account);
}

function grow(table: PartitionTable, acct: usize): bool {
  const old = table.slots;
  const slots = old ? (table.mask + 1) << 1 : FIRST_SLOTS;
  const made = allocZeroed(slots << 3, acct);
  if (!made) return false;
  dropOther(table, acct);
  if (old) free(old, slotBytes(table), acct);
  table.slots = made;
  table.mask = slots - 1;
  placeAll(table);
  return true;
}

function placeAll(table: PartitionTable): void {
  for (let entry = table.first; entry; entry = entry.next) {
    if (entry != table.nullEntry) place(table, entry, entry.hash);
  }
}

export function place(table: PartitionTable, entry: PartitionEntry, hash: u32): void {
  const slots = table.slots;
  const mask = table.mask;
  let i = hash & mask;
  while (load<u32>(slots + ((<usize>i) << 3), 4)) i = (i + 1) & mask;
  store<u32>(slots + ((<usize>i) << 3), hash);
  store<u32>(slots + ((<usize>i) << 3), changetype<u32>(entry), 4);
}
