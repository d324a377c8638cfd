// Deadlines of nodes: a binary heap of node addresses ordered by N_DEADLINE. A node has at most one deadline and knows
// its place in the heap (N_HEAP = index + 1), so moving and clearing it cost O(log n).
//
// Of equal deadlines the kind decides, windows before nodes that gather what they send: what comes out must not depend
// on how the heap came to be, which is no part of saved state.
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { N_DEADLINE, N_HEAP, N_KIND } from './node';

const FIRST_CAPACITY: u32 = 64;
let heap: usize = 0;
let count: u32 = 0;
let capacity: u32 = 0;

// @ts-ignore: decorator
@inline function nodeAt(i: u32): usize {
  return <usize>load<u32>(heap + ((<usize>i) << 2));
}

// @ts-ignore: decorator
@inline function place(i: u32, node: usize): void {
  store<u32>(heap + ((<usize>i) << 2), <u32>node);
  store<u32>(node, i + 1, N_HEAP);
}

// @ts-ignore: decorator
@inline function isBefore(node: usize, key: f64, other: usize): bool {
  const otherKey = load<f64>(other, N_DEADLINE);
  return key < otherKey || (key == otherKey && load<u32>(node, N_KIND) < load<u32>(other, N_KIND));
}

function siftUp(at: u32, node: usize): void {
  const key = load<f64>(node, N_DEADLINE);
  let i = at;
  while (i > 0) {
    const up = (i - 1) >> 1;
    const other = nodeAt(up);
    if (!isBefore(node, key, other)) break;
    place(i, other);
    i = up;
  }
  place(i, node);
}

function siftDown(at: u32, node: usize): void {
  const key = load<f64>(node, N_DEADLINE);
  let i = at;
  while (true) {
    let child = (i << 1) + 1;
    if (child >= count) break;
    let least = nodeAt(child);
    if (child + 1 < count) {
      const right = nodeAt(child + 1);
      if (isBefore(right, load<f64>(right, N_DEADLINE), least)) {
        least = right;
        child++;
      }
    }
    if (!isBefore(least, load<f64>(least, N_DEADLINE), node)) break;
    place(i, least);
    i = child;
  }
  place(i, node);
}

function reserve(): bool {
  if (count < capacity) return true;
  const wanted = capacity ? capacity << 1 : FIRST_CAPACITY;
  const bigger = alloc(wanted << 2, WORKSPACE);
  if (!bigger) return false;
  memory.copy(bigger, heap, (<usize>count) << 2);
  free(heap, capacity << 2, WORKSPACE);
  heap = bigger;
  capacity = wanted;
  return true;
}

/**
 * Sets the deadline of the node to `ms` (epoch), in place of the one that it had. Returns false when memory is
 * exhausted.
 */
export function setDeadline(node: usize, ms: f64): bool {
  const at = load<u32>(node, N_HEAP);
  if (at) {
    const before = load<f64>(node, N_DEADLINE);
    store<f64>(node, ms, N_DEADLINE);
    if (ms < before) siftUp(at - 1, node);
    else if (ms > before) siftDown(at - 1, node);
    return true;
  }
  if (!reserve()) return false;
  store<f64>(node, ms, N_DEADLINE);
  siftUp(count++, node);
  return true;
}

/** Clears the deadline of the node, if it has one. */
export function clearDeadline(node: usize): void {
  const at = load<u32>(node, N_HEAP);
  if (!at) return;
  store<u32>(node, 0, N_HEAP);
  const last = nodeAt(--count);
  if (last == node) {
    if (count == 0) {
      free(heap, capacity << 2, WORKSPACE);
      heap = 0;
      capacity = 0;
    }
    return;
  }
  const i = at - 1;
  if (i > 0 && isBefore(last, load<f64>(last, N_DEADLINE), nodeAt((i - 1) >> 1))) siftUp(i, last);
  else siftDown(i, last);
}

/** The clock is set back by so many ms: so are all deadlines. */
export function deadlinesSetBack(ms: f64): void {
  for (let i: u32 = 0; i < count; i++) store<f64>(nodeAt(i), load<f64>(nodeAt(i), N_DEADLINE) - ms, N_DEADLINE);
}

/** Earliest deadline, epoch ms; Infinity when there is none. */
export function nextDeadline(): f64 {
  return count ? load<f64>(nodeAt(0), N_DEADLINE) : Infinity;
}

/** Takes the node with the earliest deadline out of the heap if that is due; 0 when none is. */
export function takeDue(now: f64): usize {
  if (count == 0) return 0;
  const node = nodeAt(0);
  if (load<f64>(node, N_DEADLINE) > now) return 0;
  clearDeadline(node);
  return node;
}
