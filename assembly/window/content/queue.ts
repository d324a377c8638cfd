// Times of triggers whose windows are sent later (sliding windows with a delay): a queue in the state of the window.
import { alloc, free } from '../../mem/alloc';
import { LoadFault } from '../../gen/state-layouts';
import { readFail, readFails, readLength, readTime } from '../../state/reader';
import { writeTime, writeU32 } from '../../state/writer';
import { WindowState } from './state';

export function queueIsEmpty(state: WindowState): bool {
  return state.queueFrom == state.queueTo;
}

/** The first time of the queue, which must not be empty. */
export function queueFirst(state: WindowState): f64 {
  return load<f64>(state.queue + ((<usize>state.queueFrom) << 3));
}

export function queueShift(state: WindowState): void {
  state.queueFrom++;
}

/** Adds a time; false when memory is exhausted. */
export function queuePush(state: WindowState, ms: f64, acct: usize): bool {
  const from = state.queueFrom;
  let to = state.queueTo;
  const capacity = state.queueCapacity;
  const queue = state.queue;
  if (to == capacity) {
    const count = to - from;
    if (from > 0 && count <= capacity >> 1) memory.copy(queue, queue + ((<usize>from) << 3), (<usize>count) << 3);
    else {
      const wanted = max(capacity << 1, 16);
      const next = alloc(wanted << 3, acct);
      if (!next) return false;
      memory.copy(next, queue + ((<usize>from) << 3), (<usize>count) << 3);
      free(queue, capacity << 3, acct);
      state.queue = next;
      state.queueCapacity = wanted;
    }
    state.queueFrom = 0;
    to = count;
  }
  store<f64>(state.queue + ((<usize>to) << 3), ms);
  state.queueTo = to + 1;
  return true;
}

/** Makes all times of the queue earlier by `ms`. */
export function queueSetBack(state: WindowState, ms: f64): void {
  const to = state.queueTo;
  for (let i = state.queueFrom; i < to; i++) {
    const at = state.queue + ((<usize>i) << 3);
    store<f64>(at, load<f64>(at) - ms);
  }
}

export function queueSave(state: WindowState): void {
  const from = state.queueFrom;
  const to = state.queueTo;
  writeU32(to - from);
  for (let i = from; i < to; i++) writeTime(load<f64>(state.queue + ((<usize>i) << 3)));
}

/** Adds saved times. */
export function queueLoad(state: WindowState, acct: usize): void {
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    if (!queuePush(state, readTime(), acct)) readFail(LoadFault.MEMORY);
  }
}

export function queueFree(state: WindowState, acct: usize): void {
  free(state.queue, state.queueCapacity << 3, acct);
}
