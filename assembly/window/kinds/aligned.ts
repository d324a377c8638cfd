// Windows by the clock: [end - length, end), ends aligned to natural time (window/content/align.ts).
import * as ctx from '../../batch/context';
import { exhaust, isExhausted } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { rowsDropBefore, rowsSetBack } from '../../rows/store';
import { resume, rowTimes } from '../content/frame';
import { WindowFlag, hasFlag, isEventTime } from '../../agg/group/spec';
import { alignedEnd, endAfter, lastEnd, startBefore } from '../content/align';
import { isVoid, sendAll, sendRange, takeIn } from '../content/content';
import { isInPanes, panesAreVoid, panesEnd, panesSend, panesSetBack } from '../panes/panes';
import { timeOfRow } from '../content/times';
import { Kind } from './kind';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

/**
 * Empty windows sent in a row before the rest of a gap is skipped: one wrong timestamp years ahead must not keep the
 * engine busy with empty messages.
 */
const MAX_EMPTY: u32 = 1000;

/** True when windows overlap or leave gaps. */
// @ts-ignore: decorator
@inline function isHopping(spec: WindowSpec): bool {
  return spec.step > 0;
}

// @ts-ignore: decorator
@inline function stepOf(spec: WindowSpec): f64 {
  return isHopping(spec) ? spec.step : spec.length;
}

/** Begin of the window that ends at `end`, epoch ms. */
// @ts-ignore: decorator
@inline function startOf(spec: WindowSpec, end: f64): f64 {
  const unit = spec.unit;
  return startBefore(end, unit, stepOf(spec), spec.length, spec.zone);
}

/** Fills in the functions that kinds by the clock share. */
export function fillAligned(kind: Kind): void {
  kind.open = alignedOpen;
  kind.push = alignedPush;
  kind.deadline = alignedDeadline;
  kind.tick = alignedTick;
  kind.watermark = alignedFire;
  kind.start = alignedBegin;
  kind.setBack = alignedSetBack;
}

/** Windows of processing time count from the first tick, which they ask for at once. */
export function alignedOpen(node: Node, spec: WindowSpec, state: WindowState): bool {
  return isEventTime(spec) || setDeadline(node, 0);
}

function alignedDeadline(node: Node, spec: WindowSpec, state: WindowState): void {
  setDeadline(node, state.end);
}

function alignedTick(node: Node, spec: WindowSpec, state: WindowState): void {
  if (state.end == 0) alignedStart(spec, state, floor(ctx.nowMs));
  alignedFire(node, spec, state, ctx.nowMs);
}

/** Sets the first window so that `ms` lies in it. */
function alignedStart(spec: WindowSpec, state: WindowState, ms: f64): void {
  state.end = alignedEnd(ms, spec.unit, stepOf(spec), spec.zone);
  // window_start() of the first window is when it began to listen, a hop's overlap before that for hopping windows.
  const start = ms - (spec.length - stepOf(spec));
  state.start = start > 0 ? start : startOf(spec, state.end);
}

function alignedBegin(spec: WindowSpec, state: WindowState, ms: f64): void {
  if (state.end == 0) alignedStart(spec, state, ms);
}

/**
 * Handles a clock that is set back: the open windows become those of the new time, with their content. Ends stay
 * aligned, so the kept times move by as much as the end does.
 */
function alignedSetBack(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  const before = state.end;
  if (before == 0) return;
  const end = alignedEnd(floor(ctx.nowMs - ms), spec.unit, stepOf(spec), spec.zone);
  state.end = end;
  state.start = startOf(spec, end);
  rowsSetBack(state.kept, before - end);
  if (isInPanes(spec, state)) panesSetBack(state, before - end);
  setDeadline(node, end);
}

/** Takes the selected rows in, sending the windows that end before them. */
function alignedPush(node: Node, spec: WindowSpec, state: WindowState): void {
  const sel = ctx.sel;
  const n = ctx.selLen;
  const times = rowTimes();
  let i: u32 = 0;
  while (i < n) {
    const ms = timeOfRow(load<u32>(sel + ((<usize>i) << 2)));
    if (state.end == 0) alignedStart(spec, state, ms);
    if (ms >= state.end) {
      alignedFire(node, spec, state, ms);
      resume();
    }
    const end = isInPanes(spec, state) ? panesEnd(node, spec, state, ms) : state.end;
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
function alignedFire(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  const step = stepOf(spec);
  const unit = spec.unit;
  const zone = spec.zone;
  const hops = isHopping(spec);
  const sendsEmpty = hasFlag(spec, WindowFlag.SEND_EMPTY);
  let empty: u32 = 0;
  let end = state.end;
  if (end == 0) return;
  while (end <= ms) {
    if (isExhausted(node)) return;
    const isEmpty = isInPanes(spec, state) ? panesAreVoid(spec, state, end) : isVoid(spec, state);
    if (isEmpty && (!sendsEmpty || ++empty > MAX_EMPTY)) {
      const last = lastEnd(end, ms, unit, step, zone);
      end = endAfter(last, 1, unit, step, zone);
      state.start = hops ? startOf(spec, end) : last;
      break;
    }
    const start = state.start;
    if (isInPanes(spec, state)) panesSend(node, spec, state, start, end);
    else if (hops) {
      sendRange(node, spec, state, start, end, end, startOf(spec, end), end, false);
      rowsDropBefore(state.kept, startOf(spec, endAfter(end, 1, unit, step, zone)));
    } else sendAll(node, spec, state, start, end, end);
    const before = end;
    end = endAfter(end, 1, unit, step, zone);
    state.start = hops ? startOf(spec, end) : before;
  }
  state.end = end;
}
