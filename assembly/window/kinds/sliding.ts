// Sliding windows: for each row (or each that OVER (WHEN …) takes) the rows of the time before it, [t - length, t].
// With a delay also those after it, [t - length, t + delay), sent when the time t + delay has come.
//
// Event time that waits for late rows or for other streams releases rows of the same time together: each is in the
// windows of all of them. Where rows are partitioned (window/partitions/keyed.ts) `state` is that of a partition.
import * as ctx from '../../batch/context';
import { N_FLAGS, NodeFlag, accountOf, exhaust, isExhausted } from '../../node/node';
import { setDeadline } from '../../node/timers';
import {
  NO_INPUT,
  WINDOW_LENGTH,
  WINDOW_STEP,
  WINDOW_TRIGGER,
  WindowFlag,
  bindOf,
  bindTag,
  bindVal,
  hasFlag,
  isPartitioned,
  isTrue,
} from '../../agg/group/spec';
import { rowsDropBefore, rowsSetBack } from '../../rows/store';
import { resume } from '../content/frame';
import { sendRange, takeIn } from '../content/content';
import { queueFirst, queueIsEmpty, queuePush, queueSetBack, queueShift } from '../content/queue';
import { vectorsPush } from '../stacks/slide';
import { canStack, stacksDropBefore, stacksOfPartition, stacksSend, stacksTake } from '../stacks/stacks';
import { vectorsOpen } from '../stacks/vectors';
import { timeOfRow } from '../content/times';
import { Kind } from './kind';
import { W_VECTORS, W_LAST, W_ROWS, W_STACKS } from '../content/state';

export function slidingWindow(kind: Kind): void {
  kind.flags = slidingFlags;
  kind.open = slidingOpen;
  kind.push = slidingPush;
  kind.deadline = slidingDeadline;
  kind.tick = slidingTick;
  kind.watermark = slidingFire;
  kind.setBack = slidingSetBack;
  kind.take = takeInPartition;
  kind.send = sendOfPartition;
  kind.due = partitionDue;
  kind.isOver = partitionIsOver;
  kind.fire = firePartition;
}

function slidingFlags(spec: usize): u32 {
  return WindowFlag.KEEPS_ROWS | WindowFlag.QUEUES | (canStack(spec) ? WindowFlag.STACKS : 0);
}

function slidingOpen(node: usize, spec: usize, state: usize): bool {
  if (!vectorsOpen(node, spec, state)) return false;
  // Vectors send at once what takes them a moment.
  if (load<u32>(state, W_VECTORS)) store<u32>(node, load<u32>(node, N_FLAGS) & ~NodeFlag.DEFERS, N_FLAGS);
  return true;
}

/** Takes the selected rows in one after the other and sends the windows that they trigger. */
function slidingPush(node: usize, spec: usize, state: usize): void {
  if (vectorsPush(node, spec, state)) return;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const delay = load<f64>(spec, WINDOW_STEP);
  const joinsEqual = hasFlag(spec, WindowFlag.JOINS_EQUAL);
  let triggers: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const at = sel + ((<usize>i) << 2);
    const row = load<u32>(at);
    const ms = timeOfRow(row);
    const isTrigger = slidingTriggers(spec, row);
    if (delay > 0 && !queueIsEmpty(state) && queueFirst(state) + delay <= ms) {
      slidingFire(node, spec, state, ms);
      resume();
    }
    if (!slidingTake(node, spec, state, at, ms, isTrigger)) return;
    if (isTrigger) triggers++;
    if (joinsEqual && i + 1 < n && timeOfRow(load<u32>(at, 4)) == ms) continue;
    for (; triggers > 0; triggers--) {
      slidingSend(node, spec, state, ms);
      if (isExhausted(node)) return;
    }
  }
}

/** True for a row that sends a window. */
function slidingTriggers(spec: usize, row: u32): bool {
  const trigger = load<u16>(spec, WINDOW_TRIGGER);
  return trigger == NO_INPUT || isTrue(bindTag(bindOf(trigger), row), bindVal(bindOf(trigger), row));
}

/**
 * Takes one row of the time `ms` in, and drops those that are too old for it and for windows that wait. False when
 * memory is exhausted.
 */
function slidingTake(node: usize, spec: usize, state: usize, at: usize, ms: f64, isTrigger: bool): bool {
  const length = load<f64>(spec, WINDOW_LENGTH);
  const oldest = queueIsEmpty(state) ? ms : min(ms, queueFirst(state));
  if (load<u32>(state, W_STACKS)) stacksDropBefore(state, oldest - length, accountOf(node));
  else rowsDropBefore(state + W_ROWS, oldest - length);
  if (isExhausted(node)) return false;
  const isSent = isTrigger && load<f64>(spec, WINDOW_STEP) == 0 && load<u32>(state, W_STACKS) != 0;
  if (takeIn(spec, state, at, 1) && (!isSent || stacksTake(spec, state, at))) return true;
  exhaust(node);
  return false;
}

/** Sends the window of a trigger at `ms`, or notes it when there is a delay. */
function slidingSend(node: usize, spec: usize, state: usize, ms: f64): void {
  const length = load<f64>(spec, WINDOW_LENGTH);
  if (load<f64>(spec, WINDOW_STEP) > 0) {
    if (!queuePush(state, ms, accountOf(node))) exhaust(node);
    return;
  }
  if (load<u32>(state, W_STACKS)) stacksSend(node, spec, state, ms - length, ms, ms);
  else sendRange(node, spec, state, ms - length, ms, ms, ms - length, ms, true);
  resume();
}

/** Sends the windows whose delay has passed at `ms`. */
function slidingFire(node: usize, spec: usize, state: usize, ms: f64): void {
  const delay = load<f64>(spec, WINDOW_STEP);
  while (!queueIsEmpty(state) && queueFirst(state) + delay <= ms && !isExhausted(node))
    slidingFireFirst(node, spec, state);
}

/** Sends the first of the windows that wait for their delay; there must be one. */
function slidingFireFirst(node: usize, spec: usize, state: usize): void {
  const length = load<f64>(spec, WINDOW_LENGTH);
  const trigger = queueFirst(state);
  const end = trigger + load<f64>(spec, WINDOW_STEP);
  if (load<u32>(state, W_STACKS)) {
    // A row at the end or later is taken in after this was sent.
    stacksDropBefore(state, trigger - length, accountOf(node));
    stacksSend(node, spec, state, trigger - length, end, trigger);
  } else sendRange(node, spec, state, trigger - length, end, trigger, trigger - length, end, false);
  queueShift(state);
}

/** Asks for a tick when the next delay ends, by the clock. */
function slidingDeadline(node: usize, spec: usize, state: usize): void {
  if (!queueIsEmpty(state)) setDeadline(node, queueFirst(state) + load<f64>(spec, WINDOW_STEP));
}

function slidingTick(node: usize, spec: usize, state: usize): void {
  slidingFire(node, spec, state, ctx.nowMs);
}

function slidingSetBack(node: usize, spec: usize, state: usize, ms: f64): void {
  rowsSetBack(state + W_ROWS, ms);
  queueSetBack(state, ms);
  if (isPartitioned(spec)) store<f64>(state, load<f64>(state, W_LAST) - ms, W_LAST);
}

// ---- of a partition ---------------------------------------------------------------------------------------------

function takeInPartition(node: usize, spec: usize, part: usize, at: usize, ms: f64): void {
  store<f64>(part, ms, W_LAST);
  if (!queueIsEmpty(part) && queueFirst(part) + load<f64>(spec, WINDOW_STEP) <= ms) {
    slidingFire(node, spec, part, ms);
    resume();
  }
  slidingTake(node, spec, part, at, ms, slidingTriggers(spec, load<u32>(at)));
}

/** Sends the window of the row, if it is one that does, or notes it. */
function sendOfPartition(node: usize, spec: usize, part: usize, row: u32, ms: f64): void {
  if (slidingTriggers(spec, row) && stacksOfPartition(node, spec, part)) slidingSend(node, spec, part, ms);
}

function partitionDue(spec: usize, part: usize): f64 {
  // A row is in windows that are as long after it as they are long.
  if (queueIsEmpty(part)) return load<f64>(part, W_LAST) + load<f64>(spec, WINDOW_LENGTH) + 1;
  return queueFirst(part) + load<f64>(spec, WINDOW_STEP);
}

function partitionIsOver(spec: usize, part: usize, ms: f64): bool {
  return queueIsEmpty(part) && partitionDue(spec, part) <= ms;
}

function firePartition(node: usize, spec: usize, part: usize): void {
  if (!queueIsEmpty(part) && stacksOfPartition(node, spec, part)) slidingFireFirst(node, spec, part);
}
