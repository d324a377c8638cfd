// Release of the rows of an eventTime node (order/event-time.ts) once the watermark has reached them.
//
// Rows that the watermark has reached when they arrive pass without being copied, when nothing waits before them. When
// others wait, they take their place among them, but still stand in the batch. Only rows that are later than the
// watermark are kept.
//
// Where a watermark reaches many rows, or a node below is in the middle of its work, rows go on in pieces
// (node/deferred.ts). Meanwhile all rows wait. Watermarks and failures that come behind some of them are noted with
// their place among them (order/marks.ts).
import * as ctx from '../batch/context';
import { defer, deferredCount, goesOn, isDeferred, isLong, isStoppedBelow, longRows, mayDefer } from '../node/deferred';
import { beginFailed, endFailed, signalBelow } from '../emit/emit';
import { NodeFlag, accountOf, exhaust, isExhausted } from '../node/node';
import { Signal } from '../node/operator';
import { selectionPop, selectionPush } from '../batch/selection';
import { identity, stageAcquire, stageRelease } from '../batch/stage';
import { Bind, BIND_SIZE, bindBlock } from '../mem/bind';
import { BATCH_ROWS, COL_TAGS, COL_UNIFORM, COL_VALS, Tag, setAt, valAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { partBegin, partColumn } from '../rows/copy';
import { emitInTime } from './late';
import {
  Marks,
  MARKS_SIZE,
  Mark,
  markAdd,
  markFirst,
  markKind,
  markMs,
  markNow,
  markSequence,
  markShift,
  markValue,
} from './marks';
import {
  Pending,
  PENDING_SIZE,
  pendingAdd,
  pendingAtTime,
  pendingCount,
  pendingIsEmpty,
  pendingName,
  pendingNames,
  pendingReached,
  pendingReturn,
  pendingSequence,
  pendingUncut,
} from './pending';
import { pendingKeep } from './pending-keep';
import { TIMES } from './row-times';
import { Node } from '../gen/node-layouts';
import { EventTimeSpec, StartRow } from '../gen/order-layouts';

/** Waiting rows, and the watermark. */
// @ts-ignore: decorator
@unmanaged
export class Release extends Pending {
  /** The watermark, epoch ms. */
  watermark: f64;
  dropped: u64;
  ahead: u64;
  /** Streams that have ended. */
  ended: u32;
  /** 1: the row with which windows begin has gone on since the node was made. */
  hasBegun: u32;
}

export const ORDER_MARKS: usize = PENDING_SIZE + 32;
export const RELEASE_SIZE: u32 = <u32>ORDER_MARKS + MARKS_SIZE;

/** Takes the watermark `ms` of all inputs that count. Afterwards the current batch is another one. */
export function follow(node: Node, ms: f64): void {
  const state = changetype<Release>(node.state);
  if (ms <= state.watermark) return;
  state.watermark = ms;
  if (isLongRelease(node, state, ms)) note(node, state, Mark.WATERMARK, reinterpret<u64>(ms));
  else releaseAll(node, changetype<EventTimeSpec>(node.spec), state, ms, 0);
}

/** Sends the signal that all inputs are idle. */
export function sendIdle(node: Node): void {
  if (isOnHold(node)) note(node, changetype<Release>(node.state), Mark.IDLE, 0);
  else signalBelow(node, Signal.IDLE, 0);
}

/** No row comes any more: those that wait go on, and the signal of the end behind them. */
export function releaseRest(node: Node, ms: f64): void {
  follow(node, ms);
  if (isOnHold(node)) note(node, changetype<Release>(node.state), Mark.OVER, 0);
  else signalBelow(node, Signal.FLUSH, 0);
}

/** Releases the accepted rows, or lets them wait, in order with the waiting ones; then sends the watermark. */
export function release(
  node: Node,
  spec: EventTimeSpec,
  state: Release,
  blocks: usize,
  rows: u32,
  accepted: usize,
  count: u32,
): void {
  if (count == 0 || isExhausted(node)) return;
  const watermark = state.watermark;
  if (isLongRelease(node, state, watermark)) {
    if (!hold(spec, state, blocks, accepted, count)) exhaust(node);
    else note(node, state, Mark.WATERMARK, reinterpret<u64>(watermark));
    return;
  }
  const passes = passable(state, watermark, accepted, count);
  // TIMES is valid only until the first row goes on.
  if (passes < count && !wait(spec, state, blocks, accepted + ((<usize>passes) << 2), count - passes, watermark)) {
    exhaust(node);
    return;
  }
  if (passes) passThrough(node, spec, blocks, rows, accepted, passes);
  releaseAll(node, spec, state, watermark, blocks);
}

/** Sends a row that failed, if rules want failures. */
export function sendFailure(node: Node, state: Release, failure: u64): void {
  if (!(node.flags & NodeFlag.SEND_ERROR)) return;
  if (isOnHold(node)) {
    note(node, state, Mark.FAILURE, failure);
    return;
  }
  if (!beginFailed(node, failure)) return;
  emitInTime(node);
  endFailed();
}

// ---- rows that wait for their turn -------------------------------------------------------------------------------

/**
 * True when nothing may be sent: other work of the node waits already, or a node below is in the middle of its work.
 */
// @ts-ignore: decorator
@inline function isOnHold(node: Node): bool {
  return deferredCount != 0 && (isDeferred(node) || isStoppedBelow(node));
}

/** True when the release of the rows that the watermark has reached is to be deferred. */
// @ts-ignore: decorator
@inline function isLongRelease(node: Node, state: Release, watermark: f64): bool {
  return (
    isOnHold(node) ||
    (isLong(pendingCount(state)) && mayDefer(node) && isLong(pendingReached(state, watermark, longRows + 1)))
  );
}

/** Notes a watermark or failure behind all rows that the watermark has reached. */
function note(node: Node, state: Release, kind: u32, value: u64): void {
  const ms = kind == Mark.WATERMARK ? reinterpret<f64>(value) : state.watermark;
  if (
    markAdd(
      changetype<Marks>(changetype<usize>(state) + ORDER_MARKS),
      kind,
      value,
      ms,
      pendingSequence(state),
      accountOf(node),
    )
  )
    defer(node);
  else exhaust(node);
}

/** Goes on with deferred rows and marks; true when none is left. */
export function releaseGoOn(node: Node): bool {
  const spec = changetype<EventTimeSpec>(node.spec);
  const state = changetype<Release>(node.state);
  const marks = changetype<Marks>(changetype<usize>(state) + ORDER_MARKS);
  // Allocated once for all marks, of which there may be thousands.
  const names = poolAlloc(ctx.scratch, BATCH_ROWS << 3);
  if (!names) exhaust(node);
  for (let mark = markFirst(marks); mark; mark = markFirst(marks)) {
    ctx.setNow(markNow(mark));
    if (!releaseSome(node, spec, state, mark, names)) return false;
    if (isExhausted(node)) return true;
    if (markKind(mark) == Mark.WATERMARK) signalBelow(node, Signal.WATERMARK, reinterpret<u64>(markMs(mark)));
    else if (markKind(mark) == Mark.IDLE) signalBelow(node, Signal.IDLE, 0);
    else if (markKind(mark) == Mark.OVER) signalBelow(node, Signal.FLUSH, 0);
    else if (beginFailed(node, markValue(mark))) {
      emitInTime(node);
      endFailed();
    }
    markShift(marks, accountOf(node));
    if (isStoppedBelow(node) || !goesOn(1)) break;
  }
  return !markFirst(marks);
}

/** Sends rows that come before the mark; true when all of them were sent. */
function releaseSome(node: Node, spec: EventTimeSpec, state: Release, mark: Mark, names: usize): bool {
  const columns = spec.columns;
  while (!isExhausted(node)) {
    const n = releaseBatch(node, state, columns, markMs(mark), markSequence(mark), names, BATCH_ROWS, 0);
    if (n == 0) return true;
    if (isStoppedBelow(node) || !goesOn(n)) return false;
  }
  return true;
}

/**
 * Adds rows of the arriving batch to the waiting rows. Those that the watermark has reached are not copied, because
 * they go on before the batch is gone. False when memory is exhausted.
 */
function wait(spec: EventTimeSpec, state: Release, blocks: usize, sel: usize, n: u32, watermark: f64): bool {
  const later = pendingName(changetype<usize>(state), sel, n, TIMES, watermark, inputOf(spec));
  return later == 0 || (later <= n && hold(spec, state, blocks, sel, later));
}

// @ts-ignore: decorator
@inline function inputOf(spec: EventTimeSpec): u32 {
  return spec.streams == 1 ? 0 : ctx.branch;
}

/** Keeps rows of the arriving batch; false when memory is exhausted. */
function hold(spec: EventTimeSpec, state: Release, blocks: usize, sel: usize, n: u32): bool {
  const binds = bindAll(spec, blocks);
  return binds != 0 && pendingAdd(state, binds, spec.columns, sel, n, TIMES, inputOf(spec));
}

/** Binds the columns of the arriving batch; 0 when memory is exhausted. */
function bindAll(spec: EventTimeSpec, blocks: usize): usize {
  const columns = spec.columns;
  const binds = poolAlloc(ctx.scratch, columns * BIND_SIZE);
  for (let c: u32 = 0; c < columns && binds; c++) {
    bindBlock(changetype<Bind>(binds + <usize>(c * BIND_SIZE)), <usize>load<u32>(blocks + ((<usize>c) << 2)));
  }
  return binds;
}

/** Number of first accepted rows that can pass without waiting: in order, reached, and not behind rows that wait. */
function passable(state: Release, watermark: f64, accepted: usize, count: u32): u32 {
  if (!pendingIsEmpty(changetype<usize>(state))) return 0;
  let last: f64 = -Infinity;
  let n: u32 = 0;
  while (n < count) {
    const ms = load<f64>(TIMES + ((<usize>load<u32>(accepted + ((<usize>n) << 2))) << 3));
    if (ms < last || ms > watermark) break;
    last = ms;
    n++;
  }
  // A later row of this batch may be older than one that would pass; it is accepted, so it must come first. Rows of the
  // same time go on together.
  let least: f64 = Infinity;
  for (let i = n; i < count; i++)
    least = min(least, load<f64>(TIMES + ((<usize>load<u32>(accepted + ((<usize>i) << 2))) << 3)));
  while (n > 0 && load<f64>(TIMES + ((<usize>load<u32>(accepted + ((<usize>(n - 1)) << 2))) << 3)) >= least) n--;
  return n;
}

/**
 * Tells the time of the row with which windows begin, before it: the first of the batch, or the first of branch 0. It
 * is told again after a start with saved state, when it changes nothing any more.
 */
function tellStart(node: Node, state: Release, branches: usize, times: usize, sel: usize, n: u32): void {
  const which = changetype<EventTimeSpec>(node.spec).tellsStart;
  for (let i: u32 = 0; i < n && !state.hasBegun; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (which == StartRow.OF_FIRST && valAt(branches, row) != 0) continue;
    state.hasBegun = 1;
    if (which) signalBelow(node, Signal.START, reinterpret<u64>(<f64>(<i64>valAt(times, row))));
  }
}

/** Sends rows of the arriving batch as they stand. */
function passThrough(node: Node, spec: EventTimeSpec, blocks: usize, rows: u32, sel: usize, n: u32): void {
  const stage = stageAcquire(1);
  if (!stage) {
    exhaust(node);
    return;
  }
  const state = changetype<Release>(node.state);
  const times = <usize>load<u32>(stage);
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    setAt(times, row, Tag.I64, <u64>(<i64>load<f64>(TIMES + ((<usize>row) << 3))));
  }
  store<u8>(times, Tag.I64, COL_UNIFORM);
  if (!state.hasBegun) tellStart(node, state, <usize>load<u32>(blocks), times, sel, n);
  store<u32>(blocks + ((<usize>spec.columns) << 2), <u32>times);
  ctx.setBatch(blocks, rows, sel, n, 0);
  emitInTime(node);
  stageRelease(1);
}

/** Value of `sequence` for all rows that the watermark has reached. */
const ALL: u64 = u64.MAX_VALUE;

/**
 * Sends the waiting rows that the watermark has reached, then the watermark. `blocks`: columns of the rows that are not
 * kept. When a node below stops in the middle of its work, the rest is deferred.
 */
function releaseAll(node: Node, spec: EventTimeSpec, state: Release, watermark: f64, blocks: usize): void {
  const columns = spec.columns;
  let isStopped = deferredCount != 0 && isStoppedBelow(node);
  if (!pendingIsEmpty(changetype<usize>(state)) && !isStopped) {
    const room = min(BATCH_ROWS, pendingCount(state));
    const names = poolAlloc(ctx.scratch, room << 3);
    if (!names) exhaust(node);
    while (
      !isExhausted(node) &&
      !isStopped &&
      releaseBatch(node, state, columns, watermark, ALL, names, room, blocks)
    ) {
      isStopped = deferredCount != 0 && isStoppedBelow(node);
    }
  }
  if (isExhausted(node)) return;
  if (!isStopped) signalBelow(node, Signal.WATERMARK, reinterpret<u64>(watermark));
  else if (blocks && !keepNamed(spec, state, blocks)) exhaust(node);
  else note(node, state, Mark.WATERMARK, reinterpret<u64>(watermark));
}

/** Keeps the waiting rows that stand only in the arriving batch, before it is gone; false when memory is exhausted. */
function keepNamed(spec: EventTimeSpec, state: Release, blocks: usize): bool {
  const binds = bindAll(spec, blocks);
  const sel = binds ? selectionPush() : 0;
  if (!sel) return false;
  const isKept = pendingKeep(state, binds, spec.columns, sel, inputOf(spec));
  selectionPop();
  return isKept;
}

/**
 * Sends the next rows that the watermark has reached; rows of its very time only if they came before `sequence`.
 * Returns their number.
 */
function releaseBatch(
  node: Node,
  state: Release,
  columns: u32,
  watermark: f64,
  sequence: u64,
  names: usize,
  room: u32,
  blocks: usize,
): u32 {
  if (pendingIsEmpty(changetype<usize>(state))) return 0;
  const stage = stageAcquire(columns + 1);
  if (!stage) {
    exhaust(node);
    return 0;
  }
  const times = <usize>load<u32>(stage + ((<usize>columns) << 2));
  // Times are whole numbers, so this excludes the time of the watermark.
  let n = pendingNames(state, sequence == ALL ? watermark : watermark - 0.5, names, times + COL_VALS, room);
  if (n == 0 && sequence != ALL) n = pendingAtTime(state, watermark, sequence, names, times + COL_VALS, room);
  if (n == room && node.flags & NodeFlag.ROUNDS) n = pendingUncut(state, names, times + COL_VALS, n);
  if (n) {
    memory.fill(times + COL_TAGS, Tag.I64, n);
    store<u8>(times, Tag.I64, COL_UNIFORM);
    partBegin(names, n);
    for (let c: u32 = 0; c < columns; c++) {
      partColumn(
        <usize>load<u32>(stage + ((<usize>c) << 2)),
        c,
        columns,
        blocks ? <usize>load<u32>(blocks + ((<usize>c) << 2)) : 0,
      );
    }
    if (!state.hasBegun) tellStart(node, state, <usize>load<u32>(stage), times, identity, n);
    ctx.setBatch(stage, n, identity, n, 0);
    emitInTime(node);
  }
  stageRelease(columns + 1);
  if (n) pendingReturn(changetype<usize>(state), names, n);
  return n;
}
