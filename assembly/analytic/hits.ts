// Counts the rows that pass a condition, which may use that count and the time of the newest counted row. Rows are
// therefore judged one after the other. Count and time before each row are left in registers for the nodes below.
// Without a condition all rows pass.
//
// Below a window, messages with a row that passes are counted, and all rows of a message are judged with the same
// count. Without a condition, rows are counted.
//
// With a register for the result of the condition, all rows pass: the window below decides by that result whether to
// send.
//
//   state   count u64 | time i64 (epoch ms, 0 none) | begun u32 | failOff u32 | failLen u32 | 0 u32 | time of the
//   message i64
import * as ctx from '../batch/context';
import { beginMessage, emit, endMessage, signalBelow } from '../emit/emit';
import { fail, failLen, failNotBoolean, failOff } from '../batch/failure';
import { addFailedRow } from '../source/columns/failed-row';
import { NodeFlag, accountOf, exhaust, keepFailure } from '../node/node';
import { Operator, Signal } from '../node/operator';
import { selectionPop, selectionPush } from '../batch/selection';
import { stageAcquire, stageRelease } from '../batch/stage';
import { allocZeroed, free } from '../mem/alloc';
import { COL_HAS_RAW, COL_UNIFORM, OPERAND_NONE, Tag, lenOf, offOf, setAt, span, tagAt, valAt } from '../mem/layout';
import { blockOf, strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { readI64, readU64, readVersion } from '../state/reader';
import { writeI64, writeU64, writeVersion } from '../state/writer';
import { HitsSpec } from '../gen/analytic-layouts';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';

const COUNT: usize = 0;
const TIME: usize = 8;
const BEGUN: usize = 16;
const FAIL_OFF: usize = 20;
const FAIL_LEN: usize = 24;
const MESSAGE_TIME: usize = 32;
const STATE_SIZE: u32 = 40;

export function hitsOperator(operator: Operator): void {
  operator.open = hitsOpen;
  operator.push = hitsPush;
  operator.signal = hitsSignal;
  operator.save = hitsSave;
  operator.load = hitsLoad;
  operator.free = hitsFree;
}

function hitsOpen(node: Node): bool {
  const state = allocZeroed(STATE_SIZE, accountOf(node));
  node.state = state;
  node.stateSize = STATE_SIZE;
  return state != 0;
}

// @ts-ignore: decorator
@inline function conditionOf(node: Node): u32 {
  return changetype<HitsSpec>(node.spec).condition;
}

function hitsSignal(node: Node, signal: u32, value: u64): void {
  if (conditionOf(node) != OPERAND_NONE && signal == Signal.BEGIN) {
    const state = node.state;
    store<u32>(state, 0, BEGUN);
    store<u32>(state, 0, FAIL_OFF);
  } else if (conditionOf(node) != OPERAND_NONE && signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

/** Ends a message. A message without a row that passed is not sent, but its failure is. */
function end(node: Node, failedOff: usize, failedLen: u32): void {
  const state = node.state;
  const own = <usize>load<u32>(state, FAIL_OFF);
  const off = own ? own : failedOff;
  const len = own ? load<u32>(state, FAIL_LEN) : failedLen;
  if (load<u32>(state, BEGUN)) {
    if (!off) {
      store<u64>(state, load<u64>(state, COUNT) + 1, COUNT);
      store<i64>(state, load<i64>(state, MESSAGE_TIME), TIME);
    }
  } else {
    if (!off) return;
    beginMessage(node);
  }
  endMessage(node, off, len);
}

/** Time of the row, epoch ms: the operand, or the clock. */
function timeOf(program: Program, operand: u32, row: u32): i64 {
  if (operand == OPERAND_NONE) return <i64>ctx.nowMs;
  const tag = load<u8>(tagsOf(program, operand) + row * strideOf(operand));
  const val = load<u64>(valsOf(program, operand) + ((<usize>(row * strideOf(operand))) << 3));
  return tag == Tag.I64 ? <i64>val : tag == Tag.F64 ? <i64>reinterpret<f64>(val) : 0;
}

/** Result of judging a row. */
enum Verdict {
  HIT,
  /** The row goes on and is not counted. */
  PASSES,
  DROPPED,
  /** The condition fails or gives no BOOLEAN; `failOff` has the reason. */
  FAILED,
}

/** Judges the row by the condition, whose value is stored in `judged`, 0 none. */
function verdictOf(program: Program, condition: u32, judged: usize, row: u32): Verdict {
  if (condition == OPERAND_NONE) return Verdict.HIT;
  const tag = load<u8>(tagsOf(program, condition) + row * strideOf(condition));
  const val = load<u64>(valsOf(program, condition) + ((<usize>(row * strideOf(condition))) << 3));
  const isHit = tag == Tag.BOOL && val != 0;
  if (judged) setAt(judged, row, tag, val);
  if (isHit) return Verdict.HIT;
  if (judged) return Verdict.PASSES;
  if (tag <= Tag.NULL || tag == Tag.BOOL) return Verdict.DROPPED;
  if (tag == Tag.ERROR) fail(offOf(val), lenOf(val));
  else failNotBoolean();
  return Verdict.FAILED;
}

/** Makes the message fail for the reason in `failOff`. */
function failMessage(node: Node): void {
  keepFailure(node);
  store<u32>(node.state, <u32>failOff, FAIL_OFF);
  store<u32>(node.state, failLen, FAIL_LEN);
}

/** Hands on the rows that passed. */
function sendPassed(node: Node, kept: usize, passed: u32, errors: usize): void {
  const state = node.state;
  if ((node.flags & NodeFlag.MESSAGES) != 0 && conditionOf(node) != OPERAND_NONE && !load<u32>(state, BEGUN)) {
    store<u32>(state, 1, BEGUN);
    beginMessage(node);
  }
  const before = ctx.rowErrors;
  ctx.setSelection(kept, passed);
  ctx.setRowErrors(errors);
  emit(node);
  ctx.setRowErrors(before);
}

function hitsPush(node: Node): void {
  const state = node.state;
  const isOfMessage = (node.flags & NodeFlag.MESSAGES) != 0;
  if (isOfMessage && load<u32>(state, FAIL_OFF)) return;
  const spec = changetype<HitsSpec>(node.spec);
  const program = node.program;
  const condition = conditionOf(node);
  const count = blockOf(spec.count);
  const time = blockOf(spec.time);
  const when = <u32>spec.when;
  const judgedTo = <u32>spec.judged;
  const judged: usize = judgedTo == OPERAND_NONE ? 0 : blockOf(judgedTo);
  const outer = ctx.sel;
  const n = ctx.selLen;
  const before = ctx.rowErrors;
  const isCounted = condition == OPERAND_NONE || !isOfMessage;
  const kept = selectionPush();
  const marks = stageAcquire(1);
  if (!kept || !marks) {
    exhaust(node);
    if (marks) stageRelease(1);
    if (kept) selectionPop();
    return;
  }
  const errors = <usize>load<u32>(marks);
  let passed: u32 = 0;
  let hits: u32 = 0;
  let failed: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(outer + ((<usize>i) << 2));
    // The row stands alone behind the rows that passed, so that the program sees only this one.
    store<u32>(kept + ((<usize>passed) << 2), row);
    if (judged) setAt(judged, row, Tag.NULL, 0);
    if (before && tagAt(before, row) == Tag.ERROR) {
      setAt(errors, row, Tag.ERROR, valAt(before, row));
      passed++;
      failed++;
      continue;
    }
    setAt(errors, row, Tag.NULL, 0);
    setAt(count, row, Tag.I64, load<u64>(state, COUNT));
    setAt(time, row, Tag.I64, load<u64>(state, TIME));
    mark(count);
    mark(time);
    ctx.setSelection(kept + ((<usize>passed) << 2), 1);
    if (program) vmRun(program);
    const verdict = verdictOf(program, condition, judged, row);
    if (verdict == Verdict.DROPPED) continue;
    if (verdict == Verdict.FAILED) {
      addFailedRow(node, row);
      if (isOfMessage) {
        failMessage(node);
        passed = 0;
        break;
      }
      if (node.flags & NodeFlag.SEND_ERROR) {
        setAt(errors, row, Tag.ERROR, span(failOff, failLen));
        passed++;
        failed++;
      }
      continue;
    }
    passed++;
    if (verdict == Verdict.PASSES) continue;
    hits++;
    if (isCounted) {
      store<u64>(state, load<u64>(state, COUNT) + 1, COUNT);
      store<i64>(state, timeOf(program, when, row), TIME);
    } else if (hits == 1) store<i64>(state, timeOf(program, when, row), MESSAGE_TIME);
  }
  if (judged) {
    store<u8>(judged, 0, COL_UNIFORM);
    store<u8>(judged, 0, COL_HAS_RAW);
  }
  if (passed) sendPassed(node, kept, passed, failed ? errors : 0);
  ctx.setSelection(outer, n);
  stageRelease(1);
  selectionPop();
}

// @ts-ignore: decorator
@inline function mark(block: usize): void {
  store<u8>(block, Tag.I64, COL_UNIFORM);
  store<u8>(block, 0, COL_HAS_RAW);
}

const VERSION: u32 = 1;

function hitsSave(node: Node): void {
  const state = node.state;
  writeVersion(VERSION);
  writeU64(load<u64>(state, COUNT));
  writeI64(load<i64>(state, TIME));
}

function hitsLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const state = node.state;
  store<u64>(state, readU64(), COUNT);
  store<i64>(state, readI64(), TIME);
  return true;
}

function hitsFree(node: Node): void {
  free(node.state, STATE_SIZE, accountOf(node));
  node.state = 0;
}
