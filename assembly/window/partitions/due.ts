// Partitions by the time at which they are due: a binary heap of window states, ordered by P_DUE. A partition may turn
// out to be due later than P_DUE says, so the caller checks again when it comes first. When a partition becomes due
// earlier, `dueSet` moves it in the heap.
//
// Partitions that are due at the same time come in the order in which they were made. The output thus depends neither
// on the history of the heap nor on hashes.
//
//   due   heap u32 -> u32[] (window states) | count u32 | capacity u32 | 0 u32
import { alloc, free } from '../../mem/alloc';
import { WindowState, P_DUE, P_ORDER, P_PLACE } from '../content/state';

const DUE_SIZE: u32 = 16;
/** A heap of partitions, ordered by the time at which they are due. */
// @ts-ignore: decorator
@unmanaged
export class Due {
  heap: usize;
  count: u32;
  capacity: u32;
}

const FIRST_CAPACITY: u32 = 16;
/**
 * Smallest capacity, a power of 2, to which a heap shrinks. Both halves of a larger block are blocks of a usual size
 * (mem/alloc.ts).
 */
const KEPT_CAPACITY: u32 = 1024;

// @ts-ignore: decorator
@inline function at(due: Due, i: u32): WindowState {
  return changetype<WindowState>(load<u32>(due.heap + ((<usize>i) << 2)));
}

// @ts-ignore: decorator
@inline function place(due: Due, i: u32, part: WindowState): void {
  store<u32>(due.heap + ((<usize>i) << 2), changetype<u32>(part));
  store<u32>(changetype<usize>(part), i + 1, P_PLACE);
}

// @ts-ignore: decorator
@inline function isBefore(part: WindowState, other: WindowState): bool {
  const ms = load<f64>(changetype<usize>(part), P_DUE);
  const otherMs = load<f64>(changetype<usize>(other), P_DUE);
  return (
    ms < otherMs ||
    (ms == otherMs && load<u64>(changetype<usize>(part), P_ORDER) < load<u64>(changetype<usize>(other), P_ORDER))
  );
}

function siftUp(due: Due, from: u32, part: WindowState): void {
  let i = from;
  while (i > 0) {
    const up = (i - 1) >> 1;
    const other = at(due, up);
    if (!isBefore(part, other)) break;
    place(due, i, other);
    i = up;
  }
  place(due, i, part);
}

function siftDown(due: Due, from: u32, part: WindowState): void {
  const count = due.count;
  let i = from;
  for (;;) {
    let child = (i << 1) + 1;
    if (child >= count) break;
    let least = at(due, child);
    if (child + 1 < count && isBefore(at(due, child + 1), least)) least = at(due, ++child);
    if (!isBefore(least, part)) break;
    place(due, i, least);
    i = child;
  }
  place(due, i, part);
}

/** The partition that is due first, 0 none. */
// @ts-ignore: decorator
@inline export function dueFirst(due: Due): WindowState {
  return due.count ? at(due, 0) : changetype<WindowState>(0);
}

/** Sets when a partition is due, epoch ms; false when memory is exhausted. */
export function dueSet(due: Due, part: WindowState, ms: f64, acct: usize): bool {
  const i = load<u32>(changetype<usize>(part), P_PLACE);
  if (i) {
    const before = load<f64>(changetype<usize>(part), P_DUE);
    store<f64>(changetype<usize>(part), ms, P_DUE);
    if (ms < before) siftUp(due, i - 1, part);
    else if (ms > before) siftDown(due, i - 1, part);
    return true;
  }
  const count = due.count;
  if (count == due.capacity && !grow(due, acct)) return false;
  store<f64>(changetype<usize>(part), ms, P_DUE);
  due.count = count + 1;
  siftUp(due, count, part);
  return true;
}

/** As `dueSet`, but an earlier time that the partition has already stays; the later one is set when it comes first. */
// @ts-ignore: decorator
@inline export function dueNote(due: Due, part: WindowState, ms: f64, acct: usize): bool {
  return (
    (load<u32>(changetype<usize>(part), P_PLACE) != 0 && ms >= load<f64>(changetype<usize>(part), P_DUE)) ||
    dueSet(due, part, ms, acct)
  );
}

function grow(due: Due, acct: usize): bool {
  const capacity = due.capacity;
  const wanted = max(capacity << 1, FIRST_CAPACITY);
  const heap = alloc(wanted << 2, acct);
  if (!heap) return false;
  memory.copy(heap, due.heap, (<usize>due.count) << 2);
  free(due.heap, capacity << 2, acct);
  due.heap = heap;
  due.capacity = wanted;
  return true;
}

/** Takes a partition out of the heap, if it is there. */
export function dueLeave(due: Due, part: WindowState, acct: usize): void {
  const i = load<u32>(changetype<usize>(part), P_PLACE);
  if (!i) return;
  store<u32>(changetype<usize>(part), 0, P_PLACE);
  const count = due.count - 1;
  due.count = count;
  if (!count) {
    dueFree(due, acct);
    return;
  }
  const last = at(due, count);
  if (last != part) moveTo(due, i - 1, last);
  // After a peak half of it goes back.
  const half = due.capacity >> 1;
  if (half < KEPT_CAPACITY || count > half >> 1) return;
  free(due.heap + ((<usize>half) << 2), half << 2, acct);
  due.capacity = half;
}

/** Puts the last entry of the heap in the place of a removed one. */
function moveTo(due: Due, i: u32, last: WindowState): void {
  if (i > 0 && isBefore(last, at(due, (i - 1) >> 1))) siftUp(due, i, last);
  else siftDown(due, i, last);
}

export function dueFree(due: Due, acct: usize): void {
  free(due.heap, due.capacity << 2, acct);
  memory.fill(changetype<usize>(due), 0, DUE_SIZE);
}
