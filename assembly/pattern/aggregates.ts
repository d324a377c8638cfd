// Aggregates over rows of the match that is looked at. While rows of one match are given out, each goes on where it
// was: a running value takes in the rows behind those of the row before.
import * as ctx from '../batch/context';
import { accumulate, accumulateInto } from '../agg/accumulate';
import { finish } from '../agg/finish';
import { SET_SIZE, setFree, setInit, setReset } from '../agg/group/group';
import { aggsAt, bindBatch, binds, setBinds } from '../agg/group/spec';
import { Group, GroupSet } from '../agg/group/table';
import { resultTag, resultVal } from '../agg/state/result';
import { identity, noteUniform, stageAcquire, stageRelease } from '../batch/stage';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { BIND_SIZE } from '../mem/bind';
import { BATCH_ROWS, Tag, setAt, span } from '../mem/layout';
import { copyValue, poolAlloc } from '../mem/pool';
import { LookKind, PatternAggregate, PatternLook, PatternProgram, PatternSpec } from '../gen/pattern-layouts';
import { AggregateSpec } from '../gen/window-layouts';
import { vmRun } from '../ops/vm';
import {
  listRuns,
  matchEnd,
  matchStart,
  noteLookFails,
  runCount,
  runFrom,
  runOf,
  runTo,
  runVariable,
  runningEnd,
  setName,
  setNumber,
  setValue,
  spec,
  state,
} from './match';
import { aggregateAt, lookAt, numberAt, programAt, windowOf } from './spec';
import { PatternState } from './state';

/** The rows that the aggregate of a look has taken in of a match. */
// @ts-ignore: decorator
@unmanaged
class Taken {
  set: GroupSet;
  /** Number of the match among those that the node looked at. */
  match: u32;
  /** Number behind the last row. */
  end: u32;
}

const TAKEN_SIZE: u32 = 16;

// @ts-ignore: decorator
@inline function takenBy(look: u32): Taken {
  return changetype<Taken>(state.taken + ((<usize>look) << 4));
}

/** Makes the sets of the aggregates; false when memory is exhausted. */
export function aggregatesOpen(spec: PatternSpec, state: PatternState, acct: usize): bool {
  state.taken = allocZeroed(max(spec.looks, 1) * TAKEN_SIZE, acct);
  if (!state.taken) return false;
  for (let i: u32 = 0; i < spec.looks; i++) {
    if (lookAt(spec, i).kind != LookKind.AGGREGATE) continue;
    const set = changetype<GroupSet>(alloc(SET_SIZE, acct));
    if (!set) return false;
    setInit(set, acct);
    changetype<Taken>(state.taken + ((<usize>i) << 4)).set = set;
  }
  return true;
}

export function aggregatesFree(spec: PatternSpec, state: PatternState, acct: usize): void {
  if (!state.taken) return;
  for (let i: u32 = 0; i < spec.looks; i++) {
    const set = changetype<Taken>(state.taken + ((<usize>i) << 4)).set;
    if (!set) continue;
    setFree(set);
    free(changetype<usize>(set), SET_SIZE, acct);
  }
  free(state.taken, max(spec.looks, 1) * TAKEN_SIZE, acct);
}

/** The aggregates that are looked at next are those of another match. */
export function aggregatesBegin(state: PatternState): void {
  state.match++;
}

/** Sets the value of the aggregate of a look. */
export function aggregate(number: u32, look: PatternLook, block: usize, to: u32): void {
  const one = aggregateAt(spec, look.column);
  const taken = takenBy(number);
  const set = taken.set;
  if (taken.match != state.match) {
    setReset(set);
    taken.match = state.match;
    taken.end = matchStart;
  }
  const end = look.isFinal ? matchEnd : runningEnd;
  if (taken.end != end && !takeRows(one, set, look.variables, taken.end, end)) noteLookFails(true);
  taken.end = end;
  if (set.first) setResult(one, set.first, block, to);
  else setAt(block, to, <u8>one.empty, one.empty == Tag.ARRAY ? span(0, 0) : 0);
}

/** Sets the result of a group. */
export function setResult(one: PatternAggregate, group: Group, block: usize, to: u32): void {
  const window = windowOf(spec, one);
  finish(changetype<AggregateSpec>(aggsAt(window)), group, window.tagsAt);
  setAt(block, to, resultTag, copyValue(ctx.scratch, resultTag, resultVal));
}

/** Takes the rows of the match that are one of the variables; false when memory is exhausted. */
function takeRows(one: PatternAggregate, set: GroupSet, variables: u64, from: u32, end: u32): bool {
  if (!listRuns()) return false;
  const program = programAt(spec, one.program);
  const stage = stageAcquire(spec.looks);
  if (!stage) return false;
  let n: u32 = 0;
  let isGood = true;
  let row = from;
  for (let i = runOf(from); i < runCount && row != end && isGood; i++) {
    const to = <i32>(runTo(i) - end) < 0 ? runTo(i) : end;
    const variable = runVariable(i);
    if ((variables >> variable) & 1) {
      for (; row != to && isGood; row++) {
        setArguments(program, stage, n, row, variable);
        if (++n < BATCH_ROWS) continue;
        isGood = take(one, set, stage, n, identity, n, 0);
        n = 0;
      }
    }
    row = to;
  }
  if (n && isGood) isGood = take(one, set, stage, n, identity, n, 0);
  stageRelease(spec.looks);
  return isGood;
}

/** Sets what the arguments of an aggregate read of a row of the match. */
export function setArguments(program: PatternProgram, stage: usize, to: u32, row: u32, variable: u32): void {
  const reads = program.reads;
  for (let i: u32 = 0; i < reads; i++) {
    const number = numberAt(spec, program.readsAt, i);
    const look = lookAt(spec, number);
    const block = <usize>load<u32>(stage + ((<usize>number) << 2));
    if (look.kind == LookKind.CURRENT) setValue(block, to, row, look.column);
    else if (look.kind == LookKind.CLASSIFIER) setName(block, to, variable);
    else setNumber(block, to);
  }
}

/**
 * Takes the rows `sel[0 … m)` of the `n` rows of which the arguments are set: into the set, or into the groups at
 * `groups`. False when memory is exhausted.
 */
export function take(
  one: PatternAggregate,
  set: GroupSet,
  stage: usize,
  n: u32,
  sel: usize,
  m: u32,
  groups: usize,
): bool {
  const window = windowOf(spec, one);
  const made = poolAlloc(ctx.scratch, (window.inputs + 1) * BIND_SIZE);
  if (!made) return false;
  // A window above may be in the middle of its rows.
  const outer = binds;
  setBinds(made);
  evaluate(one, stage, n);
  const isGood = groups ? accumulateInto(window, set, sel, m, groups) : accumulate(window, set, sel, m);
  setBinds(outer);
  return isGood;
}

/** Evaluates the arguments of an aggregate and binds them. */
function evaluate(one: PatternAggregate, stage: usize, n: u32): void {
  const program = programAt(spec, one.program);
  const reads = program.reads;
  for (let i: u32 = 0; i < reads; i++) {
    noteUniform(<usize>load<u32>(stage + ((<usize>numberAt(spec, program.readsAt, i)) << 2)), n);
  }
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const errors = ctx.rowErrors;
  ctx.setBatch(stage, n, identity, n, 0);
  if (program.made) vmRun(program.made);
  bindBatch(windowOf(spec, one), program.made);
  ctx.setBatch(cols, rows, sel, selLen, errors);
}
