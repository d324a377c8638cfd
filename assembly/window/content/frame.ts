// What a window needs while it is at work: the batch that it takes in, the times of its rows, where the values of its
// inputs stand, and the message that it sends. What it sends may bring a window below to work before it goes on: each
// has a frame of its own. The frame of a depth is made when a window first works there, and kept.
//
//   frame   0    above u32 | below u32 (0 not made yet) | binds u32 (those in use while a window below is at work)
//           12   spec u32 | program u32          of the inputs
//           20   cols u32 | rows u32 | sel u32 | selLen u32 | rowErrors u32       the batch
//           40   start f64 | end f64 | trigger f64       times of the message of rows that is sent last
//           64   columns u32 | count u32 | group u32 | set u32     its rows under way (window/content/output.ts)
//           80   whereError u64          payload of the error that WHERE gave last, 0 none (window/content/content.ts)
//           96   times f64[1024]         of the rows, by their number in the batch
//           8288 binds 16 [1024]         agg/group/spec.ts
import * as ctx from '../../batch/context';
import { bindBatch, binds, setBinds } from '../../agg/group/spec';
import { alloc, WORKSPACE } from '../../mem/alloc';

const FRAME_ABOVE: usize = 0;
const FRAME_BELOW: usize = 4;
const FRAME_BINDS_IN_USE: usize = 8;
const FRAME_SPEC: usize = 12;
const FRAME_PROGRAM: usize = 16;
const FRAME_COLS: usize = 20;
const FRAME_ROWS: usize = 24;
const FRAME_SEL: usize = 28;
const FRAME_SEL_LEN: usize = 32;
const FRAME_ERRORS: usize = 36;
export const FRAME_START: usize = 40;
export const FRAME_END: usize = 48;
export const FRAME_TRIGGER: usize = 56;
export const FRAME_ROW_COLS: usize = 64;
export const FRAME_ROW_COUNT: usize = 68;
export const FRAME_ROW_GROUP: usize = 72;
export const FRAME_ROW_SET: usize = 76;
export const FRAME_WHERE_ERROR: usize = 80;
const FRAME_TIMES: usize = 96;
const HEAD: u32 = 96;
const FRAME_BINDS: usize = 8288;
const SIZE: u32 = 24672;

/** No window is at work. */
const NONE: usize = memory.data(96, 16);
const FIRST: usize = memory.data(24672, 16);

/** Frame of the window at work. */
export let frame: usize = NONE;

/** A window begins its work; false when memory is exhausted. */
export function frameEnter(): bool {
  let below = frame == NONE ? FIRST : <usize>load<u32>(frame, FRAME_BELOW);
  if (!below) {
    below = alloc(SIZE, WORKSPACE);
    if (!below) return false;
    memory.fill(below, 0, HEAD);
    store<u32>(frame, <u32>below, FRAME_BELOW);
  }
  store<u32>(frame, <u32>binds, FRAME_BINDS_IN_USE);
  store<u32>(below, <u32>frame, FRAME_ABOVE);
  frame = below;
  setBinds(below + FRAME_BINDS);
  return true;
}

/** It has ended its work: the window above goes on. */
export function frameLeave(): void {
  assert(frame != NONE, 'a window left that was not at work');
  frame = <usize>load<u32>(frame, FRAME_ABOVE);
  setBinds(<usize>load<u32>(frame, FRAME_BINDS_IN_USE));
}

/** True when no window is at work. */
export function frameIsFree(): bool {
  return frame == NONE;
}

/** The frame of the window that brought this one to work. */
export function frameAbove(): usize {
  return <usize>load<u32>(frame, FRAME_ABOVE);
}

/** Times of the rows of the batch, f64 each, by their number in it. */
// @ts-ignore: decorator
@inline export function rowTimes(): usize {
  return frame + FRAME_TIMES;
}

/** Notes the current batch and binds the inputs to it. */
export function hold(spec: usize, program: usize): void {
  store<u32>(frame, <u32>ctx.cols, FRAME_COLS);
  store<u32>(frame, ctx.rows, FRAME_ROWS);
  store<u32>(frame, <u32>ctx.sel, FRAME_SEL);
  store<u32>(frame, ctx.selLen, FRAME_SEL_LEN);
  store<u32>(frame, <u32>ctx.rowErrors, FRAME_ERRORS);
  store<u32>(frame, <u32>spec, FRAME_SPEC);
  store<u32>(frame, <u32>program, FRAME_PROGRAM);
  bindBatch(spec, program);
}

/**
 * Sending replaces the current batch and binds kept rows: makes the noted batch the current one again and binds the
 * inputs to it.
 */
export function resume(): void {
  ctx.setBatch(
    <usize>load<u32>(frame, FRAME_COLS),
    load<u32>(frame, FRAME_ROWS),
    <usize>load<u32>(frame, FRAME_SEL),
    load<u32>(frame, FRAME_SEL_LEN),
    <usize>load<u32>(frame, FRAME_ERRORS),
  );
  bindBatch(<usize>load<u32>(frame, FRAME_SPEC), <usize>load<u32>(frame, FRAME_PROGRAM));
}
