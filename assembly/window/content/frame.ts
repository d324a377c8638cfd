// Working state of a window: the batch it takes in, the times of its rows, the places of its inputs, and the message it
// sends. A window below may start to work while this one sends, so each depth has a frame of its own. The frame of a
// depth is made when a window first works there, and kept.
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
import { Program } from '../../gen/ops-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from '../../agg/group/table';

/** Head of a frame. */
// @ts-ignore: decorator
@unmanaged
class Frame {
  above: Frame;
  below: Frame;
  bindsInUse: usize;
  spec: WindowSpec;
  program: Program;
  cols: usize;
  rows: u32;
  sel: usize;
  selLen: u32;
  rowErrors: usize;
  start: f64;
  end: f64;
  trigger: f64;
  rowCols: usize;
  rowCount: u32;
  rowGroup: Group;
  rowSet: GroupSet;
  whereError: u64;
}

const FRAME_TIMES: usize = 96;
const HEAD: u32 = 96;
const FRAME_BINDS: usize = 8288;
const SIZE: u32 = 24672;

/** Stands for a frame while no window is at work. */
const NONE: Frame = changetype<Frame>(memory.data(96, 16));
const FIRST: Frame = changetype<Frame>(memory.data(24672, 16));

/** Frame of the window at work. */
export let frame: Frame = NONE;

/** Begins the work of a window; false when memory is exhausted. */
export function frameEnter(): bool {
  let below = frame == NONE ? FIRST : frame.below;
  if (!below) {
    below = changetype<Frame>(alloc(SIZE, WORKSPACE));
    if (!below) return false;
    memory.fill(changetype<usize>(below), 0, HEAD);
    frame.below = below;
  }
  frame.bindsInUse = binds;
  below.above = frame;
  frame = below;
  setBinds(changetype<usize>(below) + FRAME_BINDS);
  return true;
}

/** Ends the work of the window; the window above goes on. */
export function frameLeave(): void {
  assert(frame != NONE, 'a window left that was not at work');
  frame = frame.above;
  setBinds(frame.bindsInUse);
}

/** True when no window is at work. */
export function frameIsFree(): bool {
  return frame == NONE;
}

/** The frame of the window that brought this one to work. */
export function frameAbove(): Frame {
  return frame.above;
}

/** Times of the rows of the batch, f64 each, by their number in it. */
// @ts-ignore: decorator
@inline export function rowTimes(): usize {
  return changetype<usize>(frame) + FRAME_TIMES;
}

/** Stores the current batch in the frame and binds the inputs to it. */
export function hold(spec: WindowSpec, program: Program): void {
  frame.cols = ctx.cols;
  frame.rows = ctx.rows;
  frame.sel = ctx.sel;
  frame.selLen = ctx.selLen;
  frame.rowErrors = ctx.rowErrors;
  frame.spec = spec;
  frame.program = program;
  bindBatch(spec, program);
}

/**
 * Makes the stored batch current again and binds the inputs to it, because sending replaces the batch and binds kept
 * rows.
 */
export function resume(): void {
  ctx.setBatch(frame.cols, frame.rows, frame.sel, frame.selLen, frame.rowErrors);
  bindBatch(frame.spec, frame.program);
}
