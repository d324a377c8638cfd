// How batches and signals travel: from a node to those below it, depth first, each through the record of its kind.
import { FEW_ROWS, passing, writePassed } from './condition';
import * as ctx from './context';
import { hostClock } from './host';
import { longestNote } from './longest';
import { N_CHILD, N_IN, N_LAST, N_OUT, N_PARENT, N_SIBLING, isExhausted, setCurrent } from './node';
import { Signal, pushOf, signalOf } from './operator';
import { beginTimed, endTimed, isSampled } from './timing';
import { N_CONDITION } from '../gen/flow-layouts';
import { span } from '../mem/layout';
import { poolChunk, poolFilled, poolReturn } from '../mem/pool';

// @ts-ignore: decorator
@inline function push(node: usize): void {
  const index = pushOf(node);
  if (index) call_indirect<void>(index, node);
  else emit(node);
}

function pushTimed(node: usize): void {
  const outer = beginTimed();
  const start = hostClock();
  push(node);
  endTimed(node, start, outer);
}

/** Hands the current batch to one node. */
// @ts-ignore: decorator
@inline export function give(node: usize, count: u32): void {
  if (isExhausted(node)) return;
  store<u64>(node, load<u64>(node, N_IN) + count, N_IN);
  store<f64>(node, ctx.nowMs, N_LAST);
  setCurrent(node);
  // What is computed below is of no use to others.
  const chunk = poolChunk(ctx.scratch);
  const filled = poolFilled(ctx.scratch);
  const computed = ctx.computed;
  if (isSampled) pushTimed(node);
  else push(node);
  if (poolChunk(ctx.scratch) != chunk || poolFilled(ctx.scratch) != filled) poolReturn(ctx.scratch, chunk, filled);
  ctx.setComputed(computed);
}

/** Hands the current batch to a filter whose condition is noted, if all rows pass or none of them does; else returns false. */
// @ts-ignore: decorator
@inline function decide(node: usize, count: u32): bool {
  if (!load<u16>(node, N_CONDITION) || isExhausted(node)) return false;
  const passed = passing(node);
  if (passed != 0 && passed != count) return false;
  store<u64>(node, load<u64>(node, N_IN) + count, N_IN);
  store<f64>(node, ctx.nowMs, N_LAST);
  ctx.addWork(count);
  if (passed) {
    writePassed(node);
    emit(node);
  }
  return true;
}

/** Hands the current batch (flow/context.ts) to every child, each with the same selection. */
export function emit(node: usize): void {
  const n = ctx.selLen;
  if (n == 0) return;
  store<u64>(node, load<u64>(node, N_OUT) + n, N_OUT);
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const errors = ctx.rowErrors;
  const isRoot = load<u32>(node, N_PARENT) == 0;
  const mayDecide = n <= FEW_ROWS && !errors && !isSampled;
  let child = <usize>load<u32>(node, N_CHILD);
  while (child) {
    if (!mayDecide || !decide(child, n)) {
      give(child, n);
      ctx.setBatch(cols, rows, sel, n, errors);
    }
    if (isRoot) longestNote(child, n);
    child = <usize>load<u32>(child, N_SIBLING);
  }
  setCurrent(node);
}

/** Hands a signal to one node. One that is exhausted takes none but what asks for what was complete before. */
export function signalTo(node: usize, signal: u32, value: u64): void {
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
@inline function handle(node: usize, signal: u32, value: u64): void {
  const index = signalOf(node);
  if (index) call_indirect<void>(index, node, signal, value);
  else signalBelow(node, signal, value);
}

/** Hands a signal to every child. The current batch is another one afterwards. */
export function signalBelow(node: usize, signal: u32, value: u64): void {
  let child = <usize>load<u32>(node, N_CHILD);
  while (child) {
    signalTo(child, signal, value);
    child = <usize>load<u32>(child, N_SIBLING);
  }
  setCurrent(node);
}

/** Opens a message: all batches until `endMessage` are rows of it. */
// @ts-ignore: decorator
@inline export function beginMessage(node: usize): void {
  signalBelow(node, Signal.BEGIN, 0);
}

/** Closes the message. With `failedOff` != 0 the message is replaced by that error text. */
// @ts-ignore: decorator
@inline export function endMessage(node: usize, failedOff: usize, failedLen: u32): void {
  signalBelow(node, Signal.END, span(failedOff, failedLen));
}
