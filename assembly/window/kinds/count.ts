// Count windows end with a row, whatever the time. Their start is the time of the message before. Where rows are
// partitioned (window/partitions/keyed.ts), `state` is the state of a partition.
import * as ctx from '../../batch/context';
import { WindowFlag } from '../../agg/group/spec';
import { accountOf, exhaust, isExhausted } from '../../node/node';
import { rowsDrop } from '../../rows/store';
import { resume } from '../content/frame';
import { keepsRows, sendAll, sendRange, takeIn } from '../content/content';
import { canStack, stacksDrop, stacksOfPartition, stacksSend } from '../stacks/stacks';
import { Stacks, rowsInside } from '../stacks/state';
import { timeOfRow, timesSetBack } from '../content/times';
import { Kind } from './kind';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

/** Windows per row up to which stacks cost more than taking the row into each window anew. */
const FEW_WINDOWS: u32 = 4;

export function countWindow(kind: Kind): void {
  kind.flags = countFlags;
  kind.push = countPush;
  kind.setBack = timesSetBack;
  kind.isSound = countIsSound;
  kind.take = takeInPartition;
}

function countFlags(spec: WindowSpec): u32 {
  const length = spec.countLength;
  const step = spec.countStep;
  const always = WindowFlag.ENDS_WITH_ROW | WindowFlag.KEEPS_REJECTED | WindowFlag.QUEUES;
  const stacks = length / step > FEW_WINDOWS && canStack(spec) ? WindowFlag.STACKS : 0;
  return always | stacks | (length != step ? WindowFlag.KEEPS_ROWS : 0);
}

/** True when the counter of a loaded state is below the step. */
function countIsSound(spec: WindowSpec, state: WindowState): bool {
  return state.counter < spec.countStep;
}

/**
 * Count windows: the last `length` rows after each `step` rows, once `length` rows have come. Rows that WHERE rejects
 * count but are not part of the window.
 */
function countPush(node: Node, spec: WindowSpec, state: WindowState): void {
  countTake(node, spec, state, ctx.sel, ctx.selLen);
}

/** Takes the rows `sel[0 … n)` in. */
function countTake(node: Node, spec: WindowSpec, state: WindowState, sel: usize, n: u32): void {
  const length = spec.countLength;
  const step = spec.countStep;
  const isSliding = length != step;
  let i: u32 = 0;
  while (i < n) {
    const counter = state.counter;
    const part = min(n - i, step - counter);
    if (!takeIn(spec, state, sel + ((<usize>i) << 2), part)) {
      exhaust(node);
      return;
    }
    i += part;
    const stacks = changetype<Stacks>(state.stacks);
    const kept = stacks ? rowsInside(state, stacks) : state.kept.count;
    if (isSliding && kept > length) {
      if (stacks) stacksDrop(state, kept - length, accountOf(node));
      else rowsDrop(state.kept, kept - length);
    }
    if (counter + part < step) {
      state.counter = counter + part;
      return;
    }
    state.counter = 0;
    if (isSliding && kept < length) continue;
    const now = timeOfRow(load<u32>(sel + ((<usize>(i - 1)) << 2)));
    const start = state.start > 0 ? state.start : now;
    if (stacks) stacksSend(node, spec, state, start, now, now);
    else if (isSliding && keepsRows(spec)) sendRange(node, spec, state, start, now, now, -Infinity, Infinity, true);
    else sendAll(node, spec, state, start, now, now);
    state.start = now;
    resume();
    if (isExhausted(node)) return;
  }
}

function takeInPartition(node: Node, spec: WindowSpec, part: WindowState, at: usize, ms: f64): void {
  part.tick = floor(ctx.nowMs);
  if (stacksOfPartition(node, spec, part)) countTake(node, spec, part, at, 1);
}
