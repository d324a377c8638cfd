// Operators of the running rules form trees: a stream at the root, then filters, windows, encoders. Rules with equal
// steps share the nodes of those steps; a node lives as long as somebody refers to it (the host counts). A port is the
// one edge that joins trees: its child is a node that has another place in a tree, or is a root of its own
// (join/merge/port.ts). A node is drawn in gen/node-layouts.ts.
import { alloc, allocZeroed, free } from '../mem/alloc';
import * as ctx from '../batch/context';
import { fail, failLen, failNoMemory, failOff } from '../batch/failure';
import { hostExhausted } from '../batch/host';
import {
  CHOICE_BLOCK,
  CHOICE_BLOCK_SIZE,
  CHOICE_FILTERS,
  CHOICE_IN,
  CHOICE_LAST,
  CHOICE_QUIET,
  CHOICE_SIZE_OF,
} from '../gen/emit-layouts';
import {
  N_CHILD,
  N_CHOICE,
  N_CONDITION,
  N_EXC_AT,
  N_EXC_LEN,
  N_EXC_OFF,
  N_EXCEPTIONS,
  N_FLAGS,
  N_IN,
  N_KIND,
  N_LAST,
  N_LAST_CHILD,
  N_MEMORY,
  N_OUT,
  N_PARENT,
  N_PREVIOUS,
  N_SENT,
  N_SIBLING,
  N_SIZE_OF as NODE_SIZE,
  N_TIMES,
  NodeFlag,
} from '../gen/node-layouts';

export { NodeFlag, NodeKind } from '../gen/node-layouts';
export {
  N_KIND,
  N_PARENT,
  N_CHILD,
  N_SIBLING,
  N_PROGRAM,
  N_STATE,
  N_FLAGS,
  N_HEAP,
  N_IN,
  N_OUT,
  N_LAST,
  N_SENT,
  N_DEADLINE,
  N_HOST,
  N_SPEC,
  N_SPEC_SIZE,
  N_STATE_SIZE,
  N_GATHERING,
  N_BUSY,
  N_TICK,
  N_HIST,
  N_WORK,
  N_WORK_US,
  N_WORK_ROWS,
  N_WORK_HOST,
  N_IS_DEFERRED,
  N_NEXT_DEFERRED,
  N_DEFERRED_AT,
} from '../gen/node-layouts';

/** What holds for a node holds for those below it: they get the same rows, or those of the same message. */
const INHERITED: u32 = NodeFlag.MESSAGES | NodeFlag.TIES | NodeFlag.DEFERS | NodeFlag.AT_ONCE | 0xffff0000;

/** The node at work, for the report when the kernel fails. */
export let current: usize = 0;

export function setCurrent(node: usize): void {
  current = node;
}

const MAX_EXCEPTION_TEXT: u32 = 512;

/** Makes a node below `parent` (0: a root), after its last child. Returns 0 when memory is exhausted. */
export function nodeNew(kind: u32, parent: usize): usize {
  const node = allocZeroed(NODE_SIZE, 0);
  if (!node) return 0;
  store<u64>(node, NODE_SIZE, N_MEMORY);
  store<u32>(node, kind, N_KIND);
  if (parent) {
    store<u32>(node, load<u32>(parent, N_FLAGS) & INHERITED, N_FLAGS);
    linkBelow(parent, node);
  }
  return node;
}

/** Makes the node, which has no parent, the last child of `parent`. */
export function linkBelow(parent: usize, node: usize): void {
  store<u32>(node, <u32>parent, N_PARENT);
  leaveTally(parent);
  const last = <usize>load<u32>(parent, N_LAST_CHILD);
  store<u32>(node, <u32>last, N_PREVIOUS);
  store<u32>(node, 0, N_SIBLING);
  if (last) store<u32>(last, <u32>node, N_SIBLING);
  else store<u32>(parent, <u32>node, N_CHILD);
  store<u32>(parent, <u32>node, N_LAST_CHILD);
  dropChoice(parent);
}

/** Takes the node away from its parent. */
export function unlink(node: usize): void {
  const parent = <usize>load<u32>(node, N_PARENT);
  leaveTally(parent);
  const before = <usize>load<u32>(node, N_PREVIOUS);
  const next = <usize>load<u32>(node, N_SIBLING);
  if (before) store<u32>(before, <u32>next, N_SIBLING);
  else store<u32>(parent, <u32>next, N_CHILD);
  if (next) store<u32>(next, <u32>before, N_PREVIOUS);
  else store<u32>(parent, <u32>before, N_LAST_CHILD);
  store<u32>(node, 0, N_PARENT);
  dropChoice(parent);
  joinTally(parent);
}

/** Unlinks the node from its parent and frees the node itself; all that it holds has been freed before. */
export function nodeRelease(node: usize): void {
  if (load<u32>(node, N_PARENT)) unlink(node);
  dropChoice(node);
  free(<usize>load<u32>(node, N_CHOICE), CHOICE_SIZE_OF, 0);
  free(<usize>load<u32>(node, N_EXC_OFF), MAX_EXCEPTION_TEXT, 0);
  free(node, NODE_SIZE, 0);
}

/** The nodes below have changed: what was known of them (emit/choice.ts) holds no more. */
function dropChoice(node: usize): void {
  const choice = <usize>load<u32>(node, N_CHOICE);
  if (!choice) return;
  free(<usize>load<u32>(choice, CHOICE_BLOCK), load<u32>(choice, CHOICE_BLOCK_SIZE), accountOf(node));
  store<u32>(choice, 0, CHOICE_BLOCK);
  store<u32>(choice, 0, CHOICE_QUIET);
}

/** What the parent of a filter with a condition counts for it as well; 0 nothing. */
// @ts-ignore: decorator
@inline function choiceAbove(node: usize): usize {
  return load<u16>(node, N_CONDITION) ? <usize>load<u32>(<usize>load<u32>(node, N_PARENT), N_CHOICE) : 0;
}

/** The filter whose figures are those of its only child, the node; 0 the node counts for itself. */
// @ts-ignore: decorator
@inline function tallyAbove(node: usize): usize {
  const parent = <usize>load<u32>(node, N_PARENT);
  return parent && load<u32>(parent, N_FLAGS) & NodeFlag.TALLIES ? parent : 0;
}

/** Records that the node took. */
export function recordsIn(node: usize): u64 {
  const choice = choiceAbove(node);
  const tally = tallyAbove(node);
  return load<u64>(node, N_IN) + (choice ? load<u64>(choice, CHOICE_IN) : 0) + (tally ? load<u64>(tally, N_OUT) : 0);
}

/** Records that the node gave on. */
export function recordsOut(node: usize): u64 {
  const tally = tallyAbove(node);
  return load<u64>(node, N_OUT) + (tally ? load<u64>(tally, N_OUT) : 0);
}

/** When the node took records last, epoch ms; 0 never. */
export function lastInvocation(node: usize): f64 {
  const tally = tallyAbove(node);
  if (tally) return load<f64>(tally, N_SENT);
  const choice = choiceAbove(node);
  const last = load<f64>(node, N_LAST);
  return choice && recordsIn(node) ? max(last, load<f64>(choice, CHOICE_LAST)) : last;
}

/** From now on the parent counts for the filter as well; what it counted before is taken off. */
export function joinChoice(node: usize): void {
  const choice = choiceAbove(node);
  if (!choice) return;
  store<u32>(choice, load<u32>(choice, CHOICE_FILTERS) + 1, CHOICE_FILTERS);
  store<u64>(node, load<u64>(node, N_IN) - load<u64>(choice, CHOICE_IN), N_IN);
}

/** The filter counts for itself from now on and is decided by its program. */
export function leaveChoice(node: usize): void {
  const choice = choiceAbove(node);
  if (choice) {
    store<f64>(node, lastInvocation(node), N_LAST);
    store<u64>(node, recordsIn(node), N_IN);
    store<u32>(choice, load<u32>(choice, CHOICE_FILTERS) - 1, CHOICE_FILTERS);
  }
  store<u16>(node, 0, N_CONDITION);
}

/**
 * If all that a filter with a condition gives on is counted by its only child, the filter counts for both from now on.
 */
export function joinTally(node: usize): void {
  const child = <usize>load<u32>(node, N_CHILD);
  if (!load<u16>(node, N_CONDITION) || !child || load<u32>(child, N_SIBLING)) return;
  if (!(load<u32>(child, N_FLAGS) & NodeFlag.COUNTS)) return;
  store<u32>(node, load<u32>(node, N_FLAGS) | NodeFlag.TALLIES, N_FLAGS);
  store<u64>(child, load<u64>(child, N_IN) - load<u64>(node, N_OUT), N_IN);
  store<u64>(child, load<u64>(child, N_OUT) - load<u64>(node, N_OUT), N_OUT);
  store<f64>(node, load<f64>(child, N_LAST), N_SENT);
}

/** The child counts for itself from now on. */
function leaveTally(node: usize): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.TALLIES)) return;
  const child = <usize>load<u32>(node, N_CHILD);
  store<f64>(child, lastInvocation(child), N_LAST);
  const taken = recordsIn(child);
  const given = recordsOut(child);
  store<u32>(node, load<u32>(node, N_FLAGS) & ~NodeFlag.TALLIES, N_FLAGS);
  store<u64>(child, taken, N_IN);
  store<u64>(child, given, N_OUT);
}

/** Notes that the batches of the node have the times of their rows in a column, epoch ms as I64. */
export function setTimesColumn(node: usize, column: u32): void {
  store<u16>(node, <u16>(column + 1), N_TIMES);
}

/** The column with the times of the rows of the node's input, -1 none. */
export function timesColumn(node: usize): i32 {
  return <i32>load<u16>(node, N_TIMES) - 1;
}

/** The node makes rows of its own: below it nothing is known of times and ties of the rows above. */
export function leaveEventTime(node: usize): void {
  store<u16>(node, 0, N_TIMES);
  store<u32>(node, load<u32>(node, N_FLAGS) & ~NodeFlag.TIES, N_FLAGS);
}

/** Address of the byte counter that the node's own allocations are charged to. */
// @ts-ignore: decorator
@inline export function accountOf(node: usize): usize {
  return node + N_MEMORY;
}

// @ts-ignore: decorator
@inline export function isExhausted(node: usize): bool {
  return (load<u32>(node, N_FLAGS) & NodeFlag.EXHAUSTED) != 0;
}

/**
 * Gives the node up: it had to keep something and memory is exhausted. What it would send from now on would leave that
 * out, so it sends nothing; the host ends its rules with that reason, which frees what they hold.
 */
export function exhaust(node: usize): void {
  if (isExhausted(node)) return;
  leaveChoice(node);
  store<u32>(node, load<u32>(node, N_FLAGS) | NodeFlag.EXHAUSTED, N_FLAGS);
  failNoMemory();
  addException(node, failOff, failLen, 1);
  hostExhausted(node);
}

let failures: u32 = 0;

/**
 * Exceptions and dropped rows of all nodes and streams so far: a look at it tells whether there are new ones. Wraps
 * around.
 */
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
 * Makes the reason in batch/failure.ts last longer than the work on its batch: until the node meets another one. Texts
 * that are computed for a batch go with it, the message that they are the end of goes on.
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
