// Event time: rows are released in the order of their timestamps once the watermark has reached them. The watermark is
// the smallest of the newest timestamps of all streams, less the tolerance. Rows older than the watermark are counted,
// and dropped unless a node below takes them (order/late.ts). Rows too far ahead of the clock are errors, because one
// of them would make all following rows late.
//
//   state   pending 80 (order/pending.ts) | 80 watermark f64 | dropped u64 | ahead u64 | marks 16 (order/marks.ts)
//           120 newest f64[streams] | heard f64[streams]
//
// `heard` is the time by the clock at which a stream brought rows last, UNKNOWN at first. It is SILENT when that is too
// long ago; the stream then does not count for the watermark until it brings rows again. It is not saved: after a
// start, all streams have their full time again.
//
// The output has one column more than `columns`: the time of the row, epoch ms as I64.
//
// Rows of the same time go on together if they were there when the watermark reached that time. A row of that time that
// comes afterwards, and is not late yet, goes on alone. Windows that look at each row (ROUNDS) thus send the same,
// however the input is cut into batches.
//
// How rows go on: order/release.ts.
import * as ctx from '../batch/context';
import { give, leavesMessage, signalBelow } from '../emit/emit';
import {
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
import { EventTimeSpec, EVENT_TIME_SIZE_OF } from '../gen/order-layouts';
import { lateBelow } from './late';
import { Marks, marksCount, marksFree } from './marks';
import { Pending, pendingCount, pendingFree, pendingInit } from './pending';
import { pendingLoad, pendingSave } from './pending-save';
import {
  Release,
  ORDER_MARKS,
  RELEASE_SIZE,
  follow,
  release,
  releaseGoOn,
  releaseRest,
  sendFailure,
  sendIdle,
} from './release';
import { TIMES, aheadError, inOrder, readTime } from './row-times';
import { keepRow } from '../source/columns/failed-row';
import { Node } from '../gen/node-layouts';

/**
 * Epoch ms before which a clock is not set yet, as on devices without a battery; such a clock says nothing about
 * timestamps.
 */
const FIRST_CLOCK: f64 = 1735689600000;

const ORDER_NEWEST: usize = RELEASE_SIZE;

const SILENT: f64 = -1;
const UNKNOWN: f64 = -2;

/** Difference in ms between the watermark and the time of each late row. */
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
 * The node makes the watermarks itself, so that they come behind the rows that it holds back. A node without streams
 * takes the watermarks of its inputs.
 */
function eventTimeSignal(node: Node, signal: u32, value: u64): void {
  const told = isTold(changetype<EventTimeSpec>(node.spec));
  if (told && leavesMessage(node, signal, value)) return;
  if (signal == Signal.IDLE) sendIdle(node);
  else if (signal == Signal.FLUSH && !told && changetype<EventTimeSpec>(node.spec).atEnd) inputEnds(node);
  else if (signal != Signal.WATERMARK) signalBelow(node, signal, value);
  // A single stream may tell times beside those of its rows.
  else if (told || changetype<EventTimeSpec>(node.spec).streams == 1) follow(node, reinterpret<f64>(value));
}

/** A stream has ended; with the last one the rows that wait go on. */
function inputEnds(node: Node): void {
  const streams = changetype<EventTimeSpec>(node.spec).streams;
  const state = changetype<Release>(node.state);
  let newest: f64 = -Infinity;
  for (let i: u32 = 0; i < streams; i++) {
    newest = max(newest, load<f64>(changetype<usize>(state) + ((<usize>i) << 3), ORDER_NEWEST));
  }
  if (++state.ended == streams) releaseRest(node, newest);
  else signalBelow(node, Signal.FLUSH, 0);
}

// @ts-ignore: decorator
@inline function isTold(spec: EventTimeSpec): bool {
  return spec.streams == 0;
}

/** Makes the state of an eventTime node; false when memory is exhausted. */
export function eventTimeOpen(node: Node): bool {
  const spec = changetype<EventTimeSpec>(node.spec);
  const streams = spec.streams;
  const size = <u32>ORDER_NEWEST + (streams << 4);
  const state = changetype<Release>(allocZeroed(size, accountOf(node)));
  if (!state) return false;
  node.state = changetype<usize>(state);
  node.stateSize = size;
  pendingInit(state, spec.columns, accountOf(node));
  state.watermark = -Infinity;
  for (let i: u32 = 0; i < streams; i++) {
    store<f64>(changetype<usize>(state) + ((<usize>i) << 3), -Infinity, ORDER_NEWEST);
    store<f64>(heardAt(state, streams, i), UNKNOWN);
  }
  // Rows are held back, for late rows or for other streams, so that rows of the same time go on together.
  if (spec.tolerance > 0 || streams != 1) node.flags |= NodeFlag.TIES;
  setTimesColumn(node, spec.columns);
  // Rows can wait here, whatever stands above.
  node.flags |= NodeFlag.DEFERS;
  // A stream that never brings rows must not hold up the others either.
  return streams != 1 || spec.idle <= 0 || setDeadline(node, 0);
}

/** Number of rows that came too late. */
export function eventTimeDropped(node: Node): u64 {
  return changetype<Release>(node.state).dropped;
}

/** The watermark, epoch ms; 0 before the first row. */
export function eventTimeWatermark(node: Node): f64 {
  return max(changetype<Release>(node.state).watermark, 0);
}

/** Number of rows that wait for the watermark. */
export function eventTimeWaiting(node: Node): u32 {
  return pendingCount(changetype<Pending>(node.state));
}

/** Number of rows refused because they lay too far ahead of the clock. */
export function eventTimeAhead(node: Node): u64 {
  return changetype<Release>(node.state).ahead;
}

// @ts-ignore: decorator
@inline function heardAt(state: Release, streams: u32, i: u32): usize {
  return changetype<usize>(state) + ORDER_NEWEST + ((<usize>(streams + i)) << 3);
}

/** Notes that a stream brings rows now, and sets the deadline at which a stream may have been silent for too long. */
function hear(node: Node, spec: EventTimeSpec, state: Release, stream: u32): void {
  const streams = spec.streams;
  const idle = spec.idle;
  if (idle <= 0 || streams == 0) return;
  for (let i: u32 = 0; i < streams; i++) {
    const at = heardAt(state, streams, i);
    if (i == stream || load<f64>(at) == UNKNOWN) store<f64>(at, ctx.nowMs);
  }
  if (!node.heap) setDeadline(node, ctx.nowMs + idle);
}

/**
 * Leaves out streams that were silent for too long, and releases rows that waited for them. When all streams are
 * silent, none waits for another, and a merge below waits for none of them.
 */
function eventTimeTick(node: Node): void {
  if (isExhausted(node)) return;
  const spec = changetype<EventTimeSpec>(node.spec);
  const state = changetype<Release>(node.state);
  const streams = spec.streams;
  const idle = spec.idle;
  let next: f64 = Infinity;
  let least: f64 = Infinity;
  let newest: f64 = -Infinity;
  for (let i: u32 = 0; i < streams; i++) {
    const stamp = load<f64>(changetype<usize>(state) + ((<usize>i) << 3), ORDER_NEWEST);
    newest = max(newest, stamp);
    const at = heardAt(state, streams, i);
    let heard = load<f64>(at);
    if (heard == SILENT) continue;
    // The stream brought nothing since the start, or the clock was set back.
    if (heard == UNKNOWN || heard > ctx.nowMs) heard = ctx.nowMs;
    const isSilent = ctx.nowMs - heard >= idle;
    store<f64>(at, isSilent ? SILENT : heard);
    if (isSilent) continue;
    next = min(next, heard + idle);
    least = min(least, stamp);
  }
  if (next < Infinity) setDeadline(node, next);
  follow(node, (next < Infinity ? least : newest) - spec.tolerance);
  if (next == Infinity && !isExhausted(node)) sendIdle(node);
}

/** Handles a clock that is set back by `ms`: the times at which streams brought rows last move along. */
function eventTimeSetBack(node: Node, ms: f64): void {
  const state = changetype<Release>(node.state);
  const streams = changetype<EventTimeSpec>(node.spec).streams;
  for (let i: u32 = 0; i < streams; i++) {
    const at = heardAt(state, streams, i);
    if (load<f64>(at) > 0) store<f64>(at, max(load<f64>(at) - ms, 0));
  }
}

/** Takes a timestamp of a stream into account and returns the watermark that follows from all streams. */
function track(spec: EventTimeSpec, state: Release, stream: u32, ms: f64): f64 {
  const at = changetype<usize>(state) + ORDER_NEWEST + ((<usize>stream) << 3);
  if (ms <= load<f64>(at)) return state.watermark;
  store<f64>(at, ms);
  const streams = spec.streams;
  let least: f64 = Infinity;
  for (let i: u32 = 0; i < streams; i++) {
    if (load<f64>(heardAt(state, streams, i)) != SILENT)
      least = min(least, load<f64>(changetype<usize>(state) + ((<usize>i) << 3), ORDER_NEWEST));
  }
  return max(least - spec.tolerance, state.watermark);
}

/** The kept columns, and room for two more: times, and for late rows the delay; 0 when memory is exhausted. */
function keptColumns(spec: EventTimeSpec): usize {
  const columns = spec.columns;
  const blocks = poolAlloc(ctx.scratch, (columns + 2) << 2);
  for (let c: u32 = 0; blocks && c < columns; c++) {
    store<u32>(
      blocks + ((<usize>c) << 2),
      <u32>blockOf(load<u16>(changetype<usize>(spec) + ((<usize>c) << 1), EVENT_TIME_SIZE_OF)),
    );
  }
  return blocks;
}

/**
 * Accepts the first rows of the batch if they are in order. If the first row is not late, none is, and the last row
 * gives the watermark. Returns the number of accepted rows.
 */
function takeInOrder(
  node: Node,
  spec: EventTimeSpec,
  state: Release,
  stream: u32,
  stamps: usize,
  latest: f64,
  accepted: usize,
): u32 {
  const told = isTold(spec);
  const rounds = !told && (node.flags & NodeFlag.ROUNDS) != 0;
  // Without a tolerance the watermark may reach each row as it comes.
  if (rounds && spec.tolerance == 0) return 0;
  const mayBeLate = !told || spec.idle > 0;
  const sel = ctx.sel;
  const since = mayBeLate ? state.watermark : -Infinity;
  const count = inOrder(stamps, sel, ctx.selLen, since, latest, accepted);
  if (!count) return 0;
  if (rounds && load<f64>(TIMES + ((<usize>load<u32>(sel)) << 3)) == state.watermark) return 0;
  if (!told) {
    const last = load<f64>(TIMES + ((<usize>load<u32>(sel + ((<usize>(count - 1)) << 2))) << 3));
    state.watermark = track(spec, state, stream, last);
  }
  return count;
}

/** Gives the current batch to the node; below a merge it comes from one of several streams. */
export function eventTimePush(node: Node): void {
  const spec = changetype<EventTimeSpec>(node.spec);
  const stream = spec.streams > 1 ? ctx.branch : 0;
  const state = changetype<Release>(node.state);
  hear(node, spec, state, stream);
  const told = isTold(spec);
  const program = node.program;
  if (program) vmRun(program);
  const columns = spec.columns;
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const errors = ctx.rowErrors;
  const taker = lateBelow(node, stream);
  const accepted = selectionPush();
  const late = taker ? selectionPush() : 0;
  const blocks = keptColumns(spec);
  if (!accepted || !blocks || (!!taker && !late)) {
    exhaust(node);
    if (late) selectionPop();
    if (accepted) selectionPop();
    return;
  }
  const stamps = blockOf(spec.timestamp);
  const skew = spec.skew;
  const latest = skew > 0 && ctx.nowMs >= FIRST_CLOCK ? ctx.nowMs + skew : Infinity;
  let count: u32 = errors ? 0 : takeInOrder(node, spec, state, stream, stamps, latest, accepted);
  let lateCount: u32 = 0;
  // Rows may be late if they come from streams, or from inputs that were idle.
  const mayBeLate = !told || spec.idle > 0;
  const rounds = !told && (node.flags & NodeFlag.ROUNDS) != 0;
  for (let i = count; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const isFailed = errors && tagAt(errors, row) == Tag.ERROR;
    let failure = isFailed ? valAt(errors, row) : readTime(stamps, row);
    const isAhead = failure == 0 && load<f64>(TIMES + ((<usize>row) << 3)) > latest;
    if (isAhead) failure = aheadError(load<f64>(TIMES + ((<usize>row) << 3)), skew);
    if (failure) {
      // Rows before the failure go out before it.
      sendLate(node, taker, blocks, columns, rows, late, lateCount);
      lateCount = 0;
      release(node, spec, state, blocks, rows, accepted, count);
      count = 0;
      // A row that failed above is counted there.
      if (!isFailed) {
        keepRow(node, row);
        addException(node, offOf(failure), lenOf(failure), 1);
      }
      sendFailure(node, state, failure);
      if (isAhead) state.ahead++;
      continue;
    }
    const ms = load<f64>(TIMES + ((<usize>row) << 3));
    if (mayBeLate && ms < state.watermark) {
      state.dropped++;
      if (taker) {
        store<f64>(LATE_BY + ((<usize>row) << 3), state.watermark - ms);
        store<u32>(late + ((<usize>lateCount) << 2), row);
        lateCount++;
      } else noteLoss();
      continue;
    }
    if (rounds && count && ms == state.watermark) {
      sendLate(node, taker, blocks, columns, rows, late, lateCount);
      lateCount = 0;
      release(node, spec, state, blocks, rows, accepted, count);
      count = 0;
      store<f64>(TIMES + ((<usize>row) << 3), ms);
    }
    if (!told) state.watermark = track(spec, state, stream, ms);
    store<u32>(accepted + ((<usize>count) << 2), row);
    count++;
  }
  sendLate(node, taker, blocks, columns, rows, late, lateCount);
  release(node, spec, state, blocks, rows, accepted, count);
  if (late) selectionPop();
  selectionPop();
}

/**
 * Hands late rows of the arriving batch to the node that takes them. This comes before rows in time go on, because
 * TIMES may be overwritten then.
 */
function sendLate(node: Node, taker: Node, blocks: usize, columns: u32, rows: u32, sel: usize, n: u32): void {
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

/** Number of watermarks and failures that wait. */
function eventTimeResults(node: Node): u32 {
  return marksCount(changetype<Marks>(node.state + ORDER_MARKS));
}

const VERSION: u32 = 2;

/** Saves the watermark, the counts of refused rows, and the waiting rows. */
function eventTimeSave(node: Node): void {
  const state = changetype<Release>(node.state);
  writeVersion(VERSION);
  writeF64(state.watermark);
  writeU64(state.dropped);
  writeU64(state.ahead);
  const streams = changetype<EventTimeSpec>(node.spec).streams;
  for (let i: u32 = 0; i < streams; i++)
    writeF64(load<f64>(changetype<usize>(state) + ((<usize>i) << 3), ORDER_NEWEST));
  pendingSave(state);
}

/** Fills a newly made node with saved state. */
function eventTimeLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const state = changetype<Release>(node.state);
  state.watermark = readF64();
  state.dropped = readU64();
  state.ahead = readU64();
  const streams = changetype<EventTimeSpec>(node.spec).streams;
  for (let i: u32 = 0; i < streams; i++)
    store<f64>(changetype<usize>(state) + ((<usize>i) << 3), readF64(), ORDER_NEWEST);
  pendingLoad(state);
  // Streams that bring no more rows must not hold up waiting rows: their idle time runs from the next tick on.
  if (streams > 0 && changetype<EventTimeSpec>(node.spec).idle > 0) setDeadline(node, 0);
  return !readFails();
}

export function eventTimeFree(node: Node): void {
  const state = changetype<Pending>(node.state);
  if (!state) return;
  clearDeadline(node);
  pendingFree(state);
  marksFree(changetype<Marks>(changetype<usize>(state) + ORDER_MARKS), accountOf(node));
  free(changetype<usize>(state), node.stateSize, accountOf(node));
  node.state = 0;
}
