// Conditions on the match so far, for all partial matches of a partition that wait for a row, in one batch for each
// condition.
import * as ctx from '../batch/context';
import { failLen, failNotBoolean, failOff } from '../batch/failure';
import { identity, stageAcquire, stageRelease } from '../batch/stage';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { BATCH_ROWS, Tag, span } from '../mem/layout';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { Node } from '../gen/node-layouts';
import { PatternSpec } from '../gen/pattern-layouts';
import { aggregatesBegin } from './aggregates';
import { lookAtMatch, lookDone } from './look';
import { lookAtNext, lookAtRuns, lookBegin, lookFails, lookFrom, noteLookFails } from './match';
import { Part, programAt, stepAt, variableAt } from './spec';
import { Partial, Partition, PatternState, RUN_SIZE, partialsOf, refAt } from './state';
import { bringUp, sumsOf } from './sums';

/** For each partial match whether the condition of its step holds: u8. */
let verdicts: usize = 0;
let verdictRoom: u32 = 0;

/** Partial matches in the batch, by their places among the verdicts. */
const PLACES: usize = memory.data(4 * 1024, 16);
/** Their last runs, and their first rows: run u32 | row u32. */
const MATCHES: usize = memory.data(8 * 1024, 16);
let waiting: u32 = 0;

// @ts-ignore: decorator
@inline export function isTrueFor(i: u32): bool {
  return load<u8>(verdicts + i) != 0;
}

/** Judges the partial matches of the searches that have come to the row; false when memory is exhausted. */
export function judge(node: Node, spec: PatternSpec, state: PatternState, partition: Partition, row: u32): bool {
  const n = partition.partials;
  if (n > verdictRoom) {
    const room = n + (n >> 1) + 64;
    const made = alloc(room, WORKSPACE);
    if (!made) return false;
    free(verdicts, verdictRoom, WORKSPACE);
    verdicts = made;
    verdictRoom = room;
  }
  memory.fill(verdicts, 1, n);
  const bits = refAt(partition, row).bits;
  const variables = spec.variables;
  lookBegin(spec, state, partition);
  for (let v: u32 = 0; v < variables; v++) {
    const program = variableAt(spec, v).program;
    if (program < Part.FIRST_CONDITION || !((bits >> v) & 1)) continue;
    if (!judgeOne(node, spec, partition, row, v, program)) return false;
  }
  return true;
}

function judgeOne(node: Node, spec: PatternSpec, partition: Partition, row: u32, variable: u32, program: u32): bool {
  const looks = spec.looks;
  const one = programAt(spec, program);
  const hasSums = spec.runSize > RUN_SIZE;
  let stage: usize = 0;
  let isGood = true;
  waiting = 0;
  let place: u32 = 0;
  noteLookFails(false);
  for (let search = partition.search; search && search.at == row && isGood; search = search.next) {
    const count = search.count;
    const partials = partialsOf(search);
    for (let i: u32 = 0; i < count && isGood; i++, place++) {
      const partial = changetype<Partial>(partials + ((<usize>i) << 3));
      if (stepAt(spec, partial.step).a != variable) continue;
      if (!stage) stage = stageAcquire(looks);
      if (!stage || (hasSums && !bringUp(partial.rows, search.start))) {
        isGood = false;
        break;
      }
      lookAtRuns(partial.rows, search.start);
      lookAtNext(variable, row);
      lookFrom(row, row + 1, partition.matches + 1, 0);
      aggregatesBegin(changetype<PatternState>(node.state));
      lookAtMatch(one, stage, waiting);
      store<u32>(PLACES + ((<usize>waiting) << 2), place);
      store<u32>(MATCHES + ((<usize>waiting) << 3), changetype<u32>(partial.rows));
      store<u32>(MATCHES + ((<usize>waiting) << 3), search.start, 4);
      if (++waiting == BATCH_ROWS) isGood = decide(node, spec, row, variable, program, stage);
    }
  }
  if (waiting && isGood) isGood = decide(node, spec, row, variable, program, stage);
  if (stage) stageRelease(looks);
  return isGood && !lookFails;
}

/** Runs the condition for the partial matches in the batch; false when memory is exhausted. */
function decide(node: Node, spec: PatternSpec, row: u32, variable: u32, program: u32, stage: usize): bool {
  const one = programAt(spec, program);
  const operand = <u32>variableAt(spec, variable).operand;
  if (spec.runSize > RUN_SIZE && !sumsOf(one, stage, MATCHES, waiting, row, variable)) return false;
  lookDone(one, stage, waiting);
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const errors = ctx.rowErrors;
  ctx.setBatch(stage, waiting, identity, waiting, 0);
  if (one.made) vmRun(one.made);
  const tags = tagsOf(one.made, operand);
  const vals = valsOf(one.made, operand);
  const stride = strideOf(operand);
  for (let i: u32 = 0; i < waiting; i++) {
    const tag = load<u8>(tags + i * stride);
    const val = load<u64>(vals + ((<usize>(i * stride)) << 3));
    const holds = tag == Tag.BOOL && val != 0;
    if (!holds && tag > Tag.BOOL) noteError(changetype<PatternState>(node.state), tag, val);
    store<u8>(verdicts + load<u32>(PLACES + ((<usize>i) << 2)), <u8>holds);
  }
  ctx.setBatch(cols, rows, sel, selLen, errors);
  waiting = 0;
  return true;
}

/** Notes why a condition has no value; the first reason counts. */
export function noteError(state: PatternState, tag: u8, val: u64): void {
  if (state.error) return;
  if (tag == Tag.ERROR) state.error = val;
  else {
    failNotBoolean();
    state.error = span(failOff, failLen);
  }
}
