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
import { bindIsConst, bindTag, bindUniform, bindVal } from '../mem/bind';
import { Tag, lenOf, offOf } from '../mem/layout';
import { bytesEqual, hashLong, hashShort, textHash, textsEqual } from '../value/bytes';
import {
  CURSOR,
  EDGE,
  END,
  HOLE,
  MASK,
  MOVES,
  OTHER,
  OTHER_MASK,
  dropOther,
  makeRoom,
  moveSome,
  place,
  shrink,
  slotBytes,
  TABLE_COUNT,
  TABLE_FIRST,
  NULL_ENTRY,
  ACCT,
  ENTRY_NEXT,
} from './table-slots';

export const TABLE_SIZE: u32 = 48;
export const TABLE_LAST: usize = 16;
const DIRTY: usize = 24;
const AGING: usize = 28;

/** Bytes of an entry before what is kept of the partition. */
export const ENTRY_HEAD: u32 = 48;
const ENTRY_KEY_LEN: usize = 4;
const ENTRY_KEY: usize = 8;
const ENTRY_SHORT: usize = 16;
const ENTRY_DIRTY: usize = 32;
const ENTRY_PREVIOUS: usize = 36;
export const ENTRY_SEEN: usize = 40;
const SHORT: u32 = 16;
/** Bytes behind a long key that can be read. */
const SLACK: u32 = 16;

export function tableInit(table: usize, isAging: bool): void {
  memory.fill(table, 0, TABLE_SIZE);
  store<u32>(table, <u32>isAging, AGING);
  store<u32>(table, END, DIRTY);
  memory.fill(EDGE, 0xff, 16);
}

/** Frees the table with its entries; what their states hold has been freed before. */
export function tableFree(table: usize, entrySize: u32, acct: usize): void {
  for (let entry = <usize>load<u32>(table, TABLE_FIRST); entry; ) {
    const next = <usize>load<u32>(entry, ENTRY_NEXT);
    entryFree(entry, entrySize, acct);
    entry = next;
  }
  dropOther(table, acct);
  if (load<u32>(table)) free(<usize>load<u32>(table), slotBytes(table), acct);
}

function entryFree(entry: usize, entrySize: u32, acct: usize): void {
  const len = load<u32>(entry, ENTRY_KEY_LEN);
  if (len > SHORT) free(<usize>load<u32>(entry, ENTRY_KEY), len + SLACK, acct);
  free(entry, entrySize, acct);
}

/** Notes that an entry holds what belongs to the batch. */
// @ts-ignore: decorator
@inline export function noteDirty(table: usize, entry: usize): void {
  if (load<u32>(entry, ENTRY_DIRTY)) return;
  store<u32>(entry, load<u32>(table, DIRTY), ENTRY_DIRTY);
  store<u32>(table, <u32>entry, DIRTY);
}

/** One of the entries that changed; 0 when there is none. */
// @ts-ignore: decorator
@inline export function firstDirty(table: usize): usize {
  const entry = load<u32>(table, DIRTY);
  return entry == END ? 0 : <usize>entry;
}

/** The one after it. */
// @ts-ignore: decorator
@inline export function nextDirty(entry: usize): usize {
  const next = load<u32>(entry, ENTRY_DIRTY);
  return next == END ? 0 : <usize>next;
}

/** Takes one of the entries that changed; 0 when none is left. */
export function takeDirty(table: usize): usize {
  const entry = load<u32>(table, DIRTY);
  if (entry == END) return 0;
  store<u32>(table, load<u32>(entry, ENTRY_DIRTY), DIRTY);
  store<u32>(entry, 0, ENTRY_DIRTY);
  return entry;
}

/** Makes an entry behind the others that nobody finds yet; 0 when memory is exhausted. */
function newEntry(table: usize, entrySize: u32, hash: u32, off: usize, len: u32, acct: usize): usize {
  const entry = allocZeroed(entrySize, acct);
  if (!entry) return 0;
  let key = entry + ENTRY_SHORT;
  if (len > SHORT) {
    key = len > 0x7fff0000 ? 0 : alloc(len + SLACK, acct);
    if (!key) {
      free(entry, entrySize, acct);
      return 0;
    }
  }
  memory.copy(key, off, len);
  store<u32>(entry, hash);
  store<u32>(entry, len, ENTRY_KEY_LEN);
  store<u32>(entry, <u32>key, ENTRY_KEY);
  append(table, entry);
  store<u32>(table, load<u32>(table, TABLE_COUNT) + 1, TABLE_COUNT);
  return entry;
}

function append(table: usize, entry: usize): void {
  const last = <usize>load<u32>(table, TABLE_LAST);
  if (last) store<u32>(last, <u32>entry, ENTRY_NEXT);
  else store<u32>(table, <u32>entry, TABLE_FIRST);
  store<u32>(entry, <u32>last, ENTRY_PREVIOUS);
  store<u32>(entry, 0, ENTRY_NEXT);
  store<u32>(table, <u32>entry, TABLE_LAST);
}

function unlink(table: usize, entry: usize): void {
  const before = <usize>load<u32>(entry, ENTRY_PREVIOUS);
  const next = <usize>load<u32>(entry, ENTRY_NEXT);
  if (before) store<u32>(before, <u32>next, ENTRY_NEXT);
  else store<u32>(table, <u32>next, TABLE_FIRST);
  if (next) store<u32>(next, <u32>before, ENTRY_PREVIOUS);
  else store<u32>(table, <u32>before, TABLE_LAST);
}

/** Notes a row of the entry at that time. */
// @ts-ignore: decorator
@inline export function entrySee(table: usize, entry: usize, ms: f64): void {
  if (!load<u32>(table, AGING)) return;
  store<f64>(entry, ms, ENTRY_SEEN);
  if (<usize>load<u32>(table, TABLE_LAST) == entry) return;
  unlink(table, entry);
  append(table, entry);
}

/** Takes an entry out and frees it; what its states hold has been freed before. */
export function entryDrop(table: usize, entry: usize, entrySize: u32, acct: usize): void {
  if (<usize>load<u32>(table, NULL_ENTRY) == entry) store<u32>(table, 0, NULL_ENTRY);
  else if (!(load<u32>(table, OTHER) & MOVES) || leaveHole(table, entry)) displace(table, entry);
  unlink(table, entry);
  store<u32>(table, load<u32>(table, TABLE_COUNT) - 1, TABLE_COUNT);
  entryFree(entry, entrySize, acct);
  shrink(table, acct);
}

/** Empties the slot of an entry; later ones of the same run move up, so that they are found. */
function displace(table: usize, entry: usize): void {
  const slots = <usize>load<u32>(table);
  const mask = load<u32>(table, MASK);
  let hole = load<u32>(entry) & mask;
  while (<usize>load<u32>(slots + ((<usize>hole) << 3), 4) != entry) hole = (hole + 1) & mask;
  for (let i = (hole + 1) & mask; load<u32>(slots + ((<usize>i) << 3), 4); i = (i + 1) & mask) {
    const home = load<u32>(slots + ((<usize>i) << 3)) & mask;
    // An entry may stand anywhere from its home on.
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    store<u64>(slots + ((<usize>hole) << 3), load<u64>(slots + ((<usize>i) << 3)));
    hole = i;
  }
  store<u64>(slots + ((<usize>hole) << 3), 0);
}

/** Takes an entry out of the slots before; true when it is in the others, too. */
function leaveHole(table: usize, entry: usize): bool {
  const slots = <usize>(load<u32>(table, OTHER) & ~MOVES);
  const mask = load<u32>(table, OTHER_MASK);
  for (let i = load<u32>(entry) & mask; load<u32>(slots + ((<usize>i) << 3), 4); i = (i + 1) & mask) {
    if (load<u32>(slots + ((<usize>i) << 3), 4) != <u32>entry) continue;
    store<u32>(slots + ((<usize>i) << 3), HOLE, 4);
    return i < load<u32>(table, CURSOR);
  }
  return true;
}

/** The entry of a key in the slots before; 0 when there is none. Some of them move. */
function lookBefore(table: usize, off: usize, len: u32, hash: u32): usize {
  const slots = <usize>(load<u32>(table, OTHER) & ~MOVES);
  const mask = load<u32>(table, OTHER_MASK);
  let found: usize = 0;
  for (let i = hash & mask; load<u32>(slots + ((<usize>i) << 3), 4) && !found; i = (i + 1) & mask) {
    const entry = <usize>load<u32>(slots + ((<usize>i) << 3), 4);
    if (entry == HOLE || load<u32>(slots + ((<usize>i) << 3)) != hash || load<u32>(entry, ENTRY_KEY_LEN) != len)
      continue;
    if (bytesEqual(<usize>load<u32>(entry, ENTRY_KEY), off, len)) found = entry;
  }
  moveSome(table);
  return found;
}

let soughtHash: u32 = 0;

/** The entry of a key; 0 when there is none. */
// @ts-ignore: decorator
@inline export function lookEntry(table: usize, off: usize, len: u32): usize {
  let key = i64x2.splat(0);
  let hash: u32;
  if (len <= SHORT) {
    key = v128.and(v128.load(off), v128.load(EDGE + SHORT - len));
    hash = hashShort(i64x2.extract_lane(key, 0), i64x2.extract_lane(key, 1), len);
  } else hash = hashLong(off, len);
  soughtHash = hash;
  const slots = <usize>load<u32>(table);
  if (!slots) return 0;
  const mask = load<u32>(table, MASK);
  let i = hash & mask;
  let entry = <usize>load<u32>(slots + ((<usize>i) << 3), 4);
  while (entry) {
    if (load<u32>(slots + ((<usize>i) << 3)) == hash && load<u32>(entry, ENTRY_KEY_LEN) == len) {
      if (len <= SHORT) {
        if (!v128.any_true(v128.xor(v128.load(entry, ENTRY_SHORT), key))) break;
      } else if (bytesEqual(<usize>load<u32>(entry, ENTRY_KEY), off, len)) break;
    }
    i = (i + 1) & mask;
    entry = <usize>load<u32>(slots + ((<usize>i) << 3), 4);
  }
  return entry || !(load<u32>(table, OTHER) & MOVES) ? entry : lookBefore(table, off, len, hash);
}

/** The entry of a key, made when there is none; 0 when memory is exhausted. */
export function findEntry(table: usize, entrySize: u32, off: usize, len: u32, acct: usize): usize {
  const known = lookEntry(table, off, len);
  if (known) return known;
  const hash = soughtHash;
  const mask = load<u32>(table, MASK);
  if (load<u32>(table, TABLE_COUNT) * 2 >= mask - (mask >> 2) && !makeRoom(table, acct)) return 0;
  const entry = newEntry(table, entrySize, hash, off, len, acct);
  if (entry) place(table, entry, hash);
  return entry;
}

/** The entry that `findNullEntry` has made, 0 none. */
// @ts-ignore: decorator
@inline export function nullEntry(table: usize): usize {
  return <usize>load<u32>(table, NULL_ENTRY);
}

/** The entry of rows whose only key is null or missing, and the only one without keys; 0 when memory is exhausted. */
export function findNullEntry(table: usize, entrySize: u32, acct: usize): usize {
  let entry = <usize>load<u32>(table, NULL_ENTRY);
  if (entry) return entry;
  entry = newEntry(table, entrySize, 0, EDGE, 0, acct);
  store<u32>(table, <u32>entry, NULL_ENTRY);
  return entry;
}

// @ts-ignore: decorator
@inline export function isNullEntry(table: usize, entry: usize): bool {
  return <usize>load<u32>(table, NULL_ENTRY) == entry;
}

/** Where the key of an entry stands. */
export function entryKey(entry: usize): usize {
  return <usize>load<u32>(entry, ENTRY_KEY);
}

export function entryKeyLen(entry: usize): u32 {
  return load<u32>(entry, ENTRY_KEY_LEN);
}

/** Hashes of the keys of a batch, by their place in its selection. */
const HASHES: usize = memory.data(4 * 1024, 16);

/**
 * As `findEntries` where the only key is a text in all rows, with payloads at `vals`. In two passes, so that rows wait
 * for the memory of slots and entries together.
 */
function findTexts(
  table: usize,
  entrySize: u32,
  vals: usize,
  sel: usize,
  n: u32,
  to: usize,
  acct: usize,
  now: f64,
): bool {
  const slots = <usize>load<u32>(table);
  const mask = load<u32>(table, MASK);
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    const text = load<u64>(vals + (row << 3));
    const hash = textHash(offOf(text), lenOf(text));
    store<u32>(HASHES + ((<usize>i) << 2), hash);
    store<u32>(to + (row << 2), slots ? load<u32>(slots + ((<usize>(hash & mask)) << 3), 4) : 0);
  }
  const isAging = load<u32>(table, AGING) != 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    const text = load<u64>(vals + (row << 3));
    let entry = <usize>load<u32>(to + (row << 2));
    if (
      !entry ||
      load<u32>(entry) != load<u32>(HASHES + ((<usize>i) << 2)) ||
      !hasKey(entry, offOf(text), lenOf(text))
    ) {
      // Another one has the slot.
      entry = findEntry(table, entrySize, offOf(text), lenOf(text), acct);
      if (!entry) return false;
      store<u32>(to + (row << 2), <u32>entry);
    }
    if (isAging) entrySee(table, entry, now);
  }
  return true;
}

// @ts-ignore: decorator
@inline function hasKey(entry: usize, off: usize, len: u32): bool {
  return load<u32>(entry, ENTRY_KEY_LEN) == len && textsEqual(<usize>load<u32>(entry, ENTRY_KEY), off, len);
}

/** Set by `findEntries`: a key failed in some row. */
export let keyFailed: bool = false;

/**
 * Writes the entry of each selected row to `to`, a u32 for each row of the batch; 0 for rows in which a key failed
 * (`keyFailed` then). False when memory is exhausted.
 */
export function findEntries(
  table: usize,
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
    const entry = findNullEntry(table, entrySize, acct);
    if (!entry) return false;
    entrySee(table, entry, now);
    for (let i: u32 = 0; i < n; i++) store<u32>(to + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 2), <u32>entry);
    return true;
  }
  if (keys == 1 && bindUniform(binds) == Tag.STR && !bindIsConst(binds)) {
    return findTexts(table, entrySize, <usize>load<u32>(binds), sel, n, to, acct, now);
  }
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let entry: usize;
    if (keys == 1) {
      const tag = bindTag(binds, row);
      const payload = bindVal(binds, row);
      if (tag == Tag.STR) entry = findEntry(table, entrySize, offOf(payload), lenOf(payload), acct);
      else if (tag <= Tag.NULL) entry = findNullEntry(table, entrySize, acct);
      else if (tag == Tag.ERROR) {
        keyFailed = true;
        store<u32>(to + ((<usize>row) << 2), 0);
        continue;
      } else {
        keyText(tag, payload);
        entry = findEntry(table, entrySize, keyOff, keyLen, acct);
      }
    } else {
      keyBegin();
      let fails = false;
      for (let k: u32 = 0; k < keys; k++) {
        const bind = binds + k * bindSize;
        const tag = bindTag(bind, row);
        fails = fails || tag == Tag.ERROR;
        keyAdd(tag, bindVal(bind, row));
      }
      if (fails) {
        keyFailed = true;
        store<u32>(to + ((<usize>row) << 2), 0);
        continue;
      }
      entry = findEntry(table, entrySize, keyOff, keyLen, acct);
    }
    if (!entry) return false;
    entrySee(table, entry, now);
    store<u32>(to + ((<usize>row) << 2), <u32>entry);
  }
  return true;
}
