// Sliding windows of one group in O(1) a row: two stacks. The older rows of the window are the front, each with the
// aggregates of itself and all younger rows of the front; the newer rows are one aggregate, the set of the window. A
// window's result joins the front's oldest row with that set. When the front is used up, all rows in the window become
// the new front. Sums of doubles are therefore added in another order than row by row.
//
//   stacks  front set 112 | query set 112 | 224 list u32 (group of each row) | from u32 | count u32 | capacity u32
import { N_PROGRAM, accountOf, exhaust } from '../flow/node';
import { alloc, allocZeroed, free, refusals } from '../mem/alloc';
import { lenOf, offOf } from '../mem/layout';
import { selectionPop, selectionPush } from '../flow/selection';
import {
  WINDOW_FLAGS, WINDOW_KEYS, WINDOW_KIND, WINDOW_STEP, WindowFlag, WindowKind, allFixed, allMergeable,
} from '../agg/spec';
import {
  GROUP_NEXT, SET_COUNT, SET_ERROR, SET_ERROR_LEN, SET_FIRST, SET_SIZE, SET_VALUES, findNullGroup, setFree, setInit, setReset,
} from '../agg/group';
import { accumulate, accumulateSeparately } from '../agg/accumulate';
import { keepOf, mergeGroup } from '../agg/merge';
import { groupsLoad, groupsSave } from '../agg/save';
import { LoadFault } from '../gen/state-layouts';
import { readBool, readBytes, readFail } from '../state/reader';
import { writeBool, writeBytes } from '../state/writer';
import { ROWS_COUNT } from '../rows/layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_TO } from '../rows/page';
import { rowsDropBefore, rowsFirst } from '../rows/store';
import { resume } from './frame';
import { failureOf, judgeRow } from './content';
import { bindPage } from './kept';
import { sendFailure, sendGroups, sendNoMemory } from './output';
import { W_ROWS, W_SET, W_STACKS } from './state';

const QUERY: usize = SET_SIZE;
const LIST: usize = 224;
const FROM: usize = 228;
const COUNT: usize = 232;
const CAPACITY: usize = 236;
const STACKS_SIZE: u32 = 240;

/** True for windows that this serves: sliding, one group, sent with the row, aggregates of fixed size. */
export function canStack(spec: usize): bool {
  return (
    load<u32>(spec, WINDOW_KIND) == WindowKind.SLIDING &&
    (load<u32>(spec, WINDOW_FLAGS) & WindowFlag.GROUPED) != 0 &&
    load<u32>(spec, WINDOW_KEYS) == 0 &&
    load<f64>(spec, WINDOW_STEP) == 0 &&
    allMergeable(spec) &&
    allFixed(spec)
  );
}

export function stacksOpen(node: usize, state: usize): bool {
  const acct = accountOf(node);
  const stacks = allocZeroed(STACKS_SIZE, acct);
  if (!stacks) return false;
  setInit(stacks, acct);
  setInit(stacks + QUERY, acct);
  store<u32>(state, <u32>stacks, W_STACKS);
  return true;
}

export function stacksFree(node: usize, state: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  if (!stacks) return;
  const acct = accountOf(node);
  setFree(stacks);
  setFree(stacks + QUERY);
  free(<usize>load<u32>(stacks, LIST), load<u32>(stacks, CAPACITY) << 2, acct);
  free(stacks, STACKS_SIZE, acct);
}

/** Adds the bound row at `at`, which is kept already; false when memory is exhausted. */
export function stacksTake(spec: usize, state: usize, at: usize): bool {
  return judgeRow(spec, state + W_SET, load<u32>(at)) <= 0 || accumulate(spec, state + W_SET, at, 1);
}

/** Drops the kept rows before `ms`. */
export function stacksDropBefore(node: usize, spec: usize, state: usize, ms: f64): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const rows = state + W_ROWS;
  const before = load<u32>(rows, ROWS_COUNT);
  rowsDropBefore(rows, ms);
  const dropped = before - load<u32>(rows, ROWS_COUNT);
  if (dropped == 0) return;
  const from = load<u32>(stacks, FROM);
  if (dropped <= load<u32>(stacks, COUNT) - from) {
    store<u32>(stacks, from + dropped, FROM);
    return;
  }
  if (!turn(node, spec, state, stacks)) exhaust(node);
  resume();
}

/** Makes all kept rows the front. */
function turn(node: usize, spec: usize, state: usize, stacks: usize): bool {
  setReset(state + W_SET);
  setReset(stacks);
  store<u32>(stacks, 0, FROM);
  store<u32>(stacks, 0, COUNT);
  const n = load<u32>(state + W_ROWS, ROWS_COUNT);
  if (n == 0) return true;
  if (!reserve(node, stacks, n)) return false;
  const sel = selectionPush();
  if (!sel) return false;
  let ok = true;
  for (let page = rowsFirst(state + W_ROWS); page && ok; page = <usize>load<u32>(page, PAGE_NEXT)) {
    bindPage(page, spec, <usize>load<u32>(node, N_PROGRAM));
    const from = load<u32>(page, PAGE_LEFT);
    const count = load<u32>(page, PAGE_TO) - from;
    for (let i: u32 = 0; i < count; i++) {
      store<u32>(sel + (<usize>i << 2), from + i);
      // Rows that WHERE rejects are not kept; one whose WHERE failed fails all windows that it is in.
      judgeRow(spec, stacks, from + i);
    }
    ok = accumulateSeparately(spec, stacks, sel, count);
  }
  selectionPop();
  if (!ok) return false;
  listGroups(stacks, n);
  const list = <usize>load<u32>(stacks, LIST);
  const before = refusals;
  for (let i = n - 1; i > 0; i--) {
    const later = list + (<usize>i << 2);
    mergeGroup(spec, stacks, <usize>load<u32>(later - 4), <usize>load<u32>(later));
  }
  store<u32>(stacks, n, COUNT);
  return refusals == before;
}

/** Saves the part of the front that is still in the window, and the reason why a row of it failed. */
export function stacksSave(spec: usize, state: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const error = <usize>load<u32>(stacks, SET_ERROR);
  writeBool(error != 0);
  if (error) writeBytes(error, load<u32>(stacks, SET_ERROR_LEN));
  const from = load<u32>(stacks, FROM);
  groupsSave(spec, <usize>load<u32>(stacks, LIST) + (<usize>from << 2), load<u32>(stacks, COUNT) - from);
}

/** Fills the front, which must be empty. */
export function stacksLoad(node: usize, spec: usize, state: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  if (readBool()) {
    const reason = readBytes(stacks + SET_VALUES);
    store<u32>(stacks, <u32>offOf(reason), SET_ERROR);
    store<u32>(stacks, lenOf(reason), SET_ERROR_LEN);
  }
  // A group for each of the first rows that are kept.
  const n = groupsLoad(spec, stacks, load<u32>(state + W_ROWS, ROWS_COUNT));
  if (!reserve(node, stacks, n)) readFail(LoadFault.MEMORY);
  else {
    listGroups(stacks, n);
    store<u32>(stacks, n, COUNT);
  }
}

function listGroups(stacks: usize, n: u32): void {
  const list = <usize>load<u32>(stacks, LIST);
  let group = <usize>load<u32>(stacks, SET_FIRST);
  for (let i: u32 = 0; i < n; i++) {
    store<u32>(list + (<usize>i << 2), <u32>group);
    group = <usize>load<u32>(group, GROUP_NEXT);
  }
}

function reserve(node: usize, stacks: usize, n: u32): bool {
  const capacity = load<u32>(stacks, CAPACITY);
  if (n <= capacity) return true;
  const acct = accountOf(node);
  const wanted = (n + (n >> 1) + 15) & ~15;
  const next = alloc(wanted << 2, acct);
  if (!next) return false;
  free(<usize>load<u32>(stacks, LIST), capacity << 2, acct);
  store<u32>(stacks, <u32>next, LIST);
  store<u32>(stacks, wanted, CAPACITY);
  return true;
}

/** Sends the window that ends with the row just taken. */
export function stacksSend(node: usize, spec: usize, state: usize, start: f64, end: f64): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const query = stacks + QUERY;
  if (load<u32>(state + W_SET, SET_ERROR) | load<u32>(stacks, SET_ERROR)) {
    const failure = failureOf(spec, state, <usize>load<u32>(node, N_PROGRAM));
    if (failure) {
      sendFailure(node, offOf(failure), lenOf(failure));
      return;
    }
    // The row that failed has left the window.
    if (!turn(node, spec, state, stacks)) {
      exhaust(node);
      return;
    }
  }
  const hasFront = load<u32>(stacks, FROM) < load<u32>(stacks, COUNT);
  const front = hasFront ? <usize>load<u32>(<usize>load<u32>(stacks, LIST) + (<usize>load<u32>(stacks, FROM) << 2)) : 0;
  const back = load<u32>(state + W_SET, SET_COUNT) ? <usize>load<u32>(state + W_SET, SET_FIRST) : 0;
  if (front || back) {
    const before = refusals;
    const group = findNullGroup(spec, query);
    if (!group) {
      sendNoMemory(node);
      return;
    }
    keepOf(spec, group, front ? front : back);
    if (front) mergeGroup(spec, query, group, front);
    if (back) mergeGroup(spec, query, group, back);
    if (refusals != before) {
      setReset(query);
      sendNoMemory(node);
      return;
    }
  }
  sendGroups(node, spec, query, start, end, end);
  setReset(query);
}
