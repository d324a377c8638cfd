// Partitions of rows by their printed keys, as groups have them: a hash table of entries that stay.
//
//   table   slots u32 (hash u32 | entry u32) | mask u32 | count u32 | first u32 | last u32 | nullEntry u32 |
//           24 dirty u32 (entries that changed since they were settled, END after the last) | isAging u32
//           32 other u32 (slots; bit 0: those before) | otherMask u32 | cursor u32 | acct u32 (that those before are
//           charged to)
//
//   entry   0   hash u32 | keyLen u32 | key u32 | next u32 | short key 16 | dirty u32 (the next that changed, or END) |
//   previous u32 |
//           40  seen f64 (epoch ms of the batch with its last row, only where idle ones are forgotten)
//           48  what the owner of the table keeps
//
// Entries are linked in the order of their first row; where idle ones are forgotten (isAging), of their last one. Keys
// of up to 16 bytes stand in the entry itself and are compared with one vector instruction; a key is read 16 bytes
// wide, so text must be followed by 16 readable bytes.
//
// Many slots become more, or fewer, little by little with the entries that come and go, so that no call has to move all
// of them: first the next slots are cleared (`other`, `cursor` bytes of them), then they take the place of those
// before, which move (`other`, `cursor` of them) while keys are looked for in both. No entry comes to those before; one
// that goes leaves a hole there that ends no search.
import { alloc, allocZeroed, free } from '../mem/alloc';
import { keyAdd, keyBegin, keyLen, keyOff, keyText } from '../agg/group/key';
import { Bind, bindIsConst, bindTag, bindUniform, bindVal } from '../mem/bind';
import { Tag, lenOf, offOf } from '../mem/layout';
import { bytesEqual, hashLong, hashShort, textHash, textsEqual } from '../value/bytes';
import {
  PartitionTable,
  PartitionEntry,
  EDGE,
  END,
  HOLE,
  MOVES,
  PREPARED,
  dropOther,
  makeRoom,
  moveSome,
  place,
  shrink,
  slotBytes,
} from './table-slots';

export const TABLE_SIZE: u32 = 48;

/** Bytes of an entry before the state of the partition. */
export const ENTRY_HEAD: u32 = 48;
const ENTRY_SHORT: usize = 16;
const SHORT: u32 = 16;
/** Bytes behind a long key that must be readable. */
const SLACK: u32 = 16;

export function tableInit(table: PartitionTable, isAging: bool): void {
  memory.fill(changetype<usize>(table), 0, TABLE_SIZE);
  table.isAging = <u32>isAging;
  table.dirty = changetype<PartitionEntry>(END);
  memory.fill(EDGE, 0xff, 16);
}

/** Frees the table with its entries; the caller has freed the memory of their states. */
export function tableFree(table: PartitionTable, entrySize: u32, acct: usize): void {
  for (let entry = table.first; entry; ) {
    const next = entry.next;
    entryFree(entry, entrySize, acct);
    entry = next;
  }
  dropOther(table, acct);
  if (table.slots) free(table.slots, slotBytes(table), acct);
}

function entryFree(entry: PartitionEntry, entrySize: u32, acct: usize): void {
  const len = entry.keyLen;
  if (len > SHORT) free(entry.key, len + SLACK, acct);
  free(changetype<usize>(entry), entrySize, acct);
}

/** Notes that an entry refers to memory of the batch. */
// @ts-ignore: decorator
@inline export function noteDirty(table: PartitionTable, entry: PartitionEntry): void {
  if (entry.dirty) return;
  entry.dirty = table.dirty;
  table.dirty = entry;
}

/** First of the entries that changed; 0 when there is none. */
// @ts-ignore: decorator
@inline export function firstDirty(table: PartitionTable): PartitionEntry {
  const entry = table.dirty;
  return changetype<usize>(entry) == END ? changetype<PartitionEntry>(0) : entry;
}

/** The changed entry after `entry`. */
// @ts-ignore: decorator
@inline export function nextDirty(entry: PartitionEntry): PartitionEntry {
  const next = entry.dirty;
  return changetype<usize>(next) == END ? changetype<PartitionEntry>(0) : next;
}

/** Takes one of the entries that changed; 0 when none is left. */
export function takeDirty(table: PartitionTable): PartitionEntry {
  const entry = table.dirty;
  if (changetype<usize>(entry) == END) return changetype<PartitionEntry>(0);
  table.dirty = entry.dirty;
  entry.dirty = changetype<PartitionEntry>(0);
  return entry;
}

/** Adds an entry behind the others without a slot; 0 when memory is exhausted. */
function newEntry(table: PartitionTable, entrySize: u32, hash: u32, off: usize, len: u32, acct: usize): PartitionEntry {
  const entry = changetype<PartitionEntry>(allocZeroed(entrySize, acct));
  if (!entry) return changetype<PartitionEntry>(0);
  let key = changetype<usize>(entry) + ENTRY_SHORT;
  if (len > SHORT) {
    key = len > 0x7fff0000 ? 0 : alloc(len + SLACK, acct);
    if (!key) {
      free(changetype<usize>(entry), entrySize, acct);
      return changetype<PartitionEntry>(0);
    }
  }
  memory.copy(key, off, len);
  entry.hash = hash;
  entry.keyLen = len;
  entry.key = key;
  append(table, entry);
  table.count++;
  return entry;
}

function append(table: PartitionTable, entry: PartitionEntry): void {
  const last = table.last;
  if (last) last.next = entry;
  else table.first = entry;
  entry.previous = last;
  entry.next = changetype<PartitionEntry>(0);
  table.last = entry;
}

function unlink(table: PartitionTable, entry: PartitionEntry): void {
  const before = entry.previous;
  const next = entry.next;
  if (before) before.next = next;
  else table.first = next;
  if (next) next.previous = before;
  else table.last = before;
}

/** Notes that the entry got a row at `ms`. */
// @ts-ignore: decorator
@inline export function entrySee(table: PartitionTable, entry: PartitionEntry, ms: f64): void {
  if (!table.isAging) return;
  entry.seen = ms;
  if (table.last == entry) return;
  unlink(table, entry);
  append(table, entry);
}

/** Removes an entry and frees it; the caller has freed the memory of its states. */
export function entryDrop(table: PartitionTable, entry: PartitionEntry, entrySize: u32, acct: usize): void {
  if (table.nullEntry == entry) table.nullEntry = changetype<PartitionEntry>(0);
  else if (!(table.other & MOVES) || leaveHole(table, entry)) displace(table, entry);
  unlink(table, entry);
  table.count--;
  entryFree(entry, entrySize, acct);
  shrink(table, acct);
}

/** Empties the slot of an entry; later ones of the same run move up, so that they are found. */
function displace(table: PartitionTable, entry: PartitionEntry): void {
  const slots = table.slots;
  const mask = table.mask;
  let hole = entry.hash & mask;
  while (<usize>load<u32>(slots + ((<usize>hole) << 3), 4) != changetype<usize>(entry)) hole = (hole + 1) & mask;
  for (let i = (hole + 1) & mask; load<u32>(slots + ((<usize>i) << 3), 4); i = (i + 1) & mask) {
    const home = load<u32>(slots + ((<usize>i) << 3)) & mask;
    // An entry may stand anywhere from its home slot on.
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    store<u64>(slots + ((<usize>hole) << 3), load<u64>(slots + ((<usize>i) << 3)));
    hole = i;
  }
  store<u64>(slots + ((<usize>hole) << 3), 0);
}

/** Removes an entry from the slots before, leaving a hole; true when it is in the current slots, too. */
function leaveHole(table: PartitionTable, entry: PartitionEntry): bool {
  const slots = <usize>(table.other & ~MOVES);
  const mask = table.otherMask;
  for (let i = entry.hash & mask; load<u32>(slots + ((<usize>i) << 3), 4); i = (i + 1) & mask) {
    if (load<u32>(slots + ((<usize>i) << 3), 4) != changetype<u32>(entry)) continue;
    store<u32>(slots + ((<usize>i) << 3), HOLE, 4);
    return i < table.cursor;
  }
  return true;
}

/** The entry of a key in the slots before, some of which are moved; 0 when there is none. */
function lookBefore(table: PartitionTable, off: usize, len: u32, hash: u32): PartitionEntry {
  const slots = <usize>(table.other & ~MOVES);
  const mask = table.otherMask;
  let found: PartitionEntry = changetype<PartitionEntry>(0);
  for (let i = hash & mask; load<u32>(slots + ((<usize>i) << 3), 4) && !found; i = (i + 1) & mask) {
    const entry = changetype<PartitionEntry>(load<u32>(slots + ((<usize>i) << 3), 4));
    if (changetype<usize>(entry) == HOLE || load<u32>(slots + ((<usize>i) << 3)) != hash || entry.keyLen != len)
      continue;
    if (bytesEqual(entry.key, off, len)) found = entry;
  }
  moveSome(table);
  return found;
}

let soughtHash: u32 = 0;

/** The entry of a key; 0 when there is none. */
// @ts-ignore: decorator
@inline export function lookEntry(table: PartitionTable, off: usize, len: u32): PartitionEntry {
  let key = i64x2.splat(0);
  let hash: u32;
  if (len <= SHORT) {
    key = v128.and(v128.load(off), v128.load(EDGE + SHORT - len));
    hash = hashShort(i64x2.extract_lane(key, 0), i64x2.extract_lane(key, 1), len);
  } else hash = hashLong(off, len);
  soughtHash = hash;
  const slots = table.slots;
  if (!slots) return changetype<PartitionEntry>(0);
  const mask = table.mask;
  let i = hash & mask;
  let entry = changetype<PartitionEntry>(load<u32>(slots + ((<usize>i) << 3), 4));
  while (entry) {
    if (load<u32>(slots + ((<usize>i) << 3)) == hash && entry.keyLen == len) {
      if (len <= SHORT) {
        if (!v128.any_true(v128.xor(v128.load(changetype<usize>(entry), ENTRY_SHORT), key))) break;
      } else if (bytesEqual(entry.key, off, len)) break;
    }
    i = (i + 1) & mask;
    entry = changetype<PartitionEntry>(load<u32>(slots + ((<usize>i) << 3), 4));
  }
  return entry || !(table.other & MOVES) ? entry : lookBefore(table, off, len, hash);
}

/** The entry of a key, made when there is none; 0 when memory is exhausted. */
export function findEntry(table: PartitionTable, entrySize: u32, off: usize, len: u32, acct: usize): usize {
  const known = lookEntry(table, off, len);
  if (known) return changetype<usize>(known);
  const hash = soughtHash;
  const mask = table.mask;
  if (table.count * 2 >= mask - (mask >> PREPARED) && !makeRoom(table, acct)) return 0;
  const entry = newEntry(table, entrySize, hash, off, len, acct);
  if (entry) place(table, entry, hash);
  return changetype<usize>(entry);
}

/** The entry that `findNullEntry` has made, 0 none. */
// @ts-ignore: decorator
@inline export function nullEntry(table: PartitionTable): PartitionEntry {
  return table.nullEntry;
}

/** The entry of rows whose only key is null or missing, and the only one without keys; 0 when memory is exhausted. */
export function findNullEntry(table: PartitionTable, entrySize: u32, acct: usize): usize {
  let entry = table.nullEntry;
  if (entry) return changetype<usize>(entry);
  entry = newEntry(table, entrySize, 0, EDGE, 0, acct);
  table.nullEntry = entry;
  return changetype<usize>(entry);
}

// @ts-ignore: decorator
@inline export function isNullEntry(table: PartitionTable, entry: PartitionEntry): bool {
  return table.nullEntry == entry;
}

/** Address of the key of an entry. */
export function entryKey(entry: PartitionEntry): usize {
  return entry.key;
}

export function entryKeyLen(entry: PartitionEntry): u32 {
  return entry.keyLen;
}

/** Hashes of the keys of a batch, by their place in its selection. */
const HASHES: usize = memory.data(4 * 1024, 16);

/**
 * As `findEntries` where the only key is a text in all rows, with payloads at `vals`. It works in two passes, so that
 * the waits for the memory of slots and entries overlap for several rows.
 */
function findTexts(
  table: PartitionTable,
  entrySize: u32,
  vals: usize,
  sel: usize,
  n: u32,
  to: usize,
  acct: usize,
  now: f64,
): bool {
  const slots = table.slots;
  const mask = table.mask;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    const text = load<u64>(vals + (row << 3));
    const hash = textHash(offOf(text), lenOf(text));
    store<u32>(HASHES + ((<usize>i) << 2), hash);
    store<u32>(to + (row << 2), slots ? load<u32>(slots + ((<usize>(hash & mask)) << 3), 4) : 0);
  }
  const isAging = table.isAging != 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    const text = load<u64>(vals + (row << 3));
    let entry = changetype<PartitionEntry>(load<u32>(to + (row << 2)));
    if (!entry || entry.hash != load<u32>(HASHES + ((<usize>i) << 2)) || !hasKey(entry, offOf(text), lenOf(text))) {
      // The slot belongs to another key.
      entry = changetype<PartitionEntry>(findEntry(table, entrySize, offOf(text), lenOf(text), acct));
      if (!entry) return false;
      store<u32>(to + (row << 2), changetype<u32>(entry));
    }
    if (isAging) entrySee(table, entry, now);
  }
  return true;
}

// @ts-ignore: decorator
@inline function hasKey(entry: PartitionEntry, off: usize, len: u32): bool {
  return entry.keyLen == len && textsEqual(entry.key, off, len);
}

/** True when a key failed in some row of the last `findEntries`. */
export let keyFailed: bool = false;

/**
 * Writes the entry of each selected row to `to`, a u32 for each row of the batch; 0 for rows in which a key failed
 * (`keyFailed` then). False when memory is exhausted.
 */
export function findEntries(
  table: PartitionTable,
  entrySize: u32,
  binds: usize,
  bindSize: u32,
  keys: u32,
  sel: usize,
  n: u32,
  to: usize,
  acct: usize,
  now: f64,
): bool {
  keyFailed = false;
  if (keys == 0) {
    const entry = changetype<PartitionEntry>(findNullEntry(table, entrySize, acct));
    if (!entry) return false;
    entrySee(table, entry, now);
    for (let i: u32 = 0; i < n; i++)
      store<u32>(to + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 2), changetype<u32>(entry));
    return true;
  }
  if (keys == 1 && bindUniform(changetype<Bind>(binds)) == Tag.STR && !bindIsConst(changetype<Bind>(binds))) {
    return findTexts(table, entrySize, <usize>load<u32>(binds), sel, n, to, acct, now);
  }
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let entry: PartitionEntry;
    if (keys == 1) {
      const tag = bindTag(changetype<Bind>(binds), row);
      const payload = bindVal(changetype<Bind>(binds), row);
      if (tag == Tag.STR)
        entry = changetype<PartitionEntry>(findEntry(table, entrySize, offOf(payload), lenOf(payload), acct));
      else if (tag <= Tag.NULL) entry = changetype<PartitionEntry>(findNullEntry(table, entrySize, acct));
      else if (tag == Tag.ERROR) {
        keyFailed = true;
        store<u32>(to + ((<usize>row) << 2), 0);
        continue;
      } else {
        keyText(tag, payload);
        entry = changetype<PartitionEntry>(findEntry(table, entrySize, keyOff, keyLen, acct));
      }
    } else {
      keyBegin();
      let fails = false;
      for (let k: u32 = 0; k < keys; k++) {
        const bind = changetype<Bind>(binds + k * bindSize);
        const tag = bindTag(bind, row);
        fails = fails || tag == Tag.ERROR;
        keyAdd(tag, bindVal(bind, row));
      }
      if (fails) {
        keyFailed = true;
        store<u32>(to + ((<usize>row) << 2), 0);
        continue;
      }
      entry = changetype<PartitionEntry>(findEntry(table, entrySize, keyOff, keyLen, acct));
    }
    if (!entry) return false;
    entrySee(table, entry, now);
    store<u32>(to + ((<usize>row) << 2), changetype<u32>(entry));
  }
  return true;
}
