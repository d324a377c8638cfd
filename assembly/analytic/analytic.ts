// Functions that look back: a node passes all rows on, and leaves what its functions give in registers for the nodes
// below. Its program computes arguments, keys of partitions and conditions over the batch, then each function goes over
// the rows in order (analytic/functions/); what it keeps stands in the partition of the row (analytic/table.ts).
//
//   state   failOff u32 | failLen u32 (of the message under way, 0 none) | message u32 (number of it) | 0 u32 |
//   forgotten u64 | tables
//
// Functions work in the order of the spec: a row that fails in one is not seen by those behind it and is an error row
// from then on. Below a window its message fails with the error of the first such row; its other rows are remembered
// all the same, wherever the message was cut in batches.
import * as ctx from '../batch/context';
import { emit, endMessage, signalBelow } from '../emit/emit';
import { fail, failLen, failOff } from '../batch/failure';
import {
  N_FLAGS,
  N_HEAP,
  N_PROGRAM,
  N_SPEC,
  N_STATE,
  N_STATE_SIZE,
  NodeFlag,
  accountOf,
  addException,
  exhaust,
  keepFailure,
} from '../node/node';
import { Operator, Signal } from '../node/operator';
import { selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { stageRelease } from '../batch/stage';
import { setDeadline } from '../node/timers';
import { allocZeroed, free } from '../mem/alloc';
import { BIND_SIZE } from '../mem/bind';
import { Tag, lenOf, offOf, setAt, tagAt, valAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { blockOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { runFunction } from './dispatch';
import { collectFree } from './functions/collect';
import { analyticLoad, analyticSave } from './save';
import {
  ANALYTIC_FUNCTIONS,
  ANALYTIC_PARTITIONS,
  ANALYTIC_TTL,
  FUNCTION_ARGS,
  FUNCTION_DST,
  FUNCTION_PARTITION,
  FUNCTION_STATE,
  FUNCTION_WHEN,
  PARTITION_ENTRY_SIZE,
  PARTITION_KEYS,
  PARTITION_KEYS_AT,
  argOperand,
  functionAt,
  headSize,
  keepsList,
  partitionAt,
  slotCount,
  specPrepare,
} from './spec';
import {
  argBinds,
  argTag,
  argVal,
  bindArg,
  bindWhen,
  failed,
  firstError,
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
  ENTRY_SEEN,
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
import { ENTRY_NEXT, TABLE_COUNT, TABLE_FIRST } from '../partitions/table-slots';

const FAIL_OFF: usize = 0;
const FAIL_LEN: usize = 4;
const MESSAGE: usize = 8;
/** Partitions that were forgotten since nothing came for them. */
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

function analyticOpen(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  specPrepare(spec);
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  const size = STATE_TABLES + partitions * TABLE_SIZE;
  const state = allocZeroed(size, accountOf(node));
  if (!state) return false;
  for (let i: u32 = 0; i < partitions; i++) {
    tableInit(
      tableAt(state, i),
      load<f64>(spec, ANALYTIC_TTL) > 0 && load<u32>(partitionAt(spec, i), PARTITION_KEYS) != 0,
    );
  }
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, size, N_STATE_SIZE);
  return true;
}

function analyticSignal(node: usize, signal: u32, value: u64): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (signal == Signal.BEGIN) {
    store<u32>(state, 0, FAIL_OFF);
    // 0 stands for rows that are no parts of messages.
    const number = load<u32>(state, MESSAGE) + 1;
    store<u32>(state, number ? number : 1, MESSAGE);
  } else if (signal == Signal.END && load<u32>(state, FAIL_OFF) && !offOf(value)) {
    endMessage(node, <usize>load<u32>(state, FAIL_OFF), load<u32>(state, FAIL_LEN));
    return;
  }
  signalBelow(node, signal, value);
}

function analyticPush(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  const isOfMessage = (load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES) != 0;
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
function runAll(node: usize, state: usize, narrow: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  const entries = poolAlloc(ctx.scratch, partitions * ctx.rows * 4);
  if (!entries) return false;
  const functions = load<u32>(spec, ANALYTIC_FUNCTIONS);
  for (let i: u32 = 0; i < partitions; i++) {
    if (!findPartition(spec, program, tableAt(state, i), partitionAt(spec, i), entries + i * ctx.rows * 4, node))
      return false;
    if (keyFailed) failKeys(spec, i, entries + i * ctx.rows * 4);
    narrowTo(narrow);
  }
  for (let i: u32 = 0; i < functions; i++) {
    const fn = functionAt(spec, i);
    const partition = load<u16>(fn, FUNCTION_PARTITION);
    const args = load<u32>(fn, FUNCTION_ARGS);
    for (let k: u32 = 0; k < args; k++) bindArg(program, k, argOperand(spec, fn, k));
    bindWhen(program, load<u16>(fn, FUNCTION_WHEN));
    setFunction(
      tableAt(state, partition),
      entries + partition * ctx.rows * 4,
      load<u32>(fn, FUNCTION_STATE),
      blockOf(load<u16>(fn, FUNCTION_DST)),
    );
    const before = failed;
    runFunction(fn);
    if (isOut) return false;
    if (failed != before) narrowTo(narrow);
    noteResults();
  }
  ctx.addWork(selLen * functions);
  return true;
}

/** Leaves rows out that failed. */
function narrowTo(narrow: usize): void {
  if (marks) setSelected(narrow, withoutErrors(sel, selLen, marks, narrow));
}

function findPartition(spec: usize, program: usize, table: usize, partition: usize, to: usize, node: usize): bool {
  const keys = load<u32>(partition, PARTITION_KEYS);
  const at = spec + load<u32>(partition, PARTITION_KEYS_AT);
  for (let k: u32 = 0; k < keys; k++) bindArg(program, k, load<u16>(at + ((<usize>k) << 1)));
  return findEntries(
    table,
    load<u32>(partition, PARTITION_ENTRY_SIZE),
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

/** Fails the rows of which a key failed, with the error of the first that did. */
function failKeys(spec: usize, index: u32, entries: usize): void {
  const keys = load<u32>(partitionAt(spec, index), PARTITION_KEYS);
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

/** Counts the rows that failed and hands the others on; error rows where they travel, or the failure of the message. */
function passWithFailures(
  node: usize,
  state: usize,
  outerSel: usize,
  outerLen: u32,
  errors: usize,
  narrow: usize,
  isOfMessage: bool,
): void {
  const error = isOfMessage ? errorOfFirst(outerSel, outerLen) : firstError;
  fail(offOf(error), lenOf(error));
  addException(node, failOff, failLen, isOfMessage ? 1 : failed);
  if (isOfMessage) {
    keepFailure(node);
    store<u32>(state, <u32>failOff, FAIL_OFF);
    store<u32>(state, failLen, FAIL_LEN);
    return;
  }
  if (load<u32>(node, N_FLAGS) & NodeFlag.SEND_ERROR) {
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

/** Marks the rows that failed above as well. */
function takeOver(rows: usize, n: u32, errors: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(rows + ((<usize>i) << 2));
    if (tagAt(errors, row) == Tag.ERROR) setAt(marks, row, Tag.ERROR, valAt(errors, row));
  }
}

/** Makes what is kept the node's own: the batch was handed on, and goes. */
function settle(node: usize, state: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  const functions = load<u32>(spec, ANALYTIC_FUNCTIONS);
  const acct = accountOf(node);
  let isKept = true;
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    const size = slotCount(fn) * KEPT_SIZE;
    if (!size) continue;
    const from = load<u32>(fn, FUNCTION_STATE) + headSize(fn);
    for (let entry = firstDirty(tableAt(state, load<u16>(fn, FUNCTION_PARTITION))); entry; entry = nextDirty(entry)) {
      const end = entry + from + size;
      for (let slot = entry + from; slot < end; slot += KEPT_SIZE) if (!slotSettle(slot, acct)) isKept = false;
    }
  }
  for (let i: u32 = 0; i < partitions; i++) while (takeDirty(tableAt(state, i))) {}
  if (!isKept) exhaust(node);
}

// ---- partitions that nothing comes for ----------------------------------------------------------------------------

/** Forgets partitions whose last row is older than the node keeps them. */
function forgetIdle(node: usize, state: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const ttl = load<f64>(spec, ANALYTIC_TTL);
  if (!(ttl > 0)) return;
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  for (let i: u32 = 0; i < partitions; i++) {
    if (!load<u32>(partitionAt(spec, i), PARTITION_KEYS)) continue;
    const table = tableAt(state, i);
    for (let entry = <usize>load<u32>(table, TABLE_FIRST); entry; entry = <usize>load<u32>(table, TABLE_FIRST)) {
      if (load<f64>(entry, ENTRY_SEEN) + ttl > ctx.nowMs) break;
      freeStates(spec, i, entry, accountOf(node));
      entryDrop(table, entry, load<u32>(partitionAt(spec, i), PARTITION_ENTRY_SIZE), accountOf(node));
      store<u64>(state, load<u64>(state, FORGOTTEN) + 1, FORGOTTEN);
    }
  }
}

/**
 * Asks for a tick when the partition goes whose last row is oldest; one that was asked for before may come too early.
 */
function awaitIdle(node: usize, state: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const ttl = load<f64>(spec, ANALYTIC_TTL);
  if (!(ttl > 0) || load<u32>(node, N_HEAP)) return;
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  let oldest: f64 = Infinity;
  for (let i: u32 = 0; i < partitions; i++) {
    const entry = <usize>load<u32>(tableAt(state, i), TABLE_FIRST);
    if (entry && load<u32>(partitionAt(spec, i), PARTITION_KEYS)) oldest = min(oldest, load<f64>(entry, ENTRY_SEEN));
  }
  if (oldest < Infinity && !setDeadline(node, oldest + ttl)) exhaust(node);
}

/** When partitions had their last row is told by the clock. */
function analyticSetBack(node: usize, ms: f64): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  if (!(load<f64>(spec, ANALYTIC_TTL) > 0)) return;
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  for (let i: u32 = 0; i < partitions; i++) {
    const table = tableAt(<usize>load<u32>(node, N_STATE), i);
    for (let entry = <usize>load<u32>(table, TABLE_FIRST); entry; entry = <usize>load<u32>(entry, ENTRY_NEXT)) {
      store<f64>(entry, load<f64>(entry, ENTRY_SEEN) - ms, ENTRY_SEEN);
    }
  }
}

function analyticTick(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  forgetIdle(node, state);
  awaitIdle(node, state);
}

/** Partitions that a node keeps. */
export function analyticPartitions(node: usize): u64 {
  const partitions = load<u32>(<usize>load<u32>(node, N_SPEC), ANALYTIC_PARTITIONS);
  let count: u64 = 0;
  for (let i: u32 = 0; i < partitions; i++)
    count += load<u32>(tableAt(<usize>load<u32>(node, N_STATE), i), TABLE_COUNT);
  return count;
}

/** Partitions that a node has forgotten since nothing came for them. */
export function analyticForgotten(node: usize): u64 {
  return load<u64>(<usize>load<u32>(node, N_STATE), FORGOTTEN);
}

/** Frees what the states of an entry hold. */
function freeStates(spec: usize, partition: u32, entry: usize, acct: usize): void {
  const functions = load<u32>(spec, ANALYTIC_FUNCTIONS);
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    if (load<u16>(fn, FUNCTION_PARTITION) != partition) continue;
    const slots = slotCount(fn);
    const state = entry + load<u32>(fn, FUNCTION_STATE);
    if (keepsList(fn)) collectFree(state);
    let slot = state + headSize(fn);
    for (let s: u32 = 0; s < slots; s++, slot += KEPT_SIZE) slotFree(slot, acct);
  }
}

function analyticFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  for (let i: u32 = 0; i < partitions; i++) {
    const table = tableAt(state, i);
    for (let entry = <usize>load<u32>(table, TABLE_FIRST); entry; entry = <usize>load<u32>(entry, ENTRY_NEXT)) {
      freeStates(spec, i, entry, acct);
    }
    tableFree(table, load<u32>(partitionAt(spec, i), PARTITION_ENTRY_SIZE), acct);
  }
  free(state, load<u32>(node, N_STATE_SIZE), acct);
  store<u32>(node, 0, N_STATE);
}
