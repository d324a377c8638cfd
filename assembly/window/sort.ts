// ORDER BY: gathers the rows of a message and sends them in order when it ends. Nulls come last in both directions, equal
// rows keep their order, values without an order among each other fail the message.
//
//   state   pool 32 | 32 rows u32 | order u32 | capacity u32 | failOff u32 | failLen u32 | begun u32
//   row     {payload u64, tag u32, 0 u32}[keys], then [columns]: in the pool; `order` lists their addresses
//
// A row of a stream is a message of its own, so there rows pass as they come.
import * as ctx from '../flow/context';
import { beginMessage, emit, endMessage, signalBelow } from '../flow/emit';
import { N_FLAGS, N_PROGRAM, N_SPEC, N_STATE, NodeFlag, accountOf, addException } from '../flow/node';
import { Operator, Signal } from '../flow/operator';
import { failLen, failNoMemory, failOff } from '../flow/failure';
import { identity, noteUniform, stageAcquire, stageRelease } from '../flow/stage';
import { alloc, allocZeroed, free, refusals } from '../mem/alloc';
import { BATCH_ROWS, SLOT_SIZE, SLOT_TAG, Tag, isNull, lenOf, offOf, setAt, span, tagAt, valAt } from '../mem/layout';
import { copyValue, poolAlloc, poolBytesCopy, poolFree, poolInit, poolReset } from '../mem/pool';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { vmRun } from '../ops/vm';
import { Cmp } from '../value/compare';
import { orderCompare } from '../value/key';
import { kindName, putKind } from '../value/error';
import { textBegin, textLiteral, textTake } from '../value/text';
import {
  SORT_COLUMNS as S_COLUMNS, SORT_KEY_DESCENDING, SORT_KEY_OPERAND, SORT_KEY_SIZE_OF, SORT_KEYS as S_KEYS, SORT_SIZE_OF as S_LIST,
} from '../gen/window-layouts';


const STATE_SIZE: u32 = 64;
const R_COUNT: usize = 32;
const R_ORDER: usize = 36;
const R_CAPACITY: usize = 40;
const R_FAIL: usize = 44;
const R_FAIL_LEN: usize = 48;

export function sortOperator(operator: Operator): void {
  operator.open = sortOpen;
  operator.push = sortPush;
  operator.signal = sortSignal;
  operator.free = sortFree;
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
  store<u32>(node, <u32>state, N_STATE);
  poolInit(state, 1024, accountOf(node));
  return true;
}

function begin(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  poolReset(state);
  store<u32>(state, 0, R_COUNT);
  store<u32>(state, 0, R_FAIL);
}

/** The whole message fails; the first reason counts. */
function failMessage(state: usize, payload: u64): void {
  if (load<u32>(state, R_FAIL)) return;
  const len = lenOf(payload);
  const text = poolBytesCopy(state, offOf(payload), len);
  store<u32>(state, text ? <u32>text : <u32>offOf(payload), R_FAIL);
  store<u32>(state, len, R_FAIL_LEN);
}

function failMemory(state: usize): void {
  failNoMemory();
  failMessage(state, span(failOff, failLen));
}

// @ts-ignore: decorator
@inline function keySlot(row: usize, k: u32): usize {
  return row + <usize>(k * SLOT_SIZE);
}

export function sortPush(node: usize): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES)) {
    emit(node);
    return;
  }
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(state, R_FAIL)) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  const n = ctx.selLen;
  if (!reserve(node, state, n)) {
    failMemory(state);
    return;
  }
  const before = refusals;
  const keys = load<u32>(spec, S_KEYS);
  const columns = load<u32>(spec, S_COLUMNS);
  const order = <usize>load<u32>(state, R_ORDER);
  const count = load<u32>(state, R_COUNT);
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(ctx.sel + (<usize>i << 2));
    const kept = poolAlloc(state, (keys + columns) * SLOT_SIZE);
    if (!kept) {
      failMemory(state);
      return;
    }
    for (let k: u32 = 0; k < keys; k++) {
      const operand = load<u16>(spec + k * SORT_KEY_SIZE_OF, <usize>S_LIST + SORT_KEY_OPERAND);
      const at = row * strideOf(operand);
      keep(state, keySlot(kept, k), load<u8>(tagsOf(program, operand) + at), load<u64>(valsOf(program, operand) + (<usize>at << 3)));
    }
    for (let c: u32 = 0; c < columns; c++) {
      const col = <usize>load<u32>(ctx.cols + (<usize>c << 2));
      const slot = keySlot(kept, keys + c);
      store<u64>(slot, copyValue(state, tagAt(col, row), valAt(col, row)));
      store<u64>(slot, <u64>tagAt(col, row), SLOT_TAG);
    }
    store<u32>(order + (<usize>(count + i) << 2), <u32>kept);
  }
  store<u32>(state, count + n, R_COUNT);
  if (refusals != before) failMemory(state);
}

/** Keeps the value of a key; one that failed fails the message. */
function keep(state: usize, slot: usize, tag: u8, payload: u64): void {
  if (tag == Tag.ERROR) failMessage(state, payload);
  store<u64>(slot, copyValue(state, tag, payload));
  store<u64>(slot, <u64>tag, SLOT_TAG);
}

function reserve(node: usize, state: usize, more: u32): bool {
  const count = load<u32>(state, R_COUNT);
  const capacity = load<u32>(state, R_CAPACITY);
  if (count + more <= capacity) return true;
  const wanted = max(capacity << 1, (count + more + 63) & ~63);
  // Twice the room: the merge sort needs a second list.
  const next = alloc(wanted << 3, accountOf(node));
  if (!next) return false;
  const order = <usize>load<u32>(state, R_ORDER);
  memory.copy(next, order, <usize>count << 2);
  free(order, capacity << 3, accountOf(node));
  store<u32>(state, <u32>next, R_ORDER);
  store<u32>(state, wanted, R_CAPACITY);
  return true;
}

let sortSpec: usize = 0;
let sortState: usize = 0;

/** True when row `a` comes after row `b`. */
function isAfter(a: usize, b: usize): bool {
  const keys = load<u32>(sortSpec, S_KEYS);
  for (let k: u32 = 0; k < keys; k++) {
    const x = keySlot(a, k);
    const y = keySlot(b, k);
    const tagX = load<u8>(x, SLOT_TAG);
    const tagY = load<u8>(y, SLOT_TAG);
    const order = orderCompare(tagX, load<u64>(x), tagY, load<u64>(y));
    if (order == 0) continue;
    if (order == Cmp.MISMATCH) {
      failMessage(sortState, mismatch(tagX, load<u64>(x), tagY));
      return false;
    }
    const descends = load<u16>(sortSpec + k * SORT_KEY_SIZE_OF, <usize>S_LIST + SORT_KEY_DESCENDING) != 0 && !isNull(tagX) && !isNull(tagY);
    return descends ? order < 0 : order > 0;
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

/** Merge sort from below; returns the list that holds the result. */
function mergeSort(a: usize, b: usize, n: u32): usize {
  for (let width: u32 = 1; width < n; width <<= 1) {
    ctx.addWork(n);
    for (let from: u32 = 0; from < n; from += width << 1) {
      const middle = min(from + width, n);
      const end = min(middle + width, n);
      let i = from;
      let j = middle;
      for (let to = from; to < end; to++) {
        const takesRight =
          j < end && (i >= middle || isAfter(<usize>load<u32>(a + (<usize>i << 2)), <usize>load<u32>(a + (<usize>j << 2))));
        store<u32>(b + (<usize>to << 2), load<u32>(a + (<usize>(takesRight ? j : i) << 2)));
        if (takesRight) j++;
        else i++;
      }
    }
    const swap = a;
    a = b;
    b = swap;
  }
  return a;
}

function end(node: usize, failedOff: usize, failedLen: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  let off = failedOff;
  let len = failedLen;
  const n = load<u32>(state, R_COUNT);
  let order = <usize>load<u32>(state, R_ORDER);
  if (!off && !load<u32>(state, R_FAIL) && n > 1) {
    sortSpec = spec;
    sortState = state;
    order = mergeSort(order, order + (<usize>load<u32>(state, R_CAPACITY) << 2), n);
  }
  if (!off && load<u32>(state, R_FAIL)) {
    off = <usize>load<u32>(state, R_FAIL);
    len = load<u32>(state, R_FAIL_LEN);
    addException(node, off, len, 1);
  }
  beginMessage(node);
  if (!off && !sendSorted(node, spec, order, n)) {
    addException(node, failOff, failLen, 1);
    off = failOff;
    len = failLen;
  }
  endMessage(node, off, len);
  poolReset(state);
  store<u32>(state, 0, R_COUNT);
}

/** Sends the rows in order; false when memory is exhausted: the reason then stands in flow/failure.ts. */
function sendSorted(node: usize, spec: usize, order: usize, n: u32): bool {
  const keys = load<u32>(spec, S_KEYS);
  const columns = load<u32>(spec, S_COLUMNS);
  for (let done: u32 = 0; done < n; done += BATCH_ROWS) {
    const part = min(n - done, BATCH_ROWS);
    const cols = stageAcquire(columns);
    if (!cols) {
      failNoMemory();
      return false;
    }
    for (let c: u32 = 0; c < columns; c++) {
      const col = <usize>load<u32>(cols + (<usize>c << 2));
      for (let i: u32 = 0; i < part; i++) {
        const slot = keySlot(<usize>load<u32>(order + (<usize>(done + i) << 2)), keys + c);
        setAt(col, i, load<u8>(slot, SLOT_TAG), load<u64>(slot));
      }
      noteUniform(col, part);
    }
    ctx.setBatch(cols, part, identity, part, 0);
    emit(node);
    stageRelease(columns);
  }
  return true;
}

export function sortFree(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  poolFree(state);
  free(<usize>load<u32>(state, R_ORDER), load<u32>(state, R_CAPACITY) << 3, accountOf(node));
  free(state, STATE_SIZE, accountOf(node));
  store<u32>(node, 0, N_STATE);
}
