// Window nodes: rows come in, messages go out. What the kinds have in common: opening, the clock, errors, freeing.
import * as ctx from '../batch/context';
import {
  N_DEADLINE,
  N_FLAGS,
  N_HEAP,
  N_PROGRAM,
  N_SPEC,
  N_STATE,
  N_STATE_SIZE,
  NodeFlag,
  accountOf,
  exhaust,
  isExhausted,
  timesColumn,
} from '../node/node';
import { Operator, Signal, Trait, nearestAbove } from '../node/operator';
import { selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { clearDeadline, setDeadline } from '../node/timers';
import { allocZeroed, free } from '../mem/alloc';
import { OPERAND_COL, Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';
import { vmRun } from '../ops/vm';
import {
  WINDOW_FLAGS,
  WINDOW_KIND,
  WINDOW_TIMESTAMP,
  WindowFlag,
  WindowKind,
  isPartitioned,
  specPrepare,
} from '../agg/spec';
import { setFree, setInit } from '../agg/group';
import { rowsFree, rowsSetBack } from '../rows/store';
import { frameEnter, frameLeave, hold } from './content/frame';
import { alignedFire, alignedPush, alignedSetBack, alignedStart } from './kinds/aligned';
import { countPush, endedSetBack, statePush } from './kinds/counting';
import { eachRowPush } from './kinds/row';
import { keptInit } from './content/kept';
import { keyedDeadline, keyedPush, keyedSetBack, keyedTick, keyedWatermark } from './partitions/keyed';
import { lanesFree, lanesOpen } from './stacks/vectors';
import { messageBegin, messageEnd, messagePush } from './kinds/message';
import { hasPanes, panesFree, panesOpen } from './panes/panes';
import { outboxFree, sendError, sendSignal } from './content/outbox';
import { partitionCount, partitionsForgotten, partitionsFree, partitionsOpen } from './partitions/partitions';
import { piecesSend } from './pieces';
import { queueFree, queueSetBack } from './content/queue';
import { sessionDeadline, sessionPush, sessionSetBack, sessionTick, sessionWatermark } from './kinds/session';
import { slidingDeadline, slidingFire, slidingPush } from './kinds/sliding';
import { windowLoad, windowSave } from './save';
import { canStack, stacksFree, stacksOpen } from './stacks/stacks';
import { windowResults } from './results';
import { readTimes } from './content/times';
import { W_END, W_LANES, W_PARTITIONS, W_ROWS, W_SET, W_SIZE } from './content/state';

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
}

// @ts-ignore: decorator
@inline function isEventTime(spec: usize): bool {
  return (load<u32>(spec, WINDOW_FLAGS) & WindowFlag.EVENT_TIME) != 0;
}

/**
 * Makes the state of a window node whose spec stands in N_SPEC. Windows of processing time count from the first tick,
 * which they ask for at once. Returns false when memory is exhausted.
 */
export function windowOpen(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  specPrepare(spec);
  const flags = load<u32>(node, N_FLAGS) & ~NodeFlag.DEFERS;
  store<u32>(node, flags | NodeFlag.MESSAGES | (keepsOutbox(spec) ? NodeFlag.DEFERS : 0), N_FLAGS);
  if (isEventTime(spec)) followEventTime(node, spec);
  const acct = accountOf(node);
  const state = allocZeroed(W_SIZE, acct);
  if (!state) return false;
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, W_SIZE, N_STATE_SIZE);
  setInit(state + W_SET, acct);
  keptInit(spec, state, acct);
  if (isPartitioned(spec)) return partitionsOpen(node, state);
  if (canStack(spec) && !stacksOpen(node, state)) return false;
  if (!lanesOpen(node, spec, state)) return false;
  // Lanes send at once what takes them a moment.
  if (load<u32>(state, W_LANES)) store<u32>(node, load<u32>(node, N_FLAGS) & ~NodeFlag.DEFERS, N_FLAGS);
  if (hasPanes(spec) && !panesOpen(node, state)) return false;
  if (!isEventTime(spec) && load<u32>(spec, WINDOW_KIND) <= WindowKind.HOPPING) {
    return setDeadline(node, 0);
  }
  return true;
}

/**
 * What it sends it can leave to later: groups leave it, rows, panes and stacks stay as they are. Stacks of partitions
 * are sent at once.
 */
function keepsOutbox(spec: usize): bool {
  return load<u32>(spec, WINDOW_KIND) != WindowKind.ROW && !(canStack(spec) && isPartitioned(spec));
}

/**
 * Below an eventTime node its column of parsed times is the timestamp, whatever the plan names: texts are parsed once.
 * It also says whether rows of the same time come together.
 */
function followEventTime(node: usize, spec: usize): void {
  const column = timesColumn(node);
  if (column < 0) return;
  store<u16>(spec, <u16>(OPERAND_COL + column), WINDOW_TIMESTAMP);
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.TIES)) return;
  store<u32>(spec, load<u32>(spec, WINDOW_FLAGS) | WindowFlag.JOINS_EQUAL, WINDOW_FLAGS);
  if (load<u32>(spec, WINDOW_KIND) != WindowKind.SLIDING) return;
  const above = nearestAbove(node, Trait.ORDERS_BY_TIME);
  if (above) store<u32>(above, load<u32>(above, N_FLAGS) | NodeFlag.ROUNDS, N_FLAGS);
}

/** Begins the work of a window; false when memory is exhausted. */
function enter(node: usize): bool {
  if (frameEnter()) return true;
  exhaust(node);
  return false;
}

/** Gives the current batch to the window. */
export function windowPush(node: usize): void {
  if (!enter(node)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(spec, WINDOW_KIND) == WindowKind.MESSAGE) messagePush(node, spec, state);
  else if (ctx.rowErrors) pushBetweenFailures(node, spec, state, <usize>load<u32>(node, N_PROGRAM));
  else pushAll(node, spec, state, <usize>load<u32>(node, N_PROGRAM));
  frameLeave();
}

function pushAll(node: usize, spec: usize, state: usize, program: usize): void {
  if (program) vmRun(program);
  readTimes(spec, program, ctx.sel, ctx.selLen);
  hold(spec, program);
  push(node, spec, state);
}

/** Takes the rows in that have not failed; each failure goes on as a message, after what the rows before it make. */
function pushBetweenFailures(node: usize, spec: usize, state: usize, program: usize): void {
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

function push(node: usize, spec: usize, state: usize): void {
  if (isPartitioned(spec)) {
    keyedPush(node, spec, state);
    if (!isExhausted(node)) keyedDeadline(node, spec, state);
    return;
  }
  switch (load<u32>(spec, WINDOW_KIND)) {
    case WindowKind.TUMBLING:
    case WindowKind.HOPPING:
      alignedPush(node, spec, state);
      break;
    case WindowKind.SLIDING:
      slidingPush(node, spec, state);
      break;
    case WindowKind.SESSION:
      sessionPush(node, spec, state);
      break;
    case WindowKind.COUNT:
      countPush(node, spec, state);
      break;
    case WindowKind.STATE:
      statePush(node, spec, state);
      break;
    default:
      eachRowPush(node, spec, state);
  }
  askForTick(node, spec, state);
}

/** Sets the deadline of a window of processing time. */
function askForTick(node: usize, spec: usize, state: usize): void {
  if (isEventTime(spec) || isExhausted(node)) return;
  switch (load<u32>(spec, WINDOW_KIND)) {
    case WindowKind.TUMBLING:
    case WindowKind.HOPPING:
      setDeadline(node, load<f64>(state, W_END));
      break;
    case WindowKind.SLIDING:
      slidingDeadline(node, spec, state);
      break;
    case WindowKind.SESSION:
      sessionDeadline(node, spec, state, load<u32>(node, N_HEAP) != 0, load<f64>(node, N_DEADLINE));
      break;
    default:
      break;
  }
}

/** A row that failed before the window, where it is counted, doesn't enter it: its failure is a message of its own. */
function passFailure(node: usize, text: u64): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.SEND_ERROR)) return;
  sendError(node, offOf(text), lenOf(text));
}

/** The time that the node asked for has come (ctx.nowMs); its deadline is taken back already. */
export function windowTick(node: usize): void {
  if (isExhausted(node) || !enter(node)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  if (isPartitioned(spec)) {
    keyedTick(node, spec, state);
    frameLeave();
    return;
  }
  switch (load<u32>(spec, WINDOW_KIND)) {
    case WindowKind.TUMBLING:
    case WindowKind.HOPPING:
      if (load<f64>(state, W_END) == 0) alignedStart(spec, state, floor(ctx.nowMs));
      alignedFire(node, spec, state, ctx.nowMs);
      break;
    case WindowKind.SLIDING:
      slidingFire(node, spec, state, ctx.nowMs);
      break;
    case WindowKind.SESSION:
      sessionTick(node, spec, state);
      break;
    default:
      break;
  }
  frameLeave();
  askForTick(node, spec, state);
}

/**
 * Messages begin and end only for windows of messages, time goes on for all others. Rows of another window that such a
 * one gathers come one by one; a message that failed has no rows, its failure goes on.
 */
function windowSignal(node: usize, signal: u32, value: u64): void {
  switch (signal) {
    case Signal.BEGIN:
      if (isOfMessages(node)) messageBegin(node);
      break;
    case Signal.END:
      if (isOfMessages(node)) windowEnd(node, value);
      else if (value) passFailure(node, value);
      break;
    case Signal.WATERMARK:
      windowWatermark(node, reinterpret<f64>(value));
    default:
      sendSignal(node, signal, value);
  }
}

// @ts-ignore: decorator
@inline function isOfMessages(node: usize): bool {
  return load<u32>(<usize>load<u32>(node, N_SPEC), WINDOW_KIND) == WindowKind.MESSAGE;
}

function windowEnd(node: usize, value: u64): void {
  if (!enter(node)) return;
  messageEnd(node, offOf(value), lenOf(value));
  frameLeave();
}

/** No row older than `ms` will come any more (event time). Afterwards the current batch is another one. */
function windowWatermark(node: usize, ms: f64): void {
  if (!enter(node)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  if (isPartitioned(spec)) {
    keyedWatermark(node, spec, state, ms);
    frameLeave();
    return;
  }
  switch (load<u32>(spec, WINDOW_KIND)) {
    case WindowKind.TUMBLING:
    case WindowKind.HOPPING:
      alignedFire(node, spec, state, ms);
      break;
    case WindowKind.SLIDING:
      slidingFire(node, spec, state, ms);
      break;
    case WindowKind.SESSION:
      sessionWatermark(node, spec, state, ms);
      break;
    default:
      break;
  }
  frameLeave();
}

/** The clock is set back by so many ms: what windows of processing time hold stays as old as it is. */
function windowSetBack(node: usize, ms: f64): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  if (isExhausted(node)) return;
  const state = <usize>load<u32>(node, N_STATE);
  if (isPartitioned(spec)) {
    keyedSetBack(node, spec, state, ms);
    return;
  }
  if (isEventTime(spec)) return;
  switch (load<u32>(spec, WINDOW_KIND)) {
    case WindowKind.TUMBLING:
    case WindowKind.HOPPING:
      alignedSetBack(node, spec, state, ms);
      break;
    case WindowKind.SLIDING:
      rowsSetBack(state + W_ROWS, ms);
      queueSetBack(state, ms);
      break;
    case WindowKind.SESSION:
      sessionSetBack(spec, state, ms);
      askForTick(node, spec, state);
      break;
    case WindowKind.COUNT:
    case WindowKind.STATE:
      endedSetBack(state, ms);
      break;
    default:
      break;
  }
}

/** Frees everything that the window holds. */
export function windowFree(node: usize): void {
  clearDeadline(node);
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  outboxFree(node);
  setFree(state + W_SET);
  rowsFree(state + W_ROWS);
  const kind = load<u32>(load<u32>(node, N_SPEC), WINDOW_KIND);
  if (isPartitioned(<usize>load<u32>(node, N_SPEC))) partitionsFree(node, state);
  else if (kind == WindowKind.HOPPING) panesFree(node, state);
  else stacksFree(node, state);
  lanesFree(node, state);
  queueFree(state, accountOf(node));
  free(state, W_SIZE, accountOf(node));
  store<u32>(node, 0, N_STATE);
}

/** Partitions that a window keeps, 0 where rows are not partitioned. */
export function windowPartitions(node: usize): u32 {
  const state = <usize>load<u32>(node, N_STATE);
  return isPartitioned(<usize>load<u32>(node, N_SPEC)) ? partitionCount(<usize>load<u32>(state, W_PARTITIONS)) : 0;
}

/** Partitions that a window has forgotten since nothing came for them. */
export function windowForgotten(node: usize): u64 {
  const state = <usize>load<u32>(node, N_STATE);
  return isPartitioned(<usize>load<u32>(node, N_SPEC)) ? partitionsForgotten(<usize>load<u32>(state, W_PARTITIONS)) : 0;
}
