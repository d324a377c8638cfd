// Keeps the rows for which a condition is true. Null and missing drop the row silently; an error, or a value that is no
// boolean, sends the row on as an error row (NodeFlag.SEND_ERROR) or counts it as an exception and drops it.
//
//   state   begun u32 | failOff u32 | failLen u32 | verdict u32      only below a window
//
// Below a window a message that loses all its rows is not sent, so its begin is held back until the first row passes;
// a failing row replaces the whole message by the error.
import { mayBeChosen } from '../emit/choice';
import { noteCondition } from '../emit/condition';
import * as ctx from '../batch/context';
import { beginMessage, emit, emitEach, endMessage, signalBelow } from '../emit/emit';
import { fail, failLen, failNoMemory, failNotBoolean, failOff } from '../batch/failure';
import {
  N_FLAGS,
  N_PROGRAM,
  N_SPEC,
  N_STATE,
  N_STATE_SIZE,
  NodeFlag,
  accountOf,
  addException,
  exhaust,
  keepFailure,
  leaveChoice,
} from '../node/node';
import { Operator, Signal, Trait } from '../node/operator';
import { selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { stageAcquire, stageRelease } from '../batch/stage';
import { FILTER_CONDITION, FILTER_FLAGS, FilterFlag } from '../gen/operators-layouts';
import { allocZeroed, free } from '../mem/alloc';
import { COL_UNIFORM, Tag, offOf, lenOf, setAt, span, tagAt, valAt } from '../mem/layout';
import { isConst, blockOf, strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';

const STATE_SIZE: u32 = 16;
const VERDICT_BEGUN: usize = 0;
const VERDICT_FAIL_OFF: usize = 4;
const VERDICT_FAIL_LEN: usize = 8;
/** What the first row of the message decided on all of it: 0 nothing yet. */
const VERDICT_VERDICT: usize = 12;
const PASSES: u32 = 1;
const DROPS: u32 = 2;
/** Result of `narrow`: a row failed. */
const FAILS: u32 = u32.MAX_VALUE;

export function filterOperator(operator: Operator): void {
  operator.open = filterOpen;
  operator.push = filterPush;
  operator.pushEach = filterPushEach;
  operator.signal = filterSignal;
  operator.free = filterFree;
  operator.traits = Trait.KEEPS_COLUMNS;
}

// @ts-ignore: decorator
@inline function filterFlags(node: usize): u32 {
  return load<u32>(<usize>load<u32>(node, N_SPEC), FILTER_FLAGS);
}

/** Makes the state of a filter; false when memory is exhausted. */
function filterOpen(node: usize): bool {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES)) {
    if (noteCondition(node, load<u32>(<usize>load<u32>(node, N_SPEC), FILTER_CONDITION))) mayBeChosen(node);
    return true;
  }
  const state = allocZeroed(STATE_SIZE, accountOf(node));
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, STATE_SIZE, N_STATE_SIZE);
  return state != 0;
}

function filterSignal(node: usize, signal: u32, value: u64): void {
  if (signal == Signal.BEGIN) begin(node);
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

function begin(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  store<u64>(state, 0);
  store<u64>(state, 0, 8);
  if (filterFlags(node) & FilterFlag.KEEPS_EMPTY) {
    store<u32>(state, 1, VERDICT_BEGUN);
    beginMessage(node);
  }
}

function end(node: usize, failedOff: usize, failedLen: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  const ownOff = <usize>load<u32>(state, VERDICT_FAIL_OFF);
  const off = ownOff ? ownOff : failedOff;
  const len = ownOff ? load<u32>(state, VERDICT_FAIL_LEN) : failedLen;
  if (!load<u32>(state, VERDICT_BEGUN)) {
    const meets = (filterFlags(node) & FilterFlag.MEETS_EMPTY) != 0 && load<u32>(state, VERDICT_VERDICT) == 0;
    if (!off && !meets) return;
    beginMessage(node);
  }
  endMessage(node, off, len);
}

/** Sends the narrowed batch on; below a window after the begin that was held back. */
// @ts-ignore: decorator
@inline function pass(node: usize): void {
  if (load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES) {
    const state = <usize>load<u32>(node, N_STATE);
    if (!load<u32>(state, VERDICT_BEGUN)) {
      store<u32>(state, 1, VERDICT_BEGUN);
      beginMessage(node);
    }
  }
  emit(node);
}

function filterPush(node: usize): void {
  const flags = load<u32>(node, N_FLAGS);
  if (flags & NodeFlag.MESSAGES && load<u32>(<usize>load<u32>(node, N_STATE), VERDICT_FAIL_OFF)) return;
  const condition = load<u32>(<usize>load<u32>(node, N_SPEC), FILTER_CONDITION);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (flags & NodeFlag.MESSAGES && filterFlags(node) & FilterFlag.WHOLE) {
    pushWhole(node, program, condition);
    return;
  }
  if (ctx.rowErrors) {
    pushWithErrors(node, program, condition);
    return;
  }
  if (program) vmRun(program);
  const kept = selectionPush();
  if (!kept) {
    noMemory(node);
    return;
  }
  const n = narrow(program, condition, kept);
  if (n == FAILS) {
    // Start again on the path that marks failing rows; the condition's values stand.
    selectionPop();
    judge(node, program, condition, ctx.sel, ctx.selLen, 0);
    return;
  }
  if (n) {
    ctx.setSelection(kept, n);
    pass(node);
  }
  selectionPop();
}

/**
 * Writes the selected rows for which the condition, which is computed, is true to `kept`; returns their number or
 * FAILS.
 */
// @ts-ignore: decorator
@inline function narrow(program: usize, condition: u32, kept: usize): u32 {
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  let n: u32 = 0;
  if (!isConst(condition) && load<u8>(blockOf(condition), COL_UNIFORM) == Tag.BOOL) {
    const vals = valsOf(program, condition);
    for (let i: u32 = 0; i < selLen; i++) {
      const row = load<u32>(sel + ((<usize>i) << 2));
      store<u32>(kept + ((<usize>n) << 2), row);
      n += load<u8>(vals + ((<usize>row) << 3));
    }
    return n;
  }
  const tags = tagsOf(program, condition);
  const vals = valsOf(program, condition);
  const stride = strideOf(condition);
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const tag = load<u8>(tags + row * stride);
    if (tag == Tag.BOOL) {
      store<u32>(kept + ((<usize>n) << 2), row);
      n += load<u8>(vals + ((row * stride) << 3));
    } else if (tag > Tag.NULL) return FAILS;
  }
  return n;
}

/** Passes or drops messages of one row each; where one fails, or is sent without its row, they are taken one by one. */
function filterPushEach(node: usize): void {
  const condition = load<u32>(<usize>load<u32>(node, N_SPEC), FILTER_CONDITION);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  const kept = selectionPush();
  const n = kept && !(filterFlags(node) & FilterFlag.KEEPS_EMPTY) ? narrow(program, condition, kept) : FAILS;
  if (n == FAILS) {
    if (kept) selectionPop();
    pushOneByOne(node);
    return;
  }
  if (n) {
    ctx.setSelection(kept, n);
    emitEach(node);
  }
  selectionPop();
}

function pushOneByOne(node: usize): void {
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  for (let i: u32 = 0; i < selLen; i++) {
    begin(node);
    ctx.setBatch(cols, rows, sel + ((<usize>i) << 2), 1, 0);
    filterPush(node);
    end(node, 0, 0);
  }
}

/** Passes or drops the batch as the first row of the message says. */
function pushWhole(node: usize, program: usize, condition: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(state, VERDICT_VERDICT) == DROPS) return;
  if (program) vmRun(program);
  if (load<u32>(state, VERDICT_VERDICT) == 0) {
    const row = isConst(condition) ? 0 : load<u32>(ctx.sel);
    const tag = load<u8>(tagsOf(program, condition) + row);
    const val = load<u64>(valsOf(program, condition) + ((<usize>row) << 3));
    const passes = tag == Tag.BOOL && val != 0;
    store<u32>(state, passes ? PASSES : DROPS, VERDICT_VERDICT);
    if (tag > Tag.NULL && tag != Tag.BOOL) failMessage(node, tag, val);
    if (!passes) return;
  }
  pass(node);
}

/** Counts a condition that failed; the message is replaced by the error. */
function failMessage(node: usize, tag: u8, val: u64): void {
  if (tag == Tag.ERROR) fail(offOf(val), lenOf(val));
  else failNotBoolean();
  noteFailure(node);
}

/** Counts the failure of the message under way and keeps its reason until the message ends. */
function noteFailure(node: usize): void {
  addException(node, failOff, failLen, 1);
  keepFailure(node);
  const state = <usize>load<u32>(node, N_STATE);
  store<u32>(state, <u32>failOff, VERDICT_FAIL_OFF);
  store<u32>(state, failLen, VERDICT_FAIL_LEN);
}

/**
 * There is no memory to narrow the batch: the message fails, or, of a stream, the rules end, which may count its rows.
 */
function noMemory(node: usize): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES)) {
    exhaust(node);
    return;
  }
  failNoMemory();
  noteFailure(node);
}

/** Rows that failed in an earlier step pass unseen; the others are judged. */
function pushWithErrors(node: usize, program: usize, condition: u32): void {
  const clean = selectionPush();
  if (!clean) {
    noMemory(node);
    return;
  }
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const n = withoutErrors(sel, selLen, ctx.rowErrors, clean);
  if (n && program) {
    ctx.setSelection(clean, n);
    vmRun(program);
    ctx.setSelection(sel, selLen);
  }
  judge(node, program, condition, sel, selLen, ctx.rowErrors);
  selectionPop();
}

/** The way for batches with failing rows: decides row by row and marks the failures. */
function judge(node: usize, program: usize, condition: u32, sel: usize, selLen: u32, before: usize): void {
  const flags = load<u32>(node, N_FLAGS);
  const kept = selectionPush();
  const marks = stageAcquire(1);
  if (!kept || !marks) {
    noMemory(node);
    if (marks) stageRelease(1);
    if (kept) selectionPop();
    return;
  }
  const errors = <usize>load<u32>(marks);
  const tags = tagsOf(program, condition);
  const vals = valsOf(program, condition);
  const stride = strideOf(condition);
  let n: u32 = 0;
  let failed: u32 = 0;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (before && tagAt(before, row) == Tag.ERROR) {
      setAt(errors, row, Tag.ERROR, valAt(before, row));
      store<u32>(kept + ((n++ as usize) << 2), row);
      failed++;
      continue;
    }
    const tag = load<u8>(tags + row * stride);
    if (tag <= Tag.NULL) continue;
    const val = load<u64>(vals + ((row * stride) << 3));
    if (tag == Tag.BOOL) {
      setAt(errors, row, Tag.NULL, 0);
      store<u32>(kept + ((<usize>n) << 2), row);
      n += <u32>val;
      continue;
    }
    if (flags & NodeFlag.MESSAGES) {
      failMessage(node, tag, val);
      n = 0;
      break;
    }
    if (tag == Tag.ERROR) fail(offOf(val), lenOf(val));
    else failNotBoolean();
    addException(node, failOff, failLen, 1);
    if (flags & NodeFlag.SEND_ERROR) {
      setAt(errors, row, Tag.ERROR, span(failOff, failLen));
      store<u32>(kept + ((n++ as usize) << 2), row);
      failed++;
    }
  }
  if (n) {
    const rowErrors = ctx.rowErrors;
    ctx.setSelection(kept, n);
    ctx.setRowErrors(failed ? errors : 0);
    pass(node);
    ctx.setRowErrors(rowErrors);
  }
  stageRelease(1);
  selectionPop();
}

function filterFree(node: usize): void {
  leaveChoice(node);
  free(<usize>load<u32>(node, N_STATE), load<u32>(node, N_STATE_SIZE), accountOf(node));
}
