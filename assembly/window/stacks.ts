// Sliding and counting windows in O(1) a row: two stacks. The older rows of the window are the front (window/front.ts), each
// with the aggregates of itself and all younger rows of its key in the front; the newer rows, the back, are the set of the
// window. What is sent joins the oldest row of each key in the front with that set. When the front is used up and a row of
// the back leaves, all rows in the window become the new front.
//
// Rows are taken into the back when a window is sent, not before: those of windows that are seldom sent leave untouched. Of
// few rows there is no front: the back is made anew from all of them. Their sums are those of row by row; those of many rows
// are added in another order.
//
//   stacks  front 144 | 144 set of the front 120 | 264 set to send 120
//           384 taken u32 | again u32 | failed u32 | firstFailed u32 | failedPage u32 | failedRow u32
//
// `taken`: rows in the back, behind those of the front. `again`: some of the rows in the window were in a back before.
// `failed` and `firstFailed`: which of the kept rows, from 1, is the last and the first one known whose WHERE or key failed, 0
// none; a window with such a row fails. `firstFailed` stands at `failedRow` of `failedPage`.
import { N_PROGRAM, accountOf, exhaust } from '../flow/node';
import { allocZeroed, free, refusals } from '../mem/alloc';
import { lenOf, offOf } from '../mem/layout';
import { selectionPop, selectionPush } from '../flow/selection';
import {
  WINDOW_COUNT_LENGTH, WINDOW_COUNT_STEP, WINDOW_FLAGS, WINDOW_KIND, WindowFlag, WindowKind, allFixed, allMergeable,
} from '../agg/spec';
import { SET_FIRST, SET_SIZE, assignGroups, setFree, setInit, setReset } from '../agg/group';
import { accumulate, accumulateSeparately } from '../agg/accumulate';
import { mergeSet } from '../agg/merge';
import { groupSave } from '../agg/group-save';
import { groupsLoad } from '../agg/save';
import { LoadFault } from '../gen/state-layouts';
import { readBool, readFail, readFails, readU32, readUpTo } from '../state/reader';
import { writeBool, writeU32 } from '../state/writer';
import { ROWS_COUNT } from '../rows/layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_PREVIOUS, PAGE_TO } from '../rows/page';
import { rowsDropBefore, rowsFirst, rowsLast } from '../rows/store';
import {
  FRONT_SIZE, frontCount, frontDrop, frontFree, frontGiveGroups, frontGroup, frontInit, frontJoin, frontKeyed,
  frontLink, frontMark, frontPut, frontReserve, frontReset, frontSeal,
} from './front';
import { judgeRow, whereError } from './content';
import { bindPage } from './kept';
import { sendFailure, sendGroups, sendNoMemory } from './output';
import { W_ROWS, W_SET, W_STACKS } from './state';

const ENTRIES: usize = FRONT_SIZE;
const QUERY: usize = FRONT_SIZE + SET_SIZE;
const TAKEN: usize = FRONT_SIZE + 2 * SET_SIZE;
const AGAIN: usize = TAKEN + 4;
const FAILED: usize = TAKEN + 8;
const FIRST_FAILED: usize = TAKEN + 12;
const FAILED_PAGE: usize = TAKEN + 16;
const FAILED_ROW: usize = TAKEN + 20;
const STACKS_SIZE: u32 = FRONT_SIZE + 2 * SET_SIZE + 24;

/** So many rows are taken in anew with less work than it is to make a front of them. */
export const FEW: u32 = 16;
/** A row that is in so many counting windows is taken in anew for each with less work. */
const FEW_WINDOWS: u32 = 4;

/** Groups of the keys of a page of rows. */
const KEYS: usize = memory.data(4 * 1024, 16);

/** True for windows that this serves: of groups, aggregates of fixed size, rows in many windows. */
export function canStack(spec: usize): bool {
  if (!(load<u32>(spec, WINDOW_FLAGS) & WindowFlag.GROUPED) || !allMergeable(spec) || !allFixed(spec)) return false;
  const kind = load<u32>(spec, WINDOW_KIND);
  if (kind == WindowKind.SLIDING) return true;
  if (kind != WindowKind.COUNT) return false;
  return load<u32>(spec, WINDOW_COUNT_LENGTH) / load<u32>(spec, WINDOW_COUNT_STEP) > FEW_WINDOWS;
}

export function stacksOpen(node: usize, state: usize): bool {
  const acct = accountOf(node);
  const stacks = allocZeroed(STACKS_SIZE, acct);
  if (!stacks) return false;
  frontInit(stacks, acct);
  setInit(stacks + ENTRIES, acct);
  setInit(stacks + QUERY, acct);
  store<u32>(state, <u32>stacks, W_STACKS);
  return true;
}

export function stacksFree(node: usize, state: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  if (!stacks) return;
  const acct = accountOf(node);
  frontFree(stacks, acct);
  setFree(stacks + ENTRIES);
  setFree(stacks + QUERY);
  free(stacks, STACKS_SIZE, acct);
}

/** Drops the kept rows before `ms`. */
export function stacksDropBefore(state: usize, ms: f64, acct: usize): void {
  const rows = state + W_ROWS;
  const before = load<u32>(rows, ROWS_COUNT);
  rowsDropBefore(rows, ms);
  const dropped = before - load<u32>(rows, ROWS_COUNT);
  if (dropped) stacksDrop(state, dropped, acct);
}

/** The oldest `n` kept rows have left. */
export function stacksDrop(state: usize, n: u32, acct: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const failed = load<u32>(stacks, FAILED);
  if (failed) {
    const first = load<u32>(stacks, FIRST_FAILED);
    store<u32>(stacks, failed > n ? failed - n : 0, FAILED);
    store<u32>(stacks, first > n ? first - n : 0, FIRST_FAILED);
  }
  const inFront = frontCount(stacks);
  if (n < inFront) {
    frontDrop(stacks, n);
    return;
  }
  if (inFront) resetFront(stacks, acct);
  const taken = load<u32>(stacks, TAKEN);
  if (n == inFront || taken == 0) return;
  store<u32>(stacks, <u32>(taken > n - inFront), AGAIN);
  store<u32>(stacks, 0, TAKEN);
  setReset(state + W_SET);
}

function resetFront(stacks: usize, acct: usize): void {
  frontReset(stacks, acct);
  setReset(stacks + ENTRIES);
}

/** Selects the rows `from` to `to` of the bound page that are part of the window; `before`: kept rows before the page's row 0. */
function selectPart(spec: usize, stacks: usize, page: usize, from: u32, to: u32, before: u32, sel: usize): u32 {
  let n: u32 = 0;
  for (let i = from; i < to; i++) {
    const verdict = judgeRow(spec, i);
    if (verdict < 0) noteFailed(stacks, page, i, before + i + 1);
    if (verdict <= 0) continue;
    store<u32>(sel + (<usize>n << 2), i);
    n++;
  }
  return n;
}

function noteFailed(stacks: usize, page: usize, row: u32, place: u32): void {
  if (!load<u32>(stacks, FAILED)) {
    store<u32>(stacks, place, FIRST_FAILED);
    store<u32>(stacks, <u32>page, FAILED_PAGE);
    store<u32>(stacks, row, FAILED_ROW);
  }
  store<u32>(stacks, place, FAILED);
}

/**
 * Takes the bound row at `at`, which may have been kept as the last one, into the back if that has all rows before it: the
 * batch that it came with is read with less work than the page that it is kept in. False when memory is exhausted.
 */
export function stacksTake(spec: usize, state: usize, at: usize): bool {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const taken = load<u32>(stacks, TAKEN);
  const done = frontCount(stacks) + taken;
  if (done == 0 || load<u32>(state + W_ROWS, ROWS_COUNT) != done + 1 || judgeRow(spec, load<u32>(at)) <= 0) return true;
  if (!accumulate(spec, state + W_SET, at, 1)) return false;
  store<u32>(stacks, taken + 1, TAKEN);
  return true;
}

/** Brings the stacks up to the rows that are kept; false when memory is exhausted. */
function bring(node: usize, spec: usize, state: usize, stacks: usize): bool {
  const n = load<u32>(state + W_ROWS, ROWS_COUNT);
  const done = frontCount(stacks) + load<u32>(stacks, TAKEN);
  if (n == done) return true;
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (done == 0 && n > FEW && load<u32>(stacks, AGAIN)) {
    store<u32>(stacks, 0, FAILED);
    if (!makeFront(spec, state, stacks, program, n, accountOf(node), true)) return false;
    const before = refusals;
    linkFront(spec, stacks, true);
    return refusals == before;
  }
  return takeLast(spec, state, stacks, program, n, n - done);
}

/** Takes the last `fresh` of the `n` kept rows into the back. */
function takeLast(spec: usize, state: usize, stacks: usize, program: usize, n: u32, fresh: u32): bool {
  const sel = selectionPush();
  if (!sel) return false;
  let page = rowsLast(state + W_ROWS);
  // Kept rows before the page.
  let before = n;
  for (;;) {
    before -= load<u32>(page, PAGE_TO) - load<u32>(page, PAGE_LEFT);
    if (before <= n - fresh) break;
    page = <usize>load<u32>(page, PAGE_PREVIOUS);
  }
  let from = load<u32>(page, PAGE_LEFT) + (n - fresh - before);
  let ok = true;
  for (; page && ok; page = <usize>load<u32>(page, PAGE_NEXT)) {
    const left = load<u32>(page, PAGE_LEFT);
    const to = load<u32>(page, PAGE_TO);
    bindPage(page, spec, program);
    const count = selectPart(spec, stacks, page, max(from, left), to, before - left, sel);
    if (count) ok = accumulate(spec, state + W_SET, sel, count);
    before += to - left;
    from = 0;
  }
  selectionPop();
  store<u32>(stacks, load<u32>(stacks, TAKEN) + fresh, TAKEN);
  store<u32>(stacks, 0, AGAIN);
  return ok;
}

/** Puts the first `n` kept rows into the empty front, and (`fills`) a group for each of them into its set. */
function makeFront(spec: usize, state: usize, stacks: usize, program: usize, n: u32, acct: usize, fills: bool): bool {
  store<u32>(stacks, 0, AGAIN);
  if (!frontReserve(stacks, n, acct)) return false;
  const sel = selectionPush();
  if (!sel) return false;
  let ok = true;
  let before: u32 = 0;
  for (let page = rowsFirst(state + W_ROWS); page && ok && before < n; page = <usize>load<u32>(page, PAGE_NEXT)) {
    bindPage(page, spec, program);
    const left = load<u32>(page, PAGE_LEFT);
    const to = min(load<u32>(page, PAGE_TO), left + n - before);
    const count = selectPart(spec, stacks, page, left, to, before - left, sel);
    if (count) ok = assignGroups(spec, stacks, sel, count, KEYS);
    if (count && ok && fills) ok = accumulateSeparately(spec, stacks + ENTRIES, sel, count, KEYS);
    for (let i = left, k: u32 = 0; i < to && ok; i++) {
      const isPart = k < count && load<u32>(sel + (<usize>k << 2)) == i;
      frontPut(stacks, 0, isPart ? <usize>load<u32>(KEYS + (<usize>k << 2)) : 0);
      if (isPart) k++;
    }
    before += to - left;
  }
  selectionPop();
  return ok;
}

/** Gives the rows of the front the groups of its set, in their order; `merges`: and joins them. */
function linkFront(spec: usize, stacks: usize, merges: bool): void {
  frontGiveGroups(stacks, <usize>load<u32>(stacks + ENTRIES, SET_FIRST));
  frontSeal(stacks);
  frontLink(spec, stacks, stacks + ENTRIES, 0, frontCount(stacks), merges);
  frontMark(stacks);
}

// ---- what window/lanes.ts takes over and hands over -------------------------------------------------------------

/** Rows in the back. */
// @ts-ignore: decorator
@inline export function stacksTaken(stacks: usize): u32 {
  return load<u32>(stacks, TAKEN);
}

/** Some of the rows in the window were in a back before. */
// @ts-ignore: decorator
@inline export function stacksAgain(stacks: usize): bool {
  return load<u32>(stacks, AGAIN) != 0;
}

/** Kept rows failed. */
// @ts-ignore: decorator
@inline export function stacksFailed(stacks: usize): bool {
  return load<u32>(stacks, FAILED) != 0;
}

/** Forgets what was taken in. */
export function stacksClear(state: usize, acct: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  if (frontCount(stacks)) resetFront(stacks, acct);
  store<u32>(stacks, 0, TAKEN);
  store<u32>(stacks, 0, AGAIN);
  setReset(state + W_SET);
}

/**
 * Fills empty stacks: a front of the first `inFront` kept rows, each of which stands there for itself, and a back of the
 * others, of which there are `taken`. False when memory is exhausted: they are empty then.
 */
export function stacksFill(node: usize, spec: usize, state: usize, inFront: u32, taken: u32, again: bool): bool {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const program = <usize>load<u32>(node, N_PROGRAM);
  store<u32>(stacks, 0, FAILED);
  const isFilled =
    (!inFront || makeFront(spec, state, stacks, program, inFront, accountOf(node), true)) &&
    (!taken || takeLast(spec, state, stacks, program, inFront + taken, taken));
  if (isFilled && inFront) linkFront(spec, stacks, false);
  if (!isFilled) {
    if (inFront) resetFront(stacks, accountOf(node));
    stacksClear(state, accountOf(node));
  }
  store<u32>(stacks, <u32>(again || !isFilled), AGAIN);
  return isFilled;
}

/** Payload of the error of the first kept row that failed; there must be one. Binds its page. */
function firstFailure(node: usize, spec: usize, state: usize, stacks: usize): u64 {
  const program = <usize>load<u32>(node, N_PROGRAM);
  let before: u32 = 0;
  for (let page = rowsFirst(state + W_ROWS); page && !load<u32>(stacks, FIRST_FAILED); page = <usize>load<u32>(page, PAGE_NEXT)) {
    bindPage(page, spec, program);
    const left = load<u32>(page, PAGE_LEFT);
    const to = load<u32>(page, PAGE_TO);
    for (let i = left; i < to; i++) {
      if (judgeRow(spec, i) >= 0) continue;
      store<u32>(stacks, before + (i - left) + 1, FIRST_FAILED);
      store<u32>(stacks, <u32>page, FAILED_PAGE);
      store<u32>(stacks, i, FAILED_ROW);
      break;
    }
    before += to - left;
  }
  bindPage(<usize>load<u32>(stacks, FAILED_PAGE), spec, program);
  judgeRow(spec, load<u32>(stacks, FAILED_ROW));
  return whereError();
}

/** Sends what the window holds. The current batch and what is bound are others afterwards. */
export function stacksSend(node: usize, spec: usize, state: usize, start: f64, end: f64, trigger: f64): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  if (!bring(node, spec, state, stacks)) {
    exhaust(node);
    return;
  }
  if (load<u32>(stacks, FAILED)) {
    const failure = firstFailure(node, spec, state, stacks);
    sendFailure(node, offOf(failure), lenOf(failure));
    return;
  }
  const back = state + W_SET;
  if (frontCount(stacks) == 0) {
    sendGroups(node, spec, back, start, end, trigger);
    return;
  }
  const query = stacks + QUERY;
  const before = refusals;
  const isJoined = frontJoin(spec, stacks, query) && mergeSet(spec, query, back) && refusals == before;
  if (isJoined) sendGroups(node, spec, query, start, end, trigger);
  else sendNoMemory(node);
  setReset(query);
}

/** Saves the groups of the part of the front that is still in the window, and how far the back is filled. */
export function stacksSave(spec: usize, state: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const inFront = frontCount(stacks);
  let groups: u32 = 0;
  for (let i: u32 = 0; i < inFront; i++) groups += <u32>(frontGroup(stacks, i) != 0);
  writeU32(inFront);
  writeU32(groups);
  for (let i: u32 = 0; i < inFront; i++) {
    const group = frontGroup(stacks, i);
    if (group) groupSave(spec, group);
  }
  writeU32(load<u32>(stacks, TAKEN));
  writeBool(load<u32>(stacks, AGAIN) != 0);
  writeU32(load<u32>(stacks, FAILED));
}

/** Fills stacks that were just made; rows and back are there already. */
export function stacksLoad(node: usize, spec: usize, state: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const rows = load<u32>(state + W_ROWS, ROWS_COUNT);
  const inFront = readUpTo(rows);
  const groups = groupsLoad(spec, stacks + ENTRIES, inFront);
  const taken = readUpTo(rows - inFront);
  const again = readBool();
  const failed = readUpTo(rows);
  if (readFails()) return;
  if (inFront) {
    if (!makeFront(spec, state, stacks, <usize>load<u32>(node, N_PROGRAM), inFront, accountOf(node), false)) {
      readFail(LoadFault.MEMORY);
      return;
    }
    if (frontKeyed(stacks) != groups) {
      readFail(LoadFault.DAMAGED);
      return;
    }
    linkFront(spec, stacks, false);
  }
  store<u32>(stacks, taken, TAKEN);
  store<u32>(stacks, <u32>again, AGAIN);
  store<u32>(stacks, failed, FAILED);
  store<u32>(stacks, 0, FIRST_FAILED);
}

/** A set for groups that nobody takes. */
const PASSED: usize = memory.data(128, 16);

/** Reads what `stacksSave` wrote without taking it. */
export function stacksPass(spec: usize): void {
  setInit(PASSED, 0);
  groupsLoad(spec, PASSED, readU32());
  setFree(PASSED);
  readU32();
  readBool();
  readU32();
}
