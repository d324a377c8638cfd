// Rows of a message of which each may match several rows of a table: pairs are gathered to batches of their own.
//
//   frame   0    rows u32[BATCH_ROWS] of the input | records u32[BATCH_ROWS]
//           8192 count u32 | hasMatched u32 (the row of the input whose pairs were judged last)
//                blocks u32 -> u32[columns] that go on
//
// With a condition and LEFT, each row has one more entry behind its pairs: without a record, for when none of them
// matched.
import * as ctx from '../batch/context';
import { fail } from '../batch/failure';
import { selectionPop, selectionPush } from '../batch/selection';
import { identity, noteUniform, stageAcquire, stageRelease } from '../batch/stage';
import { BATCH_ROWS, COL_TAGS, COL_VALS, OPERAND_NONE, lenOf, offOf } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { blockOf } from '../ops/operand';
import { Verdict, conditionRun, verdictOf } from './condition';
import { fillField } from './fields';
import { KeyOutcome, firstMatch, keyFailure, matchPlace, matchReturn, nextMatch, readKeys } from './find';
import { failMemory, failMessage, pass } from './message';
import { Look, columnOperand } from './spec';
import { LookupSpec } from '../gen/lookup-layouts';
import { Node } from '../gen/node-layouts';
import { Record } from './record';

const FRAME_RECORDS: usize = 4 * 1024;
const FRAME_COUNT: usize = 8 * 1024;
const FRAME_MATCHED: usize = 8 * 1024 + 4;
const FRAME_BLOCKS: usize = 8 * 1024 + 8;
const FRAME_SIZE: u32 = 8 * 1024 + 16;

/** Begins a batch of pairs of rows whose columns are the `blocks`; 0 when memory is exhausted. */
export function pairsBegin(blocks: usize): usize {
  const frame = poolAlloc(ctx.scratch, FRAME_SIZE);
  if (!frame) return 0;
  store<u64>(frame, 0, FRAME_COUNT);
  store<u32>(frame, <u32>blocks, FRAME_BLOCKS);
  return frame;
}

/** Joins a batch of a message. */
export function pushPairs(node: Node, spec: LookupSpec, state: Look): void {
  const columns = spec.columns;
  const blocks = poolAlloc(ctx.scratch, columns << 2);
  const frame: usize = blocks ? pairsBegin(blocks) : 0;
  if (!frame) {
    failMemory(node, state);
    return;
  }
  for (let c: u32 = 0; c < columns; c++) store<u32>(blocks + ((<usize>c) << 2), <u32>blockOf(columnOperand(spec, c)));
  const program = node.program;
  const isLeft = spec.isLeft != 0;
  const hasCondition = spec.condition != OPERAND_NONE;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  for (let i: u32 = 0; i < selLen && !state.fail; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const outcome = readKeys(spec, program, row);
    if (outcome == KeyOutcome.FAILED) {
      fail(offOf(keyFailure), lenOf(keyFailure));
      failMessage(node, state);
      return;
    }
    let record: Record = outcome == KeyOutcome.FOUND ? firstMatch(spec, state) : changetype<Record>(0);
    const isAlone = isLeft && (!record || hasCondition);
    for (; record; record = nextMatch(spec, state)) {
      pairsAdd(frame, row, record);
      if (!pairsAreFull(frame)) continue;
      // A node below may be a lookup, too, which moves the place among the matches.
      const place = matchPlace();
      pairsFlush(node, spec, state, frame);
      if (state.fail) return;
      readKeys(spec, program, row);
      matchReturn(place);
    }
    if (isAlone) pairsAdd(frame, row, changetype<Record>(0));
    if (pairsAreFull(frame)) pairsFlush(node, spec, state, frame);
  }
  if (!state.fail) pairsFlush(node, spec, state, frame);
}

// @ts-ignore: decorator
@inline export function pairsAdd(frame: usize, row: u32, record: Record): void {
  const count = load<u32>(frame, FRAME_COUNT);
  store<u32>(frame + ((<usize>count) << 2), row);
  store<u32>(frame + ((<usize>count) << 2), changetype<u32>(record), FRAME_RECORDS);
  store<u32>(frame, count + 1, FRAME_COUNT);
}

/** True when the frame is full, so that its pairs have to be sent first. */
// @ts-ignore: decorator
@inline export function pairsAreFull(frame: usize): bool {
  return load<u32>(frame, FRAME_COUNT) == BATCH_ROWS;
}

/** Sends the pairs gathered so far. */
export function pairsFlush(node: Node, spec: LookupSpec, state: Look, frame: usize): void {
  const n = load<u32>(frame, FRAME_COUNT);
  store<u32>(frame, 0, FRAME_COUNT);
  if (!n) return;
  const inputCols = ctx.cols;
  const inputRows = ctx.rows;
  const inputSel = ctx.sel;
  const inputSelLen = ctx.selLen;
  const columns = spec.columns;
  const fields = spec.fields;
  const from = <usize>load<u32>(frame, FRAME_BLOCKS);
  const kept = selectionPush();
  const blocks = stageAcquire(columns + fields);
  if (kept && blocks) {
    for (let c: u32 = 0; c < columns; c++) {
      gather(<usize>load<u32>(blocks + ((<usize>c) << 2)), <usize>load<u32>(from + ((<usize>c) << 2)), frame, n);
    }
    for (let f: u32 = 0; f < fields; f++) {
      const block = <usize>load<u32>(blocks + ((<usize>(columns + f)) << 2));
      fillField(spec, state, f, block, identity, n, frame + FRAME_RECORDS);
      noteUniform(block, n);
    }
    ctx.setBatch(blocks, n, identity, n, 0);
    if (spec.condition == OPERAND_NONE || judge(node, spec, state, frame, kept)) {
      if (ctx.selLen) pass(node, state);
    }
  } else failMemory(node, state);
  if (blocks) stageRelease(columns + fields);
  if (kept) selectionPop();
  ctx.setBatch(inputCols, inputRows, inputSel, inputSelLen, 0);
}

/** Copies the values of the rows in the frame. */
function gather(to: usize, from: usize, frame: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(frame + ((<usize>i) << 2));
    store<u8>(to + i, load<u8>(from + row, COL_TAGS), COL_TAGS);
    store<u64>(to + ((<usize>i) << 3), load<u64>(from + ((<usize>row) << 3), COL_VALS), COL_VALS);
  }
  noteUniform(to, n);
}

/**
 * Narrows the current batch to the pairs that match and the rows without a match; false when the message has failed.
 */
function judge(node: Node, spec: LookupSpec, state: Look, frame: usize, kept: usize): bool {
  const n = ctx.rows;
  conditionRun(spec, state, frame + FRAME_RECORDS, identity, n, kept);
  let hasMatched = load<u32>(frame, FRAME_MATCHED) != 0;
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    let passes: bool;
    if (load<u32>(frame + ((<usize>i) << 2), FRAME_RECORDS)) {
      const verdict = verdictOf(i);
      if (verdict == Verdict.FAILED) {
        failMessage(node, state);
        return false;
      }
      passes = verdict == Verdict.YES;
      hasMatched = hasMatched || passes;
    } else {
      // The entry behind the pairs of a row.
      passes = !hasMatched;
      hasMatched = false;
    }
    store<u32>(kept + ((<usize>count) << 2), i);
    count += <u32>passes;
  }
  store<u32>(frame, <u32>hasMatched, FRAME_MATCHED);
  ctx.setSelection(kept, count);
  return true;
}
