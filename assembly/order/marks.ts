// Watermarks, failures and the end of the input that wait for rows before them (order/pending.ts) while these go on in
// pieces. Each has its place among the rows: behind rows older than its watermark, and behind rows of the same time
// that were there before it.
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
  /** The input is over. */
  export const OVER: u32 = 3;
}

export const MARKS_SIZE: u32 = 16;
/** A list of marks. */
// @ts-ignore: decorator
@unmanaged
export class Marks {
  first: Mark;
  last: Mark;
  count: u32;
}

/** A signal or failure that waits for the rows before it. */
// @ts-ignore: decorator
@unmanaged
export class Mark {
  next: Mark;
  size: u32;
  kind: u32;
  value: u64;
  ms: f64;
  sequence: u64;
  now: f64;
}

const MARK_SIZE: u32 = 48;

/** Adds a mark behind the others; false when memory is exhausted. */
export function markAdd(marks: Marks, kind: u32, value: u64, ms: f64, sequence: u64, acct: usize): bool {
  const len: u32 = kind == Mark.FAILURE ? lenOf(value) : 0;
  const size = MARK_SIZE + len;
  const mark = changetype<Mark>(alloc(size, acct));
  if (!mark) return false;
  if (len) memory.copy(changetype<usize>(mark) + MARK_SIZE, offOf(value), len);
  mark.next = changetype<Mark>(0);
  mark.size = size;
  mark.kind = kind;
  mark.value = kind == Mark.FAILURE ? span(changetype<usize>(mark) + MARK_SIZE, len) : value;
  mark.ms = ms;
  mark.sequence = sequence;
  mark.now = ctx.nowMs;
  const last = marks.last;
  if (last) last.next = mark;
  else marks.first = mark;
  marks.last = mark;
  marks.count++;
  return true;
}

/** The mark that comes first; 0 none. */
// @ts-ignore: decorator
@inline export function markFirst(marks: Marks): Mark {
  return marks.first;
}

// @ts-ignore: decorator
@inline export function marksCount(marks: Marks): u32 {
  return marks.count;
}

// @ts-ignore: decorator
@inline export function markKind(mark: Mark): u32 {
  return mark.kind;
}

// @ts-ignore: decorator
@inline export function markValue(mark: Mark): u64 {
  return mark.value;
}

// @ts-ignore: decorator
@inline export function markMs(mark: Mark): f64 {
  return mark.ms;
}

// @ts-ignore: decorator
@inline export function markSequence(mark: Mark): u64 {
  return mark.sequence;
}

// @ts-ignore: decorator
@inline export function markNow(mark: Mark): f64 {
  return mark.now;
}

/** Takes the first mark out and frees it. */
export function markShift(marks: Marks, acct: usize): void {
  const mark = markFirst(marks);
  const next = mark.next;
  marks.first = next;
  if (!next) marks.last = changetype<Mark>(0);
  marks.count--;
  free(changetype<usize>(mark), mark.size, acct);
}

export function marksFree(marks: Marks, acct: usize): void {
  while (markFirst(marks)) markShift(marks, acct);
}
