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
// Entries stand one after the other, so that comparing rows does not jump from page to page. Behind them come two lists
// of their addresses, between which the merge sort moves them. With many rows, this work is done in pieces
// (node/deferred.ts).
//
// A row of a stream is a message of its own, so there rows pass as they come.
import * as ctx from '../batch/context';
import { beginLong, defer, goesOn, mayDefer } from '../node/deferred';
import { beginMessage, emit, endMessage, signalBelow } from '../emit/emit';
import { NodeFlag, accountOf, addException, keepFailure } from '../node/node';
import { Operator, Signal } from '../node/operator';
import { fail, failLen, failNoMemory, failOff } from '../batch/failure';
import { identity, noteUniform, stageAcquire, stageRelease } from '../batch/stage';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { Bind, BIND_SIZE, bindBlock } from '../mem/bind';
import { BATCH_ROWS, SLOT_SIZE, SLOT_TAG, Tag, isNull, lenOf, offOf, span } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { blockOf, isConst, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { copyOut } from '../rows/copy';
import { Rows, ROWS_SIZE } from '../rows/layout';
import { Page, pageTag, pageVal } from '../rows/page';
import { rowsAppend, rowsClear, rowsFirst, rowsFree, rowsInit, rowsLast } from '../rows/store';
import { Cmp } from '../value/compare';
import { orderCompare } from '../value/key';
import { kindName, putKind } from '../value/error';
import { textBegin, textLiteral, textTake } from '../value/text';
import { SortSpec, SortKey, SORT_KEY_SIZE_OF, SORT_SIZE_OF } from '../gen/order-layouts';
import { Node } from '../gen/node-layouts';
import { Program } from '../gen/ops-layouts';

/** State of a sort. */
// @ts-ignore: decorator
@unmanaged
class SortState extends Rows {
  fail: u32;
  failLen: u32;
  entries: usize;
  size: u32;
  entryCount: u32;
  phase: u32;
  at: Page;
  made: u32;
  fromList: usize;
  toList: usize;
  width: u32;
  firstEntry: u32;
  left: u32;
  right: u32;
  next: u32;
}

const STATE_SIZE: u32 = ROWS_SIZE + 60;
/** Phases of a sort: entries are made, then merged, then sent. */
const ENTERS: u32 = 0;
const MERGES: u32 = 1;
const SENDS: u32 = 2;
/** Rows that are merged before the next check whether others should get a turn. */
const PART: u32 = 4096;
const REF_SIZE: u32 = 8;
/** Offset of the keys in an entry. */
const ORDER_KEYS: u32 = 8;

// @ts-ignore: decorator
@inline function keyOperand(spec: SortSpec, k: u32): u32 {
  return load<u16>(changetype<usize>(spec) + k * SORT_KEY_SIZE_OF, <usize>SORT_SIZE_OF + offsetof<SortKey>('operand'));
}

/** Number of keys that differ from row to row and are kept with it. */
function keptKeys(spec: SortSpec): u32 {
  const keys = spec.keys;
  let kept: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) kept += <u32>!isConst(keyOperand(spec, k));
  return kept;
}

/** Number of columns of the output: columns of the input, then carried ones. */
// @ts-ignore: decorator
@inline function outColumns(spec: SortSpec): u32 {
  return spec.columns + spec.carried;
}

export function sortOperator(operator: Operator): void {
  operator.open = sortOpen;
  operator.push = sortPush;
  operator.signal = sortSignal;
  operator.free = sortFree;
  operator.deferred = goOn;
}

function sortSignal(node: Node, signal: u32, value: u64): void {
  if (signal == Signal.BEGIN) begin(node);
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

export function sortOpen(node: Node): bool {
  if (!(node.flags & NodeFlag.MESSAGES)) return true;
  const state = changetype<Rows>(allocZeroed(STATE_SIZE, accountOf(node)));
  if (!state) return false;
  const spec = changetype<SortSpec>(node.spec);
  node.state = changetype<usize>(state);
  rowsInit(state, keptKeys(spec) + outColumns(spec), 0, accountOf(node));
  return true;
}

function begin(node: Node): void {
  const state = changetype<SortState>(node.state);
  rowsClear(state);
  state.fail = 0;
}

/** Makes the whole message fail, with a text that lasts as long as the message; the first reason counts. */
function failMessage(state: SortState, payload: u64): void {
  if (state.fail) return;
  state.fail = <u32>offOf(payload);
  state.failLen = lenOf(payload);
}

/** As `failMessage` with a text that lasts only as long as the batch. */
function failUnordered(node: Node, state: SortState, text: u64): void {
  fail(offOf(text), lenOf(text));
  keepFailure(node);
  failMessage(state, span(failOff, failLen));
}

function failMemory(state: SortState): void {
  failNoMemory();
  if (state.fail) return;
  state.fail = <u32>failOff;
  state.failLen = failLen;
}

export function sortPush(node: Node): void {
  if (!(node.flags & NodeFlag.MESSAGES)) {
    emit(node);
    return;
  }
  const state = changetype<SortState>(node.state);
  if (state.fail) return;
  const spec = changetype<SortSpec>(node.spec);
  const program = node.program;
  if (program) vmRun(program);
  const keys = keptKeys(spec);
  const columns = outColumns(spec);
  const binds = poolAlloc(ctx.scratch, (keys + columns) * BIND_SIZE);
  const page = rowsLast(state);
  const to: u32 = page ? page.to : 0;
  if (!binds) failMemory(state);
  else {
    bindAll(spec, binds);
    if (rowsAppend(state, binds, keys + columns, ctx.sel, ctx.selLen, 0)) failByKeys(node, state, program, page, to);
    else failMemory(state);
  }
}

/** Binds the columns that are kept of a row. */
function bindAll(spec: SortSpec, binds: usize): void {
  const columns = spec.columns;
  const carried = spec.carried;
  const keys = spec.keys;
  for (let k: u32 = 0; k < keys; k++) {
    const operand = keyOperand(spec, k);
    if (isConst(operand)) continue;
    bindBlock(changetype<Bind>(binds), blockOf(operand));
    binds += BIND_SIZE;
  }
  for (let c: u32 = 0; c < columns; c++, binds += BIND_SIZE) {
    bindBlock(changetype<Bind>(binds), <usize>load<u32>(ctx.cols + ((<usize>c) << 2)));
  }
  const operands = changetype<usize>(spec) + SORT_SIZE_OF + keys * SORT_KEY_SIZE_OF;
  for (let c: u32 = 0; c < carried; c++, binds += BIND_SIZE)
    bindBlock(changetype<Bind>(binds), blockOf(load<u16>(operands + ((<usize>c) << 1))));
}

/** Fails the message if a key of the rows from `to` of `page` (0: of the first one) has failed. */
function failByKeys(node: Node, state: SortState, program: Program, page: Page, to: u32): void {
  for (let at = page ? page : rowsFirst(state); at; changetype<usize>((at = at.next)), to = 0) {
    const end = at.to;
    for (let row = to; row < end; row++) failByRow(node, state, program, at, row);
  }
}

// @ts-ignore: decorator
@inline function failByRow(node: Node, state: SortState, program: Program, page: Page, row: u32): void {
  const spec = changetype<SortSpec>(node.spec);
  const keys = spec.keys;
  let c: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) {
    const operand = keyOperand(spec, k);
    if (!isConst(operand)) {
      const tag = pageTag(page, c, row);
      if (tag == Tag.ERROR) failMessage(state, pageVal(page, c, row));
      // Arrays and objects have no order, not even with themselves.
      else if ((tag == Tag.ARRAY || tag == Tag.OBJECT) && !state.fail)
        failUnordered(node, state, mismatch(tag, pageVal(page, c, row), tag));
      c++;
    } else if (load<u8>(tagsOf(program, operand)) == Tag.ERROR) failMessage(state, load<u64>(valsOf(program, operand)));
  }
}

/** Payload of the error that two values have no order; 0 as long as all have one. */
let unordered: u64 = 0;

/** True when the row of entry `a` comes after that of entry `b`. */
function isAfter(spec: SortSpec, program: Program, a: usize, b: usize): bool {
  const keys = spec.keys;
  a += ORDER_KEYS;
  b += ORDER_KEYS;
  for (let k: u32 = 0; k < keys; k++) {
    const operand = keyOperand(spec, k);
    let tagA: u8;
    let tagB: u8;
    let valA: u64;
    let valB: u64;
    if (isConst(operand)) {
      // A constant key is equal in all rows, unless its kind has no order.
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
    const isDescending =
      load<u16>(
        changetype<usize>(spec) + k * SORT_KEY_SIZE_OF,
        <usize>SORT_SIZE_OF + offsetof<SortKey>('descending'),
      ) != 0;
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

/** Merges lists of growing length; true when the rows are in order or have none, see `unordered`. */
function merge(node: Node, state: SortState): bool {
  const spec = changetype<SortSpec>(node.spec);
  const program = node.program;
  const pauses = mayDefer(node);
  const n = state.entryCount;
  let a = state.fromList;
  let b = state.toList;
  let width = state.width;
  let from = state.firstEntry;
  let i = state.left;
  let j = state.right;
  let to = state.next;
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
      // The last of several failures in two lists counts, wherever the work stops.
      if (unordered && to == end) return true;
      if (to == end) from = end;
      if (to < until) continue;
      until = to + PART;
      ctx.addWork(PART);
      if (!pauses || unordered || goesOn(PART)) continue;
      state.fromList = a;
      state.toList = b;
      state.width = width;
      state.firstEntry = from;
      state.left = i;
      state.right = j;
      state.next = to;
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
  state.fromList = a;
  return true;
}

function end(node: Node, failedOff: usize, failedLen: u32): void {
  const state = changetype<SortState>(node.state);
  const spec = changetype<SortSpec>(node.spec);
  const n = state.count;
  const size = <u64>n * (entrySize(spec) + 8);
  let entries: usize = 0;
  if (!failedOff && !state.fail && n) {
    entries = size > 0x7fffffff ? 0 : alloc(<u32>size, accountOf(node));
    if (!entries) failMemory(state);
  }
  if (!entries) {
    fails(node, state, failedOff, failedLen);
    return;
  }
  const lists = entries + n * entrySize(spec);
  state.entries = entries;
  state.size = <u32>size;
  state.entryCount = n;
  state.phase = ENTERS;
  state.at = rowsFirst(state);
  state.made = 0;
  state.fromList = lists;
  state.toList = <u32>lists + (n << 2);
  state.width = 1;
  state.firstEntry = 0;
  state.next = 0;
  beginLong();
  if (!goOn(node)) defer(node);
}

/** Ends a message without rows, or one that has failed. */
function fails(node: Node, state: SortState, failedOff: usize, failedLen: u32): void {
  let off = failedOff;
  let len = failedLen;
  if (!off && state.fail) {
    off = <usize>state.fail;
    len = state.failLen;
    addException(node, off, len, 1);
  }
  beginMessage(node);
  endMessage(node, off, len);
  clear(node, state);
}

function clear(node: Node, state: SortState): void {
  const entries = state.entries;
  if (entries) free(entries, state.size, accountOf(node));
  state.entries = 0;
  rowsClear(state);
}

/** Goes on with the sort; true when the message has ended. */
function goOn(node: Node): bool {
  const state = changetype<SortState>(node.state);
  if (state.phase == ENTERS) {
    if (!makeEntries(node, state)) return false;
    state.phase = MERGES;
  }
  if (state.phase == MERGES) {
    if (!merge(node, state)) return false;
    if (unordered) {
      failMessage(state, unordered);
      fails(node, state, 0, 0);
      return true;
    }
    state.phase = SENDS;
    state.at = changetype<Page>(0);
    beginMessage(node);
  }
  return sendSorted(node, changetype<SortSpec>(node.spec), state);
}

// @ts-ignore: decorator
@inline function entrySize(spec: SortSpec): u32 {
  return ORDER_KEYS + keptKeys(spec) * SLOT_SIZE;
}

/** Makes entries of the rows and the list of their addresses; true when all rows have one. */
function makeEntries(node: Node, state: SortState): bool {
  const spec = changetype<SortSpec>(node.spec);
  const pauses = mayDefer(node);
  const keys = keptKeys(spec);
  const size = entrySize(spec);
  const lists = state.fromList;
  let made = state.made;
  let entry = state.entries + made * size;
  let page = state.at;
  while (page) {
    const end = page.to;
    for (let row: u32 = 0; row < end; row++, entry += size) {
      store<u32>(entry, changetype<u32>(page));
      store<u32>(entry, row, 4);
      let slot = entry + ORDER_KEYS;
      for (let c: u32 = 0; c < keys; c++, slot += SLOT_SIZE) {
        store<u64>(slot, pageVal(page, c, row));
        store<u64>(slot, <u64>pageTag(page, c, row), SLOT_TAG);
      }
      store<u32>(lists + ((<usize>made) << 2), <u32>entry);
      made++;
    }
    page = page.next;
    if (!page || !pauses || goesOn(end)) continue;
    state.made = made;
    state.at = page;
    return false;
  }
  return true;
}

/** Sends rows in order; true when the message has ended. */
function sendSorted(node: Node, spec: SortSpec, state: SortState): bool {
  const pauses = mayDefer(node);
  const keys = keptKeys(spec);
  const columns = outColumns(spec);
  const n = state.entryCount;
  const order = state.fromList;
  const refs = poolAlloc(ctx.scratch, min(n, BATCH_ROWS) * REF_SIZE);
  for (let done = changetype<usize>(state.at); done < n; done += BATCH_ROWS) {
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
    state.at = changetype<Page>(done + part);
    return false;
  }
  endMessage(node, 0, 0);
  clear(node, state);
  return true;
}

export function sortFree(node: Node): void {
  const state = changetype<SortState>(node.state);
  if (!state) return;
  clear(node, state);
  rowsFree(state);
  free(changetype<usize>(state), STATE_SIZE, accountOf(node));
  node.state = 0;
}
