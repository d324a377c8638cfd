// Operators of the running rules form trees: a stream at the root, then filters, windows, encoders. Rules with equal
// steps share the nodes of those steps; a node lives as long as somebody refers to it (the host counts). A port is the
// one edge that joins trees: its child is a node that has another place in a tree, or is a root of its own
// (join/merge/port.ts). A node is drawn in gen/node-layouts.ts.
import { allocZeroed, free } from '../mem/alloc';
import * as ctx from '../batch/context';
import { fail, failLen, failNoMemory, failOff } from '../batch/failure';
import { hostExhausted } from '../batch/host';
import { Choice, CHOICE_SIZE_OF } from '../gen/emit-layouts';
import { EXCEPTION_TEXT, Failures, Node, N_SIZE_OF as NODE_SIZE, NodeFlag } from '../gen/node-layouts';
import { FAILURES_BYTES, failuresFree, keepFailureOf, setFailedRow } from './failures';
import { leaveEdges, leaveLists, uncounted, uncountedLast } from './tallies';

export { NodeFlag, NodeKind } from '../gen/node-layouts';

/** Flags that a node has from its parent: it gets the same rows, or rows of the same messages. */
const INHERITED: u32 = NodeFlag.MESSAGES | NodeFlag.TIES | NodeFlag.DEFERS | NodeFlag.AT_ONCE | 0xffff0000;

/** The node at work, for the report when the kernel fails. */
export let current: Node = changetype<Node>(0);

export function setCurrent(node: Node): void {
  current = node;
}

/** The text of the last exception, and the last failures behind it. */
const EXCEPTION_BYTES: u32 = EXCEPTION_TEXT + FAILURES_BYTES;

/** Number of nodes that were made so far. */
let made: u32 = 0;

/** Makes a node below `parent` (0: a root), after its last child. Returns 0 when memory is exhausted. */
export function nodeNew(kind: u32, parent: Node): Node {
  const node = changetype<Node>(allocZeroed(NODE_SIZE, 0));
  if (!node) return changetype<Node>(0);
  node.memory = NODE_SIZE;
  node.kind = kind;
  node.made = made++;
  if (parent) {
    node.flags = parent.flags & INHERITED;
    linkBelow(parent, node);
  }
  return node;
}

/** Makes the node, which has no parent, the last child of `parent`. */
export function linkBelow(parent: Node, node: Node): void {
  node.parent = parent;
  leaveTally(parent);
  const last = parent.lastChild;
  node.previous = last;
  node.sibling = changetype<Node>(0);
  if (last) last.sibling = node;
  else parent.child = node;
  parent.lastChild = node;
  const choice = parent.choice;
  if (!choice) return;
  if (!choice.tail) choice.tail = changetype<usize>(node);
  choice.tailCount++;
  choice.quiet = min(choice.quiet, 0);
}

/** Takes the node away from its parent. */
export function unlink(node: Node): void {
  const parent = node.parent;
  leaveTally(parent);
  if (parent.choice) leaveLists(parent.choice, node);
  const before = node.previous;
  const next = node.sibling;
  if (before) before.sibling = next;
  else parent.child = next;
  if (next) next.previous = before;
  else parent.lastChild = before;
  node.parent = changetype<Node>(0);
  joinTally(parent);
}

/** Unlinks the node from its parent and frees the node itself; all that it holds has been freed before. */
export function nodeRelease(node: Node): void {
  if (node.parent) unlink(node);
  dropChoice(node);
  if (node.excOff) failuresFree(failuresOf(node));
  free(node.excOff, EXCEPTION_BYTES, 0);
  free(changetype<usize>(node), NODE_SIZE, 0);
}

/** Frees what the node knows of the filters below it (emit/choice.ts). */
function dropChoice(node: Node): void {
  const choice = node.choice;
  if (!choice) return;
  for (let part = choice.first; part; ) {
    const next = part.next;
    free(changetype<usize>(part), part.size, accountOf(node));
    part = next;
  }
  free(changetype<usize>(choice), CHOICE_SIZE_OF, 0);
}

/** The figures that the parent keeps for all its filters with a noted condition; 0 when it keeps none for this node. */
// @ts-ignore: decorator
@inline function choiceAbove(node: Node): Choice {
  return node.condition ? node.parent.choice : changetype<Choice>(0);
}

/** The parent, when it is a filter that counts for this node, its only child; 0 when the node counts for itself. */
// @ts-ignore: decorator
@inline function tallyAbove(node: Node): Node {
  const parent = node.parent;
  return parent && parent.flags & NodeFlag.TALLIES ? parent : changetype<Node>(0);
}

/** Records that the node took. */
export function recordsIn(node: Node): u64 {
  const choice = choiceAbove(node);
  const tally = tallyAbove(node);
  return node.in + (choice ? choice.in : 0) + (tally ? tally.out + uncounted(tally) : 0);
}

/** Records that the node gave on. */
export function recordsOut(node: Node): u64 {
  const tally = tallyAbove(node);
  return node.out + (tally ? tally.out + uncounted(tally) : uncounted(node));
}

/** When the node took records last, epoch ms; 0 never. */
export function lastInvocation(node: Node): f64 {
  const tally = tallyAbove(node);
  if (tally) return max(tally.stamp, uncountedLast(tally));
  const choice = choiceAbove(node);
  const last = node.last;
  return choice && recordsIn(node) ? max(last, choice.last) : last;
}

/** Lets the parent count for the filter from now on; records that the parent counted before are taken off. */
export function joinChoice(node: Node): void {
  const choice = choiceAbove(node);
  if (!choice) return;
  choice.filters++;
  node.in -= choice.in;
}

/** The filter counts for itself from now on and is decided by its program. */
export function leaveChoice(node: Node): void {
  const choice = choiceAbove(node);
  if (choice) {
    leaveEdges(node);
    node.last = lastInvocation(node);
    node.in = recordsIn(node);
    choice.filters--;
  }
  node.condition = 0;
}

/**
 * Lets a filter with a noted condition count for its only child as well, if that child only counts its rows
 * (NodeFlag.COUNTS).
 */
export function joinTally(node: Node): void {
  const child = node.child;
  if (!node.condition || !child || child.sibling) return;
  if (!(child.flags & NodeFlag.COUNTS)) return;
  node.flags |= NodeFlag.TALLIES;
  child.in -= node.out;
  child.out -= node.out;
  node.stamp = child.last;
}

/** The child counts for itself from now on. */
function leaveTally(node: Node): void {
  if (!(node.flags & NodeFlag.TALLIES)) return;
  leaveEdges(node);
  const child = node.child;
  child.last = lastInvocation(child);
  const taken = recordsIn(child);
  const given = recordsOut(child);
  node.flags &= ~NodeFlag.TALLIES;
  child.in = taken;
  child.out = given;
}

/** Offset of the upper half of the flags: the number of the times column + 1, 0 without one. */
const TIMES: usize = offsetof<Node>('flags') + 2;

/** Notes that the batches of the node have the times of their rows in a column, epoch ms as I64. */
export function setTimesColumn(node: Node, column: u32): void {
  store<u16>(changetype<usize>(node), <u16>(column + 1), TIMES);
}

/** The column with the times of the rows of the node's input, -1 none. */
export function timesColumn(node: Node): i32 {
  return <i32>load<u16>(changetype<usize>(node), TIMES) - 1;
}

/** Forgets the times and ties of rows for a node that makes rows of its own. */
export function leaveEventTime(node: Node): void {
  store<u16>(changetype<usize>(node), 0, TIMES);
  node.flags &= ~NodeFlag.TIES;
}

/** Address of the byte counter that the node's own allocations are charged to. */
// @ts-ignore: decorator
@inline export function accountOf(node: Node): usize {
  return changetype<usize>(node) + offsetof<Node>('memory');
}

// @ts-ignore: decorator
@inline export function isExhausted(node: Node): bool {
  return (node.flags & NodeFlag.EXHAUSTED) != 0;
}

/**
 * Gives the node up, because there is no memory for state that it has to keep. Later results would be incomplete, so
 * the node sends nothing. The host ends its rules for that reason, which frees their memory.
 */
export function exhaust(node: Node): void {
  if (isExhausted(node)) return;
  failNoMemory();
  giveUp(node, failOff, failLen);
}

/** As `exhaust`, for a reason of its own: a bound of the rule. */
export function giveUp(node: Node, textOff: usize, textLen: u32): void {
  if (isExhausted(node)) return;
  leaveChoice(node);
  node.flags |= NodeFlag.EXHAUSTED;
  addException(node, textOff, textLen, 1);
  hostExhausted(node);
}

let failureTotal: u32 = 0;

/**
 * Exceptions and dropped rows of all nodes and streams so far; a change shows that there are new ones. Wraps around.
 */
export function failureCount(): u32 {
  return failureTotal;
}

/** Adds a dropped row to `failureCount`; the node keeps its own count. */
// @ts-ignore: decorator
@inline export function noteLoss(): void {
  failureTotal++;
}

/** Counts `count` exceptions and keeps the text of the last one. */
export function addException(node: Node, textOff: usize, textLen: u32, count: u32): void {
  failureTotal += count;
  node.exceptions += count;
  keepText(node, textOff, textLen);
  const failures = failuresOf(node);
  if (failures) {
    failures.lastAt = ctx.nowMs;
    keepFailureOf(failures, node.excOff, failures.lastLen);
  } else setFailedRow(0);
}

/** The last failures of the node, 0 before the first. */
// @ts-ignore: decorator
@inline export function failuresOf(node: Node): Failures {
  return changetype<Failures>(node.excOff ? node.excOff + EXCEPTION_TEXT : 0);
}

/**
 * Copies the reason in batch/failure.ts to the node, where it stays until the node's next exception. The text itself is
 * freed with its batch, while the message that ends with it goes on.
 */
export function keepFailure(node: Node): void {
  keepText(node, failOff, failLen);
  const kept = node.excOff;
  if (kept) fail(kept, failuresOf(node).lastLen);
  else failNoMemory();
}

function keepText(node: Node, textOff: usize, textLen: u32): void {
  let to = node.excOff;
  if (!to) {
    to = allocZeroed(EXCEPTION_BYTES, 0);
    if (!to) return;
    node.excOff = to;
  }
  const len = min(textLen, EXCEPTION_TEXT);
  memory.copy(to, textOff, len);
  failuresOf(node).lastLen = len;
}
