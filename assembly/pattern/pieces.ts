// The rows of a batch, and the time that comes, for the searches of all keys. A node that may defer does its work in
// pieces (node/deferred.ts): rows that were not taken wait in a list, and a watermark behind them.
//
// In processing time the searches whose time is over are ended in pieces wherever the node is, and rows that come
// meanwhile wait behind them. So matches come in the order in which they become final, whatever their key.
import * as ctx from '../batch/context';
import { signalBelow } from '../emit/emit';
import { beginLong, defer, finish, goesOn, isDeferred, leaveDeferred, mayDefer } from '../node/deferred';
import { NodeFlag, accountOf, addException, exhaust, isExhausted } from '../node/node';
import { PatternFlag } from '../gen/pattern-layouts';
import { BATCH_ROWS, lenOf, offOf } from '../mem/layout';
import { Signal } from '../node/operator';
import { alloc, free } from '../mem/alloc';
import { entryDrop, noteDirty, takeDirty } from '../partitions/table';
import { plainError } from '../value/error';
import { Node } from '../gen/node-layouts';
import { Chain, rowsTaken } from './chain';
import { entries, faults, numbers, reportError } from './conditions';
import { firstDue, setDue } from './due';
import { advance, expire, goOn, isWhole, setWhole } from './search';
import { flush, sendFailure } from './send';
import { specOf } from './spec';
import { Partition, PatternState, dropBefore, endOf, partitionFree, timeOf } from './state';
import { awaitDue, isDue } from './time';
import { sendWaiting } from './waiting';

/** The searches take the rows of the batch in, in their order. */
export function rowsCome(node: Node, sel: usize, n: u32): void {
  const state = changetype<PatternState>(node.state);
  // Nodes below may be of the same kind.
  const ofRows = entries;
  const numbersOf = numbers;
  const faultsOf = faults;
  if (isDeferred(node)) {
    if (!hasFault(sel, 0, n, faultsOf)) {
      leaveRows(node, state, sel, 0, n, ofRows, numbersOf);
      return;
    }
    finish(node);
  }
  beginLong();
  for (let i: u32 = 0; i < n && !isExhausted(node); i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    const fault = load<u64>(faultsOf + (row << 3));
    if (fault) sendFailure(node, fault);
    store<u64>(faultsOf + (row << 3), 0);
    const partition = changetype<Partition>(load<u32>(ofRows + (row << 2)));
    if (!partition || rowComes(node, state, partition, load<u32>(numbersOf + (row << 2)))) continue;
    const next = isRowLeft ? i : i + 1;
    if (!hasFault(sel, next, n, faultsOf)) {
      leaveRows(node, state, sel, next, n, ofRows, numbersOf);
      break;
    }
    // The texts of errors go with the batch: no row waits.
    setWhole(true);
    takeUp(node, state);
    i = next - 1;
  }
  setWhole(false);
  flush(node);
}

function hasFault(sel: usize, from: u32, n: u32, faultsOf: usize): bool {
  for (let i = from; i < n; i++) {
    if (load<u64>(faultsOf + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3))) return true;
  }
  return false;
}

/** True when the row that came was not taken yet. */
let isRowLeft: bool = false;

/** A row comes to the searches of its key. False when there is more to do, which is left for later. */
function rowComes(node: Node, state: PatternState, partition: Partition, number: u32): bool {
  const spec = specOf(node);
  const ahead = spec.ahead;
  const ms = timeOf(partition, number);
  isRowLeft = true;
  if (!timeComes(node, ms)) return false;
  isRowLeft = false;
  partition.arrived = number + 1;
  if (<i32>(number + 1 - ahead - partition.limit) > 0) partition.limit = number + 1 - ahead;
  if (partition.waiting) sendWaiting(node, spec, partition, ms, false);
  const isDone = advance(node, partition, ms);
  reportError(node);
  if (!isDone) return leave(state, partition, ms);
  // Rows that waited for this one may have held a search back whose time is over.
  return !ahead || timeComes(node, ms);
}

/** True when searches whose time is over may end later, and rows wait for that. */
// @ts-ignore: decorator
@inline function mayLeave(node: Node): bool {
  return !isWhole && (mayDefer(node) || waitsByClock(node));
}

/** True when rows may wait by the clock, also where no window above keeps them. */
export function waitsByClock(node: Node): bool {
  return !mayDefer(node) && !(node.flags & NodeFlag.AT_ONCE) && !(specOf(node).flags & PatternFlag.EVENT_TIME);
}

/** Searches become final whose time is before `ms`. False when there is more to do, which is left for later. */
function timeComes(node: Node, ms: f64): bool {
  const state = changetype<PatternState>(node.state);
  state.hasTime = 0;
  while (isDue(node, ms)) {
    const isDone = becomesDue(node, state, firstDue(state));
    if (isDone && (goesOn(1) || !mayLeave(node))) continue;
    state.hasTime = 1;
    state.timeMs = ms;
    return false;
  }
  return true;
}

/** Searches of a partition become final whose time is over. */
function becomesDue(node: Node, state: PatternState, partition: Partition): bool {
  const ms = partition.due;
  noteDirty(state, partition);
  const isDone = expire(node, partition);
  reportError(node);
  return isDone || leave(state, partition, ms);
}

/** Leaves the searches of a partition that are decided for later; false. */
function leave(state: PatternState, partition: Partition, ms: f64): bool {
  state.resume = partition;
  state.resumeMs = ms;
  return false;
}

/** Goes on with the searches that were left, and with the time; false when some is left again. */
function takeUp(node: Node, state: PatternState): bool {
  const partition = state.resume;
  if (partition) {
    state.resume = changetype<Partition>(0);
    noteDirty(state, partition);
    const isDone = goOn(node, partition, state.resumeMs);
    reportError(node);
    if (!isDone) return leave(state, partition, state.resumeMs);
  }
  return !state.hasTime || timeComes(node, state.timeMs);
}

// ---- work that waits ---------------------------------------------------------------------------------------------

/** Leaves rows of the batch for later. */
function leaveRows(
  node: Node,
  state: PatternState,
  sel: usize,
  from: u32,
  n: u32,
  keys: usize,
  numbersOf: usize,
): void {
  defer(node);
  if (from == n) return;
  if (!roomForRest(state, n - from, accountOf(node))) {
    exhaust(node);
    return;
  }
  for (let i = from; i < n; i++) {
    const row = <usize>load<u32>(sel + ((<usize>i) << 2));
    const partition = load<u32>(keys + (row << 2));
    if (!partition) continue;
    const at = state.rest + ((state.restCount++ as usize) << 3);
    store<u32>(at, partition);
    store<u32>(at, load<u32>(numbersOf + (row << 2)), 4);
  }
}

/** Makes room for so many rows behind those that wait; false when memory is exhausted. */
function roomForRest(state: PatternState, n: u32, acct: usize): bool {
  const left = state.restCount - state.restAt;
  if (state.restCount + n <= state.restRoom) return true;
  const room = left ? max(left + n, left << 1) : n;
  const made = alloc(room << 3, acct);
  if (!made) return false;
  memory.copy(made, state.rest + ((<usize>state.restAt) << 3), (<usize>left) << 3);
  freeRest(state, acct);
  state.rest = made;
  state.restRoom = room;
  state.restCount = left;
  return true;
}

/** Batches of rows that wait. */
export function patternResults(node: Node): u32 {
  const state = changetype<PatternState>(node.state);
  return state ? (state.restCount - state.restAt) / BATCH_ROWS : 0;
}

export function freeRest(state: PatternState, acct: usize): void {
  if (state.rest) free(state.rest, state.restRoom << 3, acct);
  state.rest = 0;
  state.restAt = 0;
  state.restCount = 0;
}

/** A watermark comes. */
export function watermarkComes(node: Node, ms: f64): void {
  const state = changetype<PatternState>(node.state);
  beginLong();
  const isDone = timeComes(node, ms);
  flush(node);
  settleKeys(node);
  if (isDone) {
    signalBelow(node, Signal.WATERMARK, reinterpret<u64>(ms));
    return;
  }
  state.hasMark = 1;
  state.mark = ms;
  defer(node);
}

/** A tick comes: a piece of what waits, and what the time ends. */
export function clockComes(node: Node): void {
  beginLong();
  // What waits is sent at the time of the clock from now on, not at an earlier one.
  node.stamp = ctx.nowMs;
  if (isDeferred(node)) {
    if (!patternGoOn(node)) return;
    leaveDeferred(node);
  }
  if (!isExhausted(node) && !timeComes(node, ctx.nowMs)) defer(node);
  flush(node);
}

/** Goes on with deferred work; true when none is left. */
export function patternGoOn(node: Node): bool {
  const state = changetype<PatternState>(node.state);
  const isDone = takeUp(node, state) && restComes(node, state);
  flush(node);
  settleKeys(node);
  if (!isDone || isExhausted(node)) return isExhausted(node);
  freeRest(state, accountOf(node));
  if (state.hasMark) {
    state.hasMark = 0;
    signalBelow(node, Signal.WATERMARK, reinterpret<u64>(state.mark));
  }
  return true;
}

/** Rows come that were left; false when some are left again. */
function restComes(node: Node, state: PatternState): bool {
  while (state.restAt < state.restCount && !isExhausted(node)) {
    const at = state.rest + ((state.restAt++ as usize) << 3);
    const partition = changetype<Partition>(load<u32>(at));
    noteDirty(state, partition);
    if (rowComes(node, state, partition, load<u32>(at, 4))) continue;
    if (isRowLeft) state.restAt--;
    return false;
  }
  return true;
}

// ---- keys --------------------------------------------------------------------------------------------------------

/** Drops rows that nothing needs any more, and keys without any; sets the next deadline. */
export function settleKeys(node: Node): void {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  if (isExhausted(node)) return;
  const chain = changetype<Chain>(state.chain);
  for (let entry = takeDirty(state); entry; entry = takeDirty(state)) {
    const partition = changetype<Partition>(entry);
    let first = partition.search ? partition.search.start : partition.begin;
    if (chain) first = partition.arrived - rowsTaken(chain, partition);
    else if (partition.waiting && <i32>(partition.waiting.start - first) < 0) first = partition.waiting.start;
    const needed = first - min(spec.back, first);
    if (<i32>(needed - partition.base) > 0) dropBefore(state.rows, partition, needed, accountOf(node));
    // Conditions of rows that are gone are not asked any more.
    if (<i32>(partition.base - partition.limit) > 0) partition.limit = partition.base;
    if (partition.count || partition.search || (partition.matches && state.hasNumbers)) continue;
    // Work on it goes on later, and settles it then.
    if (partition == state.resume) continue;
    dropKey(node, state, partition);
  }
  awaitDue(node);
}

function dropKey(node: Node, state: PatternState, partition: Partition): void {
  const acct = accountOf(node);
  if (state.dueCount) setDue(state, partition, Infinity, 0, acct);
  partitionFree(partition, acct);
  entryDrop(state, partition, state.entrySize, acct);
}

/** True when the partition has partial matches, or what is not said yet. */
function isUnderWay(state: PatternState, partition: Partition): bool {
  const chain = changetype<Chain>(state.chain);
  return chain ? rowsTaken(chain, partition) != 0 : partition.partials != 0 || !!partition.waiting;
}

/** Forgets keys whose last row is older than the node keeps them; partial matches that they have are counted. */
export function forgetIdle(node: Node): void {
  const state = changetype<PatternState>(node.state);
  if (!state.isAging) return;
  const ttl = specOf(node).ttl;
  for (let entry = state.first; entry && entry.seen + ttl <= ctx.nowMs; entry = state.first) {
    const partition = changetype<Partition>(entry);
    if (isUnderWay(state, partition)) {
      const error = plainError('a key with partial matches was forgotten, as stateTtl says');
      addException(node, offOf(error), lenOf(error), 1);
      state.dropped++;
    }
    dropBefore(state.rows, partition, endOf(partition), accountOf(node));
    dropKey(node, state, partition);
    // The rest goes with the next tick.
    if (!goesOn(1)) return;
  }
}
