// The functions of a kind of window, in one record: a window calls them by their number in the function table. Each
// setter says what applies when a kind leaves its function out. Each file in window/kinds that has a kind fills in its
// record when the kernel starts.
//
// `state` is the state of the window (window/content/state.ts). Where rows are partitioned each partition has one,
// `part`, and the functions of the second half are called in place of those of the first.
import { WindowFlag, hasFlag } from '../../agg/group/spec';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

const RECORD: u32 = 72;
const FLAGS: usize = 0;
const OPEN: usize = 4;
const PUSH: usize = 8;
const PUSH_MESSAGE: usize = 12;
const BEGIN: usize = 16;
const END: usize = 20;
const DEADLINE: usize = 24;
const TICK: usize = 28;
const WATERMARK: usize = 32;
const SET_BACK: usize = 36;
const IS_SOUND: usize = 40;
const TAKE: usize = 44;
const OPENS: usize = 48;
const SEND: usize = 52;
const DUE: usize = 56;
const IS_OVER: usize = 60;
const FIRE: usize = 64;
const START: usize = 68;

/** Records of the kinds 0 … 31. */
const RECORDS: usize = memory.data(72 * 32, 16);

/** The record of a kind, as its file fills it in. */
// @ts-ignore: decorator
@unmanaged
export class Kind {
  /** Flags that follow from the kind and the spec; they are set before anything else. Left out: none. */
  set flags(f: (spec: WindowSpec) => u32) {
    store<u32>(changetype<usize>(this), f.index, FLAGS);
  }

  /** Completes a new window without partitions; false when memory is exhausted. Left out: it is complete. */
  set open(f: (node: Node, spec: WindowSpec, state: WindowState) => bool) {
    store<u32>(changetype<usize>(this), f.index, OPEN);
  }

  /** Takes the current batch, which has no failed row; the times of its rows are read already. */
  set push(f: (node: Node, spec: WindowSpec, state: WindowState) => void) {
    store<u32>(changetype<usize>(this), f.index, PUSH);
  }

  /** Takes a batch of the message above in place of `push`. Left out: messages above are no windows. */
  set pushMessage(f: (node: Node, spec: WindowSpec, state: WindowState) => void) {
    store<u32>(changetype<usize>(this), f.index, PUSH_MESSAGE);
  }

  /** The message above begins. */
  set begin(f: (node: Node) => void) {
    store<u32>(changetype<usize>(this), f.index, BEGIN);
  }

  /** The message above ends, with the span of an error text if it failed. */
  set end(f: (node: Node, failedOff: usize, failedLen: u32) => void) {
    store<u32>(changetype<usize>(this), f.index, END);
  }

  /** Asks for the next tick by the clock. Left out: none. */
  set deadline(f: (node: Node, spec: WindowSpec, state: WindowState) => void) {
    store<u32>(changetype<usize>(this), f.index, DEADLINE);
  }

  /** The clock has come to the deadline. Left out: nothing ends by the clock. */
  set tick(f: (node: Node, spec: WindowSpec, state: WindowState) => void) {
    store<u32>(changetype<usize>(this), f.index, TICK);
  }

  /** No row older than `ms` will come (event time). Left out: nothing ends by the time of rows. */
  set watermark(f: (node: Node, spec: WindowSpec, state: WindowState, ms: f64) => void) {
    store<u32>(changetype<usize>(this), f.index, WATERMARK);
  }

  /**
   * The first of all rows has the time `ms` (event time), of which the window may have others alone. Left out: windows
   * begin with rows that they have.
   */
  set start(f: (spec: WindowSpec, state: WindowState, ms: f64) => void) {
    store<u32>(changetype<usize>(this), f.index, START);
  }

  /**
   * Handles a clock that is set back by `ms`: processing times in the window or partition move along. Left out: there
   * are none.
   */
  set setBack(f: (node: Node, spec: WindowSpec, state: WindowState, ms: f64) => void) {
    store<u32>(changetype<usize>(this), f.index, SET_BACK);
  }

  /** False for a loaded state that is not possible. Left out: all are possible. */
  set isSound(f: (spec: WindowSpec, state: WindowState) => bool) {
    store<u32>(changetype<usize>(this), f.index, IS_SOUND);
  }

  /** Takes the row at `at`, of the time `ms`, into its partition. Left out: such windows have no partitions. */
  set take(f: (node: Node, spec: WindowSpec, part: WindowState, at: usize, ms: f64) => void) {
    store<u32>(changetype<usize>(this), f.index, TAKE);
  }

  /**
   * True for a row that opens a window where its partition has none; a failed value of the partition is then like other
   * values. Left out: each row opens one, and a row with a failed value fails.
   */
  set opens(f: (spec: WindowSpec, row: u32) => bool) {
    store<u32>(changetype<usize>(this), f.index, OPENS);
  }

  /** Sends or notes the window of a row, once all rows of its time are in. Left out: rows have no windows. */
  set send(f: (node: Node, spec: WindowSpec, part: WindowState, row: u32, ms: f64) => void) {
    store<u32>(changetype<usize>(this), f.index, SEND);
  }

  /** Time at which the partition is due, epoch ms. Left out: it is forgotten when its time without rows is over. */
  set due(f: (spec: WindowSpec, part: WindowState) => f64) {
    store<u32>(changetype<usize>(this), f.index, DUE);
  }

  /** True when no row at `ms` or later needs what the partition holds. Left out: later rows always may. */
  set isOver(f: (spec: WindowSpec, part: WindowState, ms: f64) => bool) {
    store<u32>(changetype<usize>(this), f.index, IS_OVER);
  }

  /** Sends the windows of the partition that are due. Left out: none ever are. */
  set fire(f: (node: Node, spec: WindowSpec, part: WindowState) => void) {
    store<u32>(changetype<usize>(this), f.index, FIRE);
  }
}

/** The record of the kind with that number. */
export function kindOf(number: u32): Kind {
  return changetype<Kind>(RECORDS + number * RECORD);
}

// @ts-ignore: decorator
@inline function entry(spec: WindowSpec, field: usize): u32 {
  return load<u32>(RECORDS + spec.kind * RECORD + field);
}

/** Sets the flags that follow from the kind. */
export function setFlags(spec: WindowSpec): void {
  const flags = entry(spec, FLAGS);
  if (flags) spec.flags |= call_indirect<u32>(flags, spec);
  if (!hasFlag(spec, WindowFlag.GROUPED)) spec.flags |= WindowFlag.KEEPS_ROWS;
}

/** Completes a new window; false when memory is exhausted. */
export function openOf(node: Node, spec: WindowSpec, state: WindowState): bool {
  const open = entry(spec, OPEN);
  return !open || call_indirect<bool>(open, node, spec, state);
}

export function pushOf(node: Node, spec: WindowSpec, state: WindowState): void {
  call_indirect<void>(entry(spec, PUSH), node, spec, state);
}

/** True where the messages above are the windows. */
// @ts-ignore: decorator
@inline export function isOfMessages(spec: WindowSpec): bool {
  return entry(spec, PUSH_MESSAGE) != 0;
}

export function pushMessageOf(node: Node, spec: WindowSpec, state: WindowState): void {
  call_indirect<void>(entry(spec, PUSH_MESSAGE), node, spec, state);
}

export function beginOf(node: Node, spec: WindowSpec): void {
  call_indirect<void>(entry(spec, BEGIN), node);
}

export function endOf(node: Node, spec: WindowSpec, failedOff: usize, failedLen: u32): void {
  call_indirect<void>(entry(spec, END), node, failedOff, failedLen);
}

export function deadlineOf(node: Node, spec: WindowSpec, state: WindowState): void {
  const deadline = entry(spec, DEADLINE);
  if (deadline) call_indirect<void>(deadline, node, spec, state);
}

export function tickOf(node: Node, spec: WindowSpec, state: WindowState): void {
  const tick = entry(spec, TICK);
  if (tick) call_indirect<void>(tick, node, spec, state);
}

export function watermarkOf(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  const watermark = entry(spec, WATERMARK);
  if (watermark) call_indirect<void>(watermark, node, spec, state, ms);
}

export function startOf(spec: WindowSpec, state: WindowState, ms: f64): void {
  const start = entry(spec, START);
  if (start) call_indirect<void>(start, spec, state, ms);
}

export function setBackOf(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  const setBack = entry(spec, SET_BACK);
  if (setBack) call_indirect<void>(setBack, node, spec, state, ms);
}

export function isSound(spec: WindowSpec, state: WindowState): bool {
  const isSound = entry(spec, IS_SOUND);
  return !isSound || call_indirect<bool>(isSound, spec, state);
}

export function takeOf(node: Node, spec: WindowSpec, part: WindowState, at: usize, ms: f64): void {
  call_indirect<void>(entry(spec, TAKE), node, spec, part, at, ms);
}

/** True where only some rows open a window. */
// @ts-ignore: decorator
@inline export function choosesRows(spec: WindowSpec): bool {
  return entry(spec, OPENS) != 0;
}

export function opensOf(spec: WindowSpec, row: u32): bool {
  return call_indirect<bool>(entry(spec, OPENS), spec, row);
}

/** True where rows have windows; rows of the same time share theirs. */
// @ts-ignore: decorator
@inline export function rowsHaveWindows(spec: WindowSpec): bool {
  return entry(spec, SEND) != 0;
}

export function sendOf(node: Node, spec: WindowSpec, part: WindowState, row: u32, ms: f64): void {
  call_indirect<void>(entry(spec, SEND), node, spec, part, row, ms);
}

/** True where the kind says when its partitions are due. */
// @ts-ignore: decorator
@inline export function hasDue(spec: WindowSpec): bool {
  return entry(spec, DUE) != 0;
}

export function dueOf(spec: WindowSpec, part: WindowState): f64 {
  return call_indirect<f64>(entry(spec, DUE), spec, part);
}

export function isOver(spec: WindowSpec, part: WindowState, ms: f64): bool {
  const isOver = entry(spec, IS_OVER);
  return isOver && call_indirect<bool>(isOver, spec, part, ms);
}

export function fireOf(node: Node, spec: WindowSpec, part: WindowState): void {
  const fire = entry(spec, FIRE);
  if (fire) call_indirect<void>(fire, node, spec, part);
}
