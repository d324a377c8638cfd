// Columns of the programs of a pattern: values of rows of a match, or of rows beside them, for one partial match, or
// one row of the result, after the other.
import * as ctx from '../batch/context';
import { accumulate } from '../agg/accumulate';
import { finish } from '../agg/finish';
import { setReset } from '../agg/group/group';
import { aggsAt, setBind, setBinds } from '../agg/group/spec';
import { resultTag, resultVal } from '../agg/state/result';
import { identity, stageAcquire, stageRelease } from '../batch/stage';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { BIND_SIZE } from '../mem/bind';
import { BATCH_ROWS, COL_TAGS, COL_VALS, Tag, setAt, span } from '../mem/layout';
import { copyValue, poolAlloc } from '../mem/pool';
import { LookKind, PatternLook, PatternProgram, PatternSpec } from '../gen/pattern-layouts';
import { WindowSpec } from '../gen/window-layouts';
import { AggregateSpec } from '../gen/window-layouts';
import { pageTag, pageVal } from '../rows/page';
import { EXCLUDED, Partition, PatternState, Run, isHeld, refAt } from './state';
import { aggregateAt, lookAt, numberAt, variableAt } from './spec';
import { noteUniform } from '../batch/stage';

/** Runs of the match that is looked at, the first one first: variable u32 | from u32 | to u32. */
let runs: usize = 0;
let runRoom: u32 = 0;
let runCount: u32 = 0;
const RUN: u32 = 12;

/** The match that is looked at. */
let state: PatternState = changetype<PatternState>(0);
let spec: PatternSpec = changetype<PatternSpec>(0);
let partition: Partition = changetype<Partition>(0);
/** Number of the row that `current` looks at. */
let currentRow: u32 = 0;
let matchNumber: u64 = 0;
let finalTime: f64 = 0;

/** Number behind the last row to which running values look. */
let runningEnd: u32 = 0;

/** Begins to look for a node. */
export function lookBegin(ofSpec: PatternSpec, ofState: PatternState, ofRows: Partition): void {
  spec = ofSpec;
  state = ofState;
  partition = ofRows;
}

/** Looks at the rows of a match that begins with row `start`; false when memory is exhausted. */
export function lookAtRuns(rows: Run, start: u32): bool {
  let n: u32 = 0;
  for (let run = rows; run; run = run.previous) n++;
  if (!roomForRuns(n + 1)) return false;
  runCount = n;
  for (let run = rows; run; run = run.previous) {
    const at = runs + <usize>(--n * RUN);
    store<u32>(at, run.variable & ~EXCLUDED);
    store<u32>(at, run.previous ? run.previous.end : start, 4);
    store<u32>(at, run.end, 8);
    if (run == rows) runningEnd = run.end;
  }
  if (!rows) runningEnd = start;
  return true;
}

/** Adds a row that would be that variable. */
export function lookAtNext(variable: u32, number: u32): void {
  const at = runs + <usize>(runCount * RUN);
  store<u32>(at, variable);
  store<u32>(at, number, 4);
  store<u32>(at, number + 1, 8);
  runCount++;
  runningEnd = number + 1;
}

/** Sets up to which row running values look, the row that is given out, and what else is known of the match. */
export function lookFrom(current: u32, end: u32, number: u64, time: f64): void {
  currentRow = current;
  runningEnd = end;
  matchNumber = number;
  finalTime = time;
}

function roomForRuns(n: u32): bool {
  if (n <= runRoom) return true;
  const room = max(n + (n >> 1), 64);
  const made = alloc(room * RUN, WORKSPACE);
  if (!made) return false;
  free(runs, runRoom * RUN, WORKSPACE);
  runs = made;
  runRoom = room;
  return true;
}

/** Set by `find`: number of the row that was found, and its variable. */
let foundRow: u32 = 0;
let foundVariable: u32 = 0;

/** Finds the row that a look begins from, before its shift; false when there is none. */
function find(look: PatternLook): bool {
  const set = look.variables;
  const limit = look.isFinal ? load<u32>(runs + <usize>((runCount - 1) * RUN), 8) : runningEnd;
  let offset = look.offset;
  if (look.isFirst) {
    for (let i: u32 = 0; i < runCount; i++) {
      const run = runs + <usize>(i * RUN);
      const from = load<u32>(run, 4);
      if (<i32>(from - limit) >= 0) return false;
      if (!((set >> load<u32>(run)) & 1)) continue;
      const to = <i32>(load<u32>(run, 8) - limit) < 0 ? load<u32>(run, 8) : limit;
      if (offset < to - from) {
        foundRow = from + offset;
        foundVariable = load<u32>(run);
        return true;
      }
      offset -= to - from;
    }
    return false;
  }
  for (let i = runCount; i > 0; ) {
    const run = runs + <usize>(--i * RUN);
    const from = load<u32>(run, 4);
    if (<i32>(from - limit) >= 0 || !((set >> load<u32>(run)) & 1)) continue;
    const to = <i32>(load<u32>(run, 8) - limit) < 0 ? load<u32>(run, 8) : limit;
    if (offset < to - from) {
      foundRow = to - 1 - offset;
      foundVariable = load<u32>(run);
      return true;
    }
    offset -= to - from;
  }
  return false;
}

/** Fills row `to` of the columns that a program reads. */
export function lookAll(program: PatternProgram, cols: usize, to: u32): void {
  const reads = program.reads;
  for (let i: u32 = 0; i < reads; i++) {
    const number = numberAt(spec, program.readsAt, i);
    lookOne(lookAt(spec, number), <usize>load<u32>(cols + ((<usize>number) << 2)), to);
  }
}

/** Number behind the furthest row that a program looks at, at least `end`. */
export function lookFurthest(program: PatternProgram, end: u32): u32 {
  let furthest = end;
  for (let i: u32 = 0; i < program.reads; i++) {
    const look = lookAt(spec, numberAt(spec, program.readsAt, i));
    if (look.kind != LookKind.ROW || look.shift <= 0 || !runCount || !find(look)) continue;
    const behind = foundRow + <u32>look.shift + 1;
    if (<i32>(behind - furthest) > 0) furthest = behind;
  }
  return furthest;
}

/** Notes the tags of the columns that a program reads, of `n` rows. */
export function lookDone(program: PatternProgram, cols: usize, n: u32): void {
  const reads = program.reads;
  for (let i: u32 = 0; i < reads; i++) {
    noteUniform(<usize>load<u32>(cols + ((<usize>numberAt(spec, program.readsAt, i)) << 2)), n);
  }
}

function lookOne(look: PatternLook, block: usize, to: u32): void {
  const kind = look.kind;
  if (kind == LookKind.ROW) {
    if (runCount && find(look)) setValue(block, to, foundRow + <u32>look.shift, look.column);
    else setAt(block, to, Tag.NULL, 0);
  } else if (kind == LookKind.CURRENT) setValue(block, to, currentRow, look.column);
  else if (kind == LookKind.MATCH_NUMBER) setAt(block, to, matchNumber ? Tag.I64 : Tag.NULL, matchNumber);
  else if (kind == LookKind.TIME) setAt(block, to, Tag.I64, <u64>(<i64>finalTime));
  else if (kind == LookKind.CLASSIFIER) {
    if (!runCount || !find(look) || !shifted(look.shift)) setAt(block, to, Tag.NULL, 0);
    else setName(block, to, foundVariable);
  } else aggregate(look, block, to);
}

/** Moves the found row within the match; false where that leads out of it. */
function shifted(shift: i32): bool {
  if (!shift) return true;
  const row = foundRow + <u32>shift;
  for (let i: u32 = 0; i < runCount; i++) {
    const run = runs + <usize>(i * RUN);
    if (<i32>(row - load<u32>(run, 4)) < 0 || <i32>(row - load<u32>(run, 8)) >= 0) continue;
    foundRow = row;
    foundVariable = load<u32>(run);
    return true;
  }
  return false;
}

/** Sets what is kept of a row; null for a row that is not there. */
// @ts-ignore: decorator
@inline function setValue(block: usize, to: u32, number: u32, column: u32): void {
  if (!isHeld(partition, number)) {
    setAt(block, to, Tag.NULL, 0);
    return;
  }
  const ref = refAt(partition, number);
  setAt(block, to, pageTag(ref.page, column, ref.row), pageVal(ref.page, column, ref.row));
}

// ---- aggregates --------------------------------------------------------------------------------------------------

/** Rows that an aggregate takes in and has not yet, in the columns of its inputs. */
let taken: u32 = 0;

function aggregate(look: PatternLook, block: usize, to: u32): void {
  const one = aggregateAt(spec, look.column);
  const window = changetype<WindowSpec>(changetype<usize>(spec) + one.specAt);
  const inputs = one.inputs;
  const set = state.set;
  const stage = stageAcquire(inputs + 1);
  const binds = poolAlloc(ctx.scratch, (inputs + 1) * BIND_SIZE);
  if (!stage || !binds) {
    if (stage) stageRelease(inputs + 1);
    setAt(block, to, Tag.NULL, 0);
    return;
  }
  setReset(set);
  setBinds(binds);
  for (let i: u32 = 0; i < inputs; i++) {
    const column = <usize>load<u32>(stage + ((<usize>i) << 2));
    setBind(i, column + COL_VALS, column + COL_TAGS, 1, Tag.MIXED);
  }
  taken = 0;
  const limit = look.isFinal && runCount ? load<u32>(runs + <usize>((runCount - 1) * RUN), 8) : runningEnd;
  for (let i: u32 = 0; i < runCount; i++) {
    const run = runs + <usize>(i * RUN);
    if (!((look.variables >> load<u32>(run)) & 1)) continue;
    const end = load<u32>(run, 8);
    for (let row = load<u32>(run, 4); row != end && <i32>(row - limit) < 0; row++) {
      for (let c: u32 = 0; c < inputs; c++) {
        setInput(<usize>load<u32>(stage + ((<usize>c) << 2)), row, numberAt(spec, one.inputsAt, c), load<u32>(run));
      }
      if (++taken == BATCH_ROWS) take(window);
    }
  }
  take(window);
  const group = set.first;
  if (!group) setAt(block, to, <u8>one.empty, one.empty == Tag.ARRAY ? span(0, 0) : 0);
  else {
    finish(changetype<AggregateSpec>(aggsAt(window)), group, window.tagsAt);
    setAt(block, to, resultTag, copyValue(ctx.scratch, resultTag, resultVal));
  }
  stageRelease(inputs + 1);
}

/** Inputs that are no column that is kept (kernels/nodes/pattern.ts). */
const OF_CLASSIFIER: u32 = 0x3fff;
const OF_MATCH_NUMBER: u32 = 0x3ffe;

/** Sets an input of the next row: a kept column, or what the row is in the match. */
// @ts-ignore: decorator
@inline function setInput(block: usize, row: u32, column: u32, variable: u32): void {
  if (column == OF_CLASSIFIER) setName(block, taken, variable);
  else if (column == OF_MATCH_NUMBER) setAt(block, taken, Tag.I64, matchNumber);
  else setValue(block, taken, row, column);
}

// @ts-ignore: decorator
@inline function setName(block: usize, to: u32, number: u32): void {
  const variable = variableAt(spec, number);
  setAt(block, to, Tag.STR, span(changetype<usize>(spec) + variable.nameAt, variable.nameLen));
}

function take(window: WindowSpec): void {
  if (taken) accumulate(window, state.set, identity, taken);
  taken = 0;
}
