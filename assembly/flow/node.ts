// Operators of the running rules form trees: a stream at the root, then filters, windows, encoders. Rules with equal
// steps share the nodes of those steps; a node lives as long as somebody refers to it (the host counts).
// A node is drawn in gen/flow-layouts.ts.
import { alloc, allocZeroed, free } from '../mem/alloc';
import { poolChunk, poolFilled, poolReturn } from '../mem/pool';
import * as ctx from './context';
import { fail, failLen, failNoMemory, failOff } from './failure';
import { hostClock, hostExhausted } from './host';
import { pushTo, beginOf, endOf } from './kinds';
import { isMeasured, note, noteFree } from './latency';
import { longestFrom, longestNote, longestUntil } from './longest';

import {
  NodeFlag, NodeKind, N_KIND, N_PARENT, N_CHILD, N_SIBLING, N_FLAGS, N_MEMORY, N_IN, N_OUT, N_EXCEPTIONS, N_EXC_OFF, N_EXC_LEN, N_EXC_AT, N_LAST, N_BUSY, N_TICK, N_SIZE_OF as NODE_SIZE,
} from '../gen/flow-layouts';

export { NodeFlag, NodeKind } from '../gen/flow-layouts';
export {
  N_KIND, N_PARENT, N_CHILD, N_SIBLING, N_PROGRAM, N_STATE, N_FLAGS, N_HEAP, N_MEMORY, N_IN, N_OUT, N_EXCEPTIONS, N_EXC_OFF, N_EXC_LEN, N_EXC_AT, N_LAST, N_DEADLINE, N_HOST, N_SPEC, N_SPEC_SIZE, N_STATE_SIZE, N_BUSY, N_TICK, N_HIST, N_WORK, N_WORK_US, N_WORK_ROWS, N_WORK_HOST, N_SIZE_OF as NODE_SIZE,
} from '../gen/flow-layouts';

/** The node at work, for the report when the kernel fails. */
export let current: usize = 0;

export function setCurrent(node: usize): void {
  current = node;
}

/** One batch in this many is timed; not the very first ones, which run before the code is optimised. */
const SAMPLE_EVERY: u32 = 64;
let sampleCount: u32 = 32;
let isSampled: bool = false;
/** How many batches the timed one stands for. */
let sampleWeight: f64 = 1;
/** Time spent in the children of the node at work, microseconds; only in a timed batch. */
let childrenUs: f64 = 0;

/** Decides whether the batch that begins is timed. */
export function nextSample(): void {
  const every: u32 = isMeasured ? 1 : SAMPLE_EVERY;
  isSampled = (sampleCount++ & (every - 1)) == 0;
  sampleWeight = every;
  childrenUs = 0;
}

/** Begins the tick of a node; returns the time. Ticks are rare and differ in size: each is timed, and stands for itself. */
export function beginTick(): f64 {
  isSampled = true;
  sampleWeight = 1;
  childrenUs = 0;
  const now = hostClock();
  longestFrom(now);
  return now;
}

/** Ends the tick of a node that began at `start`. */
export function endTick(node: usize, start: f64): void {
  const now = hostClock();
  const took = now - start;
  charge(node, took);
  longestUntil(node, now, 0);
  isSampled = false;
  let root = node;
  while (load<u32>(root, N_PARENT)) root = <usize>load<u32>(root, N_PARENT);
  store<f64>(root, load<f64>(root, N_TICK) + took, N_TICK);
}


const MAX_EXCEPTION_TEXT: u32 = 512;

/** Makes a node below `parent` (0: a root), after its last child. Returns 0 when memory is exhausted. */
export function nodeNew(kind: u32, parent: usize): usize {
  const node = allocZeroed(NODE_SIZE, 0);
  if (!node) return 0;
  store<u64>(node, NODE_SIZE, N_MEMORY);
  store<u32>(node, kind, N_KIND);
  store<u32>(node, <u32>parent, N_PARENT);
  if (parent) {
    let last = <usize>load<u32>(parent, N_CHILD);
    if (!last) store<u32>(parent, <u32>node, N_CHILD);
    else {
      while (load<u32>(last, N_SIBLING)) last = <usize>load<u32>(last, N_SIBLING);
      store<u32>(last, <u32>node, N_SIBLING);
    }
  }
  return node;
}

/** Unlinks the node from its parent and frees the node itself; its kind has freed state, spec and program before. */
export function nodeRelease(node: usize): void {
  const parent = <usize>load<u32>(node, N_PARENT);
  if (parent) {
    let at = <usize>load<u32>(parent, N_CHILD);
    if (at == node) store<u32>(parent, load<u32>(node, N_SIBLING), N_CHILD);
    else {
      while (at && <usize>load<u32>(at, N_SIBLING) != node) at = <usize>load<u32>(at, N_SIBLING);
      if (at) store<u32>(at, load<u32>(node, N_SIBLING), N_SIBLING);
    }
  }
  noteFree(node);
  free(<usize>load<u32>(node, N_EXC_OFF), MAX_EXCEPTION_TEXT, 0);
  free(node, NODE_SIZE, 0);
}

/** Address of the byte counter that the node's own allocations are charged to. */
// @ts-ignore: decorator
@inline export function accountOf(node: usize): usize {
  return node + N_MEMORY;
}

/** Books what a node took in a timed batch, without what its children took of it. */
function charge(node: usize, took: f64): void {
  const own = took - childrenUs;
  store<f64>(node, load<f64>(node, N_BUSY) + own * sampleWeight, N_BUSY);
  if (isMeasured) note(node, own);
}

/** Books the time since `start` that a root took to read its input; only where every batch is timed. */
export function chargeRoot(root: usize, start: f64): void {
  const took = hostClock() - start;
  store<f64>(root, load<f64>(root, N_BUSY) + took, N_BUSY);
  note(root, took);
}

function pushTimed(node: usize): void {
  const outer = childrenUs;
  childrenUs = 0;
  const start = hostClock();
  pushTo(node);
  const took = hostClock() - start;
  charge(node, took);
  childrenUs = outer + took;
}

function endTimed(node: usize, failedOff: usize, failedLen: u32): void {
  const outer = childrenUs;
  childrenUs = 0;
  const start = hostClock();
  endOf(node, failedOff, failedLen);
  const took = hostClock() - start;
  charge(node, took);
  childrenUs = outer + took;
}

// @ts-ignore: decorator
@inline export function isExhausted(node: usize): bool {
  return (load<u32>(node, N_FLAGS) & NodeFlag.EXHAUSTED) != 0;
}

/**
 * Gives the node up: it had to keep something and memory is exhausted. What it would send from now on would leave that out,
 * so it sends nothing; the host ends its rules with that reason, which frees what they hold.
 */
export function exhaust(node: usize): void {
  if (isExhausted(node)) return;
  store<u32>(node, load<u32>(node, N_FLAGS) | NodeFlag.EXHAUSTED, N_FLAGS);
  failNoMemory();
  addException(node, failOff, failLen, 1);
  hostExhausted(node);
}

/** Hands the current batch to one node. */
// @ts-ignore: decorator
@inline export function give(node: usize, count: u32): void {
  if (isExhausted(node)) return;
  store<u64>(node, load<u64>(node, N_IN) + count, N_IN);
  store<f64>(node, ctx.nowMs, N_LAST);
  current = node;
  // What is computed below is of no use to others.
  const chunk = poolChunk(ctx.scratch);
  const filled = poolFilled(ctx.scratch);
  const computed = ctx.computed;
  if (isSampled) pushTimed(node);
  else pushTo(node);
  if (poolChunk(ctx.scratch) != chunk || poolFilled(ctx.scratch) != filled) poolReturn(ctx.scratch, chunk, filled);
  ctx.setComputed(computed);
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
  let child = <usize>load<u32>(node, N_CHILD);
  while (child) {
    give(child, n);
    if (isRoot) longestNote(child, n);
    ctx.setBatch(cols, rows, sel, n, errors);
    child = <usize>load<u32>(child, N_SIBLING);
  }
  current = node;
}

/** Opens a message: all batches until `endMessage` are rows of it. */
export function beginMessage(node: usize): void {
  let child = <usize>load<u32>(node, N_CHILD);
  while (child) {
    beginOf(child);
    child = <usize>load<u32>(child, N_SIBLING);
  }
}

/** Closes the message. With `failedOff` != 0 the message is replaced by that error text. */
export function endMessage(node: usize, failedOff: usize, failedLen: u32): void {
  let child = <usize>load<u32>(node, N_CHILD);
  while (child) {
    if (isSampled) endTimed(child, failedOff, failedLen);
    else endOf(child, failedOff, failedLen);
    child = <usize>load<u32>(child, N_SIBLING);
  }
}

let failures: u32 = 0;

/** Exceptions and dropped rows of all nodes and streams so far: a look at it tells whether there are new ones. Wraps around. */
export function failureCount(): u32 {
  return failures;
}

/** Says that a row was dropped: the node counts it. */
// @ts-ignore: decorator
@inline export function noteLoss(): void {
  failures++;
}

/** Counts `count` exceptions and keeps the text of the last one. */
export function addException(node: usize, textOff: usize, textLen: u32, count: u32): void {
  failures += count;
  store<u64>(node, load<u64>(node, N_EXCEPTIONS) + count, N_EXCEPTIONS);
  store<f64>(node, ctx.nowMs, N_EXC_AT);
  keepText(node, textOff, textLen);
}

/**
 * Makes the reason in flow/failure.ts last longer than the work on its batch: until the node meets another one. Texts that
 * are computed for a batch go with it, the message that they are the end of goes on.
 */
export function keepFailure(node: usize): void {
  keepText(node, failOff, failLen);
  const kept = <usize>load<u32>(node, N_EXC_OFF);
  if (kept) fail(kept, load<u32>(node, N_EXC_LEN));
  else failNoMemory();
}

function keepText(node: usize, textOff: usize, textLen: u32): void {
  let to = <usize>load<u32>(node, N_EXC_OFF);
  if (!to) {
    to = alloc(MAX_EXCEPTION_TEXT, 0);
    if (!to) return;
    store<u32>(node, <u32>to, N_EXC_OFF);
  }
  const len = min(textLen, MAX_EXCEPTION_TEXT);
  memory.copy(to, textOff, len);
  store<u32>(node, len, N_EXC_LEN);
}
