// Session windows: from a row to the last row that follows within the timeout. They are for the whole rule (not for
// each group), or for each partition (window/partitions/keyed.ts), whose state `state` then is. A long session is cut
// at the second aligned end after its start (one longest duration at least); the next session starts at the cut.
import * as ctx from '../../batch/context';
import { exhaust } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { isEventTime, isPartitioned } from '../../agg/group/spec';
import { alignedEnd } from '../content/align';
import { resume } from '../content/frame';
import { sendAll, takeIn } from '../content/content';
import { timeOfRow } from '../content/times';
import { Kind } from './kind';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

export function sessionWindow(kind: Kind): void {
  kind.push = sessionPush;
  kind.deadline = sessionDeadline;
  kind.tick = sessionTick;
  kind.watermark = sessionWatermark;
  kind.setBack = sessionSetBack;
  kind.take = sessionTake;
  kind.due = sessionDue;
  kind.isOver = sessionIsOver;
  kind.fire = sessionClose;
}

/** Takes the selected rows in, sending the sessions that end before them. */
function sessionPush(node: Node, spec: WindowSpec, state: WindowState): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  const timeout = spec.step;
  let i: u32 = 0;
  while (i < n) {
    const ms = timeOfRow(load<u32>(sel + ((<usize>i) << 2)));
    if (state.isOpen && closeBefore(node, spec, state, ms)) resume();
    if (!state.isOpen) open(spec, state, ms);
    const tick = state.tick;
    let last = ms;
    let j = i + 1;
    while (j < n) {
      const next = timeOfRow(load<u32>(sel + ((<usize>j) << 2)));
      if (next - last > timeout || next >= tick) break;
      last = next;
      j++;
    }
    state.lastTime = last;
    if (!takeIn(spec, state, sel + ((<usize>i) << 2), j - i)) {
      exhaust(node);
      return;
    }
    i = j;
  }
}

/** Takes one row of the time `ms` in, sending the session that ends before it. */
function sessionTake(node: Node, spec: WindowSpec, state: WindowState, at: usize, ms: f64): void {
  if (state.isOpen && closeBefore(node, spec, state, ms)) resume();
  if (!state.isOpen) open(spec, state, ms);
  state.lastTime = ms;
  if (!takeIn(spec, state, at, 1)) exhaust(node);
}

/** Opens a session with a row of the time `ms`; `end` holds the cut that it follows, 0 none. */
function open(spec: WindowSpec, state: WindowState, ms: f64): void {
  const cut = state.end;
  const length = spec.length;
  // A row much later than the cut doesn't continue the session that was cut.
  const continues = cut > 0 && ms - state.lastTime <= spec.step;
  state.start = continues ? cut : ms;
  state.end = 0;
  state.isOpen = 1;
  state.tick = alignedEnd(ms, spec.unit, length, spec.zone) + length;
}

/** Sends the open session if it ends before a row of the time `ms`. */
function closeBefore(node: Node, spec: WindowSpec, state: WindowState, ms: f64): bool {
  const last = state.lastTime;
  const tick = state.tick;
  const end = last + spec.step;
  if (ms - last > spec.step && end <= tick) {
    close(node, spec, state, end, 0);
    return true;
  }
  if (ms >= tick) {
    close(node, spec, state, tick, tick);
    return true;
  }
  return false;
}

function close(node: Node, spec: WindowSpec, state: WindowState, end: f64, cut: f64): void {
  sendAll(node, spec, state, state.start, end, end);
  state.isOpen = 0;
  state.end = cut;
}

/** Sends the session when nothing can continue it: event time has passed its timeout. */
function sessionWatermark(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  if (!state.isOpen) return;
  const last = state.lastTime;
  if (ms - last > spec.step) closeBefore(node, spec, state, ms);
}

/** As `sessionWatermark` by the clock, which also cuts a session without a further row. */
function sessionTick(node: Node, spec: WindowSpec, state: WindowState): void {
  if (!state.isOpen) return;
  const end = state.lastTime + spec.step;
  const tick = state.tick;
  // An earlier deadline has stayed: windows above that are due before the session may have rows for it.
  if (min(end, tick) > node.deadline) return;
  if (end <= ctx.nowMs && end <= tick) close(node, spec, state, end, 0);
  else if (tick <= ctx.nowMs) close(node, spec, state, tick, tick);
}

/** Sends the open session whose timeout or longest duration has passed. */
function sessionClose(node: Node, spec: WindowSpec, state: WindowState): void {
  if (!state.isOpen) return;
  const end = state.lastTime + spec.step;
  const tick = state.tick;
  if (end <= tick) close(node, spec, state, end, 0);
  else close(node, spec, state, tick, tick);
}

/**
 * Time at which `sessionClose` is to be called; after a cut, the time from which a row does not continue the session.
 * In event time a row at the end of the timeout still belongs to the session, which is cut with a row.
 */
function sessionDue(spec: WindowSpec, state: WindowState): f64 {
  const end = state.lastTime + spec.step;
  if (isEventTime(spec) || !state.isOpen) return end + 1;
  return min(end, state.tick);
}

/** True when no session is open, and a row at `ms` or later continues none. */
function sessionIsOver(spec: WindowSpec, state: WindowState, ms: f64): bool {
  return !state.isOpen && (state.end == 0 || sessionDue(spec, state) <= ms);
}

/** Handles a clock that is set back: the session goes on and is cut by the new time. */
function sessionSetBack(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  if (state.lastTime) state.lastTime -= ms;
  if (state.end) state.end -= ms;
  if (!state.isOpen) return;
  const start = state.start - ms;
  const length = spec.length;
  state.start = start;
  state.tick = alignedEnd(start, spec.unit, length, spec.zone) + length;
  if (!isPartitioned(spec)) sessionDeadline(node, spec, state);
}

/**
 * Sets the deadline to the time at which the session may end. An earlier deadline stays, because its tick checks again.
 */
function sessionDeadline(node: Node, spec: WindowSpec, state: WindowState): void {
  if (!state.isOpen) return;
  const due = min(state.lastTime + spec.step, state.tick);
  if (!node.heap || due < node.deadline) setDeadline(node, due);
}
