// Event time: rows are released in the order of their timestamps once the watermark (the smallest newest timestamp of
// the streams, less the tolerance) has reached them. Rows older than the watermark are counted, and dropped unless a
// node below takes them (order/late.ts). Rows too far ahead of the clock are errors: one of them would make all that
// follow late.
//
//   state   pending 80 (order/pending.ts) | 80 watermark f64 | dropped u64 | ahead u64 | marks 16 (order/marks.ts)
//           120 newest f64[streams] | heard f64[streams]
//
// `heard` is when a stream brought rows last by the clock, UNKNOWN at first, SILENT when that is too long ago: then it
// counts for the watermark no more until it brings rows again. It is not saved: after a start all streams have their
// time again.
//
// The output has one column more than `columns`: the time of the row, epoch ms as I64.
//
// Rows of the same time come together as far as they were there when the watermark reached that time. One that comes
// afterwards, and is not late yet, comes alone: windows that look at each row (ROUNDS) send the same however the input
// is cut into batches.
//
// How rows go on: order/release.ts.
import * as ctx from '../batch/context';
import { give, leavesMessage, signalBelow } from '../emit/emit';
import {
  N_FLAGS,
  N_HEAP,
  N_PROGRAM,
  N_SPEC,
  N_STATE,
  N_STATE_SIZE,
  NodeFlag,
  accountOf,
  addException,
  exhaust,
  isExhausted,
  noteLoss,
  setCurrent,
  setTimesColumn,
} from '../node/node';
import { Operator, Signal, Trait } from '../node/operator';
import { selectionPop, selectionPush } from '../batch/selection';
import { stageAcquire, stageRelease } from '../batch/stage';
import { clearDeadline, setDeadline } from '../node/timers';
import { allocZeroed, free } from '../mem/alloc';
import { COL_UNIFORM, Tag, lenOf, offOf, setAt, tagAt, valAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { blockOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { readF64, readFails, readU64, readVersion } from '../state/reader';
import { writeF64, writeU64, writeVersion } from '../state/writer';
import {
  EVENT_TIME_COLUMNS,
  EVENT_TIME_IDLE,
  EVENT_TIME_SIZE_OF,
  EVENT_TIME_SKEW,
  EVENT_TIME_STREAMS,
  EVENT_TIME_TIMESTAMP,
  EVENT_TIME_TOLERANCE,
} from '../gen/order-layouts';
import { lateBelow } from './late';
import { marksCount, marksFree } from './marks';
import { PENDING_SIZE, pendingCount, pendingFree, pendingInit } from './pending';
import { pendingLoad, pendingSave } from './pending-save';
import {
  ORDER_MARKS,
  ORDER_WATERMARK,
  RELEASE_SIZE,
  follow,
  release,
  releaseGoOn,
  sendFailure,
  sendIdle,
} from './release';
import { TIMES, aheadError, inOrder, readTime } from './row-times';

/** A clock before 2025 was not set yet, as on devices without a battery: it says nothing about time stamps. */
const FIRST_CLOCK: f64 = 1735689600000;

const ORDER_DROPPED: usize = PENDING_SIZE + 8;
const ORDER_AHEAD: usize = PENDING_SIZE + 16;
const ORDER_NEWEST: usize = RELEASE_SIZE;

const SILENT: f64 = -1;
const UNKNOWN: f64 = -2;

/** Of late rows: how much earlier they are than the watermark was. */
const LATE_BY: usize = memory.data(8 * 1024, 16);

export function eventTimeOperator(operator: Operator): void {
  operator.open = eventTimeOpen;
  operator.push = eventTimePush;
  operator.signal = eventTimeSignal;
  operator.tick = eventTimeTick;
  operator.save = eventTimeSave;
  operator.load = eventTimeLoad;
  operator.free = eventTimeFree;
  operator.setBack = eventTimeSetBack;
  operator.deferred = releaseGoOn;
  operator.results = eventTimeResults;
  operator.traits = Trait.BUFFERS | Trait.ORDERS_BY_TIME;
}

/**
 * How far time has come the node says itself: not before the rows that it holds back are on their way. One without
 * streams is told by the watermarks of its inputs.
 */
function eventTimeSignal(node: usize, signal: u32, value: u64): void {
  const told = isTold(<usize>load<u32>(node, N_SPEC));
  if (told && leavesMessage(node, signal, value)) return;
  if (signal == Signal.IDLE) sendIdle(node);
  else if (signal != Signal.WATERMARK) signalBelow(node, signal, value);
  else if (told) follow(node, reinterpret<f64>(value));
}

// @ts-ignore: decorator
@inline function isTold(spec: usize): bool {
  return load<u32>(spec, EVENT_TIME_STREAMS) == 0;
}

/** Makes the state of an eventTime node; false when memory is exhausted. */
export function eventTimeOpen(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const streams = load<u32>(spec, EVENT_TIME_STREAMS);
  const size = <u32>ORDER_NEWEST + (streams << 4);
  const state = allocZeroed(size, accountOf(node));
  if (!state) return false;
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, size, N_STATE_SIZE);
  pendingInit(state, load<u16>(spec, EVENT_TIME_COLUMNS), accountOf(node));
  store<f64>(state, -Infinity, ORDER_WATERMARK);
  for (let i: u32 = 0; i < streams; i++) {
    store<f64>(state + ((<usize>i) << 3), -Infinity, ORDER_NEWEST);
    store<f64>(heardAt(state, streams, i), UNKNOWN);
  }
  // Rows are held back, for late ones or for those of other streams: those of the same time then go on together.
  if (load<f64>(spec, EVENT_TIME_TOLERANCE) > 0 || streams != 1)
    store<u32>(node, load<u32>(node, N_FLAGS) | NodeFlag.TIES, N_FLAGS);
  setTimesColumn(node, load<u16>(spec, EVENT_TIME_COLUMNS));
  // Rows can wait here, whatever stands above.
  store<u32>(node, load<u32>(node, N_FLAGS) | NodeFlag.DEFERS, N_FLAGS);
  // One that never brings anything must not hold others up either.
  return streams != 1 || load<f64>(spec, EVENT_TIME_IDLE) <= 0 || setDeadline(node, 0);
}

/** Rows that came too late. */
export function eventTimeDropped(node: usize): u64 {
  return load<u64>(<usize>load<u32>(node, N_STATE), ORDER_DROPPED);
}

/** How far time has come, epoch ms; 0 before the first row. */
export function eventTimeWatermark(node: usize): f64 {
  return max(load<f64>(<usize>load<u32>(node, N_STATE), ORDER_WATERMARK), 0);
}

/** Rows that wait for time to reach them. */
export function eventTimeWaiting(node: usize): u32 {
  return pendingCount(<usize>load<u32>(node, N_STATE));
}

/** Rows refused because they lay too far ahead of the clock. */
export function eventTimeAhead(node: usize): u64 {
  return load<u64>(<usize>load<u32>(node, N_STATE), ORDER_AHEAD);
}

// @ts-ignore: decorator
@inline function heardAt(state: usize, streams: u32, i: u32): usize {
  return state + ORDER_NEWEST + ((<usize>(streams + i)) << 3);
}

/** Notes that a stream brings rows now, and asks for the time at which one may have been silent for too long. */
function hear(node: usize, spec: usize, state: usize, stream: u32): void {
  const streams = load<u32>(spec, EVENT_TIME_STREAMS);
  const idle = load<f64>(spec, EVENT_TIME_IDLE);
  if (idle <= 0 || streams == 0) return;
  for (let i: u32 = 0; i < streams; i++) {
    const at = heardAt(state, streams, i);
    if (i == stream || load<f64>(at) == UNKNOWN) store<f64>(at, ctx.nowMs);
  }
  if (!load<u32>(node, N_HEAP)) setDeadline(node, ctx.nowMs + idle);
}

/**
 * Leaves out streams that were silent for too long; what waited for them goes on. When all are, none waits for another,
 * nor does a merge below for any of them.
 */
function eventTimeTick(node: usize): void {
  if (isExhausted(node)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const streams = load<u32>(spec, EVENT_TIME_STREAMS);
  const idle = load<f64>(spec, EVENT_TIME_IDLE);
  let next: f64 = Infinity;
  let least: f64 = Infinity;
  let newest: f64 = -Infinity;
  for (let i: u32 = 0; i < streams; i++) {
    const stamp = load<f64>(state + ((<usize>i) << 3), ORDER_NEWEST);
    newest = max(newest, stamp);
    const at = heardAt(state, streams, i);
    let heard = load<f64>(at);
    if (heard == SILENT) continue;
    // Not known since the start.
    if (heard == UNKNOWN || heard > ctx.nowMs) heard = ctx.nowMs;
    const isSilent = ctx.nowMs - heard >= idle;
    store<f64>(at, isSilent ? SILENT : heard);
    if (isSilent) continue;
    next = min(next, heard + idle);
    least = min(least, stamp);
  }
  if (next < Infinity) setDeadline(node, next);
  follow(node, (next < Infinity ? least : newest) - load<f64>(spec, EVENT_TIME_TOLERANCE));
  if (next == Infinity && !isExhausted(node)) sendIdle(node);
}

/** When streams were heard of last is told by the clock. */
function eventTimeSetBack(node: usize, ms: f64): void {
  const state = <usize>load<u32>(node, N_STATE);
  const streams = load<u32>(<usize>load<u32>(node, N_SPEC), EVENT_TIME_STREAMS);
  for (let i: u32 = 0; i < streams; i++) {
    const at = heardAt(state, streams, i);
    if (load<f64>(at) > 0) store<f64>(at, max(load<f64>(at) - ms, 0));
  }
}

/** Takes a timestamp of a stream into account and returns the watermark that follows from all streams. */
function track(spec: usize, state: usize, stream: u32, ms: f64): f64 {
  const at = state + ORDER_NEWEST + ((<usize>stream) << 3);
  if (ms <= load<f64>(at)) return load<f64>(state, ORDER_WATERMARK);
  store<f64>(at, ms);
  const streams = load<u32>(spec, EVENT_TIME_STREAMS);
  let least: f64 = Infinity;
  for (let i: u32 = 0; i < streams; i++) {
    if (load<f64>(heardAt(state, streams, i)) != SILENT)
      least = min(least, load<f64>(state + ((<usize>i) << 3), ORDER_NEWEST));
  }
  return max(least - load<f64>(spec, EVENT_TIME_TOLERANCE), load<f64>(state, ORDER_WATERMARK));
}

/** Gives the current batch to the node; below a merge it is of one of several streams. */
export function eventTimePush(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const stream = load<u32>(spec, EVENT_TIME_STREAMS) > 1 ? ctx.branch : 0;
  const state = <usize>load<u32>(node, N_STATE);
  hear(node, spec, state, stream);
  const told = isTold(spec);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  const columns = load<u16>(spec, EVENT_TIME_COLUMNS);
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const errors = ctx.rowErrors;
  const taker = lateBelow(node, stream);
  const accepted = selectionPush();
  const late = taker ? selectionPush() : 0;
  // The kept columns and room for those that are added: the times, of late rows also how late they are.
  const blocks = poolAlloc(ctx.scratch, (columns + 2) << 2);
  if (!accepted || !blocks || (taker && !late)) {
    exhaust(node);
    if (late) selectionPop();
    if (accepted) selectionPop();
    return;
  }
  for (let c: u32 = 0; c < columns; c++) {
    store<u32>(blocks + ((<usize>c) << 2), <u32>blockOf(load<u16>(spec + ((<usize>c) << 1), EVENT_TIME_SIZE_OF)));
  }
  const stamps = blockOf(load<u16>(spec, EVENT_TIME_TIMESTAMP));
  const skew = load<f64>(spec, EVENT_TIME_SKEW);
  const latest = skew > 0 && ctx.nowMs >= FIRST_CLOCK ? ctx.nowMs + skew : Infinity;
  let count: u32 = 0;
  let lateCount: u32 = 0;
  // Rows of inputs that were idle may be late as those of streams may.
  const mayBeLate = !told || load<f64>(spec, EVENT_TIME_IDLE) > 0;
  const rounds = !told && (load<u32>(node, N_FLAGS) & NodeFlag.ROUNDS) != 0;
  let i: u32 = 0;
  // Without a tolerance time may reach each row as it comes.
  if (!errors && !(rounds && load<f64>(spec, EVENT_TIME_TOLERANCE) == 0)) {
    // Of rows in order none is late if the first is not, and the last says how far time has come.
    i = inOrder(stamps, sel, n, mayBeLate ? load<f64>(state, ORDER_WATERMARK) : -Infinity, latest, accepted);
    if (rounds && i && load<f64>(TIMES + ((<usize>load<u32>(sel)) << 3)) == load<f64>(state, ORDER_WATERMARK)) i = 0;
    count = i;
    if (i && !told) {
      const last = load<f64>(TIMES + ((<usize>load<u32>(sel + ((<usize>(i - 1)) << 2))) << 3));
      store<f64>(state, track(spec, state, stream, last), ORDER_WATERMARK);
    }
  }
  for (; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const isFailed = errors && tagAt(errors, row) == Tag.ERROR;
    let failure = isFailed ? valAt(errors, row) : readTime(stamps, row);
    const isAhead = failure == 0 && load<f64>(TIMES + ((<usize>row) << 3)) > latest;
    if (isAhead) failure = aheadError(load<f64>(TIMES + ((<usize>row) << 3)), skew);
    if (failure) {
      // What came before the failure goes out before it.
      sendLate(node, taker, blocks, columns, rows, late, lateCount);
      lateCount = 0;
      release(node, spec, state, blocks, rows, accepted, count);
      count = 0;
      // What failed above is counted there.
      if (!isFailed) addException(node, offOf(failure), lenOf(failure), 1);
      sendFailure(node, state, failure);
      if (isAhead) store<u64>(state, load<u64>(state, ORDER_AHEAD) + 1, ORDER_AHEAD);
      continue;
    }
    const ms = load<f64>(TIMES + ((<usize>row) << 3));
    if (mayBeLate && ms < load<f64>(state, ORDER_WATERMARK)) {
      store<u64>(state, load<u64>(state, ORDER_DROPPED) + 1, ORDER_DROPPED);
      if (taker) {
        store<f64>(LATE_BY + ((<usize>row) << 3), load<f64>(state, ORDER_WATERMARK) - ms);
        store<u32>(late + ((<usize>lateCount) << 2), row);
        lateCount++;
      } else noteLoss();
      continue;
    }
    if (rounds && count && ms == load<f64>(state, ORDER_WATERMARK)) {
      sendLate(node, taker, blocks, columns, rows, late, lateCount);
      lateCount = 0;
      release(node, spec, state, blocks, rows, accepted, count);
      count = 0;
      store<f64>(TIMES + ((<usize>row) << 3), ms);
    }
    if (!told) store<f64>(state, track(spec, state, stream, ms), ORDER_WATERMARK);
    store<u32>(accepted + ((<usize>count) << 2), row);
    count++;
  }
  sendLate(node, taker, blocks, columns, rows, late, lateCount);
  release(node, spec, state, blocks, rows, accepted, count);
  if (late) selectionPop();
  selectionPop();
}

/**
 * Hands rows of the arriving batch to the node that takes late ones: before rows in time go on, for TIMES may be others
 * then.
 */
function sendLate(node: usize, taker: usize, blocks: usize, columns: u32, rows: u32, sel: usize, n: u32): void {
  if (n == 0) return;
  const stage = stageAcquire(2);
  if (!stage) {
    exhaust(node);
    return;
  }
  for (let c: u32 = 0; c < 2; c++) {
    const block = <usize>load<u32>(stage + ((<usize>c) << 2));
    const from = c ? LATE_BY : TIMES;
    for (let i: u32 = 0; i < n; i++) {
      const row = load<u32>(sel + ((<usize>i) << 2));
      setAt(block, row, Tag.I64, <u64>(<i64>load<f64>(from + ((<usize>row) << 3))));
    }
    store<u8>(block, Tag.I64, COL_UNIFORM);
    store<u32>(blocks + ((<usize>(columns + c)) << 2), <u32>block);
  }
  ctx.setBatch(blocks, rows, sel, n, 0);
  give(taker, n);
  setCurrent(node);
  stageRelease(2);
}

/** Results that wait: watermarks and failures. */
function eventTimeResults(node: usize): u32 {
  return marksCount(<usize>load<u32>(node, N_STATE) + ORDER_MARKS);
}

const VERSION: u32 = 2;

/** Saves how far time has come, what was refused for it, and the rows that wait. */
function eventTimeSave(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  writeVersion(VERSION);
  writeF64(load<f64>(state, ORDER_WATERMARK));
  writeU64(load<u64>(state, ORDER_DROPPED));
  writeU64(load<u64>(state, ORDER_AHEAD));
  const streams = load<u32>(<usize>load<u32>(node, N_SPEC), EVENT_TIME_STREAMS);
  for (let i: u32 = 0; i < streams; i++) writeF64(load<f64>(state + ((<usize>i) << 3), ORDER_NEWEST));
  pendingSave(state);
}

/** Fills a node that was just made. */
function eventTimeLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const state = <usize>load<u32>(node, N_STATE);
  store<f64>(state, readF64(), ORDER_WATERMARK);
  store<u64>(state, readU64(), ORDER_DROPPED);
  store<u64>(state, readU64(), ORDER_AHEAD);
  const streams = load<u32>(<usize>load<u32>(node, N_SPEC), EVENT_TIME_STREAMS);
  for (let i: u32 = 0; i < streams; i++) store<f64>(state + ((<usize>i) << 3), readF64(), ORDER_NEWEST);
  pendingLoad(state);
  // Streams that bring nothing any more must not hold up what waits: time runs from the next look on.
  if (streams > 0 && load<f64>(<usize>load<u32>(node, N_SPEC), EVENT_TIME_IDLE) > 0) setDeadline(node, 0);
  return !readFails();
}

export function eventTimeFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  clearDeadline(node);
  pendingFree(state);
  marksFree(state + ORDER_MARKS, accountOf(node));
  free(state, load<u32>(node, N_STATE_SIZE), accountOf(node));
  store<u32>(node, 0, N_STATE);
}
