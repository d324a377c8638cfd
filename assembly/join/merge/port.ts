// Ports stand below a stream and give its rows to a node elsewhere: a merge, for which they are one of several streams,
// or a join, of which they fill a table. That node is their only child; which of its inputs the rows and signals come
// by is told by `branch` (batch/context.ts).
//
// No value is copied: a batch for a merge is the port's columns at the branch's place, one block without values for all
// columns of other branches, and a block with the number of the branch. A batch for a join has the table's columns
// alone.
import * as ctx from '../../batch/context';
import { emit, signalBelow } from '../../emit/emit';
import { exhaust } from '../../node/node';
import { Operator, Trait, hasTrait } from '../../node/operator';
import { stageAcquire, stageRelease } from '../../batch/stage';
import { PortSpec, MERGE_FIRST, PORT_SIZE_OF } from '../../gen/join-layouts';
import { COL_TAGS, COL_UNIFORM, COL_VALS, Tag } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { runClean } from '../../ops/clean';
import { blockOf, constOf, isConst } from '../../ops/operand';
import { mergeFirst, mergeWidth } from './merge';
import { FOR_TABLE, NO_VALUES } from '../message/spec';
import { Node } from '../../gen/node-layouts';
import { Program } from '../../gen/ops-layouts';

export function portOperator(operator: Operator): void {
  operator.open = portOpen;
  operator.push = portPush;
  operator.signal = portSignal;
  operator.traits = Trait.LEADS_ELSEWHERE;
}

function portOpen(node: Node): bool {
  node.child = changetype<PortSpec>(node.spec).target;
  return true;
}

// @ts-ignore: decorator
@inline function isForTable(node: Node): bool {
  return hasTrait(node.child, Trait.FILLS_TABLES);
}

/** Value of `branch` while rows and signals of the port are under way. */
// @ts-ignore: decorator
@inline function branchOf(node: Node): u32 {
  const branch = changetype<PortSpec>(node.spec).branch;
  return isForTable(node) ? branch | FOR_TABLE : branch;
}

function portSignal(node: Node, signal: u32, value: u64): void {
  const outer = ctx.branch;
  ctx.setBranch(branchOf(node));
  signalBelow(node, signal, value);
  ctx.setBranch(outer);
}

function portPush(node: Node): void {
  const program = node.program;
  if (program && !runClean(program)) {
    exhaust(node);
    return;
  }
  const spec = changetype<PortSpec>(node.spec);
  const columns = spec.columns;
  const isTable = isForTable(node);
  // Blocks that a constant or the number of the branch fills.
  let filled: u32 = <u32>isConst(spec.timestamp) + 1;
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
    fill(<usize>load<u32>(stage), Tag.I64, spec.branch);
    store<u32>(blocks, load<u32>(stage));
    const next = blockFor(program, spec.timestamp, stage + 4, blocks + 4);
    place(spec, program, next, blocks, mergeFirst(node, spec.branch));
  }
  const outer = ctx.branch;
  ctx.setBranch(branchOf(node));
  ctx.setBatch(blocks, ctx.rows, ctx.sel, ctx.selLen, ctx.rowErrors);
  emit(node);
  ctx.setBranch(outer);
  stageRelease(filled);
}

// @ts-ignore: decorator
@inline function operandAt(spec: PortSpec, i: u32): u32 {
  return load<u16>(changetype<usize>(spec) + ((<usize>i) << 1), PORT_SIZE_OF);
}

/** Writes the blocks of the port's columns to `blocks`, from column `first` on. `stage`: blocks for constants. */
function place(spec: PortSpec, program: Program, stage: usize, blocks: usize, first: u32): void {
  const columns = spec.columns;
  let next = stage;
  for (let c: u32 = 0; c < columns; c++) {
    next = blockFor(program, operandAt(spec, c), next, blocks + ((<usize>(first + c)) << 2));
  }
}

/** Writes the block of an operand to `to`; a constant fills the next block at `stage`. Returns the one after that. */
function blockFor(program: Program, operand: u32, stage: usize, to: usize): usize {
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
