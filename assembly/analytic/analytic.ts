// Functions that look back. The node passes all rows on and leaves the results of its functions in registers for the
// nodes below. Its program computes arguments, keys of partitions and conditions over the batch. Then each function
// goes over the rows in order (analytic/functions/), and keeps its state in the partition of the row
// (partitions/table.ts).
//
//   state   failOff u32 | failLen u32 (of the message under way, 0 none) | message u32 (number of it) | 0 u32 |
//   forgotten u64 | tables
//
// Functions work in the order of the spec. A row that fails in one function is not seen by later ones, and is an error
// row from then on. Below a window, its message fails with the error of the first such row. The other rows of the
// message are remembered all the same, wherever the message was cut into batches.
import * as ctx from '../batch/context';
import { emit, endMessage, signalBelow } from '../emit/emit';
import { fail, failLen, failOff } from '../batch/failure';
import { keepRow } from '../source/columns/failed-row';
import { NodeFlag, accountOf, addException, exhaust, keepFailure } from '../node/node';
import { Operator, Signal } from '../node/operator';
import { selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { stageRelease } from '../batch/stage';
import { setDeadline } from '../node/timers';
import { allocZeroed, free } from '../mem/alloc';
import { BIND_SIZE } from '../mem/bind';
import { Tag, lenOf, offOf, setAt, tagAt, valAt } from '../mem/layout';
import { Pool, poolAlloc } from '../mem/pool';
import { blockOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { runFunction } from './dispatch';
import { collectFree } from './functions/collect';
import { analyticLoad, analyticSave } from './save';
import { argOperand, functionAt, headSize, keepsList, partitionAt, slotCount, specPrepare } from './spec';
import {
  argBinds,
  argTag,
  argVal,
  bindArg,
  bindWhen,
  failed,
  firstError,
  firstFailed,
  isOut,
  markFailed,
  marks,
  noteResults,
  runBegin,
  sel,
  selLen,
  setFunction,
  setSelected,
} from './run';
import { KEPT_SIZE, slotFree, slotSettle } from '../partitions/slot';
import { STATE_TABLES, tableAt } from './state';
import {
  TABLE_SIZE,
  entryDrop,
  findEntries,
  firstDirty,
  keyFailed,
  nextDirty,
  tableFree,
  tableInit,
  takeDirty,
} from '../partitions/table';
import { AnalyticSpec, PartitionSpec } from '../gen/analytic-layouts';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';
import { PartitionTable, PartitionEntry } from '../partitions/table-slots';

const FAIL_OFF: usize = 0;
const FAIL_LEN: usize = 4;
const MESSAGE: usize = 8;
/** Offset of the number of partitions that were forgotten because no rows came for them. */
const FORGOTTEN: usize = 16;

export function analyticOperator(operator: Operator): void {
  operator.open = analyticOpen;
  operator.push = analyticPush;
  operator.signal = analyticSignal;
  operator.tick = analyticTick;
  operator.save = analyticSave;
  operator.load = analyticLoad;
  operator.free = analyticFree;
  operator.setBack = analyticSetBack;
}

function analyticOpen(node: Node): bool {
  const spec = changetype<AnalyticSpec>(node.spec);
  specPrepare(spec);
  const partitions = spec.partitions;
  const size = STATE_TABLES + partitions * TABLE_SIZE;
  const state = allocZeroed(size, accountOf(node));
  if (!state) return false;
  for (let i: u32 = 0; i < partitions; i++) {
    tableInit(tableAt(state, i), spec.ttl > 0 && partitionAt(spec, i).keys != 0);
  }
  node.state = state;
  node.stateSize = size;
  return true;
}

function analyticSignal(node: Node, signal: u32, value: u64): void {
  const state = node.state;
  if (signal == Signal.BEGIN) {
    store<u32>(state, 0, FAIL_OFF);
    // 0 stands for rows that do not belong to a message.
    const number = load<u32>(state, MESSAGE) + 1;
    store<u32>(state, number ? number : 1, MESSAGE);
  } else if (signal == Signal.END && load<u32>(state, FAIL_OFF) && !offOf(value)) {
    endMessage(node, <usize>load<u32>(state, FAIL_OFF), load<u32>(state, FAIL_LEN));
    return;
  }
  signalBelow(node, signal, value);
}

function analyticPush(node: Node): void {
  const state = node.state;
  const isOfMessage = (node.flags & NodeFlag.MESSAGES) != 0;
  const isLost = isOfMessage && load<u32>(state, FAIL_OFF) != 0;
  forgetIdle(node, state);
  const outerSel = ctx.sel;
  const outerLen = ctx.selLen;
  const errors = ctx.rowErrors;
  const narrow = selectionPush();
  if (!narrow) {
    exhaust(node);
    return;
  }
  if (errors) ctx.setSelection(narrow, withoutErrors(outerSel, outerLen, errors, narrow));
  runBegin(ctx.sel, ctx.selLen, accountOf(node), isOfMessage ? load<u32>(state, MESSAGE) : 0);
  const isDone = ctx.selLen == 0 || runAll(node, state, narrow);
  const ownMarks = marks;
  if (!isDone) exhaust(node);
  else if (!failed && !isLost) {
    ctx.setSelection(outerSel, outerLen);
    emit(node);
  } else if (!isLost) passWithFailures(node, state, outerSel, outerLen, errors, narrow, isOfMessage);
  if (ownMarks) stageRelease(1);
  selectionPop();
  if (!isDone) return;
  settle(node, state);
  awaitIdle(node, state);
}

/** Runs all functions over the selected rows; false when memory is exhausted. */
function runAll(node: Node, state: usize, narrow: usize): bool {
  const spec = changetype<AnalyticSpec>(node.spec);
  const program = node.program;
  if (program) vmRun(program);
  const partitions = spec.partitions;
  const entries = poolAlloc(ctx.scratch, partitions * ctx.rows * 4);
  if (!entries) return false;
  const functions = spec.functions;
  for (let i: u32 = 0; i < partitions; i++) {
    if (!findPartition(spec, program, tableAt(state, i), partitionAt(spec, i), entries + i * ctx.rows * 4, node))
      return false;
    if (keyFailed) failKeys(spec, i, entries + i * ctx.rows * 4);
    narrowTo(narrow);
  }
  for (let i: u32 = 0; i < functions; i++) {
    const fn = functionAt(spec, i);
    const partition = fn.partition;
    const args = fn.args;
    for (let k: u32 = 0; k < args; k++) bindArg(program, k, argOperand(spec, fn, k));
    bindWhen(program, fn.when);
    setFunction(tableAt(state, partition), entries + partition * ctx.rows * 4, fn.state, blockOf(fn.dst));
    const before = failed;
    runFunction(fn);
    if (isOut) return false;
    if (failed != before) narrowTo(narrow);
    noteResults();
  }
  ctx.addWork(selLen * functions);
  return true;
}

/** Removes failed rows from the selection. */
function narrowTo(narrow: usize): void {
  if (marks) setSelected(narrow, withoutErrors(sel, selLen, marks, narrow));
}

function findPartition(
  spec: AnalyticSpec,
  program: Program,
  table: PartitionTable,
  partition: PartitionSpec,
  to: usize,
  node: Node,
): bool {
  const keys = partition.keys;
  const at = changetype<usize>(spec) + partition.keysAt;
  for (let k: u32 = 0; k < keys; k++) bindArg(program, k, load<u16>(at + ((<usize>k) << 1)));
  return findEntries(
    table,
    partition.entrySize,
    argBinds(),
    BIND_SIZE,
    keys,
    sel,
    selLen,
    to,
    accountOf(node),
    ctx.nowMs,
  );
}

/** Makes the rows fail in which a key failed, with the error of the first failed key. */
function failKeys(spec: AnalyticSpec, index: u32, entries: usize): void {
  const keys = partitionAt(spec, index).keys;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (load<u32>(entries + ((<usize>row) << 2))) continue;
    for (let k: u32 = 0; k < keys; k++) {
      if (argTag(k, row) != Tag.ERROR) continue;
      markFailed(row, argVal(k, row));
      break;
    }
  }
}

/**
 * Counts the rows that failed and hands the others on. Failed rows go on as error rows where these travel; otherwise
 * the message fails.
 */
function passWithFailures(
  node: Node,
  state: usize,
  outerSel: usize,
  outerLen: u32,
  errors: usize,
  narrow: usize,
  isOfMessage: bool,
): void {
  const error = isOfMessage ? errorOfFirst(outerSel, outerLen) : firstError;
  fail(offOf(error), lenOf(error));
  if (!isOfMessage) keepRow(node, firstFailed);
  addException(node, failOff, failLen, isOfMessage ? 1 : failed);
  if (isOfMessage) {
    keepFailure(node);
    store<u32>(state, <u32>failOff, FAIL_OFF);
    store<u32>(state, failLen, FAIL_LEN);
    return;
  }
  if (node.flags & NodeFlag.SEND_ERROR) {
    if (errors) takeOver(outerSel, outerLen, errors);
    ctx.setSelection(outerSel, outerLen);
    ctx.setRowErrors(marks);
  } else {
    ctx.setSelection(sel, selLen);
    ctx.setRowErrors(0);
  }
  if (ctx.selLen) emit(node);
  ctx.setRowErrors(errors);
}

/** The error of the first row that failed, whichever function it was. */
function errorOfFirst(rows: usize, n: u32): u64 {
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(rows + ((<usize>i) << 2));
    if (tagAt(marks, row) == Tag.ERROR) return valAt(marks, row);
  }
  return firstError;
}

/** Marks the rows that failed above as failed here too. */
function takeOver(rows: usize, n: u32, errors: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(rows + ((<usize>i) << 2));
    if (tagAt(errors, row) == Tag.ERROR) setAt(marks, row, Tag.ERROR, valAt(errors, row));
  }
}

/** Copies kept values that refer to the batch into the node, because the batch is gone afterwards. */
function settle(node: Node, state: usize): void {
  const spec = changetype<AnalyticSpec>(node.spec);
  const partitions = spec.partitions;
  const functions = spec.functions;
  const acct = accountOf(node);
  let isKept = true;
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    const size = slotCount(fn) * KEPT_SIZE;
    if (!size) continue;
    const from = fn.state + headSize(fn);
    for (let entry = firstDirty(tableAt(state, fn.partition)); entry; entry = nextDirty(entry)) {
      const end = changetype<usize>(entry) + from + size;
      for (let slot = changetype<usize>(entry) + from; slot < end; slot += KEPT_SIZE)
        if (!slotSettle(slot, acct)) isKept = false;
    }
  }
  for (let i: u32 = 0; i < partitions; i++) while (takeDirty(tableAt(state, i))) {}
  if (!isKept) exhaust(node);
}

// ---- partitions that nothing comes for ----------------------------------------------------------------------------

/** Forgets partitions whose last row is older than the node keeps them. */
function forgetIdle(node: Node, state: usize): void {
  const spec = changetype<AnalyticSpec>(node.spec);
  const ttl = spec.ttl;
  if (!(ttl > 0)) return;
  const partitions = spec.partitions;
  for (let i: u32 = 0; i < partitions; i++) {
    if (!partitionAt(spec, i).keys) continue;
    const table = tableAt(state, i);
    for (let entry = table.first; entry; entry = table.first) {
      if (entry.seen + ttl > ctx.nowMs) break;
      freeStates(spec, i, entry, accountOf(node));
      entryDrop(table, entry, partitionAt(spec, i).entrySize, accountOf(node));
      store<u64>(state, load<u64>(state, FORGOTTEN) + 1, FORGOTTEN);
    }
  }
}

/**
 * Sets the deadline of the node to the time at which the partition with the oldest last row is forgotten. A deadline
 * that is set already stays, even if it comes too early.
 */
function awaitIdle(node: Node, state: usize): void {
  const spec = changetype<AnalyticSpec>(node.spec);
  const ttl = spec.ttl;
  if (!(ttl > 0) || node.heap) return;
  const partitions = spec.partitions;
  let oldest: f64 = Infinity;
  for (let i: u32 = 0; i < partitions; i++) {
    const entry = tableAt(state, i).first;
    if (entry && partitionAt(spec, i).keys) oldest = min(oldest, entry.seen);
  }
  if (oldest < Infinity && !setDeadline(node, oldest + ttl)) exhaust(node);
}

/** Handles a clock that is set back by `ms`: the times of the last rows of partitions move along. */
function analyticSetBack(node: Node, ms: f64): void {
  const spec = changetype<AnalyticSpec>(node.spec);
  if (!(spec.ttl > 0)) return;
  const partitions = spec.partitions;
  for (let i: u32 = 0; i < partitions; i++) {
    const table = tableAt(node.state, i);
    for (let entry = table.first; entry; entry = entry.next) {
      entry.seen -= ms;
    }
  }
}

function analyticTick(node: Node): void {
  const state = node.state;
  forgetIdle(node, state);
  awaitIdle(node, state);
}

/** Number of partitions that a node keeps. */
export function analyticPartitions(node: Node): u64 {
  const partitions = changetype<AnalyticSpec>(node.spec).partitions;
  let count: u64 = 0;
  for (let i: u32 = 0; i < partitions; i++) count += tableAt(node.state, i).count;
  return count;
}

/** Number of partitions that a node has forgotten because no rows came for them. */
export function analyticForgotten(node: Node): u64 {
  return load<u64>(node.state, FORGOTTEN);
}

/** Frees the memory of the states of an entry. */
function freeStates(spec: AnalyticSpec, partition: u32, entry: PartitionEntry, acct: usize): void {
  const functions = spec.functions;
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    if (fn.partition != partition) continue;
    const slots = slotCount(fn);
    const state = changetype<Pool>(changetype<usize>(entry) + fn.state);
    if (keepsList(fn)) collectFree(state);
    let slot = changetype<usize>(state) + headSize(fn);
    for (let s: u32 = 0; s < slots; s++, slot += KEPT_SIZE) slotFree(slot, acct);
  }
}

function analyticFree(node: Node): void {
  const state = node.state;
  if (!state) return;
  const spec = changetype<AnalyticSpec>(node.spec);
  const acct = accountOf(node);
  const partitions = spec.partitions;
  for (let i: u32 = 0; i < partitions; i++) {
    const table = tableAt(state, i);
    for (let entry = table.first; entry; entry = entry.next) {
      freeStates(spec, i, entry, acct);
    }
    tableFree(table, partitionAt(spec, i).entrySize, acct);
  }
  free(state, node.stateSize, acct);
  node.state = 0;
}
