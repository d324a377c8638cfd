// The match that is looked at: a partial match with the row that it would take, or a match whose rows are given out.
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { Tag, setAt, span } from '../mem/layout';
import { PatternLook, PatternSpec } from '../gen/pattern-layouts';
import { pageTag, pageVal } from '../rows/page';
import { variableAt } from './spec';
import { Partition, PatternState, Run, isHeld, refAt } from './state';

export let state: PatternState = changetype<PatternState>(0);
export let spec: PatternSpec = changetype<PatternSpec>(0);
let partition: Partition = changetype<Partition>(0);

/** Number of its first row. */
export let matchStart: u32 = 0;
/** Number behind its last row. */
export let matchEnd: u32 = 0;
/** Number behind the last row to which running values look. */
export let runningEnd: u32 = 0;
/** Number of the row that `current` looks at. */
export let currentRow: u32 = 0;
let matchNumber: u64 = 0;
export let finalTime: f64 = 0;

/** Its last run, and the row behind that which it would take. */
let lastRun: Run = changetype<Run>(0);
let hasNext: bool = false;
let nextVariable: u32 = 0;

/** Its runs, the first one first, listed when that is needed: variable u16 | is left out u16 | from u32 | to u32. */
let runs: usize = 0;
let runRoom: u32 = 0;
export let runCount: u32 = 0;
let isListed: bool = false;
const LISTED: u32 = 12;

/** Memory was exhausted since this was set to false. */
export let lookFails: bool = false;

export function noteLookFails(fails: bool): void {
  lookFails = fails;
}

/** Begins to look for a node. */
export function lookBegin(ofSpec: PatternSpec, ofState: PatternState, ofRows: Partition): void {
  spec = ofSpec;
  state = ofState;
  partition = ofRows;
}

/** Looks at the rows of a match that begins with row `start`. */
export function lookAtRuns(rows: Run, start: u32): void {
  lastRun = rows;
  matchStart = start;
  matchEnd = rows ? rows.end : start;
  runningEnd = matchEnd;
  hasNext = false;
  isListed = false;
}

/** Adds a row that would be that variable. */
export function lookAtNext(variable: u32, number: u32): void {
  nextVariable = variable;
  hasNext = true;
  matchEnd = number + 1;
  runningEnd = matchEnd;
}

/** Sets up to which row running values look, the row that is given out, and what else is known of the match. */
export function lookFrom(current: u32, end: u32, number: u64, time: f64): void {
  currentRow = current;
  runningEnd = end;
  matchNumber = number;
  finalTime = time;
}

// ---- runs --------------------------------------------------------------------------------------------------------

/** Lists the runs; false when memory is exhausted. */
export function listRuns(): bool {
  if (isListed) return true;
  let n: u32 = hasNext ? 1 : 0;
  for (let run = lastRun; run; run = run.previous) n++;
  runCount = 0;
  if (n > runRoom && !roomForRuns(n)) {
    lookFails = true;
    return false;
  }
  runCount = n;
  isListed = true;
  if (hasNext) put(--n, nextVariable, false, matchEnd - 1, matchEnd);
  for (let run = lastRun; run; run = run.previous) {
    put(--n, run.variable, run.isExcluded != 0, run.previous ? run.previous.end : matchStart, run.end);
  }
  return true;
}

function put(i: u32, variable: u32, isExcluded: bool, from: u32, to: u32): void {
  const at = runs + <usize>(i * LISTED);
  store<u16>(at, <u16>variable);
  store<u16>(at, <u16>isExcluded, 2);
  store<u32>(at, from, 4);
  store<u32>(at, to, 8);
}

function roomForRuns(n: u32): bool {
  const room = max(n + (n >> 1), 64);
  const made = alloc(room * LISTED, WORKSPACE);
  if (!made) return false;
  free(runs, runRoom * LISTED, WORKSPACE);
  runs = made;
  runRoom = room;
  return true;
}

// @ts-ignore: decorator
@inline export function runVariable(i: u32): u32 {
  return load<u16>(runs + <usize>(i * LISTED));
}

// @ts-ignore: decorator
@inline export function runFrom(i: u32): u32 {
  return load<u32>(runs + <usize>(i * LISTED), 4);
}

// @ts-ignore: decorator
@inline export function runTo(i: u32): u32 {
  return load<u32>(runs + <usize>(i * LISTED), 8);
}

/** True when a row of the match is left out of the result; runs are listed. */
export function isExcluded(row: u32): bool {
  return load<u16>(runs + <usize>(runOf(row) * LISTED), 2) != 0;
}

/** The listed run of a row of the match. */
export function runOf(row: u32): u32 {
  const at = row - matchStart;
  let low: u32 = 0;
  let high = runCount;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (runFrom(middle) - matchStart <= at) low = middle;
    else high = middle;
  }
  return low;
}

// ---- rows --------------------------------------------------------------------------------------------------------

/** Set by `find`: number of the row that was found, and its variable. */
export let foundRow: u32 = 0;
export let foundVariable: u32 = 0;

/** Finds the row that a look begins from, before its shift; false when there is none. */
export function find(look: PatternLook): bool {
  const end = look.isFinal ? matchEnd : runningEnd;
  if (end == matchStart) return false;
  if (look.isFirst) return findFirst(look.variables, look.offset, end);
  return end == matchEnd ? findLast(look.variables, look.offset) : findBefore(look.variables, look.offset, end);
}

function findFirst(set: u64, offset: u32, end: u32): bool {
  if (!listRuns()) return false;
  for (let i: u32 = 0; i < runCount; i++) {
    const from = runFrom(i);
    if (<i32>(from - end) >= 0) return false;
    if (!((set >> runVariable(i)) & 1)) continue;
    const to = <i32>(runTo(i) - end) < 0 ? runTo(i) : end;
    if (offset < to - from) return found(from + offset, runVariable(i));
    offset -= to - from;
  }
  return false;
}

/** From the last row of the match back. */
function findLast(set: u64, offset: u32): bool {
  if (hasNext && (set >> nextVariable) & 1) {
    if (!offset) return found(matchEnd - 1, nextVariable);
    offset--;
  }
  for (let run = lastRun; run; run = run.previous) {
    if (!((set >> run.variable) & 1)) continue;
    const from = run.previous ? run.previous.end : matchStart;
    if (offset < run.end - from) return found(run.end - 1 - offset, run.variable);
    offset -= run.end - from;
  }
  return false;
}

/** From the row before `end` back. */
function findBefore(set: u64, offset: u32, end: u32): bool {
  if (!listRuns()) return false;
  for (let i = runOf(end - 1) + 1; i > 0; ) {
    i--;
    if (!((set >> runVariable(i)) & 1)) continue;
    const from = runFrom(i);
    const to = <i32>(runTo(i) - end) < 0 ? runTo(i) : end;
    if (offset < to - from) return found(to - 1 - offset, runVariable(i));
    offset -= to - from;
  }
  return false;
}

// @ts-ignore: decorator
@inline function found(row: u32, variable: u32): bool {
  foundRow = row;
  foundVariable = variable;
  return true;
}

/** Moves the found row within the match; false where that leads out of it. */
export function shifted(shift: i32): bool {
  if (!shift) return true;
  const row = foundRow + <u32>shift;
  if (row - matchStart >= matchEnd - matchStart || !listRuns()) return false;
  const run = runOf(row);
  // Rows before the one that must not come belong to no variable.
  return <i32>(row - runTo(run)) < 0 && found(row, runVariable(run));
}

// ---- values ------------------------------------------------------------------------------------------------------

/** Sets what is kept of a row; null for a row that is not there. */
// @ts-ignore: decorator
@inline export function setValue(block: usize, to: u32, number: u32, column: u32): void {
  if (!isHeld(partition, number)) {
    setAt(block, to, Tag.NULL, 0);
    return;
  }
  const ref = refAt(partition, number);
  setAt(block, to, pageTag(ref.page, column, ref.row), pageVal(ref.page, column, ref.row));
}

/** Sets the name of a variable. */
// @ts-ignore: decorator
@inline export function setName(block: usize, to: u32, number: u32): void {
  const variable = variableAt(spec, number);
  setAt(block, to, Tag.STR, span(changetype<usize>(spec) + variable.nameAt, variable.nameLen));
}

// @ts-ignore: decorator
@inline export function setNumber(block: usize, to: u32): void {
  setAt(block, to, matchNumber ? Tag.I64 : Tag.NULL, matchNumber);
}
