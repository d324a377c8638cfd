// Windows of partitioned rows (OVER (PARTITION BY …)): each partition has the window that its rows would have if they
// were alone. Each partition has a time at which it is due next (window/partitions/due.ts), and the node has one
// deadline, that of the partition that is due first.
//
// In event time, windows that are due before a row are sent before the row is taken in, in the order of their times.
// The output thus does not depend on how the input is cut into batches. By the clock, a row sends only the due windows
// of its own partition; the tick sends those of the others.
//
// When a watermark ends many windows, they are deferred and sent in pieces (window/content/outbox.ts), as long as no
// row comes.
import * as ctx from '../../batch/context';
import { beginLong, defer, deferredCount, goesOn, isHeldBelow, mayDefer } from '../../node/deferred';
import { NodeFlag, accountOf, addException, exhaust, isExhausted } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { lenOf, offOf } from '../../mem/layout';
import { WindowFlag, hasFlag, isEventTime, isPartitioned } from '../../agg/group/spec';
import { dueFirst, dueNote, dueSet } from './due';
import { resume } from '../content/frame';
import { bindConstants } from '../content/kept';
import { outboxDue, placeBegin, placeDue, placeLast, placing, sendError, setPlace } from '../content/outbox';
import {
  Partitions,
  leftUntil,
  partitionCount,
  partitionDrop,
  partitionFault,
  partitionFind,
  partitionFirst,
  partitionForget,
  partitionNew,
  partitionNext,
  partitionsDue,
  setLeftUntil,
} from './partitions';
import { timeOfRow } from '../content/times';
import { WindowState, P_DUE, W_PARTITIONS } from '../content/state';
import {
  choosesRows,
  dueOf,
  fireOf,
  hasDue,
  isOver,
  opensOf,
  rowsHaveWindows,
  sendOf,
  setBackOf,
  takeOf,
} from '../kinds/kind';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { PartitionTable } from '../../partitions/table-slots';

/**
 * Windows that one tick sends at most. The others wait for the next tick, so that sockets and other rules get their
 * turns.
 */
const MOST_FIRED: u32 = 4096;

/** True where the time of rows, not the clock, decides what is due. */
// @ts-ignore: decorator
@inline function followsRows(spec: WindowSpec): bool {
  return isEventTime(spec) && !endsWithRow(spec);
}

// @ts-ignore: decorator
@inline function endsWithRow(spec: WindowSpec): bool {
  return hasFlag(spec, WindowFlag.ENDS_WITH_ROW);
}

// @ts-ignore: decorator
@inline function partitionsOf(state: WindowState): usize {
  return <usize>load<u32>(changetype<usize>(state), W_PARTITIONS);
}

/** Takes the selected rows in. */
export function keyedPush(node: Node, spec: WindowSpec, state: WindowState): void {
  const partitions = partitionsOf(state);
  const sel = ctx.sel;
  const n = ctx.selLen;
  const joinsEqual = hasFlag(spec, WindowFlag.JOINS_EQUAL);
  if (leftUntil(changetype<Partitions>(partitions)) != -Infinity) {
    fire(node, spec, changetype<Partitions>(partitions), leftUntil(changetype<Partitions>(partitions)));
    resume();
  }
  for (let i: u32 = 0; i < n && !isExhausted(node); ) {
    const ms = timeOfRow(load<u32>(sel + ((<usize>i) << 2)));
    if (followsRows(spec) && isDue(partitions, ms)) {
      fire(node, spec, changetype<Partitions>(partitions), ms);
      resume();
    }
    let j = i + 1;
    if (joinsEqual) while (j < n && timeOfRow(load<u32>(sel + ((<usize>j) << 2))) == ms) j++;
    take(node, spec, partitions, sel + ((<usize>i) << 2), j - i, ms);
    i = j;
  }
}

/** True when a partition is due at `ms`. */
// @ts-ignore: decorator
@inline function isDue(partitions: usize, ms: f64): bool {
  const part = dueFirst(partitionsDue(partitions));
  return part && load<f64>(changetype<usize>(part), P_DUE) <= ms;
}

/** Takes in rows that have the same time and come together. */
function take(node: Node, spec: WindowSpec, partitions: usize, sel: usize, n: u32, ms: f64): void {
  const sends = rowsHaveWindows(spec);
  for (let i: u32 = 0; i < n; i++) {
    const at = sel + ((<usize>i) << 2);
    const part = takeRow(node, spec, partitions, at, ms);
    if (isExhausted(node)) return;
    // A window of rows of one time is sent when all of them are in.
    if (sends && n == 1 && part) sendOf(node, spec, part, load<u32>(at), ms);
    if (part && !settle(node, spec, changetype<Partitions>(partitions), part)) return;
  }
  if (!sends || n == 1) return;
  for (let i: u32 = 0; i < n && !isExhausted(node); i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (partitionFault(spec, row)) continue;
    const part = partitionFind(spec, changetype<PartitionTable>(partitions), row);
    sendOf(node, spec, part, row, ms);
    settle(node, spec, changetype<Partitions>(partitions), part);
  }
}

/**
 * Takes the row at `at` into the window of its partition. Returns the state of the partition, 0 where the row is in no
 * window.
 */
function takeRow(node: Node, spec: WindowSpec, partitions: usize, at: usize, ms: f64): WindowState {
  const row = load<u32>(at);
  const fault = choosesRows(spec) ? 0 : partitionFault(spec, row);
  if (fault) {
    passFault(node, fault);
    return changetype<WindowState>(0);
  }
  let part = partitionFind(spec, changetype<PartitionTable>(partitions), row);
  if (!part) {
    if (choosesRows(spec) && !opensOf(spec, row)) return changetype<WindowState>(0);
    part = partitionNew(node, spec, changetype<Partitions>(partitions));
    if (!part) {
      exhaust(node);
      return changetype<WindowState>(0);
    }
  }
  takeOf(node, spec, part, at, ms);
  return part;
}

/** Sends the failure of a row whose partition key failed as a message of its own; the row is in no window. */
function passFault(node: Node, text: u64): void {
  addException(node, offOf(text), lenOf(text), 1);
  if (!(node.flags & NodeFlag.SEND_ERROR)) return;
  sendError(node, offOf(text), lenOf(text));
  resume();
}

/** Sets when the changed partition is due next, or drops it; false when memory is exhausted. */
function settle(node: Node, spec: WindowSpec, partitions: Partitions, part: WindowState): bool {
  if (isOver(spec, part, -Infinity)) {
    partitionDrop(node, partitions, part);
    return true;
  }
  const ms = dueTime(spec, part);
  if (ms == Infinity || dueNote(partitionsDue(changetype<usize>(partitions)), part, ms, accountOf(node))) return true;
  exhaust(node);
  return false;
}

/** Time at which the partition is due next, epoch ms; Infinity for never. */
function dueTime(spec: WindowSpec, part: WindowState): f64 {
  if (hasDue(spec)) return dueOf(spec, part);
  const ttl = spec.step;
  return ttl > 0 ? part.tick + ttl : Infinity;
}

/** Does the work of the partition that is due first at `ms`; false when none is due. */
function fireNext(node: Node, spec: WindowSpec, partitions: usize, ms: f64): bool {
  const due = partitionsDue(partitions);
  for (let part = dueFirst(due); part && load<f64>(changetype<usize>(part), P_DUE) <= ms; part = dueFirst(due)) {
    const real = dueTime(spec, part);
    if (real > load<f64>(changetype<usize>(part), P_DUE)) {
      dueSet(due, part, real, accountOf(node));
      continue;
    }
    if (endsWithRow(spec)) partitionForget(node, changetype<Partitions>(partitions), part);
    else {
      fireOf(node, spec, part);
      if (isOver(spec, part, ms)) partitionDrop(node, changetype<Partitions>(partitions), part);
      else dueSet(due, part, dueTime(spec, part), accountOf(node));
    }
    return !isExhausted(node);
  }
  return false;
}

/** Does the work of all partitions that are due at `ms`; when it is long, the rest is deferred. */
function fire(node: Node, spec: WindowSpec, partitions: Partitions, ms: f64): void {
  // Nodes above may be at the same.
  const outer = placing;
  const outerDue = placeDue;
  const outerLast = placeLast;
  if (leftUntil(partitions) != -Infinity) placeBegin(node);
  setLeftUntil(partitions, -Infinity);
  beginLong();
  while (fireNext(node, spec, changetype<usize>(partitions), ms)) if (mayDefer(node) && !goesOn(1)) defer(node);
  setPlace(outer, outerDue, outerLast);
}

/** Goes on with deferred windows as far as it comes; true when all are sent. */
export function keyedGoOn(node: Node, spec: WindowSpec): bool {
  const partitions = changetype<Partitions>(partitionsOf(changetype<WindowState>(node.state)));
  bindConstants(spec, node.program);
  while (fireNext(node, spec, changetype<usize>(partitions), leftUntil(partitions))) {
    if (deferredCount > 1 && isHeldBelow(node)) return false;
    if (!goesOn(1)) return false;
  }
  setLeftUntil(partitions, -Infinity);
  return true;
}

/** Partitions whose windows may wait to be sent; 0 where rows are not partitioned or no window waits. */
export function keyedResults(node: Node): u32 {
  if (!isPartitioned(changetype<WindowSpec>(node.spec))) return 0;
  const partitions = changetype<Partitions>(partitionsOf(changetype<WindowState>(node.state)));
  return leftUntil(partitions) == -Infinity ? 0 : partitionCount(partitions);
}

/** Takes a watermark: no row older than `ms` comes any more. When many windows end, they are deferred. */
export function keyedWatermark(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  if (!followsRows(spec)) return;
  const partitions = changetype<Partitions>(partitionsOf(state));
  if (leftUntil(partitions) != -Infinity) {
    setLeftUntil(partitions, ms);
    return;
  }
  beginLong();
  while (fireNext(node, spec, changetype<usize>(partitions), ms)) {
    if (!mayDefer(node) || goesOn(1)) continue;
    if (outboxDue(node)) setLeftUntil(partitions, ms);
    else fire(node, spec, partitions, ms);
    return;
  }
}

/** Handles a tick, which comes at the deadline of the node. Windows beyond MOST_FIRED are sent by a tick 1 ms later. */
export function keyedTick(node: Node, spec: WindowSpec, state: WindowState): void {
  const partitions = partitionsOf(state);
  for (let i: u32 = 0; fireNext(node, spec, partitions, ctx.nowMs); i++) {
    if (i < MOST_FIRED) continue;
    if (!setDeadline(node, ctx.nowMs + 1)) exhaust(node);
    return;
  }
  if (!isExhausted(node)) keyedDeadline(node, spec, state);
}

/** Sets the deadline of the node to the time of the partition that is due first by the clock. */
export function keyedDeadline(node: Node, spec: WindowSpec, state: WindowState): void {
  if (followsRows(spec)) return;
  const part = dueFirst(partitionsDue(partitionsOf(state)));
  if (part && !setDeadline(node, load<f64>(changetype<usize>(part), P_DUE))) exhaust(node);
}

/** Handles a clock that is set back: the times in partitions, and those at which they are due, move along. */
export function keyedSetBack(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  const partitions = changetype<PartitionTable>(partitionsOf(state));
  for (let part = partitionFirst(partitions); part; part = partitionNext(part)) {
    if (endsWithRow(spec)) part.tick -= ms;
    if (!isEventTime(spec)) setBackOf(node, spec, part, ms);
  }
  if (!followsRows(spec)) keyedArrange(node, spec, state);
}

/** Puts all partitions into the heap at the times at which they are due. */
export function keyedArrange(node: Node, spec: WindowSpec, state: WindowState): void {
  const partitions = changetype<PartitionTable>(partitionsOf(state));
  const due = partitionsDue(changetype<usize>(partitions));
  for (let part = partitionFirst(partitions); part; part = partitionNext(part)) {
    const ms = dueTime(spec, part);
    if (ms < Infinity && !dueSet(due, part, ms, accountOf(node))) {
      exhaust(node);
      return;
    }
  }
}
