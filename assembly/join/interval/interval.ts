// Interval joins: rows of two sides meet whose keys are equal and whose times lie no further apart than they may. Rows
// come by a merge in the order of their times. Each row meets at once the earlier rows of the other side, which stand
// on the list of its key in the order of their times, and waits for later ones. It goes when time has come so far that
// no partner can follow. Where rows without a partner go on, a row that has met none goes on then.
//
// So the result comes in the order of its times: of a pair the later time, of a row without a partner the time at which
// it was certain to have none.
import * as ctx from '../../batch/context';
import { defer, finish, isDeferred } from '../../node/deferred';
import { signalBelow } from '../../emit/emit';
import { accountOf, exhaust, isExhausted, setTimesColumn } from '../../node/node';
import { Operator, Signal, Trait } from '../../node/operator';
import { selectionPop, selectionPush } from '../../batch/selection';
import { allocZeroed, free } from '../../mem/alloc';
import { Bind, BIND_SIZE, bindBlock } from '../../mem/bind';
import { valAt } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { runClean } from '../../ops/clean';
import { blockOf } from '../../ops/operand';
import { programFree, programNew } from '../../ops/vm';
import { tableFree, tableInit } from '../../partitions/table';
import { RowsFlag } from '../../rows/layout';
import { rowsAppend, rowsFree, rowsInit } from '../../rows/store';
import { IntervalJob, Phase, jobFree, jobNew } from './job';
import { Note, isError, keysOf, meetAll, meetOn, rowAt, timeIn, timesBlock } from './meet';
import { isStopped } from './old';
import { keysGo, workOffBefore } from './old';
import { budgetBegin, pairsBegin, pairsFlush } from './pairs';
import { intervalLoad, intervalSave } from './save';
import { IntervalState, Side, INTERVAL_ENTRY, INTERVAL_STATE_SIZE, linksFree, linksReserve, sideOf } from './state';
import { KeyEntry, KeyWish, isEntry, keyEntries } from '../key/entries';
import { IntervalSpec } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { PartitionTable } from '../../partitions/table-slots';

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

function intervalOpen(node: Node): bool {
  const spec = changetype<IntervalSpec>(node.spec);
  const acct = accountOf(node);
  const state = changetype<IntervalState>(allocZeroed(INTERVAL_STATE_SIZE, acct));
  if (!state) return false;
  node.state = changetype<usize>(state);
  node.stateSize = INTERVAL_STATE_SIZE;
  tableInit(state, false);
  const lefts = spec.lefts;
  const rights = spec.rights;
  rowsInit(sideOf(changetype<usize>(state), false), lefts, RowsFlag.NUMBERED, acct);
  rowsInit(sideOf(changetype<usize>(state), true), rights, RowsFlag.NUMBERED, acct);
  setTimesColumn(node, lefts + rights);
  const len = spec.codeLen;
  if (!len) return true;
  const program = programNew(changetype<usize>(spec) + spec.code, len, acct);
  state.program = program;
  return !!program;
}

function intervalFree(node: Node): void {
  const state = changetype<IntervalState>(node.state);
  if (!state) return;
  const acct = accountOf(node);
  const program = state.program;
  if (program) programFree(program);
  const job = state.job;
  if (job) jobFree(job);
  tableFree(state, INTERVAL_ENTRY, acct);
  for (let s = 0; s < 2; s++) {
    linksFree(sideOf(changetype<usize>(state), s == 1), acct);
    rowsFree(sideOf(changetype<usize>(state), s == 1));
  }
  free(changetype<usize>(state), INTERVAL_STATE_SIZE, acct);
  node.state = 0;
}

function intervalSignal(node: Node, signal: u32, value: u64): void {
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

/** Finishes the node's own deferred work, for nodes above that can't wait for it. */
// @ts-ignore: decorator
@inline function finishOwn(node: Node): void {
  if (isDeferred(node)) finish(node);
}

/**
 * Works off the rows that are too old at the time `ms`, and drops empty keys, from a phase on. Returns the phase in
 * which it was stopped, or DONE.
 */
function timeComes(node: Node, ms: f64, from: u32): u32 {
  const state = changetype<PartitionTable>(node.state);
  if (from == Phase.TIME) {
    workOffBefore(node, changetype<IntervalSpec>(node.spec), state, ms);
    if (isStopped) return Phase.TIME;
    pairsFlush();
  }
  return isExhausted(node) || keysGo(state, accountOf(node)) ? Phase.DONE : Phase.KEYS;
}

/** Defers the work of `timeComes` from a phase on. */
function leaveTime(node: Node, ms: f64, phase: u32): void {
  const job = jobNew(0, 0, accountOf(node));
  if (!job) {
    exhaust(node);
    return;
  }
  job.phase = phase;
  job.ms = ms;
  job.ofTime = 1;
  changetype<IntervalState>(node.state).job = job;
  defer(node);
  pairsFlush();
}

/** Goes on with deferred work; true when none is left. */
function intervalGoOn(node: Node): bool {
  const state = changetype<IntervalState>(node.state);
  const job = state.job;
  budgetBegin(node);
  if (!(job.ofTime ? timeGoesOn(node, job) : meetOn(node, job))) return false;
  jobFree(job);
  state.job = changetype<IntervalJob>(0);
  return true;
}

function timeGoesOn(node: Node, job: IntervalJob): bool {
  const ms = job.ms;
  pairsBegin(node, 0, 0, 0);
  const phase = timeComes(node, ms, job.phase);
  if (phase == Phase.DONE) {
    if (!isExhausted(node)) signalBelow(node, Signal.WATERMARK, reinterpret<u64>(ms));
    return true;
  }
  job.phase = phase;
  pairsFlush();
  return false;
}

// ---- rows that come --------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline function operandAt(spec: IntervalSpec, list: usize, i: u32): u32 {
  return load<u16>(changetype<usize>(spec) + load<u32>(changetype<usize>(spec) + list) + ((<usize>i) << 1));
}

/** Binds `count` operands of a list of the spec. */
function bindAll(binds: usize, spec: IntervalSpec, list: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++)
    bindBlock(changetype<Bind>(binds + i * BIND_SIZE), blockOf(operandAt(spec, list, i)));
}

function intervalPush(node: Node): void {
  finishOwn(node);
  const program = node.program;
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
function take(node: Node, lefts: usize, rights: usize): bool {
  const spec = changetype<IntervalSpec>(node.spec);
  const leftColumns = spec.lefts;
  const columns = leftColumns + spec.rights;
  const keys = spec.keys;
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
    bindAll(binds, spec, offsetof<IntervalSpec>('leftsAt'), leftColumns);
    bindAll(binds + leftColumns * BIND_SIZE, spec, offsetof<IntervalSpec>('rightsAt'), columns - leftColumns);
    bindAll(binds + columns * BIND_SIZE, spec, offsetof<IntervalSpec>('keysAt'), 2 * keys);
    if (!keep(node, binds, notes, entries, lefts, rights, last)) return false;
  }
  budgetBegin(node);
  return meetAll(node, binds, notes, entries, errors, sel, last, n);
}

/** Whether rows of a side stand on the lists of their keys: others may come that they meet. */
// @ts-ignore: decorator
@inline function areListed(spec: IntervalSpec, isRight: bool): bool {
  return isRight ? spec.least <= 0 : spec.most >= 0;
}

/** Notes the entry of each row's key and its note, and keeps rows that may meet later rows, or go on alone. */
function keep(node: Node, binds: usize, notes: usize, entries: usize, lefts: usize, rights: usize, n: u32): bool {
  const spec = changetype<IntervalSpec>(node.spec);
  const state = changetype<PartitionTable>(node.state);
  const left = <u64>spec.left;
  const most = spec.most;
  const keepsLeft = spec.keepsLeft != 0;
  const keepsRight = spec.keepsRight != 0;
  const leftsListed = areListed(spec, false);
  const rightsListed = areListed(spec, true);
  const errors = ctx.rowErrors;
  const sel = ctx.sel;
  const branches = <usize>load<u32>(ctx.cols);
  const times = timesBlock(spec);
  // Within one time rows of the right come first, so a row of the left that is older than the batch's last row has met
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
  const keys = spec.keys;
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
  const columns = spec.lefts;
  return (
    append(node, sideOf(changetype<usize>(state), false), binds, columns, lefts, leftCount) &&
    append(node, sideOf(changetype<usize>(state), true), binds + columns * BIND_SIZE, spec.rights, rights, rightCount)
  );
}

function append(node: Node, side: Side, binds: usize, columns: u32, sel: usize, n: u32): bool {
  return n == 0 || (rowsAppend(side, binds, columns, sel, n, 0) && linksReserve(side, accountOf(node)));
}
