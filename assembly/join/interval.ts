// Interval joins: rows of two sides meet whose keys are equal and whose times lie no further apart than they may. Rows come by a
// merge in the order of their times. Each meets at once those of the other side that have come before it, which stand on the list
// of its key in the order of their times, and waits for those that come after it. When time has gone by so far that none can come,
// it goes; where rows without a partner go on, those that have met none go on then.
//
// So rows of the result come in the order of their times, which is the later one of a pair, and of a row without a partner that at
// which it was certain to have none.
import * as ctx from '../flow/context';
import { sendFailed, signalBelow } from '../flow/emit';
import {
  N_PROGRAM, N_SPEC, N_STATE, N_STATE_SIZE, accountOf, addException, exhaust, isExhausted, setTimesColumn,
} from '../flow/node';
import { Operator, Signal } from '../flow/operator';
import { selectionPop, selectionPush } from '../flow/selection';
import {
  INTERVAL_CODE, INTERVAL_CODE_LEN, INTERVAL_KEEPS_LEFT, INTERVAL_KEEPS_RIGHT, INTERVAL_KEYS, INTERVAL_KEYS_AT, INTERVAL_LEAST,
  INTERVAL_LEFT, INTERVAL_LEFTS, INTERVAL_LEFTS_AT, INTERVAL_MOST, INTERVAL_RIGHTS, INTERVAL_RIGHTS_AT, INTERVAL_TIME,
} from '../gen/join-layouts';
import { allocZeroed, free } from '../mem/alloc';
import { BIND_SIZE, bindBlock } from '../mem/bind';
import { Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { runClean } from '../ops/clean';
import { blockOf } from '../ops/operand';
import { programFree, programNew } from '../ops/vm';
import { tableFree, tableInit } from '../partitions/table';
import { RowsFlag } from '../rows/layout';
import { rowsAppend, rowsFree, rowsInit } from '../rows/store';
import { NO_ROW, OF_BATCH, addPair, pairsBegin, pairsFlush, pairsTidy } from './interval-pairs';
import { intervalLoad, intervalSave } from './interval-save';
import {
  INTERVAL_ENTRY, INTERVAL_PROGRAM, INTERVAL_STATE_SIZE, dropEmpty, linkAt, linkRow, linkTime, linksFree, linksReserve, listCount,
  leaveEarly, listFirst, listOf, nextOf, positionOf, sideCount, sideDone, sideOf, timeOf, workOff, workOffOld,
} from './interval-state';
import { keyError, makeKey } from './key-bytes';
import { KeyEntry, KeyWish, isEntry, keyEntries } from './key-entries';

export function intervalOperator(operator: Operator): void {
  operator.open = intervalOpen;
  operator.push = intervalPush;
  operator.signal = intervalSignal;
  operator.save = intervalSave;
  operator.load = intervalLoad;
  operator.free = intervalFree;
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
  tableFree(state, INTERVAL_ENTRY, acct);
  for (let s = 0; s < 2; s++) {
    linksFree(sideOf(state, s == 1), acct);
    rowsFree(sideOf(state, s == 1));
  }
  free(state, INTERVAL_STATE_SIZE, acct);
  store<u32>(node, 0, N_STATE);
}

function intervalSignal(node: usize, signal: u32, value: u64): void {
  if (signal == Signal.WATERMARK && !isExhausted(node)) {
    const state = <usize>load<u32>(node, N_STATE);
    pairsBegin(node, 0, 0, 0);
    workOffBefore(node, <usize>load<u32>(node, N_SPEC), state, reinterpret<f64>(value));
    pairsFlush();
    dropEmpty(state, accountOf(node));
    if (isExhausted(node)) return;
  }
  signalBelow(node, signal, value);
}

/**
 * Works off the rows that can meet none which is at `ms` or later, in the order in which that is certain. Returns the time from which on
 * that is so of the next one, Infinity when there is none.
 */
function workOffBefore(node: usize, spec: usize, state: usize, ms: f64): f64 {
  const lefts = sideOf(state, false);
  const rights = sideOf(state, true);
  const leftWaits = max<f64>(load<f64>(spec, INTERVAL_MOST), 0);
  const rightWaits = max<f64>(-load<f64>(spec, INTERVAL_LEAST), 0);
  const keepsLeft = load<u32>(spec, INTERVAL_KEEPS_LEFT) != 0;
  const keepsRight = load<u32>(spec, INTERVAL_KEEPS_RIGHT) != 0;
  while (true) {
    const left = sideDone(lefts);
    const right = sideDone(rights);
    const leftMs: f64 = left < sideCount(lefts) ? timeOf(lefts, left) + leftWaits : Infinity;
    const rightMs: f64 = right < sideCount(rights) ? timeOf(rights, right) + rightWaits : Infinity;
    const isRight = rightMs < leftMs;
    const end = isRight ? rightMs : leftMs;
    // Both ends are Infinity when no row is left.
    if (!(end < ms) || end == Infinity) return end;
    workOff(state, isRight ? rights : lefts, isRight);
    if (isRight ? keepsRight : keepsLeft) {
      addPair(isRight ? NO_ROW : left, isRight ? right : NO_ROW, end);
      if (isExhausted(node)) return end;
    }
    pairsTidy();
  }
}

// ---- rows that come --------------------------------------------------------------------------------------------

// @ts-ignore: decorator
@inline function operandAt(spec: usize, list: usize, i: u32): u32 {
  return load<u16>(spec + load<u32>(spec + list) + (<usize>i << 1));
}

/** Binds `count` operands of a list of the spec. */
function bindAll(binds: usize, spec: usize, list: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) bindBlock(binds + i * BIND_SIZE, blockOf(operandAt(spec, list, i)));
}

function intervalPush(node: usize): void {
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

/** What is known of each row of the batch before rows meet, beside the wishes of its key (join/key-entries.ts). */
namespace Note {
  /** It stays. */
  export const KEPT: u8 = 8;
  /** It failed, or its key did. */
  export const FAILED: u8 = 16;
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
    if (!meet(node, binds, notes, entries, errors, sel, last)) return false;
  }
  pairsFlush();
  dropEmpty(<usize>load<u32>(node, N_STATE), accountOf(node));
  for (let i = last; i < n; i++) sendFailed(node, valAt(errors, rowAt(sel, i)));
  return true;
}

// @ts-ignore: decorator
@inline function rowAt(sel: usize, i: u32): u32 {
  return load<u32>(sel + (<usize>i << 2));
}

// @ts-ignore: decorator
@inline function isError(errors: usize, row: u32): bool {
  return errors != 0 && tagAt(errors, row) == Tag.ERROR;
}

/** Where the keys of a side are bound. */
// @ts-ignore: decorator
@inline function keysOf(spec: usize, binds: usize, isRight: bool): usize {
  const keys = load<u32>(spec, INTERVAL_KEYS);
  return binds + (load<u32>(spec, INTERVAL_LEFTS) + load<u32>(spec, INTERVAL_RIGHTS) + (isRight ? keys : 0)) * BIND_SIZE;
}

/** Whether rows of a side stand on the lists of their keys: others may come that they meet. */
// @ts-ignore: decorator
@inline function areListed(spec: usize, isRight: bool): bool {
  return isRight ? load<f64>(spec, INTERVAL_LEAST) <= 0 : load<f64>(spec, INTERVAL_MOST) >= 0;
}

/** Notes what is known of each row, with the entry of its key, and keeps those that may meet rows which come later, or go on alone. */
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
  // Of rows of one time those of the right come first: one of the left that is older than the last of the batch has met all.
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
    const entry = load<u32>(entries + (<usize>i << 2));
    let note = load<u8>(notes + i);
    const isRight = (note & KeyWish.RIGHT) != 0;
    if (!isEntry(entry) && entry != KeyEntry.UNKNOWN && !(note & Note.FAILED)) {
      // Without a key it stays only to go on alone.
      if (entry == KeyEntry.FAILED) note |= Note.FAILED;
      if (entry == KeyEntry.FAILED || !(isRight ? keepsRight : keepsLeft)) note &= ~Note.KEPT;
      store<u8>(notes + i, note);
    }
    if (!(note & Note.KEPT)) continue;
    if (isRight) store<u32>(rights + (<usize>(rightCount++) << 2), rowAt(sel, i));
    else store<u32>(lefts + (<usize>(leftCount++) << 2), rowAt(sel, i));
  }
  const columns = load<u32>(spec, INTERVAL_LEFTS);
  return append(node, sideOf(state, false), binds, columns, lefts, leftCount)
    && append(node, sideOf(state, true), binds + columns * BIND_SIZE, load<u32>(spec, INTERVAL_RIGHTS), rights, rightCount);
}

function append(node: usize, side: usize, binds: usize, columns: u32, sel: usize, n: u32): bool {
  return n == 0 || (rowsAppend(side, binds, columns, sel, n, 0) && linksReserve(side, accountOf(node)));
}

// @ts-ignore: decorator
@inline function timesBlock(spec: usize): usize {
  return <usize>load<u32>(ctx.cols + (<usize>load<u32>(spec, INTERVAL_TIME) << 2));
}

// @ts-ignore: decorator
@inline function timeIn(times: usize, row: u32): f64 {
  return <f64>(<i64>valAt(times, row));
}

/** Lets the rows meet those that came before them, time by time; false when memory is exhausted. */
function meet(node: usize, binds: usize, notes: usize, entries: usize, errors: usize, sel: usize, n: u32): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const times = timesBlock(spec);
  const rows = ctx.rows;
  const leftWaits = max<f64>(load<f64>(spec, INTERVAL_MOST), 0);
  const rightWaits = max<f64>(-load<f64>(spec, INTERVAL_LEAST), 0);
  const isOuter = (load<u32>(spec, INTERVAL_KEEPS_LEFT) | load<u32>(spec, INTERVAL_KEEPS_RIGHT)) != 0;
  // Before this no row is to be worked off. Where rows do not go on alone that is done once for the batch: of what is too old a row
  // looks only at what stands before it on the list of its key.
  let due: f64 = isOuter ? -Infinity : Infinity;
  let last: f64 = -Infinity;
  for (let i: u32 = 0; i < n; ) {
    const note = load<u8>(notes + i);
    if (note & Note.FAILED) {
      failRow(node, binds, errors, (note & KeyWish.RIGHT) != 0, rowAt(sel, i));
      pairsBegin(node, binds, times, rows);
      i++;
      continue;
    }
    const ms = timeIn(times, rowAt(sel, i));
    let end = i + 1;
    while (end < n && !(load<u8>(notes + end) & Note.FAILED) && timeIn(times, rowAt(sel, end)) == ms) end++;
    if (due < ms) due = workOffBefore(node, spec, state, ms);
    const waits: f64 = note & KeyWish.RIGHT ? leftWaits : rightWaits;
    if (end == i + 1) meetRow(node, spec, state, load<u32>(entries + (<usize>i << 2)), rowAt(sel, i), note, ms, waits, isOuter);
    else {
      for (let round = 0; round < 2; round++) {
        for (let at = i; at < end; at++) {
          const its = load<u8>(notes + at);
          if (((its & KeyWish.RIGHT) != 0) == (round == 0)) {
            const waits: f64 = round == 0 ? leftWaits : rightWaits;
            meetRow(node, spec, state, load<u32>(entries + (<usize>at << 2)), rowAt(sel, at), its, ms, waits, isOuter);
          }
        }
      }
    }
    if (isOuter) due = min(due, ms + min(leftWaits, rightWaits));
    if (isExhausted(node)) return true;
    last = ms;
    i = end;
  }
  if (!isOuter) {
    workOffOld(state, sideOf(state, false), false, leftWaits, last);
    workOffOld(state, sideOf(state, true), true, rightWaits, last);
  }
  return true;
}

/** A row that failed above goes on as it is; where its key failed that is counted here. */
function failRow(node: usize, binds: usize, errors: usize, isRight: bool, row: u32): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  let failure: u64 = isError(errors, row) ? valAt(errors, row) : 0;
  if (!failure) {
    makeKey(keysOf(spec, binds, isRight), load<u32>(spec, INTERVAL_KEYS), row);
    failure = keyError;
    addException(node, offOf(failure), lenOf(failure), 1);
  }
  // What came before it goes out before it.
  pairsFlush();
  sendFailed(node, failure);
}

/**
 * Lets a row meet those of the other side, which stay so long after their time. Where rows go on alone one that stays is named by its
 * number, to be marked when it has met one; else all are rows of the batch, in which numbers have the texts that they came with.
 */
// @ts-ignore: decorator
@inline function meetRow(
  node: usize, spec: usize, state: usize, found: u32, row: u32, note: u8, ms: f64, waits: f64, isOuter: bool,
): void {
  const isRight = (note & KeyWish.RIGHT) != 0;
  const entry: usize = isEntry(found) ? <usize>found : 0;
  let own = OF_BATCH | row;
  let isNumbered = false;
  if (note & Note.KEPT) {
    const number = linkRow(sideOf(state, isRight), isRight, note & KeyWish.MAKES ? entry : 0, ms);
    isNumbered = isOuter;
    if (isOuter) own = number;
  }
  if (entry && listCount(listOf(entry, !isRight))) meetList(node, spec, state, entry, isRight, isNumbered, own, ms, waits);
}

/** Lets a row, the number `own` of its side or of the batch, meet the first ones of the list of its key, without those too old for it. */
function meetList(
  node: usize, spec: usize, state: usize, entry: usize, isRight: bool, isNumbered: bool, own: u32, ms: f64, waits: f64,
): void {
  const side = sideOf(state, isRight);
  const others = sideOf(state, !isRight);
  const list = listOf(entry, !isRight);
  while (linkTime(linkAt(others, listFirst(list))) + waits < ms) {
    leaveEarly(state, others, !isRight, entry);
    if (listCount(list) == 0) return;
  }
  const until = ms + (isRight ? -load<f64>(spec, INTERVAL_LEAST) : load<f64>(spec, INTERVAL_MOST));
  let other = listFirst(list);
  for (let left = listCount(list); ; ) {
    const link = linkAt(others, other);
    if (linkTime(link) > until) break;
    // Pairs that are sent in between let rows go, which gives others their positions.
    const position = positionOf(others, other);
    const name = isNumbered ? positionOf(side, own) : own;
    addPair(isRight ? position : name, isRight ? name : position, ms);
    if (--left == 0 || isExhausted(node)) break;
    other = nextOf(link);
  }
}
