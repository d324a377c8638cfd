// Running aggregates of conditions. A run has behind it the states of the aggregates of all rows from the first of the
// match to its own last one, so that a condition takes in one row more, however long the match is. A fork copies the
// states with the first run that differs. They are not saved: the first condition behind a load takes all rows again.
//
//   run   0    Run
//         16   number behind the last row that is taken in u32 | 1: that is known u32
//         24   state of each aggregate, with its tag behind it: what stands at a group from `statesAt` on
//
// In a match of many runs the first rows that a condition looks at are kept there, too. Only states of a fixed size are
// there, and as long as they are numbers or times: a text, or an error, makes the tag UNFIT, and the rows are taken in
// again with each condition. So it is for other aggregates, as collect.
import { aggsAt, allFixed } from '../agg/group/spec';
import { Group, GroupSet } from '../agg/group/table';
import { setReset } from '../agg/group/group';
import { identity, stageAcquire, stageRelease } from '../batch/stage';
import { takesBatch } from '../gen/aggregates';
import {
  LookKind,
  PatternAggregate,
  PatternLook,
  PatternOp,
  PatternProgram,
  PatternSpec,
} from '../gen/pattern-layouts';
import { AggregateSpec, WindowSpec } from '../gen/window-layouts';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { BATCH_ROWS, Tag, setAt } from '../mem/layout';
import { aggregate, aggregatesBegin, setArguments, setResult, take } from './aggregates';
import { lookAtNext, lookAtRuns, setValue, spec, state } from './match';
import { aggregateAt, lookAt, numberAt, programAt, stepAt, variableAt, windowOf } from './spec';
import { RUN_SIZE, Run, SUMS_SIZE, Sums } from './state';

/** Bytes of a run at most; conditions with more aggregates take all rows for the rest of them. */
const MOST_BYTES: u32 = 1024;
/** Tag of a state that is not kept. */
const UNFIT: u8 = 254;

/** Gives each aggregate of a condition its place in runs. */
export function placeSums(spec: PatternSpec): void {
  let size = SUMS_SIZE;
  const isFar = hasManyRuns(spec);
  // A node may be opened again.
  for (let i: u32 = 0; i < spec.looks; i++) lookAt(spec, i).place = 0;
  for (let v: u32 = 0; v < spec.variables; v++) {
    const number = variableAt(spec, v).program;
    if (!number) continue;
    const program = programAt(spec, number);
    for (let i: u32 = 0; i < program.reads; i++) {
      const look = lookAt(spec, numberAt(spec, program.readsAt, i));
      if (look.place || !(look.kind == LookKind.AGGREGATE ? isRunning(spec, look) : isFar && isFirst(look))) continue;
      const bytes = look.kind == LookKind.ROW ? FIRST_BYTES : bytesOf(windowOf(spec, aggregateAt(spec, look.column)));
      if (size + bytes > MOST_BYTES) continue;
      look.place = <u16>size;
      size += bytes;
    }
  }
  spec.runSize = size == SUMS_SIZE ? RUN_SIZE : size;
}

/** Bytes of the state and tag of an aggregate. */
// @ts-ignore: decorator
@inline function bytesOf(window: WindowSpec): u32 {
  return (window.entrySize - window.statesAt + 7) & ~7;
}

/** True for an aggregate whose state has a fixed size, and whose arguments are the same whenever a row is taken in. */
function isRunning(spec: PatternSpec, look: PatternLook): bool {
  const one = aggregateAt(spec, look.column);
  const window = windowOf(spec, one);
  if (!allFixed(window) || takesBatch(changetype<AggregateSpec>(aggsAt(window)).fn)) return false;
  const program = programAt(spec, one.program);
  for (let i: u32 = 0; i < program.reads; i++) {
    if (lookAt(spec, numberAt(spec, program.readsAt, i)).kind == LookKind.MATCH_NUMBER) return false;
  }
  return true;
}

// @ts-ignore: decorator
@inline function isFirst(look: PatternLook): bool {
  return look.kind == LookKind.ROW && look.isFirst != 0;
}

/** True for a pattern that repeats several variables: a match may have as many runs as rows. */
function hasManyRuns(spec: PatternSpec): bool {
  for (let i: u32 = 0; i < spec.steps; i++) {
    const step = stepAt(spec, i);
    if (step.op != PatternOp.JUMP && step.op != PatternOp.SPLIT) continue;
    let variables: u64 = 0;
    for (let at = step.op == PatternOp.SPLIT ? min(step.a, step.b) : step.a; at < i; at++) {
      const inner = stepAt(spec, at);
      if (inner.op == PatternOp.ROW) variables |= (<u64>1) << inner.a;
    }
    if (popcnt(variables) > 1) return true;
  }
  return false;
}

/** The group whose state stands at an address. */
// @ts-ignore: decorator
@inline function groupAt(state: usize, window: WindowSpec): Group {
  return changetype<Group>(state - window.statesAt);
}

// ---- rows that runs have -----------------------------------------------------------------------------------------

/** Rows that are to be taken in: run u32 | row u32. */
const QUEUE: usize = memory.data(8 * 1024, 16);
let queued: u32 = 0;
const GROUPS: usize = memory.data(4 * 1024, 16);

/** Runs of which nothing is known, the last one first. */
let unknown: usize = 0;
let unknownRoom: u32 = 0;

/** Lets the states of a run have all its rows, once `takeQueued` was called; false when memory is exhausted. */
export function bringUp(rows: Run, start: u32): bool {
  let run = changetype<Sums>(rows);
  if (!run || (run.isKnown && run.taken == run.end)) return true;
  let n: u32 = 0;
  for (; run && !run.isKnown; run = changetype<Sums>(run.previous)) {
    if (n == unknownRoom && !roomForUnknown()) return false;
    store<u32>(unknown + ((n++ as usize) << 2), changetype<u32>(run));
  }
  if (run && !queueRows(run)) return false;
  while (n) {
    run = changetype<Sums>(load<u32>(unknown + ((--n as usize) << 2)));
    const previous = run.previous;
    const size = run.size - SUMS_SIZE;
    if (previous) {
      if (!takeQueued()) return false;
      memory.copy(changetype<usize>(run) + SUMS_SIZE, changetype<usize>(previous) + SUMS_SIZE, size);
    } else memory.fill(changetype<usize>(run) + SUMS_SIZE, 0, size);
    run.taken = previous ? previous.end : start;
    run.isKnown = 1;
    if (!queueRows(run)) return false;
  }
  return true;
}

function roomForUnknown(): bool {
  const room = max(unknownRoom << 1, 64);
  const made = alloc(room << 2, WORKSPACE);
  if (!made) return false;
  memory.copy(made, unknown, (<usize>unknownRoom) << 2);
  free(unknown, unknownRoom << 2, WORKSPACE);
  unknown = made;
  unknownRoom = room;
  return true;
}

function queueRows(run: Sums): bool {
  for (let row = run.taken; row != run.end; row++) {
    if (queued == BATCH_ROWS && !takeQueued()) return false;
    store<u32>(QUEUE + ((<usize>queued) << 3), changetype<u32>(run));
    store<u32>(QUEUE + ((<usize>queued) << 3), row, 4);
    queued++;
  }
  run.taken = run.end;
  return true;
}

/** Takes in the rows that wait for that; false when memory is exhausted. */
function takeQueued(): bool {
  const n = queued;
  queued = 0;
  if (!n) return true;
  const looks = spec.looks;
  const stage = stageAcquire(looks);
  if (!stage) return false;
  let isGood = true;
  for (let i: u32 = 0; i < looks && isGood; i++) {
    const look = lookAt(spec, i);
    if (!look.place) continue;
    if (look.kind == LookKind.ROW) takeFirst(look, n);
    else isGood = takeInto(look, stage, n);
  }
  stageRelease(looks);
  return isGood;
}

/** Takes the queued rows into the states of one aggregate. */
function takeInto(look: PatternLook, stage: usize, n: u32): bool {
  const one = aggregateAt(spec, look.column);
  const window = windowOf(spec, one);
  const program = programAt(spec, one.program);
  const tagAt = window.tagsAt - window.statesAt;
  let k: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const run = changetype<Run>(load<u32>(QUEUE + ((<usize>i) << 3)));
    const at = changetype<usize>(run) + look.place;
    if (!((look.variables >> run.variable) & 1) || load<u8>(at + tagAt) == UNFIT) continue;
    setArguments(program, stage, k, load<u32>(QUEUE + ((<usize>i) << 3), 4), run.variable);
    store<u32>(GROUPS + ((<usize>k) << 2), changetype<u32>(groupAt(at, window)));
    k++;
  }
  if (!k) return true;
  if (!take(one, setOf(), stage, k, identity, k, GROUPS)) return false;
  for (let i: u32 = 0; i < k; i++) {
    const group = <usize>load<u32>(GROUPS + ((<usize>i) << 2));
    const tag = load<u8>(group + window.tagsAt);
    if (tag <= Tag.F64 || tag == Tag.TIME || tag == UNFIT) continue;
    memory.fill(group + window.statesAt, 0, tagAt);
    store<u8>(group + window.tagsAt, UNFIT);
  }
  setReset(setOf());
  return true;
}

// ---- first rows --------------------------------------------------------------------------------------------------

/** Bytes of what a run knows of FIRST: rows that were passed, up to the one that is wanted, u32 | its number u32. */
const FIRST_BYTES: u32 = 8;

/** Counts the queued rows for a look from the first row on. */
function takeFirst(look: PatternLook, n: u32): void {
  const wanted = look.offset + 1;
  for (let i: u32 = 0; i < n; i++) {
    const run = changetype<Run>(load<u32>(QUEUE + ((<usize>i) << 3)));
    if (!((look.variables >> run.variable) & 1)) continue;
    const at = changetype<usize>(run) + look.place;
    const passed = load<u32>(at);
    if (passed == wanted) continue;
    store<u32>(at, passed + 1);
    store<u32>(at, load<u32>(QUEUE + ((<usize>i) << 3), 4), 4);
  }
}

/** As `sumOf` for a look from the first row on. */
function firstOf(look: PatternLook, block: usize, matches: usize, n: u32, row: u32, variable: u32): void {
  const wanted = look.offset + 1;
  const takes = <u32>((look.variables >> variable) & 1);
  for (let i: u32 = 0; i < n; i++) {
    const run = <usize>load<u32>(matches + ((<usize>i) << 3));
    const passed = run ? load<u32>(run + look.place) : 0;
    if (passed == wanted) setValue(block, i, load<u32>(run + look.place, 4) + <u32>look.shift, look.column);
    else if (passed + takes == wanted) setValue(block, i, row + <u32>look.shift, look.column);
    else setAt(block, i, Tag.NULL, 0);
  }
}

/** The set that keeps texts for the moment. */
// @ts-ignore: decorator
@inline function setOf(): GroupSet {
  return state.set;
}

// ---- conditions --------------------------------------------------------------------------------------------------

/** Selection of the first row alone, again and again. */
const FIRST_ROWS: usize = memory.data(4 * 1024, 16);

/** The states of a batch of partial matches, each with the row that it would take. */
let trials: usize = 0;
let trialBytes: u32 = 0;

/**
 * Sets the aggregates of conditions for `n` partial matches that would take row `row` as `variable`; their runs and
 * first rows stand at `matches` (run u32 | start u32). False when memory is exhausted.
 */
export function sumsOf(program: PatternProgram, cols: usize, matches: usize, n: u32, row: u32, variable: u32): bool {
  if (!takeQueued()) return false;
  for (let i: u32 = 0; i < program.reads; i++) {
    const number = numberAt(spec, program.readsAt, i);
    const look = lookAt(spec, number);
    if (!look.place) continue;
    const block = <usize>load<u32>(cols + ((<usize>number) << 2));
    if (look.kind == LookKind.ROW) firstOf(look, block, matches, n, row, variable);
    else if (!sumOf(number, look, block, matches, n, row, variable)) return false;
  }
  return true;
}

function sumOf(number: u32, look: PatternLook, block: usize, matches: usize, n: u32, row: u32, variable: u32): bool {
  const one = aggregateAt(spec, look.column);
  const window = windowOf(spec, one);
  const size = bytesOf(window);
  const tagAt = window.tagsAt - window.statesAt;
  if (!roomForTrials(n * size)) return false;
  for (let i: u32 = 0; i < n; i++) {
    const run = <usize>load<u32>(matches + ((<usize>i) << 3));
    const at = trials + <usize>(i * size);
    if (run && load<u8>(run + look.place + tagAt) != UNFIT) memory.copy(at, run + look.place, size);
    else memory.fill(at, 0, size);
    store<u32>(GROUPS + ((<usize>i) << 2), changetype<u32>(groupAt(at, window)));
  }
  if ((look.variables >> variable) & 1 && !tryRow(one, n, row, variable)) return false;
  for (let i: u32 = 0; i < n; i++) {
    const at = trials + <usize>(i * size);
    const run = changetype<Run>(load<u32>(matches + ((<usize>i) << 3)));
    const isUnfit = !!run && load<u8>(changetype<usize>(run) + look.place + tagAt) == UNFIT;
    if (!isUnfit) setResult(one, groupAt(at, window), block, i);
    else {
      lookAtRuns(run, load<u32>(matches + ((<usize>i) << 3), 4));
      lookAtNext(variable, row);
      aggregatesBegin(state);
      aggregate(number, look, block, i);
    }
  }
  setReset(setOf());
  return true;
}

/** Takes a row into the states of all partial matches, as the same variable. */
function tryRow(one: PatternAggregate, n: u32, row: u32, variable: u32): bool {
  const stage = stageAcquire(spec.looks);
  if (!stage) return false;
  setArguments(programAt(spec, one.program), stage, 0, row, variable);
  const isGood = take(one, setOf(), stage, 1, FIRST_ROWS, n, GROUPS);
  stageRelease(spec.looks);
  return isGood;
}

function roomForTrials(bytes: u32): bool {
  if (bytes <= trialBytes) return true;
  const room = max(bytes + (bytes >> 1), 1024);
  const made = alloc(room, WORKSPACE);
  if (!made) return false;
  free(trials, trialBytes, WORKSPACE);
  trials = made;
  trialBytes = room;
  return true;
}
