// The join of one message under way. Its rows may bring a join below to work before it goes on; the lower join saves
// these variables meanwhile (join/message/suspended-run.ts).
//
// Rows are named by their position among the rows of their branch (rows/number.ts). A tuple is a result of the steps so
// far: the position of a row for each branch, NO_ROW where an outer join found none. The rows of the first branch are
// the tuples before the first step.
//
//   tuples (32)   items u32 | count u32 | capacity u32 | …        items: u32[width] for each tuple
import { accountOf } from '../../node/node';
import { failLen, failNoMemory, failOff } from '../../batch/failure';
import { alloc, free } from '../../mem/alloc';
import { span } from '../../mem/layout';
import { JoinState, JOIN_STATE_TUPLES, branchRows, positionOf, stepAt } from './spec';
import { JoinSpec, JoinStep } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { Rows } from '../../rows/layout';

/** No row on that side. */
export const NO_ROW: u32 = 0xffffffff;

/** Tuples that the steps so far have joined. */
// @ts-ignore: decorator
@unmanaged
class Tuples {
  items: usize;
  count: u32;
  capacity: u32;
}

export let node: Node = changetype<Node>(0);
export let spec: JoinSpec = changetype<JoinSpec>(0);
export let state: JoinState = changetype<JoinState>(0);
export let step: JoinStep = changetype<JoinStep>(0);
/** True in the last step, whose results are the output. */
export let isLast: bool = false;
/** Tuples of the left side: `width` positions each; 0 in the first step, where the left side is the first branch. */
export let lefts: usize = 0;
export let leftCount: u32 = 0;
let width: u32 = 0;
/** Rows of the right side. */
export let rights: Rows = changetype<Rows>(0);
export let rightCount: u32 = 0;
/** Payload of the error that takes the place of the message, 0 none. */
export let failure: u64 = 0;
/** Tuples to which a step before the last adds its results. */
let results: Tuples = changetype<Tuples>(0);

/** Bytes that `runSave` writes. */
export const RUN_SIZE: u32 = 56;

export function runIsUnderWay(): bool {
  return !!node;
}

/** Saves the run. */
export function runSave(to: usize): void {
  store<u32>(to, changetype<u32>(node));
  store<u32>(to, changetype<u32>(spec), 4);
  store<u32>(to, changetype<u32>(state), 8);
  store<u32>(to, changetype<u32>(step), 12);
  store<u32>(to, <u32>isLast, 16);
  store<u32>(to, <u32>lefts, 20);
  store<u32>(to, leftCount, 24);
  store<u32>(to, width, 28);
  store<u32>(to, changetype<u32>(rights), 32);
  store<u32>(to, rightCount, 36);
  store<u64>(to, failure, 40);
  store<u32>(to, changetype<u32>(results), 48);
}

/** Notes that no join is under way. */
export function runLeave(): void {
  node = changetype<Node>(0);
}

/** Restores the run that `runSave` saved. */
export function runRestore(from: usize): void {
  node = changetype<Node>(load<u32>(from));
  spec = changetype<JoinSpec>(load<u32>(from, 4));
  state = changetype<JoinState>(load<u32>(from, 8));
  step = changetype<JoinStep>(load<u32>(from, 12));
  isLast = load<u32>(from, 16) != 0;
  lefts = <usize>load<u32>(from, 20);
  leftCount = load<u32>(from, 24);
  width = load<u32>(from, 28);
  rights = changetype<Rows>(load<u32>(from, 32));
  rightCount = load<u32>(from, 36);
  failure = load<u64>(from, 40);
  results = changetype<Tuples>(load<u32>(from, 48));
}

/** Begins the join of the message that the node has gathered. */
export function runBegin(newNode: Node, newSpec: JoinSpec, newState: JoinState): void {
  assert(!node, 'a join began while another one was at work');
  node = newNode;
  spec = newSpec;
  state = newState;
  failure = 0;
}

/** Goes to step `i`: its left side are the results of the step before. */
export function runStep(i: u32): void {
  step = stepAt(spec, i);
  isLast = i + 1 == spec.steps;
  width = i + 1;
  if (i == 0) {
    lefts = 0;
    leftCount = branchRows(state, spec.first).count;
  } else {
    lefts = results.items;
    leftCount = results.count;
  }
  rights = branchRows(state, step.branch);
  rightCount = rights.count;
  results = changetype<Tuples>(changetype<usize>(state) + JOIN_STATE_TUPLES + ((<usize>(i & 1)) << 5));
  results.count = 0;
}

/** Frees the tuples, and leaves the run. */
export function runEnd(): void {
  tuplesFree(state, accountOf(node));
  runLeave();
}

export function tuplesFree(ofState: JoinState, acct: usize): void {
  for (let i: usize = 0; i < 2; i++) {
    const tuples = changetype<Tuples>(changetype<usize>(ofState) + JOIN_STATE_TUPLES + (i << 5));
    if (!tuples.items) continue;
    free(tuples.items, tuples.capacity, acct);
    memory.fill(changetype<usize>(tuples), 0, 32);
  }
}

/** Notes the error for which the message fails, unless there is one already. */
export function runFail(payload: u64): void {
  if (failure == 0) failure = payload;
}

export function runFailMemory(): void {
  failNoMemory();
  runFail(span(failOff, failLen));
}

/** Adds a result of a step before the last. */
export function addTuple(left: u32, right: u32): void {
  const size = (width + 1) << 2;
  const count = results.count;
  const at = <u64>count * size;
  if (at + size > <u64>results.capacity && !grow(at + size)) {
    runFailMemory();
    return;
  }
  const tuple = results.items + <usize>at;
  const head = width << 2;
  if (left == NO_ROW) memory.fill(tuple, 0xff, head);
  else if (!lefts) store<u32>(tuple, left);
  else memory.copy(tuple, lefts + left * head, head);
  store<u32>(tuple + head, right);
  results.count = count + 1;
}

function grow(need: u64): bool {
  const before = results.capacity;
  const wanted = max<u64>(max<u64>(1024, need), (<u64>before) << 1);
  if (wanted > 0x7fffffff) return false;
  const acct = accountOf(node);
  const bigger = alloc(<u32>wanted, acct);
  if (!bigger) return false;
  const items = results.items;
  if (items) memory.copy(bigger, items, before);
  free(items, before, acct);
  results.items = bigger;
  results.capacity = <u32>wanted;
  return true;
}

/**
 * Position of a branch's row in the pair of tuple `left` and row `right`; NO_ROW when it has none. `place`: of the
 * branch in a tuple, -1 right side.
 */
// @ts-ignore: decorator
@inline export function rowOf(place: i32, left: u32, right: u32): u32 {
  if (place < 0) return right;
  return left == NO_ROW || !lefts ? left : load<u32>(lefts + ((<usize>(left * width + <u32>place)) << 2));
}

/** Address of the row at `place` in the first tuple; the next tuples follow `tupleSize()` bytes apart. */
// @ts-ignore: decorator
@inline export function rowsOfTuples(place: i32): usize {
  return lefts + ((<usize>place) << 2);
}

// @ts-ignore: decorator
@inline export function tupleSize(): u32 {
  return width << 2;
}

/** Place of a branch for `rowOf`; -2 when a later step joins it. */
export function placeOf(branch: u32): i32 {
  if (branch == step.branch) return -1;
  const position = positionOf(spec, branch, width);
  return position < 0 ? -2 : position;
}
