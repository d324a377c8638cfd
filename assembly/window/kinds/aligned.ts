// Windows by the clock: [end - length, end), ends aligned to natural time (window/content/align.ts).
import * as ctx from '../../batch/context';
import { exhaust, isExhausted } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { rowsDropBefore, rowsSetBack } from '../../rows/store';
import { resume, rowTimes } from '../content/frame';
import {
  WINDOW_LENGTH,
  WINDOW_STEP,
  WINDOW_UNIT,
  WINDOW_ZONE,
  WindowFlag,
  hasFlag,
  isEventTime,
} from '../../agg/group/spec';
import { alignedEnd, endAfter, lastEnd, startBefore } from '../content/align';
import { isVoid, sendAll, sendRange, takeIn } from '../content/content';
import { isInPanes, panesAreVoid, panesEnd, panesSend, panesSetBack } from '../panes/panes';
import { timeOfRow } from '../content/times';
import { Kind } from './kind';
import { W_END, W_ROWS, W_START } from '../content/state';

/**
 * Empty windows sent in a row before the rest of a gap is skipped: one wrong timestamp years ahead must not keep the
 * engine busy with empty messages.
 */
const MAX_EMPTY: u32 = 1000;

/** Windows overlap, or leave gaps. */
// @ts-ignore: decorator
@inline function isHopping(spec: usize): bool {
  return load<f64>(spec, WINDOW_STEP) > 0;
}

// @ts-ignore: decorator
@inline function stepOf(spec: usize): f64 {
  return isHopping(spec) ? load<f64>(spec, WINDOW_STEP) : load<f64>(spec, WINDOW_LENGTH);
}

/** Where the window begins that ends at `end`. */
// @ts-ignore: decorator
@inline function startOf(spec: usize, end: f64): f64 {
  const unit = load<f64>(spec, WINDOW_UNIT);
  return startBefore(end, unit, stepOf(spec), load<f64>(spec, WINDOW_LENGTH), load<u32>(spec, WINDOW_ZONE));
}

/** Fills in what kinds by the clock have in common. */
export function fillAligned(kind: Kind): void {
  kind.open = alignedOpen;
  kind.push = alignedPush;
  kind.deadline = alignedDeadline;
  kind.tick = alignedTick;
  kind.watermark = alignedFire;
  kind.setBack = alignedSetBack;
}

/** Windows of processing time count from the first tick, which they ask for at once. */
export function alignedOpen(node: usize, spec: usize, state: usize): bool {
  return isEventTime(spec) || setDeadline(node, 0);
}

function alignedDeadline(node: usize, spec: usize, state: usize): void {
  setDeadline(node, load<f64>(state, W_END));
}

function alignedTick(node: usize, spec: usize, state: usize): void {
  if (load<f64>(state, W_END) == 0) alignedStart(spec, state, floor(ctx.nowMs));
  alignedFire(node, spec, state, ctx.nowMs);
}

/** Sets the first window so that `ms` lies in it. */
function alignedStart(spec: usize, state: usize, ms: f64): void {
  store<f64>(state, alignedEnd(ms, load<f64>(spec, WINDOW_UNIT), stepOf(spec), load<u32>(spec, WINDOW_ZONE)), W_END);
  // window_start() of the first window is when it began to listen, a hop's overlap before that for hopping windows.
  const start = ms - (load<f64>(spec, WINDOW_LENGTH) - stepOf(spec));
  store<f64>(state, start > 0 ? start : startOf(spec, load<f64>(state, W_END)), W_START);
}

/**
 * The clock is set back: the open windows are from here on those that are open by the new time, with what they hold.
 * Ends stay aligned, so what is kept moves by as much as the end does.
 */
function alignedSetBack(node: usize, spec: usize, state: usize, ms: f64): void {
  const before = load<f64>(state, W_END);
  if (before == 0) return;
  const end = alignedEnd(
    floor(ctx.nowMs - ms),
    load<f64>(spec, WINDOW_UNIT),
    stepOf(spec),
    load<u32>(spec, WINDOW_ZONE),
  );
  store<f64>(state, end, W_END);
  store<f64>(state, startOf(spec, end), W_START);
  rowsSetBack(state + W_ROWS, before - end);
  if (isInPanes(spec, state)) panesSetBack(state, before - end);
  setDeadline(node, end);
}

/** Takes the selected rows in, sending the windows that end before them. */
function alignedPush(node: usize, spec: usize, state: usize): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  const times = rowTimes();
  let i: u32 = 0;
  while (i < n) {
    const ms = timeOfRow(load<u32>(sel + ((<usize>i) << 2)));
    if (load<f64>(state, W_END) == 0) alignedStart(spec, state, ms);
    if (ms >= load<f64>(state, W_END)) {
      alignedFire(node, spec, state, ms);
      resume();
    }
    const end = isInPanes(spec, state) ? panesEnd(node, spec, state, ms) : load<f64>(state, W_END);
    let j = i + 1;
    while (j < n && load<f64>(times + ((<usize>load<u32>(sel + ((<usize>j) << 2))) << 3)) < end) j++;
    if (!takeIn(spec, state, sel + ((<usize>i) << 2), j - i)) {
      exhaust(node);
      return;
    }
    i = j;
  }
}

/** Sends the windows that end at or before `ms`. */
function alignedFire(node: usize, spec: usize, state: usize, ms: f64): void {
  const step = stepOf(spec);
  const unit = load<f64>(spec, WINDOW_UNIT);
  const zone = load<u32>(spec, WINDOW_ZONE);
  const hops = isHopping(spec);
  const sendsEmpty = hasFlag(spec, WindowFlag.SEND_EMPTY);
  let empty: u32 = 0;
  let end = load<f64>(state, W_END);
  if (end == 0) return;
  while (end <= ms) {
    if (isExhausted(node)) return;
    const isEmpty = isInPanes(spec, state) ? panesAreVoid(spec, state, end) : isVoid(spec, state);
    if (isEmpty && (!sendsEmpty || ++empty > MAX_EMPTY)) {
      const last = lastEnd(end, ms, unit, step, zone);
      end = endAfter(last, 1, unit, step, zone);
      store<f64>(state, hops ? startOf(spec, end) : last, W_START);
      break;
    }
    const start = load<f64>(state, W_START);
    if (isInPanes(spec, state)) panesSend(node, spec, state, start, end);
    else if (hops) {
      sendRange(node, spec, state, start, end, end, startOf(spec, end), end, false);
      rowsDropBefore(state + W_ROWS, startOf(spec, endAfter(end, 1, unit, step, zone)));
    } else sendAll(node, spec, state, start, end, end);
    const before = end;
    end = endAfter(end, 1, unit, step, zone);
    store<f64>(state, hops ? startOf(spec, end) : before, W_START);
  }
  store<f64>(state, end, W_END);
}
