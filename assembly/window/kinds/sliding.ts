// Sliding windows: for each row (or each that OVER (WHEN …) takes) the rows of the time before it, [t - length, t].
// With a delay they have the rows after it too, [t - length, t + delay), and are sent at t + delay.
//
// Event time that waits for late rows or for other streams releases rows of the same time together: each is in the
// windows of all of them. Where rows are partitioned (window/partitions/keyed.ts), `state` is the state of a partition.
import * as ctx from '../../batch/context';
import { NodeFlag, accountOf, exhaust, isExhausted } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { NO_INPUT, WindowFlag, bindOf, bindTag, bindVal, hasFlag, isPartitioned, isTrue } from '../../agg/group/spec';
import { rowsDropBefore, rowsSetBack } from '../../rows/store';
import { resume } from '../content/frame';
import { sendRange, takeIn } from '../content/content';
import { queueFirst, queueIsEmpty, queuePush, queueSetBack, queueShift } from '../content/queue';
import { vectorsPush } from '../stacks/slide';
import { canStack, stacksDropBefore, stacksOfPartition, stacksSend, stacksTake } from '../stacks/stacks';
import { vectorsOpen } from '../stacks/vectors';
import { timeOfRow } from '../content/times';
import { Kind } from './kind';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

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

function slidingFlags(spec: WindowSpec): u32 {
  return WindowFlag.KEEPS_ROWS | WindowFlag.QUEUES | (canStack(spec) ? WindowFlag.STACKS : 0);
}

function slidingOpen(node: Node, spec: WindowSpec, state: WindowState): bool {
  if (!vectorsOpen(node, spec, state)) return false;
  // Vectors send their results at once, because the work is short.
  if (state.vectors) node.flags &= ~NodeFlag.DEFERS;
  return true;
}

/** Takes the selected rows in one after the other and sends the windows that they trigger. */
function slidingPush(node: Node, spec: WindowSpec, state: WindowState): void {
  if (vectorsPush(node, spec, state)) return;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const delay = spec.step;
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
function slidingTriggers(spec: WindowSpec, row: u32): bool {
  const trigger = spec.trigger;
  return trigger == NO_INPUT || isTrue(bindTag(bindOf(trigger), row), bindVal(bindOf(trigger), row));
}

/**
 * Takes in one row of the time `ms` and drops rows that neither its window nor waiting windows need. False when memory
 * is exhausted.
 */
function slidingTake(node: Node, spec: WindowSpec, state: WindowState, at: usize, ms: f64, isTrigger: bool): bool {
  const length = spec.length;
  const oldest = queueIsEmpty(state) ? ms : min(ms, queueFirst(state));
  if (state.stacks) stacksDropBefore(state, oldest - length, accountOf(node));
  else rowsDropBefore(state.kept, oldest - length);
  if (isExhausted(node)) return false;
  const isSent = isTrigger && spec.step == 0 && state.stacks != 0;
  if (takeIn(spec, state, at, 1) && (!isSent || stacksTake(spec, state, at))) return true;
  exhaust(node);
  return false;
}

/** Sends the window of a trigger at `ms`, or notes it when there is a delay. */
function slidingSend(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  const length = spec.length;
  if (spec.step > 0) {
    if (!queuePush(state, ms, accountOf(node))) exhaust(node);
    return;
  }
  if (state.stacks) stacksSend(node, spec, state, ms - length, ms, ms);
  else sendRange(node, spec, state, ms - length, ms, ms, ms - length, ms, true);
  resume();
}

/** Sends the windows whose delay has passed at `ms`. */
function slidingFire(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  const delay = spec.step;
  while (!queueIsEmpty(state) && queueFirst(state) + delay <= ms && !isExhausted(node))
    slidingFireFirst(node, spec, state);
}

/** Sends the first of the windows that wait for their delay; there must be one. */
function slidingFireFirst(node: Node, spec: WindowSpec, state: WindowState): void {
  const length = spec.length;
  const trigger = queueFirst(state);
  const end = trigger + spec.step;
  if (state.stacks) {
    // A row at the end or later is taken in after this window was sent.
    stacksDropBefore(state, trigger - length, accountOf(node));
    stacksSend(node, spec, state, trigger - length, end, trigger);
  } else sendRange(node, spec, state, trigger - length, end, trigger, trigger - length, end, false);
  queueShift(state);
}

/** Asks for a tick when the next delay ends, by the clock. */
function slidingDeadline(node: Node, spec: WindowSpec, state: WindowState): void {
  if (!queueIsEmpty(state)) setDeadline(node, queueFirst(state) + spec.step);
}

function slidingTick(node: Node, spec: WindowSpec, state: WindowState): void {
  slidingFire(node, spec, state, ctx.nowMs);
}

function slidingSetBack(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  rowsSetBack(state.kept, ms);
  queueSetBack(state, ms);
  if (isPartitioned(spec)) state.lastTime -= ms;
}

// ---- of a partition ---------------------------------------------------------------------------------------------

function takeInPartition(node: Node, spec: WindowSpec, part: WindowState, at: usize, ms: f64): void {
  part.lastTime = ms;
  if (!queueIsEmpty(part) && queueFirst(part) + spec.step <= ms) {
    slidingFire(node, spec, part, ms);
    resume();
  }
  slidingTake(node, spec, part, at, ms, slidingTriggers(spec, load<u32>(at)));
}

/** Sends or notes the window of the row, if the row triggers one. */
function sendOfPartition(node: Node, spec: WindowSpec, part: WindowState, row: u32, ms: f64): void {
  if (slidingTriggers(spec, row) && stacksOfPartition(node, spec, part)) slidingSend(node, spec, part, ms);
}

function partitionDue(spec: WindowSpec, part: WindowState): f64 {
  // A row is in windows that are as long after it as they are long.
  if (queueIsEmpty(part)) return part.lastTime + spec.length + 1;
  return queueFirst(part) + spec.step;
}

function partitionIsOver(spec: WindowSpec, part: WindowState, ms: f64): bool {
  return queueIsEmpty(part) && partitionDue(spec, part) <= ms;
}

function firePartition(node: Node, spec: WindowSpec, part: WindowState): void {
  if (!queueIsEmpty(part) && stacksOfPartition(node, spec, part)) slidingFireFirst(node, spec, part);
}
