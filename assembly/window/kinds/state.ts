// State windows end with a row, whatever the time. Their start and end are the times of the first and last row. Where
// rows are partitioned (window/partitions/keyed.ts), `state` is the state of a partition.
import * as ctx from '../../batch/context';
import { NO_INPUT, WindowFlag, bindOf, bindTag, bindVal, isTrue } from '../../agg/group/spec';
import { exhaust, isExhausted } from '../../node/node';
import { resume } from '../content/frame';
import { sendAll, takeIn } from '../content/content';
import { timeOfRow, timesSetBack } from '../content/times';
import { Kind } from './kind';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

export function stateWindow(kind: Kind): void {
  kind.flags = stateFlags;
  kind.push = statePush;
  kind.setBack = timesSetBack;
  kind.take = takeInPartition;
  kind.opens = stateOpens;
  kind.isOver = partitionIsOver;
}

function stateFlags(spec: WindowSpec): u32 {
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
function statePush(node: Node, spec: WindowSpec, state: WindowState): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n && !isExhausted(node); i++) stateTake(node, spec, state, sel + ((<usize>i) << 2));
}

/** True for a row that opens a window where none is open. */
function stateOpens(spec: WindowSpec, row: u32): bool {
  return holds(spec.trigger, row);
}

/** Takes the row at `at` into the window whose state is `state`. */
function stateTake(node: Node, spec: WindowSpec, state: WindowState, at: usize): void {
  const row = load<u32>(at);
  const ms = timeOfRow(row);
  const begin = spec.trigger;
  const emit = spec.emit;
  if (state.isOpen && emit == NO_INPUT && holds(begin, row)) sendState(node, spec, state);
  const isFirst = !state.isOpen;
  if (isFirst) {
    if (!holds(begin, row)) return;
    state.isOpen = 1;
    state.start = ms;
  }
  state.lastTime = ms;
  if (!takeIn(spec, state, at, 1)) {
    exhaust(node);
    return;
  }
  if (!isFirst && emit != NO_INPUT && holds(emit, row)) sendState(node, spec, state);
}

function sendState(node: Node, spec: WindowSpec, state: WindowState): void {
  const end = state.lastTime;
  sendAll(node, spec, state, state.start, end, end);
  state.isOpen = 0;
  resume();
}

function takeInPartition(node: Node, spec: WindowSpec, part: WindowState, at: usize, ms: f64): void {
  part.tick = floor(ctx.nowMs);
  stateTake(node, spec, part, at);
}

function partitionIsOver(spec: WindowSpec, part: WindowState, ms: f64): bool {
  return !part.isOpen;
}
