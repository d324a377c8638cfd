// Calls by which the host drives the kernel: making and freeing nodes, batches at a root, and timers.
import { emit, give, signalTo } from '../emit/emit';
import {
  deferredCount,
  finish,
  isBelowDeferred,
  leaveDeferred,
  leavePostponed,
  pieceOf,
  postpone,
  takeDeferred,
} from '../node/deferred';
import { noteFree } from '../node/latency';
import { NodeFlag, accountOf, current, exhaust, leaveEventTime, nodeNew, nodeRelease, setCurrent } from '../node/node';
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
import { answerClose } from '../lookup/asking/answer';
import { runIsUnderWay } from '../join/message/run';
import { frameIsFree } from '../window/content/frame';
import { alloc, free } from '../mem/alloc';
import { COL_SIZE } from '../mem/layout';
import { programFree, programNew, vmRun } from '../ops/vm';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';

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
  parent: Node,
  flags: u32,
  host: u32,
  program: usize,
  programLen: u32,
  spec: usize,
  specLen: u32,
  now: f64,
): Node {
  const node = nodeNew(kind, parent);
  if (!node) return changetype<Node>(0);
  node.flags |= flags;
  node.host = host;
  let isMade = true;
  if (specLen) {
    const copy = alloc(specLen, accountOf(node));
    if (copy) memory.copy(copy, spec, specLen);
    else isMade = false;
    node.spec = copy;
    node.specSize = copy ? specLen : 0;
  }
  if (isMade && programLen) {
    const made = programNew(program, programLen, accountOf(node));
    node.program = made;
    isMade = !!made;
  }
  if (parent && hasTrait(parent, Trait.ENDS_DEFERRING)) node.flags &= ~NodeFlag.DEFERS;
  setNow(now);
  if (isMade && openOf(node)) {
    if (hasTrait(node, Trait.MAKES_ROWS)) leaveEventTime(node);
    if (hasTrait(node, Trait.LEADS_ELSEWHERE)) workAtOnce(node);
    return node;
  }
  nodeRemove(node);
  return changetype<Node>(0);
}

/**
 * Forbids deferring at the port and below, or from the topmost node above it where rows wait: where branches meet, the
 * order of rows counts.
 */
function workAtOnce(port: Node): void {
  let top = port;
  for (let at = port; at; at = at.parent) if (hasTrait(at, Trait.BUFFERS)) top = at;
  forbidDeferring(top);
}

function forbidDeferring(node: Node): void {
  finishWork(node);
  node.flags |= NodeFlag.AT_ONCE;
  if (hasTrait(node, Trait.LEADS_ELSEWHERE)) return;
  for (let child = node.child; child; child = child.sibling) forbidDeferring(child);
}

/** Frees a node without children, with all it holds. */
export function nodeRemove(node: Node): void {
  clearDeadline(node);
  leaveDeferred(node);
  leavePostponed(node);
  freeOf(node);
  programFree(node.program);
  free(node.spec, node.specSize, accountOf(node));
  noteFree(node);
  nodeRelease(node);
}

/**
 * Hands the current batch of a source to the rules. Rows that did not decode (ctx.rowErrors) reach only rules that send
 * errors; the source has counted them.
 */
export function emitRoot(root: Node): void {
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
    for (let child = root.child; child; child = child.sibling) exhaust(child);
    return;
  }
  const cleanLen = withoutErrors(sel, n, errors, clean);
  root.out += cleanLen;
  let child = root.child;
  while (child) {
    if (child.flags & NodeFlag.SEND_ERROR) {
      setBatch(cols, rows, sel, n, errors);
      if (n) give(child, n);
    } else {
      setBatch(cols, rows, clean, cleanLen, 0);
      if (cleanLen) give(child, cleanLen);
    }
    longestNote(child, n);
    child = child.sibling;
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

/** Runs all nodes that are due and hands out their output. */
export function tick(now: f64): void {
  setNow(now);
  longestBegin();
  for (let node = takeDue(now); node; node = takeDue(now)) {
    if (isBelowDeferred(node)) {
      postpone(node);
      continue;
    }
    scratchReset();
    setBatch(0, 0, 0, 0, 0);
    setCurrent(node);
    node.last = now;
    hostTick(node.host);
    const start = beginTick();
    tickOf(node);
    endTick(node, start);
  }
  setCurrent(changetype<Node>(0));
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
    hostTick(node.host);
    const start = beginTick();
    pieceOf(node, until);
    endTick(node, start);
    if (hostClock() >= until) break;
  }
  setCurrent(changetype<Node>(0));
  outFlush();
  trim();
  return deferredCount != 0;
}

/** Does all deferred work of the node and those below it, 0: of all nodes. */
export function finishWork(node: Node): void {
  if (!deferredCount) return;
  longestBegin();
  scratchReset();
  finish(node);
  setCurrent(changetype<Node>(0));
  outFlush();
  trim();
}

/**
 * Moves all deadlines `ms` back from `now`, for a clock that was set back. The host then calls `nodeSetBack` for each
 * node.
 */
export function clockSetBack(ms: f64, now: f64): void {
  setNow(now);
  deadlinesSetBack(ms);
}

/** Tells a node that the clock was set back by `ms`; nodes above it must have been told before. */
export function nodeSetBack(node: Node, ms: f64): void {
  setCurrent(node);
  if (node.flags & NodeFlag.POSTPONED && !node.heap) node.deadline -= ms;
  setBackOf(node, ms);
  setCurrent(changetype<Node>(0));
}

/**
 * As `nodeSetBack` of a node that was just loaded, whose deadline is not among those that `clockSetBack` has set back.
 */
export function loadedSetBack(node: Node, ms: f64): void {
  if (node.heap != 0) setDeadline(node, node.deadline - ms);
  nodeSetBack(node, ms);
}

/** Sends the rows that the node has gathered. */
export function flush(node: Node, now: f64): void {
  for (let above = node; above; above = above.parent) finishWork(above);
  setNow(now);
  longestBegin();
  signalTo(node, Signal.FLUSH, 0);
  setCurrent(changetype<Node>(0));
  outFlush();
}

/** Closes the answer to a request of the node (lookup/asking/answer.ts) and hands out the output. */
export function answerEnd(node: Node): void {
  longestBegin();
  setCurrent(node);
  answerClose();
  setCurrent(changetype<Node>(0));
  outFlush();
  trim();
}

/** The node at work; after a failure of the kernel the one that failed. */
export function currentNode(): Node {
  return current;
}

/** Runs a program without columns on one row; its registers then hold the results (constant folding). */
export function evaluate(program: Program, now: f64): void {
  scratchReset();
  setNow(now);
  setBatch(0, 1, identity, 1, 0);
  vmRun(program);
}

/** Column block of a register. */
export function registerAt(index: u32): usize {
  return registers + index * COL_SIZE;
}
