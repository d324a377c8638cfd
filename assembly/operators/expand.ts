// Makes a row of each element of a list (unnest). Output columns are values of the row that the list stands in, the
// same for all of its elements, and the element as the last one. A list that is none, or is empty, leaves its row with
// an error in the place of the element.
import * as ctx from '../batch/context';
import { emit } from '../emit/emit';
import { exhaust } from '../node/node';
import { Operator, Trait } from '../node/operator';
import { identity, stageAcquire, stageRelease } from '../batch/stage';
import { ExpandSpec, EXPAND_SIZE_OF } from '../gen/operators-layouts';
import { BATCH_ROWS, SLOT_SIZE, SLOT_TAG, Tag, isNull, lenOf, offOf, setAt, tagAt, valAt } from '../mem/layout';
import { runClean } from '../ops/clean';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { valueLength, valueLimit } from '../ops/result';
import { plainError, valueError } from '../value/error';
import { textBegin, textI64, textLiteral, textTakeError } from '../value/text';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';

/**
 * Bounds for the columns beside the elements, as multiples: rows of one list may take VALUES_PER_ROW times the length
 * of one value, rows of a batch ROWS_PER_BATCH times as much.
 */
const VALUES_PER_ROW: u64 = 8;
const ROWS_PER_BATCH: u64 = 4;

/** Rows of the input that the rows of the output are made of. */
const ORIGINS: usize = memory.data(4 * 1024, 16);

export function expandOperator(operator: Operator): void {
  operator.push = expandPush;
  operator.traits = Trait.MAKES_ROWS;
}

function expandPush(node: Node): void {
  const spec = changetype<ExpandSpec>(node.spec);
  const program = node.program;
  if (program && !runClean(program)) {
    exhaust(node);
    return;
  }
  const columns = spec.columns;
  const stage = stageAcquire(columns + 2);
  if (!stage) {
    exhaust(node);
    return;
  }
  expandRows(node, spec, program, stage, columns);
  stageRelease(columns + 2);
}

function expandRows(node: Node, spec: ExpandSpec, program: Program, stage: usize, columns: u32): void {
  const outerCols = ctx.cols;
  const outerRows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const before = ctx.rowErrors;
  const list = spec.list;
  const most = spec.most;
  const tags = tagsOf(program, list);
  const vals = valsOf(program, list);
  const stride = strideOf(list);
  const items = <usize>load<u32>(stage + ((<usize>columns) << 2));
  const errors = <usize>load<u32>(stage + ((<usize>(columns + 1)) << 2));
  const rowLimit = <u64>valueLimit() * VALUES_PER_ROW;
  let left = rowLimit * ROWS_PER_BATCH;
  let n: u32 = 0;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let tag = load<u8>(tags + row * stride);
    let val = load<u64>(vals + ((<usize>(row * stride)) << 3));
    const isFailed = (before != 0 && tagAt(before, row) == Tag.ERROR) || hasError(spec, program, columns, row);
    let from: usize = 0;
    let count: u32 = 1;
    if (isFailed) tag = Tag.NULL;
    else if (spec.members) val = membersOf(tag, val);
    else if (tag == Tag.ARRAY && lenOf(val)) {
      count = min(lenOf(val), most);
      const copied = lengthBeside(spec, program, columns, row, rowLimit) * count;
      if (copied <= min(rowLimit, left)) {
        left -= copied;
        from = offOf(val);
      } else {
        count = 1;
        val = tooMuch('unnest', min(rowLimit, left));
        failed = true;
      }
    } else val = noList(tag, val);
    if (!from && !isFailed) tag = failed ? Tag.ERROR : Tag.OBJECT;
    while (count) {
      if (from) {
        tag = load<u8>(from, SLOT_TAG);
        val = load<u64>(from);
        from += SLOT_SIZE;
      }
      setAt(items, n, tag, val);
      if (before) setAt(errors, n, tagAt(before, row), valAt(before, row));
      store<u32>(ORIGINS + ((<usize>n) << 2), row);
      count--;
      if (++n < BATCH_ROWS) continue;
      give(node, spec, program, stage, columns, n, before ? errors : 0);
      ctx.setBatch(outerCols, outerRows, sel, selLen, before);
      n = 0;
    }
  }
  if (n) give(node, spec, program, stage, columns, n, before ? errors : 0);
}

/** True when a value of the row failed: the row fails once, whatever is made of it. */
function hasError(spec: ExpandSpec, program: Program, columns: u32, row: u32): bool {
  for (let c: u32 = 0; c < columns; c++) {
    const operand = operandAt(spec, c);
    if (load<u8>(tagsOf(program, operand) + row * strideOf(operand)) == Tag.ERROR) return true;
  }
  return false;
}

/** Bytes of the values that stand beside each element of the list. */
function lengthBeside(spec: ExpandSpec, program: Program, columns: u32, row: u32, limit: u64): u64 {
  let len: u64 = 0;
  for (let c: u32 = 0; c < columns; c++) {
    const operand = operandAt(spec, c);
    const at = row * strideOf(operand);
    const tag = load<u8>(tagsOf(program, operand) + at);
    if (tag >= Tag.STR) len += valueLength(tag, load<u64>(valsOf(program, operand) + ((<usize>at) << 3)), limit);
  }
  return len;
}

/** Error of a list whose columns beside the elements take too much room. */
function tooMuch(name: string, most: u64): u64 {
  textBegin();
  textLiteral(name);
  textLiteral(': the columns beside the elements take more than ');
  textI64(<i64>most);
  textLiteral(' bytes, with as many rows as there are elements');
  return textTakeError();
}

// @ts-ignore: decorator
@inline function operandAt(spec: ExpandSpec, column: u32): u32 {
  return load<u16>(changetype<usize>(spec) + ((<usize>column) << 1), EXPAND_SIZE_OF);
}

/** Sends the rows that ORIGINS names. */
function give(node: Node, spec: ExpandSpec, program: Program, stage: usize, columns: u32, n: u32, errors: usize): void {
  for (let c: u32 = 0; c < columns; c++) {
    const operand = operandAt(spec, c);
    const block = <usize>load<u32>(stage + ((<usize>c) << 2));
    const tags = tagsOf(program, operand);
    const vals = valsOf(program, operand);
    const stride = strideOf(operand);
    for (let i: u32 = 0; i < n; i++) {
      const row = load<u32>(ORIGINS + ((<usize>i) << 2)) * stride;
      setAt(block, i, load<u8>(tags + row), load<u64>(vals + ((<usize>row) << 3)));
    }
  }
  ctx.setBatch(stage, n, identity, n, errors);
  emit(node);
}

/** Whether the last of `membersOf` and `noList` was an error. */
let failed: bool = false;

/** The object itself, whose members become columns, or an error for a value without members. */
function membersOf(tag: u8, val: u64): u64 {
  failed = tag != Tag.OBJECT || lenOf(val) == 0;
  if (!failed || tag == Tag.ERROR) return val;
  if (tag == Tag.OBJECT || isNull(tag)) return plainError('extract: the object has no members');
  return valueError('extract needs an object, but found ', tag, val);
}

function noList(tag: u8, val: u64): u64 {
  failed = true;
  if (tag == Tag.ERROR) return val;
  if (tag == Tag.ARRAY || isNull(tag)) return plainError('unnest: the list has no elements');
  return valueError('unnest needs a list, but found ', tag, val);
}
