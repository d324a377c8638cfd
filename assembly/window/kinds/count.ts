// Count windows end with a row, whatever the time. Their start is the time of the message before. Where rows are
// partitioned (window/partitions/keyed.ts) `state` is that of a partition.
import * as ctx from '../../batch/context';
import { WINDOW_COUNT_LENGTH, WINDOW_COUNT_STEP, WindowFlag } from '../../agg/group/spec';
import { accountOf, exhaust, isExhausted } from '../../node/node';
import { ROWS_COUNT } from '../../rows/layout';
import { rowsDrop } from '../../rows/store';
import { resume } from '../content/frame';
import { keepsRows, sendAll, sendRange, takeIn } from '../content/content';
import { canStack, stacksDrop, stacksOfPartition, stacksSend } from '../stacks/stacks';
import { rowsInside } from '../stacks/state';
import { timeOfRow, timesSetBack } from '../content/times';
import { W_COUNTER, W_ROWS, W_STACKS, W_START, W_TICK } from '../content/state';
import { Kind } from './kind';

/** A row that is in so many windows is taken in anew for each with less work than stacks are. */
const FEW_WINDOWS: u32 = 4;

export function countWindow(kind: Kind): void {
  kind.flags = countFlags;
  kind.push = countPush;
  kind.setBack = timesSetBack;
  kind.isSound = countIsSound;
  kind.take = takeInPartition;
}

function countFlags(spec: usize): u32 {
  const length = load<u32>(spec, WINDOW_COUNT_LENGTH);
  const step = load<u32>(spec, WINDOW_COUNT_STEP);
  const always = WindowFlag.ENDS_WITH_ROW | WindowFlag.KEEPS_REJECTED | WindowFlag.QUEUES;
  const stacks = length / step > FEW_WINDOWS && canStack(spec) ? WindowFlag.STACKS : 0;
  return always | stacks | (length != step ? WindowFlag.KEEPS_ROWS : 0);
}

/** Rows are counted up to the step. */
function countIsSound(spec: usize, state: usize): bool {
  return load<u32>(state, W_COUNTER) < load<u32>(spec, WINDOW_COUNT_STEP);
}

/**
 * Count windows: the last `length` rows after each `step` rows, once there are so many. Rows that WHERE rejects count
 * but are not part of the window.
 */
function countPush(node: usize, spec: usize, state: usize): void {
  countTake(node, spec, state, ctx.sel, ctx.selLen);
}

/** Takes the rows `sel[0 … n)` in. */
function countTake(node: usize, spec: usize, state: usize, sel: usize, n: u32): void {
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

function takeInPartition(node: usize, spec: usize, part: usize, at: usize, ms: f64): void {
  store<f64>(part, floor(ctx.nowMs), W_TICK);
  if (stacksOfPartition(node, spec, part)) countTake(node, spec, part, at, 1);
}
