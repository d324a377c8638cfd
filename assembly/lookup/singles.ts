// Rows that become one row at most, each in its place in the batch.
import * as ctx from '../batch/context';
import { selectionPop, selectionPush } from '../batch/selection';
import { noteUniform } from '../batch/stage';
import { COL_UNIFORM, OPERAND_NONE, Tag, setAt, tagAt } from '../mem/layout';
import { Verdict, conditionRun, verdictOf } from './condition';
import { fillField } from './fields';
import { failMemory, failMessage, failRow, isInMessage, pass } from './message';
import { LookupSpec } from '../gen/lookup-layouts';
import { Node } from '../gen/node-layouts';
import { Look } from './spec';
import { Record } from './record';

/** Records by row of the batch, 0 none. */
const RECORDS: usize = memory.data(4 * 1024, 16);

/** Notes the record that the row has found. */
// @ts-ignore: decorator
@inline export function setRecord(row: u32, record: Record): void {
  store<u32>(RECORDS + ((<usize>row) << 2), changetype<u32>(record));
}

/**
 * Sends the rows `kept[0 … n)` with their records. `blocks` has the columns that go on, then blocks for the table's
 * columns. With `hasFailed` error rows are marked in `errors`.
 */
export function sendSingles(
  node: Node,
  spec: LookupSpec,
  state: Look,
  blocks: usize,
  errors: usize,
  kept: usize,
  n: u32,
  hasFailed: bool,
): void {
  if (!n) return;
  const columns = spec.columns;
  const fields = spec.fields;
  for (let f: u32 = 0; f < fields; f++) {
    const block = <usize>load<u32>(blocks + ((<usize>(columns + f)) << 2));
    fillField(spec, state, f, block, kept, n, RECORDS);
    if (n == ctx.rows) noteUniform(block, n);
  }
  ctx.setBatch(blocks, ctx.rows, kept, n, hasFailed ? errors : 0);
  if (spec.condition != OPERAND_NONE && !judgeSingles(node, spec, state, errors)) return;
  if (ctx.selLen) pass(node, state);
}

/**
 * Decides by the condition which of the pairs in the current batch match: others lose the row of the table, or go.
 * False when the message has failed.
 */
function judgeSingles(node: Node, spec: LookupSpec, state: Look, errors: usize): bool {
  const blocks = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const n = ctx.selLen;
  const pairs = selectionPush();
  if (!pairs) {
    failMemory(node, state);
    return false;
  }
  conditionRun(spec, state, RECORDS, sel, n, pairs);
  const isLeft = spec.isLeft != 0;
  let left: u32 = 0;
  let failed: u32 = 0;
  let isLost = false;
  for (let i: u32 = 0; i < n && !isLost; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (load<u32>(RECORDS + ((<usize>row) << 2))) {
      const verdict = verdictOf(row);
      if (verdict == Verdict.FAILED) {
        if (isInMessage(node)) {
          failMessage(node, state);
          isLost = true;
        } else if (!failRow(node, errors, row)) continue;
      } else if (verdict == Verdict.NO) {
        if (!isLeft) continue;
        leaveRow(spec, blocks, row);
      }
    }
    failed += <u32>(tagAt(errors, row) == Tag.ERROR);
    store<u32>(sel + ((left++ as usize) << 2), row);
  }
  ctx.setBatch(blocks, rows, sel, left, failed ? errors : 0);
  selectionPop();
  return !isLost;
}

/** The row of the input has no row of the table after all. */
function leaveRow(spec: LookupSpec, blocks: usize, row: u32): void {
  const columns = spec.columns;
  const fields = spec.fields;
  for (let f: u32 = 0; f < fields; f++) {
    const block = <usize>load<u32>(blocks + ((<usize>(columns + f)) << 2));
    setAt(block, row, Tag.MISSING, 0);
    store<u8>(block, Tag.MIXED, COL_UNIFORM);
  }
}
