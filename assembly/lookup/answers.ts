// What a table that is asked has answered, or is to answer, by keys: one entry for each list of values asked for.
// Entries that rows wait for stay; others stay as long as answers are remembered and there is room, those used lately
// before others.
//
//   answers 0   shapes u32 | buckets u32 | mask u32 | count u32
//           16  newest u32 | oldest u32                                            entries in the order of their making
//           24  hits u64 | asked u64                                               keys found, and asked for
//   entry   0   next u32 (of its bucket) | hash u32 | size u32 | state u32
//           16  first u32 (record) | last u32 | users u32 (rows that wait with it) | rows u32
//           32  newer u32 | older u32 | wasUsed u32 | isOut u32 (of its bucket)
//           48  expires f64 (epoch ms, 0 never) | fail u32 | failLen u32
//           64  vals u64[keys] | tags u8[keys] | texts
import { alloc, allocZeroed, free } from '../mem/alloc';
import { span } from '../mem/layout';
import { equalValues } from '../value/compare';
import { hashAdd, hashDone } from '../value/equal-hash';
import { keyTag, keyVal } from './find';
import { bytesOf, copiedEnd, copiedTo, recordFree, recordNext, setRecordNext } from './record';
import { shapesFree, shapesNew } from './shape';

const BUCKETS: usize = 4;
const MASK: usize = 8;
const COUNT: usize = 12;
const NEWEST: usize = 16;
const OLDEST: usize = 20;
const HITS: usize = 24;
const ASKED: usize = 32;
export const ANSWERS_SIZE: u32 = 48;
const FIRST_BUCKETS: u32 = 16;

const HASH: usize = 4;
const SIZE: usize = 8;
const STATE: usize = 12;
const FIRST: usize = 16;
const LAST: usize = 20;
const USERS: usize = 24;
const ROWS: usize = 28;
const NEWER: usize = 32;
const OLDER: usize = 36;
const WAS_USED: usize = 40;
const IS_OUT: usize = 44;
const EXPIRES: usize = 48;
const FAIL: usize = 56;
const FAIL_LEN: usize = 60;
const VALS: u32 = 64;
const SLACK: u32 = 16;

/** What an entry is at. */
export namespace EntryState {
  export const WAITING: u32 = 0;
  export const HERE: u32 = 1;
  export const FAILED: u32 = 2;
}

/** Prepares zeroed memory; false when memory is exhausted. */
export function answersInit(answers: usize, acct: usize): bool {
  store<u32>(answers, <u32>shapesNew(acct));
  store<u32>(answers, <u32>allocZeroed(FIRST_BUCKETS << 2, acct), BUCKETS);
  store<u32>(answers, FIRST_BUCKETS - 1, MASK);
  return load<u32>(answers) != 0 && load<u32>(answers, BUCKETS) != 0;
}

/** Frees all; nothing waits any more. */
export function answersFree(answers: usize, acct: usize): void {
  let entry = <usize>load<u32>(answers, OLDEST);
  while (entry) {
    const newer = <usize>load<u32>(entry, NEWER);
    freeEntry(answers, entry, acct);
    entry = newer;
  }
  shapesFree(<usize>load<u32>(answers), acct);
  free(<usize>load<u32>(answers, BUCKETS), (load<u32>(answers, MASK) + 1) << 2, acct);
}

/** All answers expire so many ms earlier. */
export function answersSetBack(answers: usize, ms: f64): void {
  for (let entry = <usize>load<u32>(answers, OLDEST); entry; entry = <usize>load<u32>(entry, NEWER)) {
    // At 0 it would never.
    if (load<f64>(entry, EXPIRES) > 0) store<f64>(entry, max(load<f64>(entry, EXPIRES) - ms, 1), EXPIRES);
  }
}

// @ts-ignore: decorator
@inline export function answersShapes(answers: usize): usize {
  return <usize>load<u32>(answers);
}

/** Lists of values for which an answer was there, or under way. */
export function foundIn(answers: usize): u64 {
  return load<u64>(answers, HITS);
}

/** Lists that were asked for. */
export function askedIn(answers: usize): u64 {
  return load<u64>(answers, ASKED);
}

// @ts-ignore: decorator
@inline export function entryState(entry: usize): u32 {
  return load<u32>(entry, STATE);
}

/** The first record of the answer, 0 none; `recordNext` goes on. */
// @ts-ignore: decorator
@inline export function entryFirst(entry: usize): usize {
  return <usize>load<u32>(entry, FIRST);
}

// @ts-ignore: decorator
@inline export function entryRows(entry: usize): u32 {
  return load<u32>(entry, ROWS);
}

/** Why it failed, as a span. */
// @ts-ignore: decorator
@inline export function entryFailure(entry: usize): u64 {
  return span(<usize>load<u32>(entry, FAIL), load<u32>(entry, FAIL_LEN));
}

// @ts-ignore: decorator
@inline export function entryTag(entry: usize, keys: u32, k: u32): u8 {
  return load<u8>(entry + ((<usize>keys) << 3) + k, VALS);
}

// @ts-ignore: decorator
@inline export function entryVal(entry: usize, k: u32): u64 {
  return load<u64>(entry + ((<usize>k) << 3), VALS);
}

function hashOf(keys: u32): u32 {
  let hash: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) hash = hashAdd(hash, keyTag(k), keyVal(k));
  return hashDone(hash);
}

// @ts-ignore: decorator
@inline function bucketAt(answers: usize, hash: u32): usize {
  return <usize>load<u32>(answers, BUCKETS) + ((<usize>(hash & load<u32>(answers, MASK))) << 2);
}

/** The entry for the keys read last (lookup/find.ts), 0 none: one that is over is none any more. */
export function entryOf(answers: usize, keys: u32, now: f64, acct: usize): usize {
  const hash = hashOf(keys);
  for (let entry = <usize>load<u32>(bucketAt(answers, hash)); entry; entry = <usize>load<u32>(entry)) {
    if (load<u32>(entry, HASH) != hash || !hasKeys(entry, keys)) continue;
    const expires = load<f64>(entry, EXPIRES);
    const isOver = entryState(entry) == EntryState.FAILED || (expires != 0 && now >= expires);
    if (entryState(entry) == EntryState.WAITING || !isOver) {
      store<u64>(answers, load<u64>(answers, HITS) + 1, HITS);
      store<u32>(entry, 1, WAS_USED);
      return entry;
    }
    leaveBucket(answers, entry);
    if (!load<u32>(entry, USERS)) drop(answers, entry, acct);
    return 0;
  }
  return 0;
}

function hasKeys(entry: usize, keys: u32): bool {
  for (let k: u32 = 0; k < keys; k++) {
    if (!equalValues(entryTag(entry, keys, k), entryVal(entry, k), keyTag(k), keyVal(k))) return false;
  }
  return true;
}

/**
 * Makes an entry that waits for the keys read last; beyond `most` one that nobody needs goes. With `isOwn` it is that
 * of one row: nobody finds it. 0 when memory is exhausted.
 */
export function entryNew(answers: usize, keys: u32, most: u32, isOwn: bool, acct: usize): usize {
  let size: u64 = VALS + <u64>keys * 9 + 7 + SLACK;
  for (let k: u32 = 0; k < keys; k++) size += bytesOf(keyTag(k), keyVal(k));
  const entry: usize = size > 0x7fffffff ? 0 : alloc(<u32>size, acct);
  if (!entry) return 0;
  memory.fill(entry, 0, VALS);
  store<u32>(entry, <u32>size, SIZE);
  let to = (entry + VALS + <usize>keys * 9 + 7) & ~7;
  for (let k: u32 = 0; k < keys; k++) {
    store<u64>(entry + ((<usize>k) << 3), copiedTo(to, keyTag(k), keyVal(k)), VALS);
    store<u8>(entry + ((<usize>keys) << 3) + k, keyTag(k), VALS);
    to = copiedEnd();
  }
  makeRoom(answers, most, acct);
  link(answers, entry);
  const count = load<u32>(answers, COUNT) + 1;
  store<u32>(answers, count, COUNT);
  store<u64>(answers, load<u64>(answers, ASKED) + 1, ASKED);
  if (isOwn) {
    store<u32>(entry, 1, IS_OUT);
    return entry;
  }
  const hash = hashOf(keys);
  store<u32>(entry, hash, HASH);
  const bucket = bucketAt(answers, hash);
  store<u32>(entry, load<u32>(bucket));
  store<u32>(bucket, <u32>entry);
  if (count > load<u32>(answers, MASK)) widen(answers, acct);
  return entry;
}

/** Looks at the oldest few: those used since they were looked at become the newest, others go. */
function makeRoom(answers: usize, most: u32, acct: usize): void {
  for (let looks = 0; looks < 8 && load<u32>(answers, COUNT) >= most; looks++) {
    const entry = <usize>load<u32>(answers, OLDEST);
    if (!entry) return;
    if (load<u32>(entry, USERS) || load<u32>(entry, WAS_USED) || entryState(entry) == EntryState.WAITING) {
      store<u32>(entry, 0, WAS_USED);
      unlink(answers, entry);
      link(answers, entry);
    } else {
      leaveBucket(answers, entry);
      drop(answers, entry, acct);
    }
  }
}

function link(answers: usize, entry: usize): void {
  const newest = <usize>load<u32>(answers, NEWEST);
  store<u32>(entry, <u32>newest, OLDER);
  store<u32>(entry, 0, NEWER);
  if (newest) store<u32>(newest, <u32>entry, NEWER);
  else store<u32>(answers, <u32>entry, OLDEST);
  store<u32>(answers, <u32>entry, NEWEST);
}

function unlink(answers: usize, entry: usize): void {
  const newer = <usize>load<u32>(entry, NEWER);
  const older = <usize>load<u32>(entry, OLDER);
  if (newer) store<u32>(newer, <u32>older, OLDER);
  else store<u32>(answers, <u32>older, NEWEST);
  if (older) store<u32>(older, <u32>newer, NEWER);
  else store<u32>(answers, <u32>newer, OLDEST);
}

/** Nobody finds the entry any more. */
function leaveBucket(answers: usize, entry: usize): void {
  if (load<u32>(entry, IS_OUT)) return;
  store<u32>(entry, 1, IS_OUT);
  let at = bucketAt(answers, load<u32>(entry, HASH));
  while (<usize>load<u32>(at) != entry) at = <usize>load<u32>(at);
  store<u32>(at, load<u32>(entry));
}

/** Frees an entry that is in no bucket. */
function drop(answers: usize, entry: usize, acct: usize): void {
  unlink(answers, entry);
  store<u32>(answers, load<u32>(answers, COUNT) - 1, COUNT);
  freeEntry(answers, entry, acct);
}

function freeEntry(answers: usize, entry: usize, acct: usize): void {
  dropRows(answers, entry, acct);
  free(<usize>load<u32>(entry, FAIL), load<u32>(entry, FAIL_LEN), acct);
  free(entry, load<u32>(entry, SIZE), acct);
}

function dropRows(answers: usize, entry: usize, acct: usize): void {
  let record = entryFirst(entry);
  while (record) {
    const next = recordNext(record);
    recordFree(answersShapes(answers), record, acct);
    record = next;
  }
  store<u32>(entry, 0, FIRST);
  store<u32>(entry, 0, LAST);
  store<u32>(entry, 0, ROWS);
}

function widen(answers: usize, acct: usize): void {
  const before = load<u32>(answers, MASK) + 1;
  const old = <usize>load<u32>(answers, BUCKETS);
  const wider: usize = before < 1 << 26 ? allocZeroed(before << 4, acct) : 0;
  if (!wider) return;
  store<u32>(answers, <u32>wider, BUCKETS);
  store<u32>(answers, (before << 2) - 1, MASK);
  for (let i: u32 = 0; i < before; i++) {
    let entry = <usize>load<u32>(old + ((<usize>i) << 2));
    while (entry) {
      const next = <usize>load<u32>(entry);
      const bucket = bucketAt(answers, load<u32>(entry, HASH));
      store<u32>(entry, load<u32>(bucket));
      store<u32>(bucket, <u32>entry);
      entry = next;
    }
  }
  free(old, before << 2, acct);
}

/** A row waits with the entry. */
// @ts-ignore: decorator
@inline export function entryJoin(entry: usize): void {
  store<u32>(entry, load<u32>(entry, USERS) + 1, USERS);
}

/** A row has gone on; an entry that nobody is to find goes with its last one. */
export function entryLeave(answers: usize, entry: usize, keeps: bool, acct: usize): void {
  const users = load<u32>(entry, USERS) - 1;
  store<u32>(entry, users, USERS);
  if (users || entryState(entry) == EntryState.WAITING) return;
  if (keeps && !load<u32>(entry, IS_OUT) && entryState(entry) == EntryState.HERE) return;
  leaveBucket(answers, entry);
  drop(answers, entry, acct);
}

/** Adds a record to the answer. */
export function entryAdd(entry: usize, record: usize): void {
  const last = <usize>load<u32>(entry, LAST);
  if (last) setRecordNext(last, record);
  else store<u32>(entry, <u32>record, FIRST);
  store<u32>(entry, <u32>record, LAST);
  store<u32>(entry, load<u32>(entry, ROWS) + 1, ROWS);
}

/**
 * The answer is complete. `keeps`: it is remembered, until `expires` (0: for ever); without rows only with
 * `keepsMisses`.
 */
export function entryDone(
  answers: usize,
  entry: usize,
  keeps: bool,
  keepsMisses: bool,
  expires: f64,
  acct: usize,
): void {
  if (entryState(entry) != EntryState.WAITING) return;
  store<u32>(entry, EntryState.HERE, STATE);
  store<f64>(entry, expires, EXPIRES);
  if (!keeps || (!keepsMisses && !entryRows(entry))) settle(answers, entry, acct);
}

/** There is no answer, for this reason, which is copied. */
export function entryFail(answers: usize, entry: usize, off: usize, len: u32, acct: usize): void {
  if (entryState(entry) != EntryState.WAITING) return;
  store<u32>(entry, EntryState.FAILED, STATE);
  dropRows(answers, entry, acct);
  const text = alloc(max(len, 1), acct);
  if (text) {
    memory.copy(text, off, len);
    store<u32>(entry, <u32>text, FAIL);
    store<u32>(entry, max(len, 1), FAIL_LEN);
  }
  settle(answers, entry, acct);
}

/** Nobody is to find the entry; rows that wait have it still. */
function settle(answers: usize, entry: usize, acct: usize): void {
  leaveBucket(answers, entry);
  if (!load<u32>(entry, USERS)) drop(answers, entry, acct);
}
