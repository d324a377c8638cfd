// The answers of a table outside, those to come included: one entry for each list of key values asked for. Entries that
// rows wait for stay; others stay as long as answers are remembered and there is room, the ones used lately before
// others.
//
//   answers 0   shapes u32 | buckets u32 | mask u32 | count u32
//           16  newest u32 | oldest u32                                            entries in the order of their making
//           24  hits u64 | asked u64                                               keys found, and asked for
//   entry   0   next u32 (of its bucket) | hash u32 | size u32 | state u32
//           16  first u32 (record) | last u32 | users u32 (rows that wait with it) | rows u32
//           32  newer u32 | older u32 | wasUsed u32 | isOut u32 (of its bucket)
//           48  expires f64 (epoch ms, 0 never) | fail u32 | failLen u32
//           64  vals u64[keys] | tags u8[keys] | texts
import { alloc, allocZeroed, free } from '../../mem/alloc';
import { span } from '../../mem/layout';
import { equalValues } from '../../value/compare';
import { hashAdd, hashDone } from '../../value/equal-hash';
import { keyTag, keyVal } from '../find';
import { Record, bytesOf, copiedEnd, copiedTo, recordFree, recordNext, setRecordNext } from '../record';
import { RowShapes, shapesFree, shapesNew } from '../shape';

/** Answers that are remembered or asked for. */
// @ts-ignore: decorator
@unmanaged
export class Answers {
  shapes: RowShapes;
  buckets: usize;
  mask: u32;
  count: u32;
  newest: Answer;
  oldest: Answer;
  hits: u64;
  asked: u64;
}

export const ANSWERS_SIZE: u32 = 48;
const FIRST_BUCKETS: u32 = 16;

/** An entry: the answer for one list of key values. */
// @ts-ignore: decorator
@unmanaged
export class Answer {
  next: Answer;
  hash: u32;
  size: u32;
  state: u32;
  first: Record;
  last: Record;
  users: u32;
  rows: u32;
  newer: Answer;
  older: Answer;
  wasUsed: u32;
  isOut: u32;
  expires: f64;
  fail: usize;
  failLen: u32;
}

const VALS: u32 = 64;
const SLACK: u32 = 16;

/** State of an entry. */
export namespace EntryState {
  export const WAITING: u32 = 0;
  export const HERE: u32 = 1;
  export const FAILED: u32 = 2;
}

/** Prepares zeroed memory; false when memory is exhausted. */
export function answersInit(answers: Answers, acct: usize): bool {
  answers.shapes = shapesNew(acct);
  answers.buckets = allocZeroed(FIRST_BUCKETS << 2, acct);
  answers.mask = FIRST_BUCKETS - 1;
  return answers.shapes && answers.buckets != 0;
}

/** Frees all entries; no rows wait any more. */
export function answersFree(answers: Answers, acct: usize): void {
  let entry = answers.oldest;
  while (entry) {
    const newer = entry.newer;
    freeEntry(answers, entry, acct);
    entry = newer;
  }
  shapesFree(answers.shapes, acct);
  free(answers.buckets, (answers.mask + 1) << 2, acct);
}

/** Lets all answers expire `ms` milliseconds earlier. */
export function answersSetBack(answers: Answers, ms: f64): void {
  for (let entry = answers.oldest; entry; entry = entry.newer) {
    // 0 would mean that it never expires.
    if (entry.expires > 0) entry.expires = max(entry.expires - ms, 1);
  }
}

// @ts-ignore: decorator
@inline export function answersShapes(answers: Answers): RowShapes {
  return answers.shapes;
}

/** Number of lists of values for which an answer was there, or under way. */
export function foundIn(answers: Answers): u64 {
  return answers.hits;
}

/** Number of lists of values that were asked for. */
export function askedIn(answers: Answers): u64 {
  return answers.asked;
}

// @ts-ignore: decorator
@inline export function entryState(entry: Answer): u32 {
  return entry.state;
}

/** The first record of the answer, 0 none; `recordNext` goes on. */
// @ts-ignore: decorator
@inline export function entryFirst(entry: Answer): Record {
  return entry.first;
}

// @ts-ignore: decorator
@inline export function entryRows(entry: Answer): u32 {
  return entry.rows;
}

/** The reason why the entry failed, as a span. */
// @ts-ignore: decorator
@inline export function entryFailure(entry: Answer): u64 {
  return span(entry.fail, entry.failLen);
}

// @ts-ignore: decorator
@inline export function entryTag(entry: Answer, keys: u32, k: u32): u8 {
  return load<u8>(changetype<usize>(entry) + ((<usize>keys) << 3) + k, VALS);
}

// @ts-ignore: decorator
@inline export function entryVal(entry: Answer, k: u32): u64 {
  return load<u64>(changetype<usize>(entry) + ((<usize>k) << 3), VALS);
}

/** Address of value `k` of an entry. */
// @ts-ignore: decorator
@inline export function entryValAt(entry: Answer, k: u32): usize {
  return changetype<usize>(entry) + ((<usize>k) << 3) + VALS;
}

// @ts-ignore: decorator
@inline export function entryTagAt(entry: Answer, keys: u32, k: u32): usize {
  return changetype<usize>(entry) + ((<usize>keys) << 3) + k + VALS;
}

function hashOf(keys: u32): u32 {
  let hash: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) hash = hashAdd(hash, keyTag(k), keyVal(k));
  return hashDone(hash);
}

// @ts-ignore: decorator
@inline function bucketAt(answers: Answers, hash: u32): usize {
  return answers.buckets + ((<usize>(hash & answers.mask)) << 2);
}

/** The entry for the keys read last (lookup/find.ts), 0 none; a failed or expired entry is dropped. */
export function entryOf(answers: Answers, keys: u32, now: f64, acct: usize): Answer {
  const hash = hashOf(keys);
  for (let entry = changetype<Answer>(load<u32>(bucketAt(answers, hash))); entry; entry = entry.next) {
    if (entry.hash != hash || !hasKeys(entry, keys)) continue;
    const expires = entry.expires;
    const isOver = entryState(entry) == EntryState.FAILED || (expires != 0 && now >= expires);
    if (entryState(entry) == EntryState.WAITING || !isOver) {
      answers.hits++;
      entry.wasUsed = 1;
      return entry;
    }
    leaveBucket(answers, entry);
    if (!entry.users) drop(answers, entry, acct);
    return changetype<Answer>(0);
  }
  return changetype<Answer>(0);
}

function hasKeys(entry: Answer, keys: u32): bool {
  for (let k: u32 = 0; k < keys; k++) {
    if (!equalValues(entryTag(entry, keys, k), entryVal(entry, k), keyTag(k), keyVal(k))) return false;
  }
  return true;
}

/**
 * Makes an entry that waits for the keys read last; beyond `most` entries it drops one that is not needed. With `isOwn`
 * the entry serves one row alone, and no search finds it. 0 when memory is exhausted.
 */
export function entryNew(answers: Answers, keys: u32, most: u32, isOwn: bool, acct: usize): Answer {
  let size: u64 = VALS + <u64>keys * 9 + 7 + SLACK;
  for (let k: u32 = 0; k < keys; k++) size += bytesOf(keyTag(k), keyVal(k));
  const entry: Answer = size > 0x7fffffff ? changetype<Answer>(0) : changetype<Answer>(alloc(<u32>size, acct));
  if (!entry) return changetype<Answer>(0);
  memory.fill(changetype<usize>(entry), 0, VALS);
  entry.size = <u32>size;
  let to = (changetype<usize>(entry) + VALS + <usize>keys * 9 + 7) & ~7;
  for (let k: u32 = 0; k < keys; k++) {
    store<u64>(changetype<usize>(entry) + ((<usize>k) << 3), copiedTo(to, keyTag(k), keyVal(k)), VALS);
    store<u8>(changetype<usize>(entry) + ((<usize>keys) << 3) + k, keyTag(k), VALS);
    to = copiedEnd();
  }
  makeRoom(answers, most, acct);
  link(answers, entry);
  const count = answers.count + 1;
  answers.count = count;
  answers.asked++;
  if (isOwn) {
    entry.isOut = 1;
    return entry;
  }
  const hash = hashOf(keys);
  entry.hash = hash;
  const bucket = bucketAt(answers, hash);
  entry.next = changetype<Answer>(load<u32>(bucket));
  store<u32>(bucket, changetype<u32>(entry));
  if (count > answers.mask) widen(answers, acct);
  return entry;
}

/** Looks at the oldest few: those used since they were looked at become the newest, others go. */
function makeRoom(answers: Answers, most: u32, acct: usize): void {
  for (let looks = 0; looks < 8 && answers.count >= most; looks++) {
    const entry = answers.oldest;
    if (!entry) return;
    if (entry.users || entry.wasUsed || entryState(entry) == EntryState.WAITING) {
      entry.wasUsed = 0;
      unlink(answers, entry);
      link(answers, entry);
    } else {
      leaveBucket(answers, entry);
      drop(answers, entry, acct);
    }
  }
}

function link(answers: Answers, entry: Answer): void {
  const newest = answers.newest;
  entry.older = newest;
  entry.newer = changetype<Answer>(0);
  if (newest) newest.newer = entry;
  else answers.oldest = entry;
  answers.newest = entry;
}

function unlink(answers: Answers, entry: Answer): void {
  const newer = entry.newer;
  const older = entry.older;
  if (newer) newer.older = older;
  else answers.newest = older;
  if (older) older.newer = newer;
  else answers.oldest = newer;
}

/** Takes the entry out of its bucket, so that no search finds it any more. */
function leaveBucket(answers: Answers, entry: Answer): void {
  if (entry.isOut) return;
  entry.isOut = 1;
  let at = bucketAt(answers, entry.hash);
  while (<usize>load<u32>(at) != changetype<usize>(entry)) at = <usize>load<u32>(at);
  store<u32>(at, changetype<usize>(entry.next));
}

/** Frees an entry that is in no bucket. */
function drop(answers: Answers, entry: Answer, acct: usize): void {
  unlink(answers, entry);
  answers.count--;
  freeEntry(answers, entry, acct);
}

function freeEntry(answers: Answers, entry: Answer, acct: usize): void {
  dropRows(answers, entry, acct);
  free(entry.fail, entry.failLen, acct);
  free(changetype<usize>(entry), entry.size, acct);
}

function dropRows(answers: Answers, entry: Answer, acct: usize): void {
  let record = entryFirst(entry);
  while (record) {
    const next = recordNext(record);
    recordFree(answersShapes(answers), record, acct);
    record = next;
  }
  entry.first = changetype<Record>(0);
  entry.last = changetype<Record>(0);
  entry.rows = 0;
}

function widen(answers: Answers, acct: usize): void {
  const before = answers.mask + 1;
  const old = answers.buckets;
  const wider: usize = before < 1 << 26 ? allocZeroed(before << 4, acct) : 0;
  if (!wider) return;
  answers.buckets = wider;
  answers.mask = (before << 2) - 1;
  for (let i: u32 = 0; i < before; i++) {
    let entry = changetype<Answer>(load<u32>(old + ((<usize>i) << 2)));
    while (entry) {
      const next = entry.next;
      const bucket = bucketAt(answers, entry.hash);
      entry.next = changetype<Answer>(load<u32>(bucket));
      store<u32>(bucket, changetype<u32>(entry));
      entry = next;
    }
  }
  free(old, before << 2, acct);
}

/** Counts in a row that waits with the entry. */
// @ts-ignore: decorator
@inline export function entryJoin(entry: Answer): void {
  entry.users++;
}

/** Counts out a row that has gone on; with the last row an entry is dropped, unless it is to be remembered. */
export function entryLeave(answers: Answers, entry: Answer, keeps: bool, acct: usize): void {
  const users = entry.users - 1;
  entry.users = users;
  if (users || entryState(entry) == EntryState.WAITING) return;
  if (keeps && !entry.isOut && entryState(entry) == EntryState.HERE) return;
  leaveBucket(answers, entry);
  drop(answers, entry, acct);
}

/** Adds a record to the answer. */
export function entryAdd(entry: Answer, record: Record): void {
  const last = entry.last;
  if (last) setRecordNext(last, record);
  else entry.first = record;
  entry.last = record;
  entry.rows++;
}

/**
 * Completes the answer. With `keeps` it is remembered until `expires` (0: for ever); without rows only with
 * `keepsMisses`.
 */
export function entryDone(
  answers: Answers,
  entry: Answer,
  keeps: bool,
  keepsMisses: bool,
  expires: f64,
  acct: usize,
): void {
  if (entryState(entry) != EntryState.WAITING) return;
  entry.state = EntryState.HERE;
  entry.expires = expires;
  if (!keeps || (!keepsMisses && !entryRows(entry))) settle(answers, entry, acct);
}

/** Fails a waiting entry for this reason, which is copied. */
export function entryFail(answers: Answers, entry: Answer, off: usize, len: u32, acct: usize): void {
  if (entryState(entry) != EntryState.WAITING) return;
  entry.state = EntryState.FAILED;
  dropRows(answers, entry, acct);
  const text = alloc(max(len, 1), acct);
  if (text) {
    memory.copy(text, off, len);
    entry.fail = text;
    entry.failLen = max(len, 1);
  }
  settle(answers, entry, acct);
}

/** Takes the entry out of its bucket; it is freed at once unless rows still wait with it. */
function settle(answers: Answers, entry: Answer, acct: usize): void {
  leaveBucket(answers, entry);
  if (!entry.users) drop(answers, entry, acct);
}
