// Making and freeing nodes, the entry of batches at a root, timers: what the host drives.
import { emit, give, signalTo } from '../emit/emit';
import { deferredCount, finish, isBelowDeferred, leaveDeferred, pieceOf, takeDeferred } from '../node/deferred';
import { noteFree } from '../node/latency';
import {
  N_DEADLINE,
  N_HEAP,
  N_CHILD,
  N_FLAGS,
  N_HOST,
  N_LAST,
  N_OUT,
  N_PARENT,
  N_PROGRAM,
  N_SIBLING,
  N_SPEC,
  N_SPEC_SIZE,
  NodeFlag,
  accountOf,
  current,
  exhaust,
  leaveEventTime,
  nodeNew,
  nodeRelease,
  setCurrent,
} from '../node/node';
import { Signal, Trait, freeOf, hasTrait, openOf, setBackOf, tickOf } from '../node/operator';
import { operatorsInit } from './gen/kinds';
import { beginTick, endTick, nextSample } from '../node/timing';
import { contextInit, registers, scratchReset, setBatch, setNow } from '../batch/context';
import * as ctx from '../batch/context';
import { hostClock, hostTick } from '../batch/host';
import { inletInit } from './inlet';
import { outFlush, outputInit } from '../encode/output';
import { selectionIsFree, selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { identity, stageInit, stageTrim } from '../batch/stage';
import { longestBegin, longestNote } from '../node/longest';
import { stackTrim } from '../json/tree';
import { textTrim } from '../value/text';
import { clearDeadline, deadlinesSetBack, setDeadline, takeDue } from '../node/timers';
import { answerClose } from '../lookup/answer';
import { runIsUnderWay } from '../join/message/run';
import { frameIsFree } from '../window/content/frame';
import { alloc, free } from '../mem/alloc';
import { COL_SIZE } from '../mem/layout';
import { programFree, programNew, vmRun } from '../ops/vm';

/** Prepares the kernel; false when the first memory is not to be had. */
export function kernelInit(): bool {
  operatorsInit();
  contextInit();
  return registers != 0 && stageInit() && outputInit() && inletInit();
}

/**
 * Adds a node below `parent` with the program of `programLen` bytes (0: none) and the spec of `specLen` bytes; both are
 * copied. Returns 0 when memory is exhausted; nothing is left behind then. `now`: wall clock, epoch ms.
 */
export function nodeAdd(
  kind: u32,
  parent: usize,
  flags: u32,
  host: u32,
  program: usize,
  programLen: u32,
  spec: usize,
  specLen: u32,
  now: f64,
): usize {
  const node = nodeNew(kind, parent);
  if (!node) return 0;
  store<u32>(node, load<u32>(node, N_FLAGS) | flags, N_FLAGS);
  store<u32>(node, host, N_HOST);
  let isMade = true;
  if (specLen) {
    const copy = alloc(specLen, accountOf(node));
    if (copy) memory.copy(copy, spec, specLen);
    else isMade = false;
    store<u32>(node, <u32>copy, N_SPEC);
    store<u32>(node, copy ? specLen : 0, N_SPEC_SIZE);
  }
  if (isMade && programLen) {
    const made = programNew(program, programLen, accountOf(node));
    store<u32>(node, <u32>made, N_PROGRAM);
    isMade = made != 0;
  }
  if (parent && hasTrait(parent, Trait.ENDS_DEFERRING))
    store<u32>(node, load<u32>(node, N_FLAGS) & ~NodeFlag.DEFERS, N_FLAGS);
  setNow(now);
  if (isMade && openOf(node)) {
    if (hasTrait(node, Trait.MAKES_ROWS)) leaveEventTime(node);
    if (hasTrait(node, Trait.LEADS_ELSEWHERE)) workAtOnce(node);
    return node;
  }
  nodeRemove(node);
  return 0;
}

/**
 * Where rows meet those of other branches their order counts: what could defer them above the port, and all below it,
 * defers nothing.
 */
function workAtOnce(port: usize): void {
  let top = port;
  for (let at = port; at; at = <usize>load<u32>(at, N_PARENT)) if (hasTrait(at, Trait.BUFFERS)) top = at;
  forbidDeferring(top);
}

function forbidDeferring(node: usize): void {
  finishWork(node);
  store<u32>(node, load<u32>(node, N_FLAGS) | NodeFlag.AT_ONCE, N_FLAGS);
  if (hasTrait(node, Trait.LEADS_ELSEWHERE)) return;
  for (let child = <usize>load<u32>(node, N_CHILD); child; child = <usize>load<u32>(child, N_SIBLING))
    forbidDeferring(child);
}

/** Frees a node without children, with all it holds. */
export function nodeRemove(node: usize): void {
  clearDeadline(node);
  leaveDeferred(node);
  freeOf(node);
  programFree(<usize>load<u32>(node, N_PROGRAM));
  free(<usize>load<u32>(node, N_SPEC), load<u32>(node, N_SPEC_SIZE), accountOf(node));
  noteFree(node);
  nodeRelease(node);
}

/**
 * Hands the current batch of a source to the rules. Rows that did not decode (ctx.rowErrors) reach only rules that send
 * errors; the source has counted them.
 */
export function emitRoot(root: usize): void {
  nextSample();
  const errors = ctx.rowErrors;
  if (!errors) {
    emit(root);
    return;
  }
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const clean = selectionPush();
  if (!clean) {
    for (let child = <usize>load<u32>(root, N_CHILD); child; child = <usize>load<u32>(child, N_SIBLING)) exhaust(child);
    return;
  }
  const cleanLen = withoutErrors(sel, n, errors, clean);
  store<u64>(root, load<u64>(root, N_OUT) + cleanLen, N_OUT);
  let child = <usize>load<u32>(root, N_CHILD);
  while (child) {
    if (load<u32>(child, N_FLAGS) & NodeFlag.SEND_ERROR) {
      setBatch(cols, rows, sel, n, errors);
      if (n) give(child, n);
    } else {
      setBatch(cols, rows, clean, cleanLen, 0);
      if (cleanLen) give(child, cleanLen);
    }
    longestNote(child, n);
    child = <usize>load<u32>(child, N_SIBLING);
  }
  selectionPop();
}

/** Gives memory back that the work at hand needed and most work does not. */
export function trim(): void {
  assert(selectionIsFree(), 'a node kept a selection');
  assert(frameIsFree(), 'a window is still at work');
  assert(!runIsUnderWay(), 'a join is still at work');
  assert(ctx.branch == 0, 'a port left its branch');
  scratchReset();
  textTrim();
  stackTrim();
  stageTrim();
}

/** Time between two looks whether what a node waits for has come, ms. */
const LOOK_AGAIN: f64 = 10;

/** Runs all nodes that are due and hands out what they wrote. */
export function tick(now: f64): void {
  setNow(now);
  longestBegin();
  for (let node = takeDue(now); node; node = takeDue(now)) {
    // What was due before is on its way to it: rows of a window that is sent piece by piece, or the rest of a message.
    if (isBelowDeferred(node)) {
      setDeadline(node, now + LOOK_AGAIN);
      continue;
    }
    scratchReset();
    setBatch(0, 0, 0, 0, 0);
    setCurrent(node);
    store<f64>(node, now, N_LAST);
    hostTick(load<u32>(node, N_HOST));
    const start = beginTick();
    tickOf(node);
    endTick(node, start);
  }
  setCurrent(0);
  outFlush();
  trim();
}

/**
 * Goes on with deferred work (node/deferred.ts) for so many µs, node by node in turn; true when some is left. `now`:
 * wall clock, epoch ms.
 */
export function workOn(us: f64): bool {
  longestBegin();
  const until = hostClock() + us;
  for (let node = takeDeferred(); node; node = takeDeferred()) {
    scratchReset();
    setBatch(0, 0, 0, 0, 0);
    hostTick(load<u32>(node, N_HOST));
    const start = beginTick();
    pieceOf(node, until);
    endTick(node, start);
    if (hostClock() >= until) break;
  }
  setCurrent(0);
  outFlush();
  trim();
  return deferredCount != 0;
}

/** Does all deferred work of the node and those below it, 0: of all nodes. */
export function finishWork(node: usize): void {
  if (!deferredCount) return;
  longestBegin();
  scratchReset();
  finish(node);
  setCurrent(0);
  outFlush();
  trim();
}

/**
 * Begins to set the clock back by so many ms, from `now`: deadlines go along. Then each node is told by `nodeSetBack`.
 */
export function clockSetBack(ms: f64, now: f64): void {
  setNow(now);
  deadlinesSetBack(ms);
}

/** Tells a node that the clock was set back by so many ms; those above it must have been told. */
export function nodeSetBack(node: usize, ms: f64): void {
  setCurrent(node);
  setBackOf(node, ms);
  setCurrent(0);
}

/**
 * As `nodeSetBack` of a node that was just loaded, whose deadline is not among those that `clockSetBack` has set back.
 */
export function loadedSetBack(node: usize, ms: f64): void {
  if (load<u32>(node, N_HEAP) != 0) setDeadline(node, load<f64>(node, N_DEADLINE) - ms);
  nodeSetBack(node, ms);
}

/** Sends what the node gathered. */
export function flush(node: usize, now: f64): void {
  for (let above = node; above; above = <usize>load<u32>(above, N_PARENT)) finishWork(above);
  setNow(now);
  longestBegin();
  signalTo(node, Signal.FLUSH, 0);
  setCurrent(0);
  outFlush();
}

/** Closes the answer to what a node has asked for (lookup/answer.ts) and hands out what is written then. */
export function answerEnd(node: usize): void {
  longestBegin();
  setCurrent(node);
  answerClose();
  setCurrent(0);
  outFlush();
  trim();
}

/** The node at work; after a failure of the kernel the one that failed. */
export function currentNode(): usize {
  return current;
}

/** Runs a program without columns on one row; its registers then hold the results (constant folding). */
export function evaluate(program: usize, now: f64): void {
  scratchReset();
  setNow(now);
  setBatch(0, 1, identity, 1, 0);
  vmRun(program);
}

/** Column block of a register. */
export function registerAt(index: u32): usize {
  return registers + index * COL_SIZE;
}
