// What a pattern node sends: a row for each match, gathered in a batch, or the rows of a match as one message.
import * as ctx from '../batch/context';
import { beginMessage, emit, endMessage, sendFailed } from '../emit/emit';
import { identity, noteUniform, stageAcquire, stageRelease } from '../batch/stage';
import { BATCH_ROWS, Tag, lenOf, offOf, setAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { addException, exhaust } from '../node/node';
import { blockOf, isConst, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { plainError } from '../value/error';
import { Node } from '../gen/node-layouts';
import { PatternProgram, PatternRows, PatternSpec } from '../gen/pattern-layouts';
import { aggregatesBegin } from './aggregates';
import { lookAll, lookDone } from './look';
import { isExcluded, listRuns, lookAtRuns, lookBegin, lookFails, lookFrom, noteLookFails } from './match';
import { Part, numberAt, programAt, specOf } from './spec';
import { Partition, PatternState, Run } from './state';

/** Columns of the measures of rows that are not sent yet, 0 none. */
let stage: usize = 0;
let gathered: u32 = 0;
/** The row that was gathered has no match. */
let isUnmatched: bool = false;

// @ts-ignore: decorator
@inline function measures(spec: PatternSpec): PatternProgram {
  return programAt(spec, Part.MEASURES);
}

/** Adds a row of the match that is looked at. */
function addRow(node: Node, spec: PatternSpec): void {
  if (!stage) {
    stage = stageAcquire(spec.looks + spec.outputs);
    if (!stage) {
      exhaust(node);
      return;
    }
  }
  noteLookFails(false);
  lookAll(measures(spec), stage, gathered);
  if (lookFails) exhaust(node);
  if (++gathered == BATCH_ROWS) sendRows(node, spec);
}

/** Sends a match, 0: an empty one, with its number among those of its partition. */
export function sendMatch(
  node: Node,
  spec: PatternSpec,
  partition: Partition,
  best: Run,
  start: u32,
  number: u64,
  ms: f64,
): void {
  aggregatesBegin(changetype<PatternState>(node.state));
  if (spec.rows == PatternRows.ONE) {
    if (!look(node, spec, partition, best, start)) return;
    lookFrom(start, best ? best.end : start, number, ms);
    addRow(node, spec);
    return;
  }
  // A message without rows says nothing.
  if (best ? !isShown(best) : spec.rows == PatternRows.OMIT_EMPTY) return;
  beginAll(node, spec);
  if (!best && look(node, spec, partition, best, start)) {
    lookFrom(start, start, number, ms);
    addRow(node, spec);
  }
  const end = best ? best.end : start;
  for (let row = start; row != end; row++) {
    // Nodes below that got rows may be of the same kind.
    if (!gathered && !look(node, spec, partition, best, start)) return;
    if (isExcluded(row)) continue;
    lookFrom(row, row + 1, number, ms);
    addRow(node, spec);
  }
  endAll(node, spec);
}

/** True when some row of the match is not left out. */
function isShown(rows: Run): bool {
  for (let run = rows; run; run = run.previous) if (!run.isExcluded) return true;
  return false;
}

/** Looks at a match; false when memory is exhausted. */
function look(node: Node, spec: PatternSpec, partition: Partition, rows: Run, start: u32): bool {
  lookBegin(spec, changetype<PatternState>(node.state), partition);
  lookAtRuns(rows, start);
  if (listRuns()) return true;
  exhaust(node);
  return false;
}

function beginAll(node: Node, spec: PatternSpec): void {
  sendRows(node, spec);
  beginMessage(node);
}

function endAll(node: Node, spec: PatternSpec): void {
  sendRows(node, spec);
  endMessage(node, 0, 0);
}

/** Sends a row without a match, whose measures are null. */
export function sendUnmatched(node: Node, spec: PatternSpec, partition: Partition, row: u32, ms: f64): void {
  beginAll(node, spec);
  aggregatesBegin(changetype<PatternState>(node.state));
  if (!look(node, spec, partition, changetype<Run>(0), row)) return;
  lookFrom(row, row, 0, ms);
  addRow(node, spec);
  isUnmatched = true;
  endAll(node, spec);
  isUnmatched = false;
}

/** Sends what was gathered. */
export function flush(node: Node): void {
  if (gathered || stage) sendRows(node, specOf(node));
}

function sendRows(node: Node, spec: PatternSpec): void {
  if (!stage) return;
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const errors = ctx.rowErrors;
  const n = gathered;
  const at = stage;
  const looks = spec.looks;
  const outputs = spec.outputs;
  const nulls = isUnmatched;
  isUnmatched = false;
  gathered = 0;
  stage = 0;
  if (n) {
    const one = measures(spec);
    lookDone(one, at, n);
    ctx.setBatch(at, n, identity, n, 0);
    if (one.made) vmRun(one.made);
    const blocks = at + ((<usize>looks) << 2);
    const given = poolAlloc(ctx.scratch, outputs << 2);
    if (!given) exhaust(node);
    for (let i: u32 = 0; i < outputs && given; i++) {
      const operand = numberAt(spec, spec.outputsAt, i);
      let block = <usize>load<u32>(blocks + ((<usize>i) << 2));
      if (nulls && i >= spec.measuresFrom && i + 1 < outputs) {
        setAt(block, 0, Tag.NULL, 0);
        noteUniform(block, n);
      } else if (!isConst(operand)) block = blockOf(operand);
      else {
        const tag = load<u8>(tagsOf(one.made, operand));
        const val = load<u64>(valsOf(one.made, operand));
        for (let row: u32 = 0; row < n; row++) setAt(block, row, tag, val);
        noteUniform(block, n);
      }
      store<u32>(given + ((<usize>i) << 2), <u32>block);
    }
    if (given) {
      ctx.setBatch(given, n, identity, n, 0);
      emit(node);
    }
    ctx.setBatch(cols, rows, sel, selLen, errors);
  }
  stageRelease(looks + outputs);
}

/** Sends an error behind what was gathered: a row, or a message where messages are sent. */
export function sendFailure(node: Node, error: u64): void {
  flush(node);
  if (specOf(node).rows == PatternRows.ONE) {
    sendFailed(node, error);
    return;
  }
  beginMessage(node);
  endMessage(node, offOf(error), lenOf(error));
}

/** A match says to go on at a row that it does not have, or with which it began. */
export function skipFails(node: Node, isFound: bool): void {
  const error = plainError(
    isFound
      ? 'AFTER MATCH SKIP leads to the first row of the match, with which it would begin again for ever'
      : 'AFTER MATCH SKIP leads to a variable that has no row in the match',
  );
  addException(node, offOf(error), lenOf(error), 1);
  sendFailure(node, error);
}
