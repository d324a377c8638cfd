// Sliding and counting windows in O(1) a row: two stacks. The older rows of the window are the front
// (window/stacks/front.ts), each with the aggregates of itself and all younger rows of its key in the front; the newer
// rows, the back, are the set of the window. What is sent joins the oldest row of each key in the front with that set
// (window/stacks/join.ts). When the front is used up and a row of the back leaves, all rows in the window become the
// new front.
//
// Rows are taken into the back when a window is sent, not before: those of windows that are seldom sent leave
// untouched. Of few rows there is no front: the back is made anew from all of them. Their sums are those of row by row;
// those of many rows are added in another order.
//
// A window whose work is long waits in the outbox, and those behind it: an entry has how many rows have left since the
// one before and how many are in its window. Rows and stacks stay behind as they are, and come to that moment when its
// turn is there, so the sums are those of work at once, and what it refers to stays until it is sent.
import { deferredCount, isHeldBelow, isLong, mayDefer } from '../../node/deferred';
import { N_PROGRAM, accountOf, exhaust } from '../../node/node';
import { allocZeroed, free } from '../../mem/alloc';
import { lenOf, offOf } from '../../mem/layout';
import { WINDOW_FLAGS, WindowFlag, allFixed, allMergeable, hasFlag, isPartitioned } from '../../agg/group/spec';
import { SET_SIZE, setFree, setInit, setReset } from '../../agg/group/group';
import { SET_COUNT } from '../../agg/group/table';
import { accumulate } from '../../agg/accumulate';
import { groupSave } from '../../agg/save/group';
import { groupsLoad } from '../../agg/save/save';
import { LoadFault } from '../../gen/state-layouts';
import { readBool, readFail, readFails, readU32, readUpTo } from '../../state/reader';
import { writeBool, writeU32 } from '../../state/writer';
import { ROWS_COUNT } from '../../rows/layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_TO } from '../../rows/page';
import { rowsBefore, rowsDrop, rowsDropBefore, rowsFirst } from '../../rows/store';
import { frontCount, frontDrop, frontFree, frontGroup, frontInit, frontKeyed, frontReset } from './front';
import { judgeRow, whereError } from '../content/content';
import { bindConstants, bindPage } from '../content/kept';
import { ENTRY_SET, Phase, mustWait, outboxStacks } from '../content/outbox';
import { sendFailure, sendGroups, sendNoMemory } from '../content/output';
import { Stacked, linkFront, makeFront, stackedBegin, stackedJoin, takeRows } from './join';
import {
  AGAIN,
  ENTRIES,
  FAILED,
  FAILED_PAGE,
  FAILED_ROW,
  FEW,
  FIRST_FAILED,
  LEFT,
  QUERY,
  SINCE,
  STACKS_SIZE,
  TAKEN,
  WAITS,
  rowsInside,
} from './state';
import { W_ROWS, W_SET, W_STACKS } from '../content/state';

/** True for groups whose aggregates can be joined and have states of fixed size. */
export function canStack(spec: usize): bool {
  return hasFlag(spec, WindowFlag.GROUPED) && allMergeable(spec) && allFixed(spec);
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

/** Makes the stacks of a partition as soon as they are worth their memory; false when that is exhausted. */
export function stacksOfPartition(node: usize, spec: usize, part: usize): bool {
  if (load<u32>(part, W_STACKS) || load<u32>(part + W_ROWS, ROWS_COUNT) < FEW || !hasFlag(spec, WindowFlag.STACKS))
    return true;
  if (stacksOpen(node, part)) return true;
  exhaust(node);
  return false;
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

/** Rows older than `ms` leave. */
export function stacksDropBefore(state: usize, ms: f64, acct: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const rows = state + W_ROWS;
  if (load<u32>(stacks, WAITS)) {
    leaveLater(stacks, rowsBefore(rows, load<u32>(stacks, LEFT), ms));
    return;
  }
  const before = load<u32>(rows, ROWS_COUNT);
  rowsDropBefore(rows, ms);
  const dropped = before - load<u32>(rows, ROWS_COUNT);
  if (dropped) forget(state, stacks, dropped, acct);
}

/** The oldest `n` rows leave. */
export function stacksDrop(state: usize, n: u32, acct: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  if (load<u32>(stacks, WAITS)) leaveLater(stacks, n);
  else drop(state, stacks, n, acct);
}

function leaveLater(stacks: usize, n: u32): void {
  store<u32>(stacks, load<u32>(stacks, LEFT) + n, LEFT);
  store<u32>(stacks, load<u32>(stacks, SINCE) + n, SINCE);
}

function drop(state: usize, stacks: usize, n: u32, acct: usize): void {
  if (!n) return;
  rowsDrop(state + W_ROWS, n);
  forget(state, stacks, n, acct);
}

/** The oldest `n` kept rows have left. That two leave after each other is the same as that they leave together. */
function forget(state: usize, stacks: usize, n: u32, acct: usize): void {
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
  store<u32>(stacks, <u32>(taken > 1), AGAIN);
  store<u32>(stacks, 0, TAKEN);
  setReset(state + W_SET);
}

function resetFront(stacks: usize, acct: usize): void {
  frontReset(stacks, acct);
  setReset(stacks + ENTRIES);
}

/**
 * Takes the bound row at `at`, which may have been kept as the last one, into the back if that has all rows before it:
 * the batch that it came with is read with less work than the page that it is kept in. False when memory is exhausted.
 */
export function stacksTake(spec: usize, state: usize, at: usize): bool {
  const stacks = <usize>load<u32>(state, W_STACKS);
  if (load<u32>(stacks, WAITS)) return true;
  const taken = load<u32>(stacks, TAKEN);
  const done = frontCount(stacks) + taken;
  if (done == 0 || load<u32>(state + W_ROWS, ROWS_COUNT) != done + 1 || judgeRow(spec, load<u32>(at)) <= 0) return true;
  if (!accumulate(spec, state + W_SET, at, 1)) return false;
  store<u32>(stacks, taken + 1, TAKEN);
  return true;
}

// ---- what window/stacks/vectors.ts takes over and hands over
// -------------------------------------------------------------

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
 * Fills empty stacks: a front of the first `inFront` kept rows, each of which stands there for itself, and a back of
 * the others, of which there are `taken`. False when memory is exhausted: they are empty then.
 */
export function stacksFill(node: usize, spec: usize, state: usize, inFront: u32, taken: u32, again: bool): bool {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const program = <usize>load<u32>(node, N_PROGRAM);
  store<u32>(stacks, 0, FAILED);
  const isFilled =
    (!inFront || makeFront(spec, state, stacks, program, inFront, accountOf(node), true)) &&
    (!taken || takeRows(spec, state, stacks, program, inFront + taken));
  if (isFilled && inFront) linkFront(spec, stacks);
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
  for (
    let page = rowsFirst(state + W_ROWS);
    page && !load<u32>(stacks, FIRST_FAILED);
    page = <usize>load<u32>(page, PAGE_NEXT)
  ) {
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

/** Sends what the window holds, or leaves that to later. The current batch and what is bound are others afterwards. */
export function stacksSend(node: usize, spec: usize, state: usize, start: f64, end: f64, trigger: f64): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const waits = (mayDefer(node) && (load<u32>(stacks, WAITS) != 0 || isMuch(state, stacks))) || mustWait(node);
  if (waits && leave(node, state, stacks, start, end, trigger, Phase.NEW)) return;
  const query = stacks + QUERY;
  stackedBegin(state, stacks, load<u32>(state + W_ROWS, ROWS_COUNT));
  if (bring(node, spec, state, query, false) == Stacked.ALL)
    sendGroups(node, spec, stacksSet(state, query), start, end, trigger);
  // A node below that has deferred its work may refer to it.
  if (deferredCount && mayDefer(node) && isHeldBelow(node)) {
    const entry = leave(node, state, stacks, start, end, trigger, Phase.SENT);
    if (entry) {
      memory.copy(entry + ENTRY_SET, query, SET_SIZE);
      setInit(query, accountOf(node));
      return;
    }
  }
  setReset(query);
}

/** True when there are so many rows and groups to be worked on. */
function isMuch(state: usize, stacks: usize): bool {
  const fresh = load<u32>(state + W_ROWS, ROWS_COUNT) - frontCount(stacks) - load<u32>(stacks, TAKEN);
  return isLong(fresh + load<u32>(stacks, SET_COUNT) + load<u32>(state + W_SET, SET_COUNT));
}

/** Leaves the window that has come to its end to the outbox; 0 when it is to be sent at once. */
function leave(node: usize, state: usize, stacks: usize, start: f64, end: f64, trigger: f64, phase: u32): usize {
  const entry = outboxStacks(node, start, end, trigger, phase, rowsInside(state, stacks), load<u32>(stacks, SINCE));
  if (!entry) return 0;
  store<u32>(stacks, 0, SINCE);
  store<u32>(stacks, load<u32>(stacks, WAITS) + 1, WAITS);
  return entry;
}

/**
 * Brings the stacks up to the rows of the window and joins them in the set, `pauses`: as far as it comes. Unless it
 * comes to all, or is to go on, the window is sent as failed.
 */
function bring(node: usize, spec: usize, state: usize, set: usize, pauses: bool): u32 {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const come = stackedJoin(node, spec, state, stacks, set, pauses);
  if (come == Stacked.EXHAUSTED) exhaust(node);
  else if (come == Stacked.LOST) sendNoMemory(node);
  else if (come == Stacked.ALL && load<u32>(stacks, FAILED)) {
    const failure = firstFailure(node, spec, state, stacks);
    sendFailure(node, offOf(failure), lenOf(failure));
    return Stacked.LOST;
  }
  return come;
}

/** The set that is sent of a window that was joined in `set`. */
export function stacksSet(state: usize, set: usize): usize {
  return frontCount(<usize>load<u32>(state, W_STACKS)) ? set : state + W_SET;
}

/** True for a window whose rows are in stacks of its own. */
export function isInStacks(spec: usize, state: usize): bool {
  return load<u32>(state, W_STACKS) != 0 && !isPartitioned(spec) && !hasFlag(spec, WindowFlag.PANES);
}

/** The turn of a window in the outbox has come: so many rows have left since the one before, and so many are in it. */
export function stacksBegin(node: usize, state: usize, left: u32, rows: u32): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  store<u32>(stacks, load<u32>(stacks, LEFT) - left, LEFT);
  drop(state, stacks, left, accountOf(node));
  stackedBegin(state, stacks, rows);
}

/** Goes on with what was begun, in the set of the window, as far as it comes; see `bring`. */
export function stacksJoin(node: usize, spec: usize, state: usize, set: usize): u32 {
  bindConstants(spec, <usize>load<u32>(node, N_PROGRAM));
  return bring(node, spec, state, set, true);
}

/** A window of the outbox was sent: behind the last one rows leave that have had to wait for it. */
export function stacksSent(node: usize, state: usize): void {
  const stacks = <usize>load<u32>(state, W_STACKS);
  const waits = load<u32>(stacks, WAITS) - 1;
  store<u32>(stacks, waits, WAITS);
  if (waits) return;
  const since = load<u32>(stacks, SINCE);
  store<u32>(stacks, 0, SINCE);
  store<u32>(stacks, 0, LEFT);
  drop(state, stacks, since, accountOf(node));
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
    linkFront(spec, stacks);
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
