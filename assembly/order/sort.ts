// ORDER BY: gathers the rows of a message and sends them in order when it ends. Nulls come last in both directions,
// equal rows keep their order, values without an order among each other fail the message.
//
//   state   rows 48 (rows/store.ts): the keys that are no constants, the columns, what is carried | failOff u32 |
//   failLen u32
//           56   entries u32 | size u32 (bytes) | count u32       while the message is sorted, 0 none
//           68   phase u32 | at u32 (page, or row, that comes next) | made u32 (entries)
//           80   from list u32 | to list u32 | width u32 | first u32 | left u32 | right u32 | next u32     of the merge
//           under way
//   entry   page u32 | row u32 | {payload u64, tag u32, 0 u32}[kept keys]      of each row while the message is sorted
//
// Entries stand one after the other, so that comparing rows doesn't jump from page to page; behind them come two lists
// of their addresses, between which the merge sort moves them. With many rows all that is done in pieces
// (node/deferred.ts).
//
// A row of a stream is a message of its own, so there rows pass as they come.
import * as ctx from '../batch/context';
import { beginLong, defer, goesOn, mayDefer } from '../node/deferred';
import { beginMessage, emit, endMessage, signalBelow } from '../emit/emit';
import { N_FLAGS, N_PROGRAM, N_SPEC, N_STATE, NodeFlag, accountOf, addException, keepFailure } from '../node/node';
import { Operator, Signal } from '../node/operator';
import { fail, failLen, failNoMemory, failOff } from '../batch/failure';
import { identity, noteUniform, stageAcquire, stageRelease } from '../batch/stage';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { BIND_SIZE, bindBlock } from '../mem/bind';
import { BATCH_ROWS, SLOT_SIZE, SLOT_TAG, Tag, isNull, lenOf, offOf, span } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { blockOf, isConst, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { copyOut } from '../rows/copy';
import { ROWS_COUNT, ROWS_SIZE } from '../rows/layout';
import { PAGE_NEXT, PAGE_TO, pageTag, pageVal } from '../rows/page';
import { rowsAppend, rowsClear, rowsFirst, rowsFree, rowsInit, rowsLast } from '../rows/store';
import { Cmp } from '../value/compare';
import { orderCompare } from '../value/key';
import { kindName, putKind } from '../value/error';
import { textBegin, textLiteral, textTake } from '../value/text';
import {
  SORT_CARRIED,
  SORT_COLUMNS,
  SORT_KEY_DESCENDING,
  SORT_KEY_OPERAND,
  SORT_KEY_SIZE_OF,
  SORT_KEYS,
  SORT_SIZE_OF,
} from '../gen/order-layouts';

const FAIL: usize = ROWS_SIZE;
const FAIL_LEN: usize = ROWS_SIZE + 4;
const ENTRIES: usize = ROWS_SIZE + 8;
const SIZE: usize = ROWS_SIZE + 12;
const COUNT: usize = ROWS_SIZE + 16;
const PHASE: usize = ROWS_SIZE + 20;
const AT: usize = ROWS_SIZE + 24;
const MADE: usize = ROWS_SIZE + 28;
const FROM_LIST: usize = ROWS_SIZE + 32;
const TO_LIST: usize = ROWS_SIZE + 36;
const WIDTH: usize = ROWS_SIZE + 40;
const FIRST: usize = ROWS_SIZE + 44;
const LEFT: usize = ROWS_SIZE + 48;
const RIGHT: usize = ROWS_SIZE + 52;
const NEXT: usize = ROWS_SIZE + 56;
const STATE_SIZE: u32 = ROWS_SIZE + 60;
/** Entries are made; they are merged; they are sent. */
const ENTERS: u32 = 0;
const MERGES: u32 = 1;
const SENDS: u32 = 2;
/** Rows that are merged between two looks whether others should have a turn. */
const PART: u32 = 4096;
const REF_SIZE: u32 = 8;
/** Entry: where its keys begin. */
const ORDER_KEYS: u32 = 8;

// @ts-ignore: decorator
@inline function keyOperand(spec: usize, k: u32): u32 {
  return load<u16>(spec + k * SORT_KEY_SIZE_OF, <usize>SORT_SIZE_OF + SORT_KEY_OPERAND);
}

/** Keys that differ from row to row and are kept with it. */
function keptKeys(spec: usize): u32 {
  const keys = load<u32>(spec, SORT_KEYS);
  let kept: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) kept += <u32>!isConst(keyOperand(spec, k));
  return kept;
}

/** Columns of the output: those of the input, then what is carried. */
// @ts-ignore: decorator
@inline function outColumns(spec: usize): u32 {
  return load<u32>(spec, SORT_COLUMNS) + load<u32>(spec, SORT_CARRIED);
}

export function sortOperator(operator: Operator): void {
  operator.open = sortOpen;
  operator.push = sortPush;
  operator.signal = sortSignal;
  operator.free = sortFree;
  operator.deferred = goOn;
}

function sortSignal(node: usize, signal: u32, value: u64): void {
  if (signal == Signal.BEGIN) begin(node);
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

export function sortOpen(node: usize): bool {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES)) return true;
  const state = allocZeroed(STATE_SIZE, accountOf(node));
  if (!state) return false;
  const spec = <usize>load<u32>(node, N_SPEC);
  store<u32>(node, <u32>state, N_STATE);
  rowsInit(state, keptKeys(spec) + outColumns(spec), 0, accountOf(node));
  return true;
}

function begin(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  rowsClear(state);
  store<u32>(state, 0, FAIL);
}

/** The whole message fails, with a text that lasts as long as it; the first reason counts. */
function failMessage(state: usize, payload: u64): void {
  if (load<u32>(state, FAIL)) return;
  store<u32>(state, <u32>offOf(payload), FAIL);
  store<u32>(state, lenOf(payload), FAIL_LEN);
}

/** As `failMessage` with a text that was made for the batch. */
function failUnordered(node: usize, state: usize, text: u64): void {
  fail(offOf(text), lenOf(text));
  keepFailure(node);
  failMessage(state, span(failOff, failLen));
}

function failMemory(state: usize): void {
  failNoMemory();
  if (load<u32>(state, FAIL)) return;
  store<u32>(state, <u32>failOff, FAIL);
  store<u32>(state, failLen, FAIL_LEN);
}

export function sortPush(node: usize): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES)) {
    emit(node);
    return;
  }
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(state, FAIL)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  const keys = keptKeys(spec);
  const columns = outColumns(spec);
  const binds = poolAlloc(ctx.scratch, (keys + columns) * BIND_SIZE);
  const page = rowsLast(state);
  const to: u32 = page ? load<u32>(page, PAGE_TO) : 0;
  if (!binds) failMemory(state);
  else {
    bindAll(spec, binds);
    if (rowsAppend(state, binds, keys + columns, ctx.sel, ctx.selLen, 0)) failByKeys(node, state, program, page, to);
    else failMemory(state);
  }
}

/** Binds what is kept of a row. */
function bindAll(spec: usize, binds: usize): void {
  const columns = load<u32>(spec, SORT_COLUMNS);
  const carried = load<u32>(spec, SORT_CARRIED);
  const keys = load<u32>(spec, SORT_KEYS);
  for (let k: u32 = 0; k < keys; k++) {
    const operand = keyOperand(spec, k);
    if (isConst(operand)) continue;
    bindBlock(binds, blockOf(operand));
    binds += BIND_SIZE;
  }
  for (let c: u32 = 0; c < columns; c++, binds += BIND_SIZE) {
    bindBlock(binds, <usize>load<u32>(ctx.cols + ((<usize>c) << 2)));
  }
  const operands = spec + SORT_SIZE_OF + keys * SORT_KEY_SIZE_OF;
  for (let c: u32 = 0; c < carried; c++, binds += BIND_SIZE)
    bindBlock(binds, blockOf(load<u16>(operands + ((<usize>c) << 1))));
}

/** Fails the message if a key of the rows from `to` of `page` (0: of the first one) has failed. */
function failByKeys(node: usize, state: usize, program: usize, page: usize, to: u32): void {
  for (let at = page ? page : rowsFirst(state); at; at = <usize>load<u32>(at, PAGE_NEXT), to = 0) {
    const end = load<u32>(at, PAGE_TO);
    for (let row = to; row < end; row++) failByRow(node, state, program, at, row);
  }
}

// @ts-ignore: decorator
@inline function failByRow(node: usize, state: usize, program: usize, page: usize, row: u32): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const keys = load<u32>(spec, SORT_KEYS);
  let c: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) {
    const operand = keyOperand(spec, k);
    if (!isConst(operand)) {
      const tag = pageTag(page, c, row);
      if (tag == Tag.ERROR) failMessage(state, pageVal(page, c, row));
      // Not even with themselves.
      else if ((tag == Tag.ARRAY || tag == Tag.OBJECT) && !load<u32>(state, FAIL))
        failUnordered(node, state, mismatch(tag, pageVal(page, c, row), tag));
      c++;
    } else if (load<u8>(tagsOf(program, operand)) == Tag.ERROR) failMessage(state, load<u64>(valsOf(program, operand)));
  }
}

/** Payload of the text that says why two values have no order; 0 as long as all have one. */
let unordered: u64 = 0;

/** True when the row of entry `a` comes after that of entry `b`. */
function isAfter(spec: usize, program: usize, a: usize, b: usize): bool {
  const keys = load<u32>(spec, SORT_KEYS);
  a += ORDER_KEYS;
  b += ORDER_KEYS;
  for (let k: u32 = 0; k < keys; k++) {
    const operand = keyOperand(spec, k);
    let tagA: u8;
    let tagB: u8;
    let valA: u64;
    let valB: u64;
    if (isConst(operand)) {
      // Equal, unless its kind has no order.
      tagA = tagB = load<u8>(tagsOf(program, operand));
      valA = valB = load<u64>(valsOf(program, operand));
    } else {
      tagA = load<u8>(a, SLOT_TAG);
      tagB = load<u8>(b, SLOT_TAG);
      valA = load<u64>(a);
      valB = load<u64>(b);
      a += SLOT_SIZE;
      b += SLOT_SIZE;
    }
    const order = orderCompare(tagA, valA, tagB, valB);
    if (order == 0) continue;
    if (order == Cmp.MISMATCH) {
      unordered = mismatch(tagA, valA, tagB);
      return false;
    }
    const isDescending = load<u16>(spec + k * SORT_KEY_SIZE_OF, <usize>SORT_SIZE_OF + SORT_KEY_DESCENDING) != 0;
    return isDescending && !isNull(tagA) && !isNull(tagB) ? order < 0 : order > 0;
  }
  return false;
}

function mismatch(tagX: u8, x: u64, tagY: u8): u64 {
  textBegin();
  textLiteral('cannot order ');
  putKind(tagX, x);
  textLiteral(' and ');
  textLiteral(kindName(tagY));
  return textTake();
}

/** Merges from below; true when the rows are in order, or can't be: see `unordered`. */
function merge(node: usize, state: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const program = <usize>load<u32>(node, N_PROGRAM);
  const pauses = mayDefer(node);
  const n = load<u32>(state, COUNT);
  let a = <usize>load<u32>(state, FROM_LIST);
  let b = <usize>load<u32>(state, TO_LIST);
  let width = load<u32>(state, WIDTH);
  let from = load<u32>(state, FIRST);
  let i = load<u32>(state, LEFT);
  let j = load<u32>(state, RIGHT);
  let to = load<u32>(state, NEXT);
  let until = to + PART;
  unordered = 0;
  while (width < n) {
    while (from < n) {
      const middle = min(from + width, n);
      const end = min(middle + width, n);
      if (to == from) {
        i = from;
        j = middle;
      }
      const stop = min(end, until);
      for (; to < stop; to++) {
        const takesRight =
          j < end &&
          (i >= middle ||
            isAfter(spec, program, <usize>load<u32>(a + ((<usize>i) << 2)), <usize>load<u32>(a + ((<usize>j) << 2))));
        store<u32>(b + ((<usize>to) << 2), load<u32>(a + ((<usize>(takesRight ? j : i)) << 2)));
        if (takesRight) j++;
        else i++;
      }
      // Of several failures in two lists the last one counts, wherever the work stops.
      if (unordered && to == end) return true;
      if (to == end) from = end;
      if (to < until) continue;
      until = to + PART;
      ctx.addWork(PART);
      if (!pauses || unordered || goesOn(PART)) continue;
      store<u32>(state, <u32>a, FROM_LIST);
      store<u32>(state, <u32>b, TO_LIST);
      store<u32>(state, width, WIDTH);
      store<u32>(state, from, FIRST);
      store<u32>(state, i, LEFT);
      store<u32>(state, j, RIGHT);
      store<u32>(state, to, NEXT);
      return false;
    }
    const swap = a;
    a = b;
    b = swap;
    width <<= 1;
    from = 0;
    to = 0;
    until = PART;
  }
  store<u32>(state, <u32>a, FROM_LIST);
  return true;
}

function end(node: usize, failedOff: usize, failedLen: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  const n = load<u32>(state, ROWS_COUNT);
  const size = <u64>n * (entrySize(spec) + 8);
  let entries: usize = 0;
  if (!failedOff && !load<u32>(state, FAIL) && n) {
    entries = size > 0x7fffffff ? 0 : alloc(<u32>size, accountOf(node));
    if (!entries) failMemory(state);
  }
  if (!entries) {
    fails(node, state, failedOff, failedLen);
    return;
  }
  const lists = entries + n * entrySize(spec);
  store<u32>(state, <u32>entries, ENTRIES);
  store<u32>(state, <u32>size, SIZE);
  store<u32>(state, n, COUNT);
  store<u32>(state, ENTERS, PHASE);
  store<u32>(state, <u32>rowsFirst(state), AT);
  store<u32>(state, 0, MADE);
  store<u32>(state, <u32>lists, FROM_LIST);
  store<u32>(state, <u32>lists + (n << 2), TO_LIST);
  store<u32>(state, 1, WIDTH);
  store<u32>(state, 0, FIRST);
  store<u32>(state, 0, NEXT);
  beginLong();
  if (!goOn(node)) defer(node);
}

/** Ends a message without rows, or one that has failed. */
function fails(node: usize, state: usize, failedOff: usize, failedLen: u32): void {
  let off = failedOff;
  let len = failedLen;
  if (!off && load<u32>(state, FAIL)) {
    off = <usize>load<u32>(state, FAIL);
    len = load<u32>(state, FAIL_LEN);
    addException(node, off, len, 1);
  }
  beginMessage(node);
  endMessage(node, off, len);
  clear(node, state);
}

function clear(node: usize, state: usize): void {
  const entries = <usize>load<u32>(state, ENTRIES);
  if (entries) free(entries, load<u32>(state, SIZE), accountOf(node));
  store<u32>(state, 0, ENTRIES);
  rowsClear(state);
}

/** Goes on with the message; true when it has ended. */
function goOn(node: usize): bool {
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(state, PHASE) == ENTERS) {
    if (!makeEntries(node, state)) return false;
    store<u32>(state, MERGES, PHASE);
  }
  if (load<u32>(state, PHASE) == MERGES) {
    if (!merge(node, state)) return false;
    if (unordered) {
      failMessage(state, unordered);
      fails(node, state, 0, 0);
      return true;
    }
    store<u32>(state, SENDS, PHASE);
    store<u32>(state, 0, AT);
    beginMessage(node);
  }
  return sendSorted(node, <usize>load<u32>(node, N_SPEC), state);
}

// @ts-ignore: decorator
@inline function entrySize(spec: usize): u32 {
  return ORDER_KEYS + keptKeys(spec) * SLOT_SIZE;
}

/** Makes entries of rows, and the list of their addresses; true when all have one. */
function makeEntries(node: usize, state: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const pauses = mayDefer(node);
  const keys = keptKeys(spec);
  const size = entrySize(spec);
  const lists = <usize>load<u32>(state, FROM_LIST);
  let made = load<u32>(state, MADE);
  let entry = <usize>load<u32>(state, ENTRIES) + made * size;
  let page = <usize>load<u32>(state, AT);
  while (page) {
    const end = load<u32>(page, PAGE_TO);
    for (let row: u32 = 0; row < end; row++, entry += size) {
      store<u32>(entry, <u32>page);
      store<u32>(entry, row, 4);
      let slot = entry + ORDER_KEYS;
      for (let c: u32 = 0; c < keys; c++, slot += SLOT_SIZE) {
        store<u64>(slot, pageVal(page, c, row));
        store<u64>(slot, <u64>pageTag(page, c, row), SLOT_TAG);
      }
      store<u32>(lists + ((<usize>made) << 2), <u32>entry);
      made++;
    }
    page = <usize>load<u32>(page, PAGE_NEXT);
    if (!page || !pauses || goesOn(end)) continue;
    store<u32>(state, made, MADE);
    store<u32>(state, <u32>page, AT);
    return false;
  }
  return true;
}

/** Sends rows in order; true when the message has ended. */
function sendSorted(node: usize, spec: usize, state: usize): bool {
  const pauses = mayDefer(node);
  const keys = keptKeys(spec);
  const columns = outColumns(spec);
  const n = load<u32>(state, COUNT);
  const order = <usize>load<u32>(state, FROM_LIST);
  const refs = poolAlloc(ctx.scratch, min(n, BATCH_ROWS) * REF_SIZE);
  for (let done = load<u32>(state, AT); done < n; done += BATCH_ROWS) {
    const part = min(n - done, BATCH_ROWS);
    const cols = refs ? stageAcquire(columns) : 0;
    if (!cols) {
      failNoMemory();
      addException(node, failOff, failLen, 1);
      endMessage(node, failOff, failLen);
      clear(node, state);
      return true;
    }
    for (let i: u32 = 0; i < part; i++) {
      store<u64>(refs + ((<usize>i) << 3), load<u64>(<usize>load<u32>(order + ((<usize>(done + i)) << 2))));
    }
    for (let c: u32 = 0; c < columns; c++) {
      const col = <usize>load<u32>(cols + ((<usize>c) << 2));
      copyOut(col, keys + c, refs, REF_SIZE, part);
      noteUniform(col, part);
    }
    ctx.setBatch(cols, part, identity, part, 0);
    emit(node);
    stageRelease(columns);
    if (done + part == n || !pauses || goesOn(part)) continue;
    store<u32>(state, done + part, AT);
    return false;
  }
  endMessage(node, 0, 0);
  clear(node, state);
  return true;
}

export function sortFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  clear(node, state);
  rowsFree(state);
  free(state, STATE_SIZE, accountOf(node));
  store<u32>(node, 0, N_STATE);
}
