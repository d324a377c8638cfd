// What is to be sent behind rows that wait (order/pending.ts) while these go on piece by piece: watermarks and
// failures, each with its place among the rows. Before it come those that are older than its watermark, and of those of
// the same time the ones that were there.
//
//   marks   first u32 | last u32 | count u32 | unused u32
//   mark    0    next u32 | size u32 | kind u32 | unused u32
//           16   value u64                     failure: span of its text, which stands behind
//           24   ms f64 (the watermark) | sequence u64 (of the next row then)
//           40   now f64                       time of the batch or tick that it is of, epoch ms
import * as ctx from '../batch/context';
import { alloc, free } from '../mem/alloc';
import { lenOf, offOf, span } from '../mem/layout';

export namespace Mark {
  export const WATERMARK: u32 = 0;
  export const IDLE: u32 = 1;
  export const FAILURE: u32 = 2;
}

export const MARKS_SIZE: u32 = 16;
const LAST: usize = 4;
const COUNT: usize = 8;

const SIZE: usize = 4;
const KIND: usize = 8;
const VALUE: usize = 16;
const MS: usize = 24;
const SEQUENCE: usize = 32;
const NOW: usize = 40;
const MARK_SIZE: u32 = 48;

/** Adds a mark behind the others; false when memory is exhausted. */
export function markAdd(marks: usize, kind: u32, value: u64, ms: f64, sequence: u64, acct: usize): bool {
  const len: u32 = kind == Mark.FAILURE ? lenOf(value) : 0;
  const size = MARK_SIZE + len;
  const mark = alloc(size, acct);
  if (!mark) return false;
  if (len) memory.copy(mark + MARK_SIZE, offOf(value), len);
  store<u32>(mark, 0);
  store<u32>(mark, size, SIZE);
  store<u32>(mark, kind, KIND);
  store<u64>(mark, kind == Mark.FAILURE ? span(mark + MARK_SIZE, len) : value, VALUE);
  store<f64>(mark, ms, MS);
  store<u64>(mark, sequence, SEQUENCE);
  store<f64>(mark, ctx.nowMs, NOW);
  const last = <usize>load<u32>(marks, LAST);
  if (last) store<u32>(last, <u32>mark);
  else store<u32>(marks, <u32>mark);
  store<u32>(marks, <u32>mark, LAST);
  store<u32>(marks, load<u32>(marks, COUNT) + 1, COUNT);
  return true;
}

/** The mark that comes first; 0 none. */
// @ts-ignore: decorator
@inline export function markFirst(marks: usize): usize {
  return <usize>load<u32>(marks);
}

// @ts-ignore: decorator
@inline export function marksCount(marks: usize): u32 {
  return load<u32>(marks, COUNT);
}

// @ts-ignore: decorator
@inline export function markKind(mark: usize): u32 {
  return load<u32>(mark, KIND);
}

// @ts-ignore: decorator
@inline export function markValue(mark: usize): u64 {
  return load<u64>(mark, VALUE);
}

// @ts-ignore: decorator
@inline export function markMs(mark: usize): f64 {
  return load<f64>(mark, MS);
}

// @ts-ignore: decorator
@inline export function markSequence(mark: usize): u64 {
  return load<u64>(mark, SEQUENCE);
}

// @ts-ignore: decorator
@inline export function markNow(mark: usize): f64 {
  return load<f64>(mark, NOW);
}

/** Takes the first mark out and frees it. */
export function markShift(marks: usize, acct: usize): void {
  const mark = markFirst(marks);
  const next = load<u32>(mark);
  store<u32>(marks, next);
  if (!next) store<u32>(marks, 0, LAST);
  store<u32>(marks, load<u32>(marks, COUNT) - 1, COUNT);
  free(mark, load<u32>(mark, SIZE), acct);
}

export function marksFree(marks: usize, acct: usize): void {
  while (markFirst(marks)) markShift(marks, acct);
}
