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
import { NodeFlag, accountOf, addException, exhaust, keepFailure, leaveChoice } from '../node/node';
import { Operator, Signal, Trait } from '../node/operator';
import { selectionPop, selectionPush, withoutErrors } from '../batch/selection';
import { addFailedRow } from '../source/columns/failed-row';
import { stageAcquire, stageRelease } from '../batch/stage';
import { FilterSpec, FilterFlag } from '../gen/operators-layouts';
import { allocZeroed, free } from '../mem/alloc';
import { COL_UNIFORM, Tag, offOf, lenOf, setAt, span, tagAt, valAt } from '../mem/layout';
import { isConst, blockOf, strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';

const STATE_SIZE: u32 = 16;
/** State of a filter of messages: the message under way. */
// @ts-ignore: decorator
@unmanaged
class FilterState {
  begun: u32;
  failOff: u32;
  failLen: u32;
  /** Verdict of the first row on the whole message; 0 while there is none. */
  verdict: u32;
}

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
@inline function filterFlags(node: Node): u32 {
  return changetype<FilterSpec>(node.spec).flags;
}

/** Makes the state of a filter; false when memory is exhausted. */
function filterOpen(node: Node): bool {
  if (!(node.flags & NodeFlag.MESSAGES)) {
    if (noteCondition(node, changetype<FilterSpec>(node.spec).condition)) mayBeChosen(node);
    return true;
  }
  const state = allocZeroed(STATE_SIZE, accountOf(node));
  node.state = state;
  node.stateSize = STATE_SIZE;
  return state != 0;
}

function filterSignal(node: Node, signal: u32, value: u64): void {
  if (signal == Signal.BEGIN) begin(node);
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

function begin(node: Node): void {
  const state = changetype<FilterState>(node.state);
  store<u64>(changetype<usize>(state), 0);
  store<u64>(changetype<usize>(state), 0, 8);
  if (filterFlags(node) & FilterFlag.KEEPS_EMPTY) {
    state.begun = 1;
    beginMessage(node);
  }
}

function end(node: Node, failedOff: usize, failedLen: u32): void {
  const state = changetype<FilterState>(node.state);
  const ownOff = <usize>state.failOff;
  const off = ownOff ? ownOff : failedOff;
  const len = ownOff ? state.failLen : failedLen;
  if (!state.begun) {
    const meets = (filterFlags(node) & FilterFlag.MEETS_EMPTY) != 0 && state.verdict == 0;
    if (!off && !meets) return;
    beginMessage(node);
  }
  endMessage(node, off, len);
}

/** Sends the narrowed batch on; below a window after the begin that was held back. */
// @ts-ignore: decorator
@inline function pass(node: Node): void {
  if (node.flags & NodeFlag.MESSAGES) {
    const state = changetype<FilterState>(node.state);
    if (!state.begun) {
      state.begun = 1;
      beginMessage(node);
    }
  }
  emit(node);
}

function filterPush(node: Node): void {
  const flags = node.flags;
  if (flags & NodeFlag.MESSAGES && changetype<FilterState>(node.state).failOff) return;
  const condition = changetype<FilterSpec>(node.spec).condition;
  const program = node.program;
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
@inline function narrow(program: Program, condition: u32, kept: usize): u32 {
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
function filterPushEach(node: Node): void {
  const condition = changetype<FilterSpec>(node.spec).condition;
  const program = node.program;
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

function pushOneByOne(node: Node): void {
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
function pushWhole(node: Node, program: Program, condition: u32): void {
  const state = changetype<FilterState>(node.state);
  if (state.verdict == DROPS) return;
  if (program) vmRun(program);
  if (state.verdict == 0) {
    const row = isConst(condition) ? 0 : load<u32>(ctx.sel);
    const tag = load<u8>(tagsOf(program, condition) + row);
    const val = load<u64>(valsOf(program, condition) + ((<usize>row) << 3));
    const passes = tag == Tag.BOOL && val != 0;
    state.verdict = passes ? PASSES : DROPS;
    if (tag > Tag.NULL && tag != Tag.BOOL) failMessage(node, tag, val);
    if (!passes) return;
  }
  pass(node);
}

/** Counts a condition that failed; the message is replaced by the error. */
function failMessage(node: Node, tag: u8, val: u64): void {
  if (tag == Tag.ERROR) fail(offOf(val), lenOf(val));
  else failNotBoolean();
  noteFailure(node);
}

/** Counts the failure of the message under way and keeps its reason until the message ends. */
function noteFailure(node: Node): void {
  addException(node, failOff, failLen, 1);
  keepFailure(node);
  const state = changetype<FilterState>(node.state);
  state.failOff = <u32>failOff;
  state.failLen = failLen;
}

/**
 * Fails the message when there is no memory to narrow the batch. Of a stream it ends the rules, whose results may count
 * its rows.
 */
function noMemory(node: Node): void {
  if (!(node.flags & NodeFlag.MESSAGES)) {
    exhaust(node);
    return;
  }
  failNoMemory();
  noteFailure(node);
}

/** Rows that failed in an earlier step pass unseen; the others are judged. */
function pushWithErrors(node: Node, program: Program, condition: u32): void {
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

/** Narrows a batch with failing rows: decides row by row and marks the failures. */
function judge(node: Node, program: Program, condition: u32, sel: usize, selLen: u32, before: usize): void {
  const flags = node.flags;
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
    addFailedRow(node, row);
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

function filterFree(node: Node): void {
  leaveChoice(node);
  free(node.state, node.stateSize, accountOf(node));
}
