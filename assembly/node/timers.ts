// Deadlines of nodes: a binary heap of node addresses ordered by `deadline`. A node has at most one deadline and knows
// its place in the heap (`heap` = index + 1), so moving and clearing it cost O(log n).
//
// Nodes with equal deadlines are ordered by kind: windows come before nodes that gather rows. Those of one kind come in
// the order in which they were made, so that a window gets the rows of the one above it before its own time is over. So
// the output does not depend on the order of insertions into the heap, which is no part of saved state, and is another
// one where a window above sends its rows later (node/deferred.ts).
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { Node } from '../gen/node-layouts';

const FIRST_CAPACITY: u32 = 64;
let heap: usize = 0;
let count: u32 = 0;
let capacity: u32 = 0;

// @ts-ignore: decorator
@inline function nodeAt(i: u32): Node {
  return changetype<Node>(load<u32>(heap + ((<usize>i) << 2)));
}

// @ts-ignore: decorator
@inline function place(i: u32, node: Node): void {
  store<u32>(heap + ((<usize>i) << 2), changetype<u32>(node));
  node.heap = i + 1;
}

// @ts-ignore: decorator
@inline function isBefore(node: Node, key: f64, other: Node): bool {
  const otherKey = other.deadline;
  if (key != otherKey) return key < otherKey;
  return node.kind != other.kind ? node.kind < other.kind : <i32>(node.made - other.made) < 0;
}

function siftUp(at: u32, node: Node): void {
  const key = node.deadline;
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

function siftDown(at: u32, node: Node): void {
  const key = node.deadline;
  let i = at;
  while (true) {
    let child = (i << 1) + 1;
    if (child >= count) break;
    let least = nodeAt(child);
    if (child + 1 < count) {
      const right = nodeAt(child + 1);
      if (isBefore(right, right.deadline, least)) {
        least = right;
        child++;
      }
    }
    if (!isBefore(least, least.deadline, node)) break;
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
export function setDeadline(node: Node, ms: f64): bool {
  const at = node.heap;
  if (at) {
    const before = node.deadline;
    node.deadline = ms;
    if (ms < before) siftUp(at - 1, node);
    else if (ms > before) siftDown(at - 1, node);
    return true;
  }
  if (!reserve()) return false;
  node.deadline = ms;
  siftUp(count++, node);
  return true;
}

/** Clears the deadline of the node, if it has one. */
export function clearDeadline(node: Node): void {
  const at = node.heap;
  if (!at) return;
  node.heap = 0;
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
  if (i > 0 && isBefore(last, last.deadline, nodeAt((i - 1) >> 1))) siftUp(i, last);
  else siftDown(i, last);
}

/** Moves all deadlines `ms` back, because the clock was set back. */
export function deadlinesSetBack(ms: f64): void {
  for (let i: u32 = 0; i < count; i++) nodeAt(i).deadline = nodeAt(i).deadline - ms;
}

/** Earliest deadline, epoch ms; Infinity when there is none. */
export function nextDeadline(): f64 {
  return count ? nodeAt(0).deadline : Infinity;
}

/** Takes the node with the earliest deadline out of the heap when its deadline has come; 0 when none is due. */
export function takeDue(now: f64): Node {
  if (count == 0) return changetype<Node>(0);
  const node = nodeAt(0);
  if (node.deadline > now) return changetype<Node>(0);
  clearDeadline(node);
  return node;
}
