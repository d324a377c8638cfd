// Window nodes: rows come in, messages go out. This file has the parts that all kinds share: opening, the clock,
// errors, freeing.
import * as ctx from '../batch/context';
import { NodeFlag, accountOf, exhaust, isExhausted, timesColumn } from '../node/node';
import { Operator, Signal, Trait, nearestAbove } from '../node/operator';
import { selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { clearDeadline } from '../node/timers';
import { allocZeroed, free } from '../mem/alloc';
import { OPERAND_COL, Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';
import { vmRun } from '../ops/vm';
import { WindowFlag, hasFlag, isEventTime, isPartitioned, specPrepare } from '../agg/group/spec';
import { windowKindsInit } from './gen/kinds';
import { setFree, setInit } from '../agg/group/group';
import { rowsFree } from '../rows/store';
import {
  beginOf,
  deadlineOf,
  endOf,
  isOfMessages,
  openOf,
  pushMessageOf,
  pushOf,
  rowsHaveWindows,
  setBackOf,
  setFlags,
  tickOf,
  startOf,
  watermarkOf,
} from './kinds/kind';
import { frameEnter, frameLeave, hold } from './content/frame';
import { keptInit } from './content/kept';
import { keyedDeadline, keyedPush, keyedSetBack, keyedTick, keyedWatermark } from './partitions/keyed';
import { vectorsFree } from './stacks/vectors';
import { panesFree } from './panes/panes';
import { outboxFree, sendError, sendSignal } from './content/outbox';
import {
  Partitions,
  partitionCount,
  partitionsForgotten,
  partitionsFree,
  partitionsOpen,
} from './partitions/partitions';
import { piecesSend } from './pieces';
import { queueFree } from './content/queue';
import { windowLoad, windowSave } from './save';
import { stacksFree, stacksOpen } from './stacks/stacks';
import { windowResults } from './results';
import { readTimes } from './content/times';
import { WindowState, W_PARTITIONS, W_SIZE } from './content/state';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';
import { WindowSpec } from '../gen/window-layouts';
import { PartitionTable } from '../partitions/table-slots';

export function windowOperator(operator: Operator): void {
  operator.open = windowOpen;
  operator.push = windowPush;
  operator.signal = windowSignal;
  operator.tick = windowTick;
  operator.save = windowSave;
  operator.load = windowLoad;
  operator.free = windowFree;
  operator.setBack = windowSetBack;
  operator.deferred = piecesSend;
  operator.results = windowResults;
  operator.traits = Trait.BUFFERS | Trait.KEEPS_MESSAGES | Trait.MAKES_ROWS;
  windowKindsInit();
}

/** Makes the state of a window node whose spec stands in `spec`. Returns false when memory is exhausted. */
export function windowOpen(node: Node): bool {
  const spec = changetype<WindowSpec>(node.spec);
  specPrepare(spec);
  setFlags(spec);
  const flags = node.flags & ~NodeFlag.DEFERS;
  node.flags = flags | NodeFlag.MESSAGES | (keepsOutbox(spec) ? NodeFlag.DEFERS : 0);
  if (isEventTime(spec)) followEventTime(node, spec);
  const acct = accountOf(node);
  const state = changetype<WindowState>(allocZeroed(W_SIZE, acct));
  if (!state) return false;
  node.state = changetype<usize>(state);
  node.stateSize = W_SIZE;
  setInit(state, acct);
  keptInit(spec, state, acct);
  if (isPartitioned(spec)) return partitionsOpen(node, state);
  if (hasFlag(spec, WindowFlag.STACKS) && !stacksOpen(node, state)) return false;
  return openOf(node, spec, state);
}

/**
 * True when the window can defer its results: groups move to the outbox, while rows, panes and stacks stay as they are.
 * Stacks of partitions are sent at once.
 */
function keepsOutbox(spec: WindowSpec): bool {
  return !hasFlag(spec, WindowFlag.SENDS_AT_ONCE) && !(hasFlag(spec, WindowFlag.STACKS) && isPartitioned(spec));
}

/**
 * Below an eventTime node its column of parsed times is the timestamp, whatever the plan names, so that texts are
 * parsed once. The eventTime node also decides whether rows of the same time come together.
 */
function followEventTime(node: Node, spec: WindowSpec): void {
  const column = timesColumn(node);
  if (column < 0) return;
  spec.timestamp = <u16>(OPERAND_COL + column);
  if (!(node.flags & NodeFlag.TIES)) return;
  spec.flags |= WindowFlag.JOINS_EQUAL;
  if (!rowsHaveWindows(spec)) return;
  const above = nearestAbove(node, Trait.ORDERS_BY_TIME);
  if (above) above.flags |= NodeFlag.ROUNDS;
}

/** Begins the work of a window; false when memory is exhausted. */
function enter(node: Node): bool {
  if (frameEnter()) return true;
  exhaust(node);
  return false;
}

/** Gives the current batch to the window. */
export function windowPush(node: Node): void {
  if (!enter(node)) return;
  const spec = changetype<WindowSpec>(node.spec);
  const state = changetype<WindowState>(node.state);
  if (isOfMessages(spec)) pushMessageOf(node, spec, state);
  else if (ctx.rowErrors) pushBetweenFailures(node, spec, state, node.program);
  else pushAll(node, spec, state, node.program);
  frameLeave();
}

function pushAll(node: Node, spec: WindowSpec, state: WindowState, program: Program): void {
  if (program) vmRun(program);
  readTimes(spec, program, ctx.sel, ctx.selLen);
  hold(spec, program);
  push(node, spec, state);
}

/**
 * Takes in the rows that have not failed; each failure goes on as a message, after the results of the rows before it.
 */
function pushBetweenFailures(node: Node, spec: WindowSpec, state: WindowState, program: Program): void {
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const errors = ctx.rowErrors;
  const clean = selectionPush();
  if (!clean) {
    exhaust(node);
    return;
  }
  const n = withoutErrors(sel, selLen, errors, clean);
  if (n) {
    ctx.setSelection(clean, n);
    if (program) vmRun(program);
    readTimes(spec, program, clean, n);
  }
  let from: u32 = 0;
  let to: u32 = 0;
  for (let i: u32 = 0; i <= selLen; i++) {
    const isEnd = i == selLen;
    const row = isEnd ? 0 : load<u32>(sel + ((<usize>i) << 2));
    if (!isEnd && tagAt(errors, row) != Tag.ERROR) {
      to++;
      continue;
    }
    if (from < to && !isExhausted(node)) {
      ctx.setBatch(cols, rows, clean + ((<usize>from) << 2), to - from, 0);
      hold(spec, program);
      push(node, spec, state);
      from = to;
    }
    if (!isEnd) passFailure(node, valAt(errors, row));
  }
  selectionPop();
}

function push(node: Node, spec: WindowSpec, state: WindowState): void {
  if (isPartitioned(spec)) {
    keyedPush(node, spec, state);
    if (!isExhausted(node)) keyedDeadline(node, spec, state);
    return;
  }
  pushOf(node, spec, state);
  askForTick(node, spec, state);
}

/** Sets the deadline of a window of processing time. */
function askForTick(node: Node, spec: WindowSpec, state: WindowState): void {
  if (!isEventTime(spec) && !isExhausted(node)) deadlineOf(node, spec, state);
}

/**
 * Sends the failure of a row that failed above, where it is counted, as a message of its own; the row is in no window.
 */
function passFailure(node: Node, text: u64): void {
  if (!(node.flags & NodeFlag.SEND_ERROR)) return;
  sendError(node, offOf(text), lenOf(text));
}

/** Handles a tick at the deadline of the node (ctx.nowMs); the deadline is cleared already. */
export function windowTick(node: Node): void {
  if (isExhausted(node) || !enter(node)) return;
  const spec = changetype<WindowSpec>(node.spec);
  const state = changetype<WindowState>(node.state);
  if (isPartitioned(spec)) {
    keyedTick(node, spec, state);
    frameLeave();
    return;
  }
  tickOf(node, spec, state);
  frameLeave();
  askForTick(node, spec, state);
}

/**
 * Begin and end of a message concern only windows of messages; other windows take watermarks. A failed message from
 * another window has no rows, and its failure goes on.
 */
function windowSignal(node: Node, signal: u32, value: u64): void {
  const spec = changetype<WindowSpec>(node.spec);
  switch (signal) {
    case Signal.BEGIN:
      if (isOfMessages(spec)) beginOf(node, spec);
      break;
    case Signal.END:
      if (isOfMessages(spec)) windowEnd(node, spec, value);
      else if (value) passFailure(node, value);
      break;
    case Signal.START:
      if (!isPartitioned(spec)) startOf(spec, changetype<WindowState>(node.state), reinterpret<f64>(value));
      break;
    case Signal.WATERMARK:
      windowWatermark(node, reinterpret<f64>(value));
    default:
      sendSignal(node, signal, value);
  }
}

function windowEnd(node: Node, spec: WindowSpec, value: u64): void {
  if (!enter(node)) return;
  endOf(node, spec, offOf(value), lenOf(value));
  frameLeave();
}

/** Takes a watermark: no row older than `ms` comes any more. Afterwards the current batch is another one. */
function windowWatermark(node: Node, ms: f64): void {
  if (!enter(node)) return;
  const spec = changetype<WindowSpec>(node.spec);
  const state = changetype<WindowState>(node.state);
  if (isPartitioned(spec)) keyedWatermark(node, spec, state, ms);
  else watermarkOf(node, spec, state, ms);
  frameLeave();
}

/** Handles a clock that is set back by `ms`: the content of windows of processing time keeps its age. */
function windowSetBack(node: Node, ms: f64): void {
  const spec = changetype<WindowSpec>(node.spec);
  if (isExhausted(node)) return;
  const state = changetype<WindowState>(node.state);
  if (isPartitioned(spec)) keyedSetBack(node, spec, state, ms);
  else if (!isEventTime(spec)) setBackOf(node, spec, state, ms);
}

/** Frees the state of the window. */
export function windowFree(node: Node): void {
  clearDeadline(node);
  const state = changetype<WindowState>(node.state);
  if (!state) return;
  outboxFree(node);
  setFree(state);
  rowsFree(state.kept);
  const spec = changetype<WindowSpec>(node.spec);
  if (isPartitioned(spec)) partitionsFree(node, state);
  else if (hasFlag(spec, WindowFlag.PANES)) panesFree(node, state);
  else stacksFree(node, state);
  vectorsFree(node, state);
  queueFree(state, accountOf(node));
  free(changetype<usize>(state), W_SIZE, accountOf(node));
  node.state = 0;
}

/** Number of partitions that a window keeps; 0 where rows are not partitioned. */
export function windowPartitions(node: Node): u32 {
  const state = node.state;
  return isPartitioned(changetype<WindowSpec>(node.spec))
    ? partitionCount(changetype<PartitionTable>(load<u32>(state, W_PARTITIONS)))
    : 0;
}

/** Number of partitions that a window has forgotten because no rows came for them. */
export function windowForgotten(node: Node): u64 {
  const state = node.state;
  return isPartitioned(changetype<WindowSpec>(node.spec))
    ? partitionsForgotten(changetype<Partitions>(load<u32>(state, W_PARTITIONS)))
    : 0;
}
