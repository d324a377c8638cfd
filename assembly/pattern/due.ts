// When searches become final without a row: a heap of the partitions by the earliest such time. Of equal times that
// comes first which was set first: this does not depend on how rows were cut into batches.
import { alloc, free } from '../mem/alloc';
import { Partition, PatternState } from './state';

// @ts-ignore: decorator
@inline function at(state: PatternState, i: u32): Partition {
  return changetype<Partition>(load<u32>(state.dues + ((<usize>i) << 2)));
}

// @ts-ignore: decorator
@inline function put(state: PatternState, i: u32, partition: Partition): void {
  store<u32>(state.dues + ((<usize>i) << 2), changetype<u32>(partition));
  partition.heap = i + 1;
}

// @ts-ignore: decorator
@inline function isBefore(a: Partition, b: Partition): bool {
  return a.due < b.due || (a.due == b.due && <i32>(a.order - b.order) < 0);
}

function up(state: PatternState, from: u32, partition: Partition): void {
  let i = from;
  while (i > 0) {
    const above = at(state, (i - 1) >> 1);
    if (!isBefore(partition, above)) break;
    put(state, i, above);
    i = (i - 1) >> 1;
  }
  put(state, i, partition);
}

function down(state: PatternState, from: u32, partition: Partition): void {
  const n = state.dueCount;
  let i = from;
  for (;;) {
    let child = (i << 1) + 1;
    if (child >= n) break;
    if (child + 1 < n && isBefore(at(state, child + 1), at(state, child))) child++;
    if (!isBefore(at(state, child), partition)) break;
    put(state, i, at(state, child));
    i = child;
  }
  put(state, i, partition);
}

/**
 * Sets when the partition is due, Infinity: never; false when memory is exhausted. `order`: its place among equal
 * times, 0: behind all.
 */
export function setDue(state: PatternState, partition: Partition, ms: f64, order: u32, acct: usize): bool {
  const heap = partition.heap;
  if (!heap) {
    if (ms == Infinity) return true;
    if (state.dueCount == state.dueRoom && !grow(state, acct)) return false;
    partition.due = ms;
    partition.order = order ? order : nextOrder(state);
    up(state, state.dueCount++, partition);
    return true;
  }
  if (partition.due == ms) return true;
  const isLater = ms > partition.due;
  partition.due = ms;
  partition.order = order ? order : nextOrder(state);
  if (ms == Infinity) {
    partition.heap = 0;
    const last = at(state, --state.dueCount);
    if (last == partition) return true;
    if (heap > 1 && isBefore(last, at(state, (heap - 2) >> 1))) up(state, heap - 1, last);
    else down(state, heap - 1, last);
  } else if (isLater) down(state, heap - 1, partition);
  else up(state, heap - 1, partition);
  return true;
}

// @ts-ignore: decorator
@inline function nextOrder(state: PatternState): u32 {
  // 0 stands for none.
  if (!++state.order) state.order = 1;
  return state.order;
}

function grow(state: PatternState, acct: usize): bool {
  const room = max(state.dueRoom << 1, 16);
  const made = alloc(room << 2, acct);
  if (!made) return false;
  memory.copy(made, state.dues, (<usize>state.dueCount) << 2);
  free(state.dues, state.dueRoom << 2, acct);
  state.dues = made;
  state.dueRoom = room;
  return true;
}

/** The partition that is due first; 0 none. */
// @ts-ignore: decorator
@inline export function firstDue(state: PatternState): Partition {
  return state.dueCount ? at(state, 0) : changetype<Partition>(0);
}
