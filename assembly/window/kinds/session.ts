// Session windows: from a row to the last row that follows within the timeout, for the whole rule (not for each group),
// or for each partition (window/partitions/keyed.ts), whose state `state` is then. A session that lasts is cut at the
// second aligned end after its start (one longest duration at least), and what follows the cut starts there.
import * as ctx from '../../batch/context';
import { N_DEADLINE, N_HEAP, exhaust } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { WINDOW_LENGTH, WINDOW_STEP, WINDOW_UNIT, WINDOW_ZONE, isEventTime, isPartitioned } from '../../agg/group/spec';
import { alignedEnd } from '../content/align';
import { resume } from '../content/frame';
import { sendAll, takeIn } from '../content/content';
import { timeOfRow } from '../content/times';
import { Kind } from './kind';
import { W_END, W_LAST, W_OPEN, W_START, W_TICK } from '../content/state';

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
function sessionPush(node: usize, spec: usize, state: usize): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  const timeout = load<f64>(spec, WINDOW_STEP);
  let i: u32 = 0;
  while (i < n) {
    const ms = timeOfRow(load<u32>(sel + ((<usize>i) << 2)));
    if (load<u32>(state, W_OPEN) && closeBefore(node, spec, state, ms)) resume();
    if (!load<u32>(state, W_OPEN)) open(spec, state, ms);
    const tick = load<f64>(state, W_TICK);
    let last = ms;
    let j = i + 1;
    while (j < n) {
      const next = timeOfRow(load<u32>(sel + ((<usize>j) << 2)));
      if (next - last > timeout || next >= tick) break;
      last = next;
      j++;
    }
    store<f64>(state, last, W_LAST);
    if (!takeIn(spec, state, sel + ((<usize>i) << 2), j - i)) {
      exhaust(node);
      return;
    }
    i = j;
  }
}

/** Takes one row of the time `ms` in, sending the session that ends before it. */
function sessionTake(node: usize, spec: usize, state: usize, at: usize, ms: f64): void {
  if (load<u32>(state, W_OPEN) && closeBefore(node, spec, state, ms)) resume();
  if (!load<u32>(state, W_OPEN)) open(spec, state, ms);
  store<f64>(state, ms, W_LAST);
  if (!takeIn(spec, state, at, 1)) exhaust(node);
}

/** Opens a session with a row of the time `ms`; W_END holds the cut that it follows, 0 none. */
function open(spec: usize, state: usize, ms: f64): void {
  const cut = load<f64>(state, W_END);
  const length = load<f64>(spec, WINDOW_LENGTH);
  // A row much later than the cut doesn't continue the session that was cut.
  const continues = cut > 0 && ms - load<f64>(state, W_LAST) <= load<f64>(spec, WINDOW_STEP);
  store<f64>(state, continues ? cut : ms, W_START);
  store<f64>(state, 0, W_END);
  store<u32>(state, 1, W_OPEN);
  store<f64>(
    state,
    alignedEnd(ms, load<f64>(spec, WINDOW_UNIT), length, load<u32>(spec, WINDOW_ZONE)) + length,
    W_TICK,
  );
}

/** Sends the open session if it ends before a row of the time `ms`. */
function closeBefore(node: usize, spec: usize, state: usize, ms: f64): bool {
  const last = load<f64>(state, W_LAST);
  const tick = load<f64>(state, W_TICK);
  const end = last + load<f64>(spec, WINDOW_STEP);
  if (ms - last > load<f64>(spec, WINDOW_STEP) && end <= tick) {
    close(node, spec, state, end, 0);
    return true;
  }
  if (ms >= tick) {
    close(node, spec, state, tick, tick);
    return true;
  }
  return false;
}

function close(node: usize, spec: usize, state: usize, end: f64, cut: f64): void {
  sendAll(node, spec, state, load<f64>(state, W_START), end, end);
  store<u32>(state, 0, W_OPEN);
  store<f64>(state, cut, W_END);
}

/** Sends the session when nothing can continue it: event time has passed its timeout. */
function sessionWatermark(node: usize, spec: usize, state: usize, ms: f64): void {
  if (!load<u32>(state, W_OPEN)) return;
  const last = load<f64>(state, W_LAST);
  if (ms - last > load<f64>(spec, WINDOW_STEP)) closeBefore(node, spec, state, ms);
}

/** As `sessionWatermark` by the clock, which also cuts without a further row. */
function sessionTick(node: usize, spec: usize, state: usize): void {
  if (!load<u32>(state, W_OPEN)) return;
  const end = load<f64>(state, W_LAST) + load<f64>(spec, WINDOW_STEP);
  const tick = load<f64>(state, W_TICK);
  if (end <= ctx.nowMs && end <= tick) close(node, spec, state, end, 0);
  else if (tick <= ctx.nowMs) close(node, spec, state, tick, tick);
}

/** Sends the open session whose timeout or longest duration has passed. */
function sessionClose(node: usize, spec: usize, state: usize): void {
  if (!load<u32>(state, W_OPEN)) return;
  const end = load<f64>(state, W_LAST) + load<f64>(spec, WINDOW_STEP);
  const tick = load<f64>(state, W_TICK);
  if (end <= tick) close(node, spec, state, end, 0);
  else close(node, spec, state, tick, tick);
}

/**
 * When `sessionClose` is to be called; of one that was cut, when the next row does not continue it any more. In event
 * time a row at the end of the timeout still belongs to it, and it is cut with a row.
 */
function sessionDue(spec: usize, state: usize): f64 {
  const end = load<f64>(state, W_LAST) + load<f64>(spec, WINDOW_STEP);
  if (isEventTime(spec) || !load<u32>(state, W_OPEN)) return end + 1;
  return min(end, load<f64>(state, W_TICK));
}

/** True when no session is open, and a row at `ms` or later continues none. */
function sessionIsOver(spec: usize, state: usize, ms: f64): bool {
  return !load<u32>(state, W_OPEN) && (load<f64>(state, W_END) == 0 || sessionDue(spec, state) <= ms);
}

/** The clock is set back: the session goes on, and is cut by the new time. */
function sessionSetBack(node: usize, spec: usize, state: usize, ms: f64): void {
  if (load<f64>(state, W_LAST)) store<f64>(state, load<f64>(state, W_LAST) - ms, W_LAST);
  if (load<f64>(state, W_END)) store<f64>(state, load<f64>(state, W_END) - ms, W_END);
  if (!load<u32>(state, W_OPEN)) return;
  const start = load<f64>(state, W_START) - ms;
  const length = load<f64>(spec, WINDOW_LENGTH);
  store<f64>(state, start, W_START);
  store<f64>(
    state,
    alignedEnd(start, load<f64>(spec, WINDOW_UNIT), length, load<u32>(spec, WINDOW_ZONE)) + length,
    W_TICK,
  );
  if (!isPartitioned(spec)) sessionDeadline(node, spec, state);
}

/** Sets the deadline to when the session may end, unless an earlier one is set: its tick looks again. */
function sessionDeadline(node: usize, spec: usize, state: usize): void {
  if (!load<u32>(state, W_OPEN)) return;
  const due = min(load<f64>(state, W_LAST) + load<f64>(spec, WINDOW_STEP), load<f64>(state, W_TICK));
  if (!load<u32>(node, N_HEAP) || due < load<f64>(node, N_DEADLINE)) setDeadline(node, due);
}
