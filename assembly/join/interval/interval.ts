// Interval joins: rows of two sides meet whose keys are equal and whose times lie no further apart than they may. Rows
// come by a merge in the order of their times. Each meets at once those of the other side that have come before it,
// which stand on the list of its key in the order of their times, and waits for those that come after it. When time has
// gone by so far that none can come, it goes; where rows without a partner go on, those that have met none go on then.
//
// So rows of the result come in the order of their times, which is the later one of a pair, and of a row without a
// partner that at which it was certain to have none.
import * as ctx from '../../batch/context';
import { defer, finish, isDeferred } from '../../node/deferred';
import { signalBelow } from '../../emit/emit';
import {
  N_PROGRAM,
  N_SPEC,
  N_STATE,
  N_STATE_SIZE,
  accountOf,
  exhaust,
  isExhausted,
  setTimesColumn,
} from '../../node/node';
import { Operator, Signal, Trait } from '../../node/operator';
import { selectionPop, selectionPush } from '../../batch/selection';
import {
  INTERVAL_CODE,
  INTERVAL_CODE_LEN,
  INTERVAL_KEEPS_LEFT,
  INTERVAL_KEEPS_RIGHT,
  INTERVAL_KEYS,
  INTERVAL_KEYS_AT,
  INTERVAL_LEAST,
  INTERVAL_LEFT,
  INTERVAL_LEFTS,
  INTERVAL_LEFTS_AT,
  INTERVAL_MOST,
  INTERVAL_RIGHTS,
  INTERVAL_RIGHTS_AT,
} from '../../gen/join-layouts';
import { allocZeroed, free } from '../../mem/alloc';
import { BIND_SIZE, bindBlock } from '../../mem/bind';
import { valAt } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { runClean } from '../../ops/clean';
import { blockOf } from '../../ops/operand';
import { programFree, programNew } from '../../ops/vm';
import { tableFree, tableInit } from '../../partitions/table';
import { RowsFlag } from '../../rows/layout';
import { rowsAppend, rowsFree, rowsInit } from '../../rows/store';
import { JOB_MS, JOB_OF_TIME, JOB_PHASE, Phase, jobFree, jobNew } from './job';
import { Note, isError, keysOf, meetAll, meetOn, rowAt, timeIn, timesBlock } from './meet';
import { isStopped } from './old';
import { keysGo, workOffBefore } from './old';
import { budgetBegin, pairsBegin, pairsFlush } from './pairs';
import { intervalLoad, intervalSave } from './save';
import {
  INTERVAL_ENTRY,
  INTERVAL_JOB,
  INTERVAL_PROGRAM,
  INTERVAL_STATE_SIZE,
  linksFree,
  linksReserve,
  sideOf,
} from './state';
import { KeyEntry, KeyWish, isEntry, keyEntries } from '../key/entries';

export function intervalOperator(operator: Operator): void {
  operator.open = intervalOpen;
  operator.push = intervalPush;
  operator.signal = intervalSignal;
  operator.save = intervalSave;
  operator.load = intervalLoad;
  operator.free = intervalFree;
  operator.deferred = intervalGoOn;
  operator.traits = Trait.ENDS_DEFERRING;
}

function intervalOpen(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const acct = accountOf(node);
  const state = allocZeroed(INTERVAL_STATE_SIZE, acct);
  if (!state) return false;
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, INTERVAL_STATE_SIZE, N_STATE_SIZE);
  tableInit(state, false);
  const lefts = load<u32>(spec, INTERVAL_LEFTS);
  const rights = load<u32>(spec, INTERVAL_RIGHTS);
  rowsInit(sideOf(state, false), lefts, RowsFlag.NUMBERED, acct);
  rowsInit(sideOf(state, true), rights, RowsFlag.NUMBERED, acct);
  setTimesColumn(node, lefts + rights);
  const len = load<u32>(spec, INTERVAL_CODE_LEN);
  if (!len) return true;
  const program = programNew(spec + <usize>load<u32>(spec, INTERVAL_CODE), len, acct);
  store<u32>(state, <u32>program, INTERVAL_PROGRAM);
  return program != 0;
}

function intervalFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const acct = accountOf(node);
  const program = <usize>load<u32>(state, INTERVAL_PROGRAM);
  if (program) programFree(program);
  const job = <usize>load<u32>(state, INTERVAL_JOB);
  if (job) jobFree(job);
  tableFree(state, INTERVAL_ENTRY, acct);
  for (let s = 0; s < 2; s++) {
    linksFree(sideOf(state, s == 1), acct);
    rowsFree(sideOf(state, s == 1));
  }
  free(state, INTERVAL_STATE_SIZE, acct);
  store<u32>(node, 0, N_STATE);
}

function intervalSignal(node: usize, signal: u32, value: u64): void {
  finishOwn(node);
  if (signal == Signal.WATERMARK && !isExhausted(node)) {
    pairsBegin(node, 0, 0, 0);
    budgetBegin(node);
    const phase = timeComes(node, reinterpret<f64>(value), Phase.TIME);
    if (phase != Phase.DONE) leaveTime(node, reinterpret<f64>(value), phase);
    if (phase != Phase.DONE || isExhausted(node)) return;
  }
  signalBelow(node, signal, value);
}

/** Nodes above that can't wait for it: what it was in the middle of is done first. */
// @ts-ignore: decorator
@inline function finishOwn(node: usize): void {
  if (isDeferred(node)) finish(node);
}

/**
 * Time has come to `ms`: rows and keys go that it leaves behind, from a phase on. Returns the phase in which it was
 * stopped, or DONE.
 */
function timeComes(node: usize, ms: f64, from: u32): u32 {
  const state = <usize>load<u32>(node, N_STATE);
  if (from == Phase.TIME) {
    workOffBefore(node, <usize>load<u32>(node, N_SPEC), state, ms);
    if (isStopped) return Phase.TIME;
    pairsFlush();
  }
  return isExhausted(node) || keysGo(state, accountOf(node)) ? Phase.DONE : Phase.KEYS;
}

/** Leaves the rest of that, from a phase on, to later. */
function leaveTime(node: usize, ms: f64, phase: u32): void {
  const job = jobNew(0, 0, accountOf(node));
  if (!job) {
    exhaust(node);
    return;
  }
  store<u32>(job, phase, JOB_PHASE);
  store<f64>(job, ms, JOB_MS);
  store<u32>(job, 1, JOB_OF_TIME);
  store<u32>(<usize>load<u32>(node, N_STATE), <u32>job, INTERVAL_JOB);
  defer(node);
  pairsFlush();
}

/** Goes on with what was left to later; true when nothing is left. */
function intervalGoOn(node: usize): bool {
  const state = <usize>load<u32>(node, N_STATE);
  const job = <usize>load<u32>(state, INTERVAL_JOB);
  budgetBegin(node);
  if (!(load<u32>(job, JOB_OF_TIME) ? timeGoesOn(node, job) : meetOn(node, job))) return false;
  jobFree(job);
  store<u32>(state, 0, INTERVAL_JOB);
  return true;
}

function timeGoesOn(node: usize, job: usize): bool {
  const ms = load<f64>(job, JOB_MS);
  pairsBegin(node, 0, 0, 0);
  const phase = timeComes(node, ms, load<u32>(job, JOB_PHASE));
  if (phase == Phase.DONE) {
    if (!isExhausted(node)) signalBelow(node, Signal.WATERMARK, reinterpret<u64>(ms));
    return true;
  }
  store<u32>(job, phase, JOB_PHASE);
  pairsFlush();
  return false;
}

// ---- rows that come --------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline function operandAt(spec: usize, list: usize, i: u32): u32 {
  return load<u16>(spec + load<u32>(spec + list) + ((<usize>i) << 1));
}

/** Binds `count` operands of a list of the spec. */
function bindAll(binds: usize, spec: usize, list: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) bindBlock(binds + i * BIND_SIZE, blockOf(operandAt(spec, list, i)));
}

function intervalPush(node: usize): void {
  finishOwn(node);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program && !runClean(program)) {
    exhaust(node);
    return;
  }
  const lefts = selectionPush();
  const rights = selectionPush();
  if (!lefts || !rights || !take(node, lefts, rights)) exhaust(node);
  if (rights) selectionPop();
  if (lefts) selectionPop();
}

/** Takes the rows of the batch; `lefts` and `rights` have room for their numbers. False when memory is exhausted. */
function take(node: usize, lefts: usize, rights: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const leftColumns = load<u32>(spec, INTERVAL_LEFTS);
  const columns = leftColumns + load<u32>(spec, INTERVAL_RIGHTS);
  const keys = load<u32>(spec, INTERVAL_KEYS);
  const binds = poolAlloc(ctx.scratch, (columns + 2 * keys + 1) * BIND_SIZE);
  const notes = poolAlloc(ctx.scratch, ctx.selLen + 1);
  const entries = poolAlloc(ctx.scratch, ctx.selLen << 2);
  if (!binds || !notes || !entries) return false;
  const errors = ctx.rowErrors;
  const sel = ctx.sel;
  const n = ctx.selLen;
  let last = n;
  while (last > 0 && isError(errors, rowAt(sel, last - 1))) last--;
  // Rows that failed may come alone, without columns.
  pairsBegin(node, binds, last ? timesBlock(spec) : 0, ctx.rows);
  if (last) {
    bindAll(binds, spec, INTERVAL_LEFTS_AT, leftColumns);
    bindAll(binds + leftColumns * BIND_SIZE, spec, INTERVAL_RIGHTS_AT, columns - leftColumns);
    bindAll(binds + columns * BIND_SIZE, spec, INTERVAL_KEYS_AT, 2 * keys);
    if (!keep(node, binds, notes, entries, lefts, rights, last)) return false;
  }
  budgetBegin(node);
  return meetAll(node, binds, notes, entries, errors, sel, last, n);
}

/** Whether rows of a side stand on the lists of their keys: others may come that they meet. */
// @ts-ignore: decorator
@inline function areListed(spec: usize, isRight: bool): bool {
  return isRight ? load<f64>(spec, INTERVAL_LEAST) <= 0 : load<f64>(spec, INTERVAL_MOST) >= 0;
}

/**
 * Notes what is known of each row, with the entry of its key, and keeps those that may meet rows which come later, or
 * go on alone.
 */
function keep(node: usize, binds: usize, notes: usize, entries: usize, lefts: usize, rights: usize, n: u32): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const left = <u64>load<u32>(spec, INTERVAL_LEFT);
  const most = load<f64>(spec, INTERVAL_MOST);
  const keepsLeft = load<u32>(spec, INTERVAL_KEEPS_LEFT) != 0;
  const keepsRight = load<u32>(spec, INTERVAL_KEEPS_RIGHT) != 0;
  const leftsListed = areListed(spec, false);
  const rightsListed = areListed(spec, true);
  const errors = ctx.rowErrors;
  const sel = ctx.sel;
  const branches = <usize>load<u32>(ctx.cols);
  const times = timesBlock(spec);
  // Of rows of one time those of the right come first: one of the left that is older than the last of the batch has met
  // all.
  const leftsFrom: f64 = most > 0 ? -Infinity : timeIn(times, rowAt(sel, n - 1)) - most;
  for (let i: u32 = 0; i < n; i++) {
    const row = rowAt(sel, i);
    let note: u8 = KeyWish.SKIPS | Note.FAILED;
    if (!isError(errors, row)) {
      const isRight = valAt(branches, row) != left;
      const isAwaited = isRight ? rightsListed : timeIn(times, row) >= leftsFrom;
      const isKept = isAwaited || (isRight ? keepsRight : keepsLeft);
      const isMade = isKept && (isRight ? rightsListed : leftsListed);
      note = (isRight ? KeyWish.RIGHT : <u8>0) | (isKept ? Note.KEPT : <u8>0) | (isMade ? KeyWish.MAKES : <u8>0);
    }
    store<u8>(notes + i, note);
  }
  const keys = load<u32>(spec, INTERVAL_KEYS);
  const ofLeft = keysOf(spec, binds, false);
  const ofRight = keysOf(spec, binds, true);
  if (!keyEntries(state, INTERVAL_ENTRY, keys, ofLeft, ofRight, notes, sel, n, entries, accountOf(node))) return false;
  let leftCount: u32 = 0;
  let rightCount: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const entry = load<u32>(entries + ((<usize>i) << 2));
    let note = load<u8>(notes + i);
    const isRight = (note & KeyWish.RIGHT) != 0;
    if (!isEntry(entry) && entry != KeyEntry.UNKNOWN && !(note & Note.FAILED)) {
      // Without a key it stays only to go on alone.
      if (entry == KeyEntry.FAILED) note |= Note.FAILED;
      if (entry == KeyEntry.FAILED || !(isRight ? keepsRight : keepsLeft)) note &= ~Note.KEPT;
      store<u8>(notes + i, note);
    }
    if (!(note & Note.KEPT)) continue;
    if (isRight) store<u32>(rights + ((rightCount++ as usize) << 2), rowAt(sel, i));
    else store<u32>(lefts + ((leftCount++ as usize) << 2), rowAt(sel, i));
  }
  const columns = load<u32>(spec, INTERVAL_LEFTS);
  return (
    append(node, sideOf(state, false), binds, columns, lefts, leftCount) &&
    append(node, sideOf(state, true), binds + columns * BIND_SIZE, load<u32>(spec, INTERVAL_RIGHTS), rights, rightCount)
  );
}

function append(node: usize, side: usize, binds: usize, columns: u32, sel: usize, n: u32): bool {
  return n == 0 || (rowsAppend(side, binds, columns, sel, n, 0) && linksReserve(side, accountOf(node)));
}
