// The join of one message under way. What it sends may bring a join below to work before it goes on; that one puts
// these variables aside meanwhile (join/message/aside.ts).
//
// Rows are named by their position among those of their branch (rows/number.ts). A tuple is what the steps so far have
// joined: the position of a row for each branch, NO_ROW where an outer join found none. The rows of the first branch
// are the tuples before the first step.
//
//   tuples (32)   items u32 | count u32 | capacity u32 | …        items: u32[width] for each tuple
import { accountOf } from '../../node/node';
import { failLen, failNoMemory, failOff } from '../../batch/failure';
import { alloc, free } from '../../mem/alloc';
import { span } from '../../mem/layout';
import { ROWS_COUNT } from '../../rows/layout';
import { JOIN_FIRST, JOIN_STEPS, JOIN_STATE_TUPLES, JOIN_STEP_BRANCH, branchRows, positionOf, stepAt } from './spec';

/** No row on that side. */
export const NO_ROW: u32 = 0xffffffff;

const ITEMS: usize = 0;
const COUNT: usize = 4;
const CAPACITY: usize = 8;

export let node: usize = 0;
export let spec: usize = 0;
export let state: usize = 0;
export let step: usize = 0;
/** The step is the last one: its results are the output. */
export let isLast: bool = false;
/** Tuples of the left side: `width` positions each; 0 in the first step, where the left side is the first branch. */
export let lefts: usize = 0;
export let leftCount: u32 = 0;
let width: u32 = 0;
/** Rows of the right side. */
export let rights: usize = 0;
export let rightCount: u32 = 0;
/** Payload of the error that takes the place of the message, 0 none. */
export let failure: u64 = 0;
/** Where the results of a step before the last go. */
let results: usize = 0;

/** Bytes that `runSave` writes. */
export const RUN_SIZE: u32 = 56;

export function runIsUnderWay(): bool {
  return node != 0;
}

/** Puts the run aside. */
export function runSave(to: usize): void {
  store<u32>(to, <u32>node);
  store<u32>(to, <u32>spec, 4);
  store<u32>(to, <u32>state, 8);
  store<u32>(to, <u32>step, 12);
  store<u32>(to, <u32>isLast, 16);
  store<u32>(to, <u32>lefts, 20);
  store<u32>(to, leftCount, 24);
  store<u32>(to, width, 28);
  store<u32>(to, <u32>rights, 32);
  store<u32>(to, rightCount, 36);
  store<u64>(to, failure, 40);
  store<u32>(to, <u32>results, 48);
}

/** Says that no join is under way. */
export function runLeave(): void {
  node = 0;
}

/** Takes it back. */
export function runRestore(from: usize): void {
  node = <usize>load<u32>(from);
  spec = <usize>load<u32>(from, 4);
  state = <usize>load<u32>(from, 8);
  step = <usize>load<u32>(from, 12);
  isLast = load<u32>(from, 16) != 0;
  lefts = <usize>load<u32>(from, 20);
  leftCount = load<u32>(from, 24);
  width = load<u32>(from, 28);
  rights = <usize>load<u32>(from, 32);
  rightCount = load<u32>(from, 36);
  failure = load<u64>(from, 40);
  results = <usize>load<u32>(from, 48);
}

/** Begins the join of the message that the node has gathered. */
export function runBegin(newNode: usize, newSpec: usize, newState: usize): void {
  assert(node == 0, 'a join began while another one was at work');
  node = newNode;
  spec = newSpec;
  state = newState;
  failure = 0;
}

/** Goes to step `i`: its left side are the results of the step before. */
export function runStep(i: u32): void {
  step = stepAt(spec, i);
  isLast = i + 1 == load<u32>(spec, JOIN_STEPS);
  width = i + 1;
  if (i == 0) {
    lefts = 0;
    leftCount = load<u32>(branchRows(state, load<u32>(spec, JOIN_FIRST)), ROWS_COUNT);
  } else {
    lefts = <usize>load<u32>(results, ITEMS);
    leftCount = load<u32>(results, COUNT);
  }
  rights = branchRows(state, load<u32>(step, JOIN_STEP_BRANCH));
  rightCount = load<u32>(rights, ROWS_COUNT);
  results = state + JOIN_STATE_TUPLES + ((<usize>(i & 1)) << 5);
  store<u32>(results, 0, COUNT);
}

/** Frees what the steps kept. */
export function runEnd(): void {
  tuplesFree(state, accountOf(node));
  runLeave();
}

export function tuplesFree(ofState: usize, acct: usize): void {
  for (let i: usize = 0; i < 2; i++) {
    const tuples = ofState + JOIN_STATE_TUPLES + (i << 5);
    if (!load<u32>(tuples, ITEMS)) continue;
    free(<usize>load<u32>(tuples, ITEMS), load<u32>(tuples, CAPACITY), acct);
    memory.fill(tuples, 0, 32);
  }
}

/** Notes why the message fails. */
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
  const count = load<u32>(results, COUNT);
  const at = <u64>count * size;
  if (at + size > <u64>load<u32>(results, CAPACITY) && !grow(at + size)) {
    runFailMemory();
    return;
  }
  const tuple = <usize>load<u32>(results, ITEMS) + <usize>at;
  const head = width << 2;
  if (left == NO_ROW) memory.fill(tuple, 0xff, head);
  else if (!lefts) store<u32>(tuple, left);
  else memory.copy(tuple, lefts + left * head, head);
  store<u32>(tuple + head, right);
  store<u32>(results, count + 1, COUNT);
}

function grow(need: u64): bool {
  const before = load<u32>(results, CAPACITY);
  const wanted = max<u64>(max<u64>(1024, need), (<u64>before) << 1);
  if (wanted > 0x7fffffff) return false;
  const acct = accountOf(node);
  const bigger = alloc(<u32>wanted, acct);
  if (!bigger) return false;
  const items = <usize>load<u32>(results, ITEMS);
  if (items) memory.copy(bigger, items, before);
  free(items, before, acct);
  store<u32>(results, <u32>bigger, ITEMS);
  store<u32>(results, <u32>wanted, CAPACITY);
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

/** Where the row at `place` of the first tuple stands; those of the others follow `tupleSize()` bytes apart. */
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
  if (branch == load<u32>(step, JOIN_STEP_BRANCH)) return -1;
  const position = positionOf(spec, branch, width);
  return position < 0 ? -2 : position;
}
