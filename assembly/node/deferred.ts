// Work that is deferred. A node that has much to do at once, a window that sends a million rows or a join of many
// pairs, does a piece of it when the host asks for that (`workOn`), so that input, timers and rules beside it have
// their turns in between.
//
// Only nodes below a window, or below a node of event time, defer (NodeFlag.DEFERS), because rows can wait there. As
// long as a window, or a node below it, has deferred work, the window's results wait in their order in its outbox
// (window/content/outbox.ts), while it takes rows in as always. So nodes between them get nothing while they are in the
// middle of a message. A node of event time keeps its rows (order/event-time.ts) as long as it has deferred work
// itself, or a node below has that can't take rows meanwhile.
import * as ctx from '../batch/context';
import { hostClock } from '../batch/host';
import { NodeFlag, current, exhaust, isExhausted, setCurrent } from './node';
import { Trait, deferredOf, hasTrait } from './operator';
import { setDeadline } from './timers';
import { Node } from '../gen/node-layouts';

/** Rows, or pairs, that a node works on at once; with more it defers. */
export let longRows: u32 = u32.MAX_VALUE;

/** Number of nodes that have deferred work. */
export let deferredCount: u32 = 0;
/** Number of nodes whose deadline waits for such work. */
let postponedCount: u32 = 0;
let first: Node = changetype<Node>(0);
let last: Node = changetype<Node>(0);
/** Time at which the piece of work under way has to stop, µs of the host's clock; infinite where there is no limit. */
let until: f64 = Infinity;
/** Rows, or pairs, between two looks at the clock. */
export const LOOK_ROWS: u32 = 1024;
/** Rows that the work under way may still take before it is deferred. */
let rowsLeft: u32 = 0;

/** Sets how many rows are worked on at once; without it all are, and nothing is deferred. */
export function setLongRows(rows: u32): void {
  longRows = rows;
}

/** True when `rows` rows are too many to be worked on at once. */
// @ts-ignore: decorator
@inline export function isLong(rows: u32): bool {
  return rows > longRows;
}

// @ts-ignore: decorator
@inline export function mayDefer(node: Node): bool {
  return (node.flags & (NodeFlag.DEFERS | NodeFlag.AT_ONCE)) == NodeFlag.DEFERS;
}

// @ts-ignore: decorator
@inline export function isDeferred(node: Node): bool {
  return (node.flags & NodeFlag.DEFERRED) != 0;
}

/** Begins work of a node that may become too long: see `goesOn`. */
export function beginLong(): void {
  rowsLeft = longRows;
}

/**
 * False when the work under way is to be deferred, or left for the next piece. `rows` are the rows that it took since
 * the last call.
 */
export function goesOn(rows: u32): bool {
  if (until != Infinity) return hostClock() < until;
  if (rowsLeft <= rows) return false;
  rowsLeft -= rows;
  return true;
}

/** Rows, or pairs, that a node may work on before it has to ask `isOver`. */
export function firstLook(node: Node): u32 {
  if (!mayDefer(node)) return u32.MAX_VALUE;
  return until != Infinity ? min(longRows, LOOK_ROWS) : longRows;
}

/** True when the node has to leave the rest of its work to later, asked after the rows of `firstLook`. */
export function isOver(): bool {
  return until == Infinity || hostClock() >= until;
}

/** Notes that the node has deferred work. */
export function defer(node: Node): void {
  if (isDeferred(node)) return;
  node.flags |= NodeFlag.DEFERRED;
  node.stamp = ctx.nowMs;
  append(node);
  deferredCount++;
}

function append(node: Node): void {
  node.nextDeferred = changetype<Node>(0);
  if (last) last.nextDeferred = node;
  else first = node;
  last = node;
}

/** Notes that the node has no deferred work any more. */
export function leaveDeferred(node: Node): void {
  if (!isDeferred(node)) return;
  unlink(node);
  node.flags &= ~NodeFlag.DEFERRED;
  deferredCount--;
  if (postponedCount) takeUpBelow(node);
}

/**
 * Leaves a node whose deadline has come, and is taken, until rows that are on their way to it are there: a window is
 * sent piece by piece, or the rest of a message. The deadline stands then as it stood, so that nodes work in the order
 * that they would have had.
 */
export function postpone(node: Node): void {
  node.flags |= NodeFlag.POSTPONED;
  postponedCount++;
}

/** Forgets that the deadline of the node waits. */
export function leavePostponed(node: Node): void {
  if (!(node.flags & NodeFlag.POSTPONED)) return;
  node.flags &= ~NodeFlag.POSTPONED;
  postponedCount--;
}

/** Sets the deadlines again that wait below the node. One that was set meanwhile is the right one. */
function takeUpBelow(node: Node): void {
  for (let child = node.child; child && postponedCount; child = child.sibling) {
    if (child.flags & NodeFlag.POSTPONED && !isBelowDeferred(child)) {
      leavePostponed(child);
      if (!child.heap && !setDeadline(child, child.deadline)) exhaust(child);
    }
    takeUpBelow(child);
  }
}

function unlink(node: Node): void {
  let before: Node = changetype<Node>(0);
  let at = first;
  for (; at != node; at = at.nextDeferred) before = at;
  const next = node.nextDeferred;
  if (before) before.nextDeferred = next;
  else first = next;
  if (last == node) last = before;
}

/** The next node with deferred work after `node`, or after 0 the first; 0 none. */
export function nextDeferred(node: Node): Node {
  return node ? node.nextDeferred : first;
}

/** True when the node's results have to wait: it may defer, and it or a node below has deferred work. */
// @ts-ignore: decorator
@inline export function isHeld(node: Node): bool {
  return deferredCount != 0 && mayDefer(node) && (isDeferred(node) || isHeldBelow(node));
}

/** True when a node below it has deferred work. */
export function isHeldBelow(node: Node): bool {
  for (let at = first; at; at = at.nextDeferred) if (at != node && isBelow(at, node)) return true;
  return false;
}

/** True when a node above it has deferred work, so that a message may be under way. */
export function isBelowDeferred(node: Node): bool {
  if (!deferredCount) return false;
  for (let at = node.parent; at; at = at.parent) if (isDeferred(at)) return true;
  return false;
}

/**
 * True when a node below that gets the node's rows has deferred work, and so can't take others. Nodes behind a window,
 * or behind another node where rows wait, do not count.
 */
export function isStoppedBelow(node: Node): bool {
  for (let at = first; at; at = at.nextDeferred) if (at != node && reaches(node, at)) return true;
  return false;
}

function reaches(above: Node, node: Node): bool {
  for (let at = node; at && !hasTrait(at, Trait.BUFFERS); at = at.parent) if (at.parent == above) return true;
  return false;
}

function isBelow(node: Node, above: Node): bool {
  for (let at = node; at; at = at.parent) if (at == above) return true;
  return false;
}

/** The node at or below `above` (0: any node) that can go on and has waited longest; 0 none. */
function nextAtWork(above: Node): Node {
  for (let at = first; at; at = at.nextDeferred) {
    if ((!above || isBelow(at, above)) && !isHeldBelow(at)) return at;
  }
  return changetype<Node>(0);
}

/** The node that is to go on next; 0 none. */
export function takeDeferred(): Node {
  return nextAtWork(changetype<Node>(0));
}

/**
 * Does a piece of the node's deferred work until `limit`, µs of the host's clock. Other nodes come before its next
 * piece.
 */
export function pieceOf(node: Node, limit: f64): void {
  const outer = until;
  until = limit;
  rowsLeft = longRows;
  unlink(node);
  append(node);
  ctx.setNow(node.stamp);
  setCurrent(node);
  if (isExhausted(node) || deferredOf(node)) leaveDeferred(node);
  until = outer;
}

/** Does all deferred work of the node and of the nodes above, whose rows it would get. */
export function finishAbove(node: Node): void {
  for (let at = node; at && deferredCount; at = at.parent) if (isDeferred(at)) finish(at);
}

/** Does all deferred work of the node and of those below it (0: all nodes), in the middle of other work maybe. */
export function finish(above: Node): void {
  if (!deferredCount) return;
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const errors = ctx.rowErrors;
  const branch = ctx.branch;
  const now = ctx.nowMs;
  const at = current;
  ctx.setBranch(0);
  for (let node = nextAtWork(above); node; node = nextAtWork(above)) pieceOf(node, Infinity);
  ctx.setBatch(cols, rows, sel, selLen, errors);
  ctx.setBranch(branch);
  ctx.setNow(now);
  setCurrent(at);
}
