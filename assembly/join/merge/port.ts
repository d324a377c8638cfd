// Ports stand below a stream and give its rows to a node elsewhere: a merge, for which they are one of several streams,
// or a join, of which they fill a table. That node is their only child; which of its inputs the rows and signals come
// by is told by `branch` (batch/context.ts).
//
// No value is copied: a batch for a merge is the port's columns at the branch's place, one block without values for all
// columns of other branches, and a block with the number of the branch. A batch for a join has the table's columns
// alone.
import * as ctx from '../../batch/context';
import { emit, signalBelow } from '../../emit/emit';
import { N_CHILD, N_PROGRAM, N_SPEC, exhaust } from '../../node/node';
import { Operator, Trait, hasTrait } from '../../node/operator';
import { stageAcquire, stageRelease } from '../../batch/stage';
import {
  MERGE_FIRST,
  PORT_BRANCH,
  PORT_COLUMNS,
  PORT_SIZE_OF,
  PORT_TARGET,
  PORT_TIMESTAMP,
} from '../../gen/join-layouts';
import { COL_TAGS, COL_UNIFORM, COL_VALS, Tag } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { runClean } from '../../ops/clean';
import { blockOf, constOf, isConst } from '../../ops/operand';
import { mergeFirst, mergeWidth } from './merge';
import { FOR_TABLE, NO_VALUES } from '../message/spec';

export function portOperator(operator: Operator): void {
  operator.open = portOpen;
  operator.push = portPush;
  operator.signal = portSignal;
  operator.traits = Trait.LEADS_ELSEWHERE;
}

function portOpen(node: usize): bool {
  store<u32>(node, load<u32>(<usize>load<u32>(node, N_SPEC), PORT_TARGET), N_CHILD);
  return true;
}

// @ts-ignore: decorator
@inline function isForTable(node: usize): bool {
  return hasTrait(<usize>load<u32>(node, N_CHILD), Trait.FILLS_TABLES);
}

/** What `branch` is while rows and signals of the port are under way. */
// @ts-ignore: decorator
@inline function branchOf(node: usize): u32 {
  const branch = load<u32>(<usize>load<u32>(node, N_SPEC), PORT_BRANCH);
  return isForTable(node) ? branch | FOR_TABLE : branch;
}

function portSignal(node: usize, signal: u32, value: u64): void {
  const outer = ctx.branch;
  ctx.setBranch(branchOf(node));
  signalBelow(node, signal, value);
  ctx.setBranch(outer);
}

function portPush(node: usize): void {
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program && !runClean(program)) {
    exhaust(node);
    return;
  }
  const spec = <usize>load<u32>(node, N_SPEC);
  const columns = load<u16>(spec, PORT_COLUMNS);
  const isTable = isForTable(node);
  // Blocks that a constant or the number of the branch fills.
  let filled: u32 = <u32>isConst(load<u16>(spec, PORT_TIMESTAMP)) + 1;
  for (let i: u32 = 0; i < columns; i++) filled += <u32>isConst(operandAt(spec, i));
  const width = isTable ? columns : mergeWidth(node);
  const stage = stageAcquire(filled);
  const blocks = stage ? poolAlloc(ctx.scratch, width << 2) : 0;
  if (!blocks) {
    if (stage) stageRelease(filled);
    exhaust(node);
    return;
  }
  if (isTable) place(spec, program, stage, blocks, 0);
  else {
    for (let c: u32 = MERGE_FIRST; c < width; c++) store<u32>(blocks + ((<usize>c) << 2), <u32>NO_VALUES);
    fill(<usize>load<u32>(stage), Tag.I64, load<u32>(spec, PORT_BRANCH));
    store<u32>(blocks, load<u32>(stage));
    const next = blockFor(program, load<u16>(spec, PORT_TIMESTAMP), stage + 4, blocks + 4);
    place(spec, program, next, blocks, mergeFirst(node, load<u32>(spec, PORT_BRANCH)));
  }
  const outer = ctx.branch;
  ctx.setBranch(branchOf(node));
  ctx.setBatch(blocks, ctx.rows, ctx.sel, ctx.selLen, ctx.rowErrors);
  emit(node);
  ctx.setBranch(outer);
  stageRelease(filled);
}

// @ts-ignore: decorator
@inline function operandAt(spec: usize, i: u32): u32 {
  return load<u16>(spec + ((<usize>i) << 1), PORT_SIZE_OF);
}

/** Writes the blocks of the port's columns to `blocks`, from column `first` on. `stage`: blocks for constants. */
function place(spec: usize, program: usize, stage: usize, blocks: usize, first: u32): void {
  const columns = load<u16>(spec, PORT_COLUMNS);
  let next = stage;
  for (let c: u32 = 0; c < columns; c++) {
    next = blockFor(program, operandAt(spec, c), next, blocks + ((<usize>(first + c)) << 2));
  }
}

/** Writes the block of an operand to `to`; a constant fills the next block at `stage`. Returns the one after that. */
function blockFor(program: usize, operand: u32, stage: usize, to: usize): usize {
  if (!isConst(operand)) {
    store<u32>(to, <u32>blockOf(operand));
    return stage;
  }
  const slot = constOf(program, operand);
  const tag = load<u8>(slot, 8);
  if (tag == Tag.MISSING) {
    store<u32>(to, <u32>NO_VALUES);
    return stage;
  }
  fill(<usize>load<u32>(stage), tag, load<u64>(slot));
  store<u32>(to, load<u32>(stage));
  return stage + 4;
}

function fill(block: usize, tag: u8, payload: u64): void {
  const rows = ctx.rows;
  for (let i: u32 = 0; i < rows; i++) store<u64>(block + ((<usize>i) << 3), payload, COL_VALS);
  memory.fill(block + COL_TAGS, tag, rows);
  store<u8>(block, tag, COL_UNIFORM);
}
