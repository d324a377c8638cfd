// Times of triggers whose window is sent later (sliding windows with a delay): a queue in the state of the window.
import { alloc, free } from '../../mem/alloc';
import { LoadFault } from '../../gen/state-layouts';
import { readFail, readFails, readLength, readTime } from '../../state/reader';
import { writeTime, writeU32 } from '../../state/writer';
import { W_QUEUE, W_QUEUE_CAPACITY, W_QUEUE_FROM, W_QUEUE_TO } from './state';

export function queueIsEmpty(state: usize): bool {
  return load<u32>(state, W_QUEUE_FROM) == load<u32>(state, W_QUEUE_TO);
}

/** The first time of the queue, which must not be empty. */
export function queueFirst(state: usize): f64 {
  return load<f64>(<usize>load<u32>(state, W_QUEUE) + ((<usize>load<u32>(state, W_QUEUE_FROM)) << 3));
}

export function queueShift(state: usize): void {
  store<u32>(state, load<u32>(state, W_QUEUE_FROM) + 1, W_QUEUE_FROM);
}

/** Adds a time; false when memory is exhausted. */
export function queuePush(state: usize, ms: f64, acct: usize): bool {
  const from = load<u32>(state, W_QUEUE_FROM);
  let to = load<u32>(state, W_QUEUE_TO);
  const capacity = load<u32>(state, W_QUEUE_CAPACITY);
  const queue = <usize>load<u32>(state, W_QUEUE);
  if (to == capacity) {
    const count = to - from;
    if (from > 0 && count <= capacity >> 1) memory.copy(queue, queue + ((<usize>from) << 3), (<usize>count) << 3);
    else {
      const wanted = max(capacity << 1, 16);
      const next = alloc(wanted << 3, acct);
      if (!next) return false;
      memory.copy(next, queue + ((<usize>from) << 3), (<usize>count) << 3);
      free(queue, capacity << 3, acct);
      store<u32>(state, <u32>next, W_QUEUE);
      store<u32>(state, wanted, W_QUEUE_CAPACITY);
    }
    store<u32>(state, 0, W_QUEUE_FROM);
    to = count;
  }
  store<f64>(<usize>load<u32>(state, W_QUEUE) + ((<usize>to) << 3), ms);
  store<u32>(state, to + 1, W_QUEUE_TO);
  return true;
}

/** All times become so many ms earlier. */
export function queueSetBack(state: usize, ms: f64): void {
  const to = load<u32>(state, W_QUEUE_TO);
  for (let i = load<u32>(state, W_QUEUE_FROM); i < to; i++) {
    const at = <usize>load<u32>(state, W_QUEUE) + ((<usize>i) << 3);
    store<f64>(at, load<f64>(at) - ms);
  }
}

export function queueSave(state: usize): void {
  const from = load<u32>(state, W_QUEUE_FROM);
  const to = load<u32>(state, W_QUEUE_TO);
  writeU32(to - from);
  for (let i = from; i < to; i++) writeTime(load<f64>(<usize>load<u32>(state, W_QUEUE) + ((<usize>i) << 3)));
}

/** Adds saved times. */
export function queueLoad(state: usize, acct: usize): void {
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    if (!queuePush(state, readTime(), acct)) readFail(LoadFault.MEMORY);
  }
}

export function queueFree(state: usize, acct: usize): void {
  free(<usize>load<u32>(state, W_QUEUE), load<u32>(state, W_QUEUE_CAPACITY) << 3, acct);
}
