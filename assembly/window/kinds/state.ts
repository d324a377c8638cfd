// State windows end with a row, whatever the time. Their start and end are the times of the first and last row. Where
// rows are partitioned (window/partitions/keyed.ts) `state` is that of a partition.
import * as ctx from '../../batch/context';
import {
  NO_INPUT,
  WINDOW_EMIT,
  WINDOW_TRIGGER,
  WindowFlag,
  bindOf,
  bindTag,
  bindVal,
  isTrue,
} from '../../agg/group/spec';
import { exhaust, isExhausted } from '../../node/node';
import { resume } from '../content/frame';
import { sendAll, takeIn } from '../content/content';
import { timeOfRow, timesSetBack } from '../content/times';
import { W_LAST, W_OPEN, W_START, W_TICK } from '../content/state';
import { Kind } from './kind';

export function stateWindow(kind: Kind): void {
  kind.flags = stateFlags;
  kind.push = statePush;
  kind.setBack = timesSetBack;
  kind.take = takeInPartition;
  kind.opens = stateOpens;
  kind.isOver = partitionIsOver;
}

function stateFlags(spec: usize): u32 {
  return WindowFlag.ENDS_WITH_ROW;
}

// @ts-ignore: decorator
@inline function holds(input: u32, row: u32): bool {
  return isTrue(bindTag(bindOf(input), row), bindVal(bindOf(input), row));
}

/**
 * State windows: from a row for which the first condition is true to the next later one for which the second is true.
 * With one condition: from one row for which it is true to the row before the next.
 */
function statePush(node: usize, spec: usize, state: usize): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n && !isExhausted(node); i++) stateTake(node, spec, state, sel + ((<usize>i) << 2));
}

/** True for a row that opens a window where none is open. */
function stateOpens(spec: usize, row: u32): bool {
  return holds(load<u16>(spec, WINDOW_TRIGGER), row);
}

/** Takes the row at `at` into the window of the state. */
function stateTake(node: usize, spec: usize, state: usize, at: usize): void {
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

function takeInPartition(node: usize, spec: usize, part: usize, at: usize, ms: f64): void {
  store<f64>(part, floor(ctx.nowMs), W_TICK);
  stateTake(node, spec, part, at);
}

function partitionIsOver(spec: usize, part: usize, ms: f64): bool {
  return !load<u32>(part, W_OPEN);
}
