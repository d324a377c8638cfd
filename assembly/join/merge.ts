// Several streams as one sequence: ports stand below the streams and give their rows to a merge node, which is a root of its
// own. No value is copied: a batch of the merge is the port's columns at the branch's place, one block without values for
// all columns of other branches, and a block with the number of the branch.
import * as ctx from '../flow/context';
import { withoutErrors } from '../flow/filter';
import { N_IN, N_KIND, N_LAST, N_OUT, N_PROGRAM, N_SPEC, NodeKind, emit, exhaust } from '../flow/node';
import { selectionPop, selectionPush } from '../flow/selection';
import { stageAcquire, stageRelease } from '../flow/stage';
import { COL_TAGS, COL_UNIFORM, COL_VALS, Tag } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { blockOf, constOf, isConst } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { flushBelow } from '../flow/tree';
import { joinTake } from './join';
import { NO_VALUES } from './spec';
import {
  MERGE_BRANCH_FIRST, MERGE_BRANCH_SIZE_OF, MERGE_COLUMNS, MERGE_SIZE_OF, PORT_BRANCH as P_BRANCH, PORT_COLUMNS as P_COLUMNS,
  PORT_SIZE_OF as P_OPERANDS, PORT_TARGET, PORT_TIMESTAMP as P_TIMESTAMP,
} from '../gen/join-layouts';


/** Gives the current batch to the port's target. */
export function portPush(node: usize): void {
  const program = <usize>load<u32>(node, N_PROGRAM);
  const n = ctx.selLen;
  if (program && !runProgram(program)) {
    exhaust(node);
    return;
  }
  const spec = <usize>load<u32>(node, N_SPEC);
  const columns = load<u16>(spec, P_COLUMNS);
  // Blocks that a constant or the number of the branch fills.
  let filled: u32 = <u32>isConst(load<u16>(spec, P_TIMESTAMP)) + 1;
  for (let i: u32 = 0; i < columns; i++) filled += <u32>isConst(operandAt(spec, i));
  const stage = stageAcquire(filled);
  if (!stage) {
    exhaust(node);
    return;
  }
  const target = <usize>load<u32>(spec, PORT_TARGET);
  store<u64>(node, load<u64>(node, N_OUT) + n, N_OUT);
  if (load<u32>(target, N_KIND) == NodeKind.JOIN) giveToTable(node, spec, target, program, stage, columns);
  else giveToMerge(node, spec, target, program, stage, columns);
  stageRelease(filled);
}

// @ts-ignore: decorator
@inline function operandAt(spec: usize, i: u32): u32 {
  return load<u16>(spec + (<usize>i << 1), P_OPERANDS);
}

/** Runs the program over the rows that did not fail; false when memory is exhausted. */
function runProgram(program: usize): bool {
  if (!ctx.rowErrors) {
    vmRun(program);
    return true;
  }
  const clean = selectionPush();
  if (!clean) return false;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const n = withoutErrors(sel, selLen, ctx.rowErrors, clean);
  ctx.setSelection(clean, n);
  if (n) vmRun(program);
  ctx.setSelection(sel, selLen);
  selectionPop();
  return true;
}

let nextFilled: usize = 0;

/** Block of an operand; a constant fills the next block of the stage. */
function blockFor(program: usize, operand: u32): usize {
  if (!isConst(operand)) return blockOf(operand);
  const slot = constOf(program, operand);
  const tag = load<u8>(slot, 8);
  if (tag == Tag.MISSING) return NO_VALUES;
  return fill(tag, load<u64>(slot));
}

function fill(tag: u8, payload: u64): usize {
  const block = <usize>load<u32>(nextFilled);
  nextFilled += 4;
  const rows = ctx.rows;
  for (let i: u32 = 0; i < rows; i++) store<u64>(block + (<usize>i << 3), payload, COL_VALS);
  memory.fill(block + COL_TAGS, tag, rows);
  store<u8>(block, tag, COL_UNIFORM);
  return block;
}

function giveToMerge(node: usize, spec: usize, target: usize, program: usize, stage: usize, columns: u32): void {
  const branch = load<u32>(spec, P_BRANCH);
  const merged = <usize>load<u32>(target, N_SPEC);
  const width = load<u32>(merged, MERGE_COLUMNS);
  const first = load<u32>(merged + branch * MERGE_BRANCH_SIZE_OF, <usize>MERGE_SIZE_OF + MERGE_BRANCH_FIRST);
  const blocks = poolAlloc(ctx.scratch, width << 2);
  if (!blocks) {
    exhaust(node);
    return;
  }
  nextFilled = stage;
  store<u32>(blocks, <u32>fill(Tag.I64, branch));
  store<u32>(blocks, <u32>blockFor(program, load<u16>(spec, P_TIMESTAMP)), 4);
  for (let c: u32 = 2; c < width; c++) store<u32>(blocks + (<usize>c << 2), <u32>NO_VALUES);
  for (let c: u32 = 0; c < columns; c++) {
    store<u32>(blocks + (<usize>(first + c) << 2), <u32>blockFor(program, operandAt(spec, c)));
  }
  ctx.setBatch(blocks, ctx.rows, ctx.sel, ctx.selLen, ctx.rowErrors);
  ctx.setBranch(branch);
  store<u64>(target, load<u64>(target, N_IN) + ctx.selLen, N_IN);
  store<f64>(target, ctx.nowMs, N_LAST);
  emit(target);
}

function giveToTable(node: usize, spec: usize, target: usize, program: usize, stage: usize, columns: u32): void {
  const blocks = poolAlloc(ctx.scratch, columns << 2);
  if (!blocks) {
    exhaust(node);
    return;
  }
  nextFilled = stage;
  for (let c: u32 = 0; c < columns; c++) {
    store<u32>(blocks + (<usize>c << 2), <u32>blockFor(program, operandAt(spec, c)));
  }
  joinTake(target, load<u32>(spec, P_BRANCH), blocks);
}

/** The input of the port's stream is over: what is gathered below the target is sent. A table has nothing there. */
export function portFlush(node: usize): void {
  const target = <usize>load<u32>(<usize>load<u32>(node, N_SPEC), PORT_TARGET);
  if (load<u32>(target, N_KIND) != NodeKind.JOIN) flushBelow(target);
}
