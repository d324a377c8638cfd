// The current batch of an analytic node: its functions find their arguments and the partitions of the rows here, and
// report failed rows here. One node is at work at a time, until it hands its batch on.
import * as ctx from '../batch/context';
import { stageAcquire } from '../batch/stage';
import { ANALYTIC_MAX_ARGS } from '../gen/analytic-layouts';
import { Bind, BIND_SIZE, bindIsConst, bindTag, bindTo, bindUniform, bindVal } from '../mem/bind';
import { COL_HAS_RAW, COL_TAGS, COL_UNIFORM, COL_VALS, OPERAND_NONE, Tag, setAt } from '../mem/layout';
import { blockOf, isConst, strideOf, tagsOf, valsOf } from '../ops/operand';
import { noteDirty } from '../partitions/table';
import { Program } from '../gen/ops-layouts';
import { Pool } from '../mem/pool';
import { PartitionTable, PartitionEntry } from '../partitions/table-slots';

/** Entry of each row of the batch (u32) in the partitions of the current function. */
let entries: usize = 0;
/** Table of these entries. */
let table: PartitionTable = changetype<PartitionTable>(0);
/** Offset of the state of the current function in an entry. */
let stateAt: u32 = 0;
/** Column block of the results of the current function. */
let dst: usize = 0;
/** True when `putUniform` has set the tag of all results. */
let isNoted: bool = false;
/** Selected rows that have not failed. */
export let sel: usize = 0;
export let selLen: u32 = 0;
/** Account of the node at work. */
export let account: usize = 0;
/** Number of the message under way; 0 when rows do not belong to messages. */
export let message: u32 = 0;

const BINDS: usize = memory.data(16400, 16);
const WHEN: usize = BINDS;
const ARGS: usize = BINDS + BIND_SIZE;
let hasWhen: bool = false;

/** Column block with the tag ERROR at failed rows, as `ctx.rowErrors`; 0 as long as none failed. */
export let marks: usize = 0;
/** Number of rows that failed in this node. */
export let failed: u32 = 0;
/** Payload of the text of the first error. */
export let firstError: u64 = 0;
/** The row of it. */
export let firstFailed: u32 = 0;
/** True when memory was exhausted for a value that must be kept. */
export let isOut: bool = false;

export function runBegin(rows: usize, n: u32, acct: usize, number: u32): void {
  account = acct;
  sel = rows;
  selLen = n;
  message = number;
  marks = 0;
  failed = 0;
  isOut = false;
}

export function setSelected(rows: usize, n: u32): void {
  sel = rows;
  selLen = n;
}

export function setOut(): void {
  isOut = true;
}

export function setFunction(partitions: PartitionTable, at: usize, state: u32, result: usize): void {
  table = partitions;
  entries = at;
  stateAt = state;
  dst = result;
  isNoted = false;
}

function bindOperand(bind: Bind, program: Program, operand: u32): void {
  const tags = tagsOf(program, operand);
  const uniform = isConst(operand) ? load<u8>(tags) : load<u8>(blockOf(operand), COL_UNIFORM);
  bindTo(bind, valsOf(program, operand), tags, strideOf(operand), uniform);
}

export function bindWhen(program: Program, operand: u32): void {
  hasWhen = operand != OPERAND_NONE;
  if (hasWhen) bindOperand(changetype<Bind>(WHEN), program, operand);
}

/** Binds argument, or key, `i`. */
export function bindArg(program: Program, i: u32, operand: u32): void {
  assert(i < ANALYTIC_MAX_ARGS, 'an analytic function has too many arguments');
  bindOperand(changetype<Bind>(ARGS + i * BIND_SIZE), program, operand);
}

// @ts-ignore: decorator
@inline export function argBinds(): usize {
  return ARGS;
}

// @ts-ignore: decorator
@inline export function argTag(i: u32, row: u32): u8 {
  return bindTag(changetype<Bind>(ARGS + i * BIND_SIZE), row);
}

// @ts-ignore: decorator
@inline export function argVal(i: u32, row: u32): u64 {
  return bindVal(changetype<Bind>(ARGS + i * BIND_SIZE), row);
}

// @ts-ignore: decorator
@inline export function rowAt(i: u32): u32 {
  return load<u32>(sel + ((<usize>i) << 2));
}

/** State of the function in the partition of the row. */
// @ts-ignore: decorator
@inline export function stateOf(row: u32): Pool {
  return changetype<Pool>(<usize>load<u32>(entries + ((<usize>row) << 2)) + stateAt);
}

/** Notes that the state of the row's partition refers to memory of the batch. */
// @ts-ignore: decorator
@inline export function keepsBatch(row: u32): void {
  noteDirty(table, changetype<PartitionEntry>(load<u32>(entries + ((<usize>row) << 2))));
}

/**
 * True when the function takes the row in: there is no WHEN, or WHEN is not false. A failed WHEN becomes the error of
 * the row, and the result is false.
 */
// @ts-ignore: decorator
@inline export function isTaken(row: u32): bool {
  if (!hasWhen) return true;
  const tag = bindTag(changetype<Bind>(WHEN), row);
  return tag != Tag.BOOL || bindVal(changetype<Bind>(WHEN), row) != 0;
}

/** True when the condition WHEN failed; its error becomes the result of the row. */
// @ts-ignore: decorator
@inline export function whenFails(row: u32): bool {
  if (!hasWhen || bindTag(changetype<Bind>(WHEN), row) != Tag.ERROR) return false;
  failRow(row, bindVal(changetype<Bind>(WHEN), row));
  return true;
}

// @ts-ignore: decorator
@inline export function put(row: u32, tag: u8, payload: u64): void {
  store<u8>(dst + row, tag, COL_TAGS);
  store<u64>(dst + ((<usize>row) << 3), payload, COL_VALS);
}

/** Tag of the result of the row. */
// @ts-ignore: decorator
@inline export function givenTag(row: u32): u8 {
  return load<u8>(dst + row, COL_TAGS);
}

// @ts-ignore: decorator
@inline export function givenVal(row: u32): u64 {
  return load<u64>(dst + ((<usize>row) << 3), COL_VALS);
}

/** Marks the row as failed with the error text in `payload`, which is also the result of the function for it. */
export function failRow(row: u32, payload: u64): void {
  put(row, Tag.ERROR, payload);
  markFailed(row, payload);
}

/** Marks a row as failed without a result of a function. */
export function markFailed(row: u32, payload: u64): void {
  if (!marks) {
    const made = stageAcquire(1);
    if (!made) {
      isOut = true;
      return;
    }
    marks = <usize>load<u32>(made);
    memory.fill(marks + COL_TAGS, Tag.NULL, ctx.rows);
  }
  if (!failed++) {
    firstError = payload;
    firstFailed = row;
  }
  setAt(marks, row, Tag.ERROR, payload);
}

/** Tag that argument `i` has in all rows, or MIXED. */
// @ts-ignore: decorator
@inline export function argUniform(i: u32): u8 {
  return bindUniform(changetype<Bind>(ARGS + i * BIND_SIZE));
}

/** Address of the payloads of argument `i`, which must not be a constant. */
// @ts-ignore: decorator
@inline export function argVals(i: u32): usize {
  return <usize>load<u32>(ARGS + i * BIND_SIZE);
}

/** True when the argument is the same in all rows. */
// @ts-ignore: decorator
@inline export function argIsConst(i: u32): bool {
  return bindIsConst(changetype<Bind>(ARGS + i * BIND_SIZE));
}

/** True when each row is taken in, because the function has no condition. */
// @ts-ignore: decorator
@inline export function takesAll(): bool {
  return !hasWhen;
}

/** Sets the tag of the results of all rows. */
export function putUniform(tag: u8): void {
  memory.fill(dst + COL_TAGS, tag, ctx.rows);
  store<u8>(dst, tag, COL_UNIFORM);
  store<u8>(dst, 0, COL_HAS_RAW);
  isNoted = true;
}

/** Sets the result of a row, whose tag `putUniform` has set. */
// @ts-ignore: decorator
@inline export function putVal(row: u32, payload: u64): void {
  store<u64>(dst + ((<usize>row) << 3), payload, COL_VALS);
}

/** Notes the common tag of the results, if they have one, after all results are there. */
export function noteResults(): void {
  if (isNoted) return;
  let uniform: u8 = Tag.MIXED;
  if (selLen) {
    uniform = load<u8>(dst + rowAt(0), COL_TAGS);
    for (let i: u32 = 1; i < selLen; i++) {
      if (load<u8>(dst + rowAt(i), COL_TAGS) != uniform) {
        uniform = Tag.MIXED;
        break;
      }
    }
  }
  store<u8>(dst, uniform, COL_UNIFORM);
  store<u8>(dst, 0, COL_HAS_RAW);
}
