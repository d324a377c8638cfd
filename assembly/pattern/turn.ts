// A turn of a search: each of its partial matches, the preferred one first, takes a row, goes on without one, stays or
// ends. What it does is decided by the row that came, by the time, or by the end of the input.
import { accountOf, exhaust } from '../node/node';
import { alloc, free } from '../mem/alloc';
import { Node } from '../gen/node-layouts';
import { PatternFlag, PatternOp, PatternSpec, PatternStep } from '../gen/pattern-layouts';
import { isTrueFor } from './judge';
import { stepAt } from './spec';
import {
  Partial,
  Partition,
  PatternState,
  Run,
  Search,
  keepRun,
  leaveBest,
  leaveRun,
  partialsOf,
  refAt,
  runWith,
  setBest,
  setPartials,
  timeOf,
} from './state';
import { absentAt } from './time';

/** Partial matches that the search at work has after its turn. */
let nextCount: u32 = 0;
let isOutOfMemory: bool = false;
/** A search may have come to its end since it was last looked for such. */
export let isDecided: bool = false;

export function noteDecided(decided: bool): void {
  isDecided = decided;
}

/** What a partial match does. */
namespace Move {
  export const ENDS: u32 = 0;
  export const STAYS: u32 = 1;
  /** Takes the row and goes on. */
  export const TAKES: u32 = 2;
  export const GOES_ON: u32 = 3;
}

/** What decides that. */
namespace By {
  export const ROW: u32 = 0;
  export const TIME: u32 = 1;
  export const END: u32 = 2;
}

let by: u32 = By.ROW;
/** Number of the row, its time or the time that has come, and its bits. */
let row: u32 = 0;
let ms: f64 = 0;
let bits: u64 = 0;
/** The search takes no more rows. */
let isLate: bool = false;
/** Place of the first partial match among those that were judged. */
let judged: u32 = 0;

/** The first turn of a search: no row was taken. */
export function turnBegins(
  node: Node,
  spec: PatternSpec,
  state: PatternState,
  partition: Partition,
  search: Search,
): void {
  const acct = accountOf(node);
  nextCount = 0;
  isOutOfMemory = false;
  state.stamp++;
  if (stepAt(spec, 0).op == PatternOp.ROW) add(state, 0, changetype<Run>(0));
  else reach(spec, state, search, 0, changetype<Run>(0), acct);
  turnEnds(node, state, partition, search, acct);
}

/** A search takes a row in; its partial matches were judged from `place` on. */
export function turnByRow(
  node: Node,
  spec: PatternSpec,
  state: PatternState,
  partition: Partition,
  search: Search,
  number: u32,
  time: f64,
  place: u32,
): void {
  by = By.ROW;
  row = number;
  ms = time;
  bits = refAt(partition, number).bits;
  isLate = spec.within > 0 && time - timeOf(partition, search.start) > spec.within;
  judged = place;
  turn(node, spec, state, partition, search);
  search.at = number + 1;
}

/**
 * As `turnByRow`, for a search with one partial match that is before a row and comes to one step with it, as most are;
 * false for others, which are left as they are.
 */
// @ts-ignore: decorator
@inline export function turnOfOne(
  node: Node,
  spec: PatternSpec,
  partition: Partition,
  search: Search,
  number: u32,
  time: f64,
  rowBits: u64,
  place: u32,
): bool {
  const partial = changetype<Partial>(partialsOf(search));
  const at = partial.step;
  const step = stepAt(spec, at);
  const next = stepAt(spec, at + 1).op;
  if (step.op != PatternOp.ROW || next == PatternOp.SPLIT || next == PatternOp.JUMP) return false;
  const acct = accountOf(node);
  const rows = partial.rows;
  const isOver = spec.within > 0 && time - timeOf(partition, search.start) > spec.within;
  const looks = (spec.flags & PatternFlag.LOOKS_AT_MATCH) != 0;
  search.at = number + 1;
  if (!isOver && (rowBits >> step.a) & 1 && (!looks || isTrueFor(place))) {
    const longer = runWith(rows, step.a, step.b, number, spec.runSize, acct);
    if (!longer) {
      exhaust(node);
      return true;
    }
    if (next != PatternOp.MATCH) {
      partial.step = at + 1;
      partial.rows = longer;
      return true;
    }
    leaveBest(search, acct);
    setBest(search, longer);
  } else leaveRun(rows, acct);
  partition.partials--;
  search.count = 0;
  isDecided = true;
  return true;
}

/** Time has come so far; `isOver`: the search takes no more rows. */
export function turnByTime(
  node: Node,
  spec: PatternSpec,
  state: PatternState,
  partition: Partition,
  search: Search,
  time: f64,
  isOver: bool,
): void {
  by = By.TIME;
  ms = time;
  isLate = isOver;
  turn(node, spec, state, partition, search);
}

/** No row comes any more. */
export function turnAtEnd(
  node: Node,
  spec: PatternSpec,
  state: PatternState,
  partition: Partition,
  search: Search,
): void {
  by = By.END;
  turn(node, spec, state, partition, search);
}

function turn(node: Node, spec: PatternSpec, state: PatternState, partition: Partition, search: Search): void {
  const acct = accountOf(node);
  const looks = (spec.flags & PatternFlag.LOOKS_AT_MATCH) != 0;
  const count = search.count;
  const partials = partialsOf(search);
  nextCount = 0;
  isOutOfMemory = false;
  state.stamp++;
  let isCut = false;
  for (let i: u32 = 0; i < count; i++) {
    const partial = changetype<Partial>(partials + ((<usize>i) << 3));
    const at = partial.step;
    let rows = partial.rows;
    const step = stepAt(spec, at);
    let move = Move.ENDS;
    // What is less preferred than a match ends.
    if (!isCut)
      move = by == By.ROW ? byRow(spec, partition, step, rows, i, looks) : byTime(spec, partition, search, step, rows);
    // What came to one step on different ways is the same only where no condition looks at the match.
    if (looks) state.stamp++;
    if (move == Move.STAYS && add(state, at, rows)) continue;
    if (move == Move.TAKES) {
      const longer = runWith(rows, step.a, step.b, row, spec.runSize, acct);
      if (longer) rows = longer;
      else move = Move.ENDS;
      isOutOfMemory = isOutOfMemory || !longer;
    }
    if (move >= Move.TAKES) isCut = !reach(spec, state, search, at + 1, rows, acct);
    leaveRun(rows, acct);
    isCut = isCut || isOutOfMemory;
  }
  partition.partials -= count;
  search.count = 0;
  turnEnds(node, state, partition, search, acct);
}

/** The search has the partial matches that were added. */
function turnEnds(node: Node, state: PatternState, partition: Partition, search: Search, acct: usize): void {
  if (!nextCount) isDecided = true;
  if (!isOutOfMemory && setPartials(partition, search, state.next, nextCount, acct)) return;
  for (let i: u32 = 0; i < nextCount; i++) leaveRun(changetype<Partial>(state.next + ((<usize>i) << 3)).rows, acct);
  exhaust(node);
}

// @ts-ignore: decorator
@inline function byRow(
  spec: PatternSpec,
  partition: Partition,
  step: PatternStep,
  rows: Run,
  i: u32,
  looks: bool,
): u32 {
  const holds = ((bits >> step.a) & 1) != 0 && (!looks || isTrueFor(judged + i));
  if (step.op == PatternOp.ABSENT) {
    if (ms - timeOf(partition, rows.end - 1) > spec.absentMs) return Move.GOES_ON;
    return holds ? Move.ENDS : Move.STAYS;
  }
  return isLate || !holds ? Move.ENDS : Move.TAKES;
}

function byTime(spec: PatternSpec, partition: Partition, search: Search, step: PatternStep, rows: Run): u32 {
  const isAbsent = step.op == PatternOp.ABSENT;
  if (by == By.END) return isAbsent ? Move.GOES_ON : Move.ENDS;
  if (!isAbsent) return isLate ? Move.ENDS : Move.STAYS;
  return absentAt(spec, partition, search, rows) <= ms ? Move.GOES_ON : Move.STAYS;
}

/**
 * Adds the steps that are reached from a step without a row, the preferred ones first; steps that were reached already
 * are passed over. False when the match was reached: what follows is less preferred.
 */
function reach(spec: PatternSpec, state: PatternState, search: Search, from: u32, rows: Run, acct: usize): bool {
  const marks = state.marks;
  const stamp = state.stamp;
  const stack = state.stack;
  store<u32>(stack, from);
  let depth: u32 = 1;
  while (depth) {
    const at = load<u32>(stack + ((--depth as usize) << 2));
    const mark = marks + ((<usize>at) << 2);
    if (load<u32>(mark) == stamp) continue;
    store<u32>(mark, stamp);
    const step = stepAt(spec, at);
    const op = step.op;
    if (op == PatternOp.MATCH) {
      leaveBest(search, acct);
      keepRun(rows);
      setBest(search, rows);
      return false;
    }
    if (op == PatternOp.JUMP) store<u32>(stack + ((depth++ as usize) << 2), step.a);
    else if (op == PatternOp.SPLIT) {
      store<u32>(stack + ((depth++ as usize) << 2), step.b);
      store<u32>(stack + ((depth++ as usize) << 2), step.a);
    } else {
      keepRun(rows);
      if (!add(state, at, rows)) leaveRun(rows, acct);
    }
  }
  return true;
}

/** Adds a partial match; false when memory is exhausted. */
function add(state: PatternState, step: u32, rows: Run): bool {
  if (nextCount == state.nextRoom && !roomForNext(state)) {
    isOutOfMemory = true;
    return false;
  }
  const partial = changetype<Partial>(state.next + ((<usize>nextCount) << 3));
  partial.step = step;
  partial.rows = rows;
  nextCount++;
  return true;
}

const FIRST_NEXT: u32 = 64;

function roomForNext(state: PatternState): bool {
  const room = state.nextRoom;
  const wanted = max(room << 1, FIRST_NEXT);
  const made: usize = wanted > 1 << 26 ? 0 : alloc(wanted << 3, state.rows.account);
  if (!made) return false;
  memory.copy(made, state.next, (<usize>room) << 3);
  free(state.next, room << 3, state.rows.account);
  state.next = made;
  state.nextRoom = wanted;
  return true;
}
