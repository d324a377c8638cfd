// Candidate pairs of a step: judged in batches by the condition, in the order in which they were added, which is that
// of nested loops. The outer loop runs over the tuples, in a right join over the rows of the right side; an outer row
// that no pair matched takes its place among the results there.
import * as ctx from '../../batch/context';
import { failLen, failNotBoolean, failOff } from '../../batch/failure';
import { identity, stageAcquire, stageRelease } from '../../batch/stage';
import { BATCH_ROWS, Tag, lenOf, offOf, span } from '../../mem/layout';
import { poolBytesCopy, poolChunk, poolFilled, poolReturn } from '../../mem/pool';
import { strideOf, tagsOf, valsOf } from '../../ops/operand';
import { vmRun } from '../../ops/vm';
import { JoinType, NO_VALUES } from './spec';
import { NO_ROW, failure, leftCount, rightCount, runFail, runFailMemory, spec, state, step } from './run';
import { addResult } from './output';
import { fillColumn } from './fill';
import { noteBatch } from './pause';
import { Program } from '../../gen/ops-layouts';

const LEFTS: usize = memory.data(4 * 1024, 16);
const RIGHTS: usize = memory.data(4 * 1024, 16);
/** Verdict of the condition on each pair. */
const VERDICTS: usize = memory.data(1024, 16);
const NO: u8 = 0;
const YES: u8 = 1;
const FAILED: u8 = 2;

let count: u32 = 0;
let verdictError: u64 = 0;
/** Outer row that is next to be settled, and whether a pair of it matched. */
let outer: u32 = 0;
let isMatched: bool = false;
export let outerIsRight: bool = false;
let keepsOuter: bool = false;
/** Rows of the right side that a pair matched (u8 each), 0 when nobody asks. */
export let matchedRights: usize = 0;

/** Bytes that `pairsSave` writes. */
export const PAIRS_SIZE: u32 = 32 + 9 * 1024;

/** Saves the pairs under way. */
export function pairsSave(to: usize): void {
  store<u32>(to, count);
  store<u32>(to, outer, 4);
  store<u64>(to, verdictError, 8);
  store<u32>(to, <u32>matchedRights, 16);
  store<u8>(to, <u8>isMatched, 20);
  store<u8>(to, <u8>outerIsRight, 21);
  store<u8>(to, <u8>keepsOuter, 22);
  memory.copy(to + 32, LEFTS, 4096);
  memory.copy(to + 32 + 4096, RIGHTS, 4096);
  memory.copy(to + 32 + 8192, VERDICTS, 1024);
}

/** Restores the pairs that `pairsSave` saved. */
export function pairsRestore(from: usize): void {
  count = load<u32>(from);
  outer = load<u32>(from, 4);
  verdictError = load<u64>(from, 8);
  matchedRights = <usize>load<u32>(from, 16);
  isMatched = load<u8>(from, 20) != 0;
  outerIsRight = load<u8>(from, 21) != 0;
  keepsOuter = load<u8>(from, 22) != 0;
  memory.copy(LEFTS, from + 32, 4096);
  memory.copy(RIGHTS, from + 32 + 4096, 4096);
  memory.copy(VERDICTS, from + 32 + 8192, 1024);
}

/** Begins the pairs of a step. */
export function pairsBegin(newMatchedRights: usize): void {
  const type = step.type;
  count = 0;
  outer = 0;
  isMatched = false;
  outerIsRight = type == JoinType.RIGHT;
  keepsOuter = type == JoinType.LEFT || type == JoinType.FULL || type == JoinType.RIGHT;
  matchedRights = newMatchedRights;
}

/**
 * Adds a candidate; pairs come in the order of the outer, then of the inner rows. False when the message has failed.
 */
// @ts-ignore: decorator
@inline export function addPair(left: u32, right: u32): bool {
  store<u32>(LEFTS + ((<usize>count) << 2), left);
  store<u32>(RIGHTS + ((<usize>count) << 2), right);
  if (++count == BATCH_ROWS) judgePairs();
  return failure == 0;
}

/**
 * Adds a pair that matches, in the order of `addPair`; all pairs of a step come this way or none. False when the
 * message has failed.
 */
// @ts-ignore: decorator
@inline export function addMatch(left: u32, right: u32): bool {
  const next = outerIsRight ? right : left;
  if (outer < next) settleBefore(next);
  isMatched = true;
  if (matchedRights) store<u8>(matchedRights + right, 1);
  addResult(left, right);
  return failure == 0;
}

/** Judges the last pairs and settles the outer rows that are left. */
export function pairsEnd(): void {
  judgePairs();
  settleBefore(outerIsRight ? rightCount : leftCount);
}

/** Adds results for the outer rows below `next` that had no match. */
function settleBefore(next: u32): void {
  while (outer < next && failure == 0) {
    if (keepsOuter && !isMatched) {
      if (outerIsRight) addResult(NO_ROW, outer);
      else addResult(outer, NO_ROW);
    }
    outer++;
    isMatched = false;
  }
}

function judgePairs(): void {
  const n = count;
  count = 0;
  if (n == 0 || failure) return;
  ctx.addWork(n);
  noteBatch();
  const program = step.made;
  const condition = step.condition;
  if (condition == 0xffff) memory.fill(VERDICTS, YES, n);
  else if (!evaluate(program, condition, n)) return;
  for (let i: u32 = 0; i < n; i++) {
    const left = load<u32>(LEFTS + ((<usize>i) << 2));
    const right = load<u32>(RIGHTS + ((<usize>i) << 2));
    const next = outerIsRight ? right : left;
    if (outer < next) settleBefore(next);
    const verdict = load<u8>(VERDICTS + i);
    if (verdict == NO) continue;
    if (verdict == FAILED) {
      runFail(verdictError);
      return;
    }
    isMatched = true;
    if (matchedRights) store<u8>(matchedRights + right, 1);
    addResult(left, right);
    if (failure) return;
  }
}

/** Runs the condition over the pairs; false when memory is exhausted. Text that it computed is given back at once. */
function evaluate(program: Program, condition: u32, n: u32): bool {
  const reads = step.reads;
  const stage = stageAcquire(reads);
  if (!stage && reads) {
    runFailMemory();
    return false;
  }
  const pointers = state.pointers;
  const columns = spec.columns;
  for (let c: u32 = 0; c < columns; c++) store<u32>(pointers + ((<usize>c) << 2), <u32>NO_VALUES);
  const list = changetype<usize>(spec) + step.readsAt;
  for (let i: u32 = 0; i < reads; i++) {
    const column = load<u16>(list + ((<usize>i) << 1));
    const block = <usize>load<u32>(stage + ((<usize>i) << 2));
    fillColumn(block, column, LEFTS, RIGHTS, n);
    store<u32>(pointers + ((<usize>column) << 2), <u32>block);
  }
  const chunk = poolChunk(ctx.scratch);
  const filled = poolFilled(ctx.scratch);
  ctx.setBatch(pointers, n, identity, n, 0);
  if (program) vmRun(program);
  readVerdicts(program, condition, n);
  poolReturn(ctx.scratch, chunk, filled);
  stageRelease(reads);
  return true;
}

function readVerdicts(program: Program, condition: u32, n: u32): void {
  const tags = tagsOf(program, condition);
  const vals = valsOf(program, condition);
  const stride = strideOf(condition);
  for (let i: u32 = 0; i < n; i++) {
    const tag = load<u8>(tags + i * stride);
    const payload = load<u64>(vals + ((<usize>(i * stride)) << 3));
    if (tag == Tag.BOOL) {
      store<u8>(VERDICTS + i, payload ? YES : NO);
      continue;
    }
    store<u8>(VERDICTS + i, FAILED);
    if (tag == Tag.ERROR) noteError(payload);
    else {
      failNotBoolean();
      verdictError = span(failOff, failLen);
    }
    return;
  }
}

/** Keeps the text of the error until the message is over. */
function noteError(payload: u64): void {
  const len = lenOf(payload);
  const text = poolBytesCopy(state, offOf(payload), len);
  verdictError = span(text ? text : offOf(payload), text ? len : 0);
  if (!text) runFailMemory();
}
