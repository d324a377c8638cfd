// How batches and signals travel: from a node to those below it, depth first, each through the record of its kind.
import { choose } from './choice';
import { FEW_ROWS, UNDECIDED, isWhole, passing, writePassed } from './condition';
import * as ctx from '../batch/context';
import { hostClock } from '../batch/host';
import { isMeasured, note } from '../node/latency';
import { longestNote } from '../node/longest';
import { NodeFlag, isExhausted, setCurrent } from '../node/node';
import { Signal, pushEachOf, pushOf, signalOf } from '../node/operator';
import { selectionPop, selectionPush } from '../batch/selection';
import { identity, stageAcquire, stageRelease } from '../batch/stage';
import { beginTimed, endTimed, isSampled } from '../node/timing';
import { Tag, offOf, setAt, span } from '../mem/layout';
import { poolChunk, poolFilled, poolReturn } from '../mem/pool';
import { Choice, ChoicePart } from '../gen/emit-layouts';
import { Node } from '../gen/node-layouts';

// @ts-ignore: decorator
@inline function push(node: Node, index: u32): void {
  if (index) call_indirect<void>(index, node);
  else emit(node);
}

function pushTimed(node: Node, index: u32): void {
  const outer = beginTimed();
  const start = hostClock();
  push(node, index);
  endTimed(node, start, outer);
}

/** Hands the current batch to one node. */
// @ts-ignore: decorator
@inline export function give(node: Node, count: u32): void {
  giveTo(node, count, pushOf(node));
}

// @ts-ignore: decorator
@inline function giveTo(node: Node, count: u32, index: u32): void {
  if (isExhausted(node)) return;
  node.in += count;
  node.last = ctx.nowMs;
  setCurrent(node);
  // Memory that the child computes into is given back, as no other node reads it.
  const chunk = poolChunk(ctx.scratch);
  const filled = poolFilled(ctx.scratch);
  const computed = ctx.computed;
  if (isSampled) pushTimed(node, index);
  else push(node, index);
  if (poolChunk(ctx.scratch) != chunk || poolFilled(ctx.scratch) != filled) poolReturn(ctx.scratch, chunk, filled);
  ctx.setComputed(computed);
}

/**
 * Hands the current batch of few rows, none of which failed, to a node without a call; false where that is not
 * possible. It is for nodes that only count rows, and for filters with a noted condition. `isCounted`: the parent has
 * counted the batch for such filters already.
 */
// @ts-ignore: decorator
@inline function giveFew(node: Node, count: u32, isCounted: bool): bool {
  const flags = node.flags;
  if (flags & NodeFlag.COUNTS) {
    node.in += count;
    node.out += count;
    node.last = ctx.nowMs;
    return true;
  }
  if (!node.condition || count > FEW_ROWS) return false;
  const passed = passing(node);
  if (passed == UNDECIDED) return false;
  if (passed == (1 << count) - 1) {
    take(node, count, isCounted);
    writePassed(node);
    emit(node);
  } else if (!passed) {
    take(node, count, isCounted);
  } else {
    const kept = selectionPush();
    if (!kept) return false;
    take(node, count, isCounted);
    const sel = ctx.sel;
    let n: u32 = 0;
    for (let rest = passed; rest; rest &= rest - 1)
      store<u32>(kept + ((n++ as usize) << 2), load<u32>(sel + ((<usize>ctz(rest)) << 2)));
    ctx.setSelection(kept, n);
    writePassed(node);
    emit(node);
    ctx.setSelection(sel, count);
    selectionPop();
  }
  return true;
}

// @ts-ignore: decorator
@inline function take(node: Node, count: u32, isCounted: bool): void {
  ctx.addWork(count);
  if (isCounted) return;
  node.in += count;
  node.last = ctx.nowMs;
}

/** Hands the current batch (batch/context.ts) to every child, each with the same selection. */
export function emit(node: Node): void {
  const n = ctx.selLen;
  if (n == 0) return;
  node.out += n;
  const flags = node.flags;
  if (flags & NodeFlag.TALLIES) {
    node.stamp = ctx.nowMs;
    if (isMeasured) note(node.child, 0);
    return;
  }
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const errors = ctx.rowErrors;
  const isRoot = !node.parent;
  const mayDecide = !errors && !isSampled;
  if (flags & NodeFlag.CHOOSES && !errors && !isMeasured) {
    const choice = choose(node);
    if (choice) {
      emitChosen(choice, isRoot, mayDecide);
      setCurrent(node);
      return;
    }
  }
  let child = node.child;
  while (child) {
    if (!mayDecide || !giveFew(child, n, false)) {
      give(child, n);
      ctx.setBatch(cols, rows, sel, n, errors);
    }
    if (isRoot) longestNote(child, n);
    child = child.sibling;
  }
  setCurrent(node);
}

/** Hands the current batch to the chosen nodes, in their order. */
function emitChosen(choice: Choice, isRoot: bool, mayDecide: bool): void {
  const n = ctx.selLen;
  for (let part = choice.first; part; part = part.next) {
    const summaries = (part.words + 63) >> 6;
    for (let s: u32 = 0; s < summaries; s++) {
      const at = (<usize>s) << 3;
      let touched = load<u64>(part.touched + at);
      store<u64>(part.touched + at, load<u64>(part.hasAlways + at));
      for (; touched; touched &= touched - 1) emitWord(part, (s << 6) + <u32>ctz(touched), isRoot, mayDecide);
    }
  }
  for (let child = changetype<Node>(choice.tail); child; child = child.sibling) {
    giveChosen(child, n, mayDecide);
    if (isRoot) longestNote(child, n);
  }
}

/** Hands the current batch to the chosen ones of 64 nodes, and takes back their marks. */
function emitWord(part: ChoicePart, word: u32, isRoot: bool, mayDecide: bool): void {
  const n = ctx.selLen;
  const at = (<usize>word) << 3;
  const always = load<u64>(part.always + at);
  const called = load<u64>(part.called + at);
  const asked = load<u64>(part.asked + at);
  store<u64>(part.called + at, always);
  store<u64>(part.asked + at, always);
  const order = part.order + ((<usize>word) << 8);
  for (let bits = called; bits; bits &= bits - 1) {
    const child = changetype<Node>(load<u32>(order + ((<usize>ctz(bits)) << 2)));
    // It is gone.
    if (!child) continue;
    const passes = !(asked & bits & -bits) && isWhole(child);
    // Less time than two looks at the clock: it has no part in batches that are timed.
    if (passes && tally(child, n)) continue;
    if (passes && mayDecide) pass(child);
    else giveChosen(child, n, mayDecide);
    if (isRoot) longestNote(child, n);
  }
  ctx.addWork(<u32>popcnt(called & ~asked));
}

/** Counts the rows that pass a filter which also counts for its child; false for other nodes. */
// @ts-ignore: decorator
@inline function tally(node: Node, count: u32): bool {
  if (!(node.flags & NodeFlag.TALLIES)) return false;
  node.out += count;
  node.stamp = ctx.nowMs;
  return true;
}

/** Passes on the batch that a filter took, all rows of which pass. */
function pass(node: Node): void {
  writePassed(node);
  emit(node);
}

function giveChosen(node: Node, count: u32, mayDecide: bool): void {
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  if (mayDecide && giveFew(node, count, true)) return;
  if (node.condition) node.in -= count;
  give(node, count);
  ctx.setBatch(cols, rows, sel, count, 0);
}

/** Hands a signal to one node. An exhausted node takes FLUSH only, for results that were complete before. */
export function signalTo(node: Node, signal: u32, value: u64): void {
  if (isExhausted(node) && signal != Signal.FLUSH) return;
  setCurrent(node);
  // The work that is to be timed comes with the end of a message; other signals belong to the node that sends them.
  if (!isSampled || signal != Signal.END) {
    handle(node, signal, value);
    return;
  }
  const outer = beginTimed();
  const start = hostClock();
  handle(node, signal, value);
  endTimed(node, start, outer);
}

// @ts-ignore: decorator
@inline function handle(node: Node, signal: u32, value: u64): void {
  const index = signalOf(node);
  if (index) call_indirect<void>(index, node, signal, value);
  else signalBelow(node, signal, value);
}

/** Hands a signal to every child. The current batch is another one afterwards. */
export function signalBelow(node: Node, signal: u32, value: u64): void {
  let child = node.child;
  while (child) {
    signalTo(child, signal, value);
    child = child.sibling;
  }
  setCurrent(node);
}

/** Opens a message: all batches until `endMessage` are rows of it. */
// @ts-ignore: decorator
@inline export function beginMessage(node: Node): void {
  signalBelow(node, Signal.BEGIN, 0);
}

/** Closes the message. With `failedOff` != 0 the message is replaced by that error text. */
// @ts-ignore: decorator
@inline export function endMessage(node: Node, failedOff: usize, failedLen: u32): void {
  signalBelow(node, Signal.END, span(failedOff, failedLen));
}

/** Hands the current batch to every child: each of its rows, none of which failed, is a message of its own. */
export function emitEach(node: Node): void {
  const n = ctx.selLen;
  if (n == 0) return;
  node.out += n;
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const isRoot = !node.parent;
  for (let child = node.child; child; child = child.sibling) {
    const index = pushEachOf(child);
    if (index) {
      giveTo(child, n, index);
    } else {
      for (let i: u32 = 0; i < n; i++) {
        signalTo(child, Signal.BEGIN, 0);
        ctx.setBatch(cols, rows, sel + ((<usize>i) << 2), 1, 0);
        give(child, 1);
        signalTo(child, Signal.END, 0);
      }
    }
    ctx.setBatch(cols, rows, sel, n, 0);
    if (isRoot) longestNote(child, n);
  }
  setCurrent(node);
}

/**
 * Makes an error row the only row of the current batch, if the node's rules send errors; false when there is nothing to
 * send. `endFailed` gives its block back afterwards.
 */
export function beginFailed(node: Node, failure: u64): bool {
  if (!(node.flags & NodeFlag.SEND_ERROR)) return false;
  const stage = stageAcquire(1);
  if (!stage) return false;
  const errors = <usize>load<u32>(stage);
  setAt(errors, 0, Tag.ERROR, failure);
  ctx.setBatch(stage, 1, identity, 1, errors);
  return true;
}

export function endFailed(): void {
  stageRelease(1);
}

/** Sends an error row alone, if the node's rules send errors. It replaces the current batch. */
export function sendFailed(node: Node, failure: u64): void {
  if (!beginFailed(node, failure)) return;
  emit(node);
  endFailed();
}

/**
 * Takes the begin or end of a message for a node whose rows do not stay in their messages; true for both signals. A
 * message that failed goes on as an error row.
 */
export function leavesMessage(node: Node, signal: u32, value: u64): bool {
  if (signal == Signal.END && offOf(value)) sendFailed(node, value);
  return signal == Signal.BEGIN || signal == Signal.END;
}
