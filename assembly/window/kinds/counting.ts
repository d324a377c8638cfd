// Windows that end with a row, whatever the time: count windows and state windows. Their start and end are the times of
// the message before (count) or of the first and last row (state). Where rows are partitioned
// (window/partitions/keyed.ts) `state` is that of a partition.
import * as ctx from '../../batch/context';
import {
  NO_INPUT,
  WINDOW_COUNT_LENGTH,
  WINDOW_COUNT_STEP,
  WINDOW_EMIT,
  WINDOW_TRIGGER,
  bindOf,
  bindTag,
  bindVal,
  isTrue,
} from '../../agg/spec';
import { accountOf, exhaust, isExhausted } from '../../node/node';
import { ROWS_COUNT } from '../../rows/layout';
import { rowsDrop } from '../../rows/store';
import { resume } from '../content/frame';
import { keepsRows, sendAll, sendRange, takeIn } from '../content/content';
import { stacksDrop, stacksSend } from '../stacks/stacks';
import { rowsInside } from '../stacks/state';
import { timeOfRow } from '../content/times';
import { W_COUNTER, W_LAST, W_OPEN, W_ROWS, W_STACKS, W_START } from '../content/state';

/**
 * Count windows: the last `length` rows after each `step` rows, once there are so many. Rows that WHERE rejects count
 * but are not part of the window.
 */
export function countPush(node: usize, spec: usize, state: usize): void {
  countTake(node, spec, state, ctx.sel, ctx.selLen);
}

/** Takes the rows `sel[0 … n)` in. */
export function countTake(node: usize, spec: usize, state: usize, sel: usize, n: u32): void {
  const length = load<u32>(spec, WINDOW_COUNT_LENGTH);
  const step = load<u32>(spec, WINDOW_COUNT_STEP);
  const isSliding = length != step;
  let i: u32 = 0;
  while (i < n) {
    const counter = load<u32>(state, W_COUNTER);
    const part = min(n - i, step - counter);
    if (!takeIn(spec, state, sel + ((<usize>i) << 2), part)) {
      exhaust(node);
      return;
    }
    i += part;
    const stacks = <usize>load<u32>(state, W_STACKS);
    const kept = stacks ? rowsInside(state, stacks) : load<u32>(state + W_ROWS, ROWS_COUNT);
    if (isSliding && kept > length) {
      if (stacks) stacksDrop(state, kept - length, accountOf(node));
      else rowsDrop(state + W_ROWS, kept - length);
    }
    if (counter + part < step) {
      store<u32>(state, counter + part, W_COUNTER);
      return;
    }
    store<u32>(state, 0, W_COUNTER);
    if (isSliding && kept < length) continue;
    const now = timeOfRow(load<u32>(sel + ((<usize>(i - 1)) << 2)));
    const start = load<f64>(state, W_START) > 0 ? load<f64>(state, W_START) : now;
    if (stacks) stacksSend(node, spec, state, start, now, now);
    else if (isSliding && keepsRows(spec)) sendRange(node, spec, state, start, now, now, -Infinity, Infinity, true);
    else sendAll(node, spec, state, start, now, now);
    store<f64>(state, now, W_START);
    resume();
    if (isExhausted(node)) return;
  }
}

// @ts-ignore: decorator
@inline function holds(input: u32, row: u32): bool {
  return isTrue(bindTag(bindOf(input), row), bindVal(bindOf(input), row));
}

/**
 * State windows: from a row for which the first condition is true to the next later one for which the second is true.
 * With one condition: from one row for which it is true to the row before the next.
 */
export function statePush(node: usize, spec: usize, state: usize): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n && !isExhausted(node); i++) stateTake(node, spec, state, sel + ((<usize>i) << 2));
}

/** True for a row that opens a window where none is open. */
export function stateOpens(spec: usize, row: u32): bool {
  return holds(load<u16>(spec, WINDOW_TRIGGER), row);
}

/** Takes the row at `at` into the window of the state. */
export function stateTake(node: usize, spec: usize, state: usize, at: usize): void {
  const row = load<u32>(at);
  const ms = timeOfRow(row);
  const begin = load<u16>(spec, WINDOW_TRIGGER);
  const emit = load<u16>(spec, WINDOW_EMIT);
  if (load<u32>(state, W_OPEN) && emit == NO_INPUT && holds(begin, row)) sendState(node, spec, state);
  const isFirst = !load<u32>(state, W_OPEN);
  if (isFirst) {
    if (!holds(begin, row)) return;
    store<u32>(state, 1, W_OPEN);
    store<f64>(state, ms, W_START);
  }
  store<f64>(state, ms, W_LAST);
  if (!takeIn(spec, state, at, 1)) {
    exhaust(node);
    return;
  }
  if (!isFirst && emit != NO_INPUT && holds(emit, row)) sendState(node, spec, state);
}

function sendState(node: usize, spec: usize, state: usize): void {
  const end = load<f64>(state, W_LAST);
  sendAll(node, spec, state, load<f64>(state, W_START), end, end);
  store<u32>(state, 0, W_OPEN);
  resume();
}

/** The clock is set back: so are the begin of the window and its last row, where they are known. */
export function endedSetBack(state: usize, ms: f64): void {
  if (load<f64>(state, W_START)) store<f64>(state, load<f64>(state, W_START) - ms, W_START);
  if (load<f64>(state, W_LAST)) store<f64>(state, load<f64>(state, W_LAST) - ms, W_LAST);
}
