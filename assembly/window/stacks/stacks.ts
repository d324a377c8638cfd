// Sliding and counting windows in O(1) a row: two stacks. The older rows of the window are the front
// (window/stacks/front.ts), each with the aggregates of itself and all younger rows of its key in the front. The newer
// rows, the back, are the set of the window. The result joins the oldest row of each key in the front with that set
// (window/stacks/join.ts). When the front is used up and a row of the back leaves, all rows in the window become the
// new front.
//
// Rows are taken into the back when a window is sent, not before, so a seldom sent window costs nothing for rows that
// leave earlier. A window of few rows has no front: its back is made anew from all of them. Sums of few rows are
// therefore added row by row; sums of many rows are added in another order.
//
// A window with long work waits in the outbox, and so do the windows behind it. Its entry has the number of rows in the
// window, and of rows that have left since the entry before. Rows and stacks stay as they are until the turn of the
// entry; only then do these rows leave. The sums are thus those of immediate work, and rows that the entry refers to
// stay until it is sent.
import { deferredCount, isHeldBelow, isLong, mayDefer } from '../../node/deferred';
import { accountOf, exhaust } from '../../node/node';
import { allocZeroed, free } from '../../mem/alloc';
import { lenOf, offOf } from '../../mem/layout';
import { WindowFlag, allFixed, allMergeable, hasFlag, isPartitioned } from '../../agg/group/spec';
import { SET_SIZE, setFree, setInit, setReset } from '../../agg/group/group';
import { accumulate } from '../../agg/accumulate';
import { groupSave } from '../../agg/save/group';
import { groupsLoad } from '../../agg/save/save';
import { LoadFault } from '../../gen/state-layouts';
import { readBool, readFail, readFails, readU32, readUpTo } from '../../state/reader';
import { writeBool, writeU32 } from '../../state/writer';
import { rowsBefore, rowsDrop, rowsDropBefore, rowsFirst } from '../../rows/store';
import { Front, frontCount, frontDrop, frontFree, frontGroup, frontInit, frontKeyed, frontReset } from './front';
import { judgeRow, whereError } from '../content/content';
import { bindConstants, bindPage } from '../content/kept';
import { OutboxEntry, Phase, mustWait, outboxStacks } from '../content/outbox';
import { sendFailure, sendGroups, sendNoMemory } from '../content/output';
import { Stacked, linkFront, makeFront, stackedBegin, stackedJoin, takeRows } from './join';
import { Stacks, FEW, STACKS_SIZE, rowsInside } from './state';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet } from '../../agg/group/table';
import { WindowState } from '../content/state';

/** True for groups whose aggregates can be joined and have states of fixed size. */
export function canStack(spec: WindowSpec): bool {
  return hasFlag(spec, WindowFlag.GROUPED) && allMergeable(spec) && allFixed(spec);
}

export function stacksOpen(node: Node, state: WindowState): bool {
  const acct = accountOf(node);
  const stacks = changetype<Stacks>(allocZeroed(STACKS_SIZE, acct));
  if (!stacks) return false;
  frontInit(stacks, acct);
  setInit(stacks.partials, acct);
  setInit(stacks.query, acct);
  state.stacks = changetype<usize>(stacks);
  return true;
}

/** Makes the stacks of a partition once they are worth their memory; false when memory is exhausted. */
export function stacksOfPartition(node: Node, spec: WindowSpec, part: WindowState): bool {
  if (part.stacks || part.kept.count < FEW || !hasFlag(spec, WindowFlag.STACKS)) return true;
  if (stacksOpen(node, part)) return true;
  exhaust(node);
  return false;
}

export function stacksFree(node: Node, state: WindowState): void {
  const stacks = changetype<Stacks>(state.stacks);
  if (!stacks) return;
  const acct = accountOf(node);
  frontFree(stacks, acct);
  setFree(stacks.partials);
  setFree(stacks.query);
  free(changetype<usize>(stacks), STACKS_SIZE, acct);
}

/** Drops the rows older than `ms` from the window. */
export function stacksDropBefore(state: WindowState, ms: f64, acct: usize): void {
  const stacks = changetype<Stacks>(state.stacks);
  const rows = state.kept;
  if (stacks.waits) {
    leaveLater(stacks, rowsBefore(rows, stacks.left, ms));
    return;
  }
  const before = rows.count;
  rowsDropBefore(rows, ms);
  const dropped = before - rows.count;
  if (dropped) forget(state, stacks, dropped, acct);
}

/** Drops the oldest `n` rows from the window. */
export function stacksDrop(state: WindowState, n: u32, acct: usize): void {
  const stacks = changetype<Stacks>(state.stacks);
  if (stacks.waits) leaveLater(stacks, n);
  else drop(state, stacks, n, acct);
}

function leaveLater(stacks: Stacks, n: u32): void {
  stacks.left += n;
  stacks.since += n;
}

function drop(state: WindowState, stacks: Stacks, n: u32, acct: usize): void {
  if (!n) return;
  rowsDrop(state.kept, n);
  forget(state, stacks, n, acct);
}

/** Takes the oldest `n` kept rows out of the stacks. Two calls for parts of them do the same as one call. */
function forget(state: WindowState, stacks: Stacks, n: u32, acct: usize): void {
  const failed = stacks.failed;
  if (failed) {
    const first = stacks.firstFailed;
    stacks.failed = failed > n ? failed - n : 0;
    stacks.firstFailed = first > n ? first - n : 0;
  }
  const inFront = frontCount(stacks);
  if (n < inFront) {
    frontDrop(stacks, n);
    return;
  }
  if (inFront) resetFront(stacks, acct);
  const taken = stacks.taken;
  if (n == inFront || taken == 0) return;
  stacks.again = <u32>(taken > 1);
  stacks.taken = 0;
  setReset(state);
}

function resetFront(stacks: Stacks, acct: usize): void {
  frontReset(stacks, acct);
  setReset(stacks.partials);
}

/**
 * Takes the bound row at `at`, which may have been kept as the last one, into the back if all rows before it are there.
 * Reading the batch costs less than reading the page that keeps the row. False when memory is exhausted.
 */
export function stacksTake(spec: WindowSpec, state: WindowState, at: usize): bool {
  const stacks = changetype<Stacks>(state.stacks);
  if (stacks.waits) return true;
  const taken = stacks.taken;
  const done = frontCount(stacks) + taken;
  if (done == 0 || state.kept.count != done + 1 || judgeRow(spec, load<u32>(at)) <= 0) return true;
  if (!accumulate(spec, state, at, 1)) return false;
  stacks.taken = taken + 1;
  return true;
}

// ---- what window/stacks/vectors.ts takes over and hands over
// -------------------------------------------------------------

/** Rows in the back. */
// @ts-ignore: decorator
@inline export function stacksTaken(stacks: Stacks): u32 {
  return stacks.taken;
}

/** True when some of the rows in the window were in a back before. */
// @ts-ignore: decorator
@inline export function stacksAgain(stacks: Stacks): bool {
  return stacks.again != 0;
}

/** True when WHERE or a key failed in a kept row. */
// @ts-ignore: decorator
@inline export function stacksFailed(stacks: Stacks): bool {
  return stacks.failed != 0;
}

/** Empties the front and the back; kept rows stay. */
export function stacksClear(state: WindowState, acct: usize): void {
  const stacks = changetype<Stacks>(state.stacks);
  if (frontCount(stacks)) resetFront(stacks, acct);
  stacks.taken = 0;
  stacks.again = 0;
  setReset(state);
}

/**
 * Fills empty stacks: a front of the first `inFront` kept rows, each with only its own aggregates, and a back of the
 * `taken` rows behind them. False when memory is exhausted: the stacks are empty then.
 */
export function stacksFill(
  node: Node,
  spec: WindowSpec,
  state: WindowState,
  inFront: u32,
  taken: u32,
  again: bool,
): bool {
  const stacks = changetype<Stacks>(state.stacks);
  const program = node.program;
  stacks.failed = 0;
  const isFilled =
    (!inFront || makeFront(spec, state, stacks, program, inFront, accountOf(node), true)) &&
    (!taken || takeRows(spec, state, stacks, program, inFront + taken));
  if (isFilled && inFront) linkFront(spec, stacks);
  if (!isFilled) {
    if (inFront) resetFront(stacks, accountOf(node));
    stacksClear(state, accountOf(node));
  }
  stacks.again = <u32>(again || !isFilled);
  return isFilled;
}

/** Payload of the error of the first kept row that failed; there must be one. Binds its page. */
function firstFailure(node: Node, spec: WindowSpec, state: WindowState, stacks: Stacks): u64 {
  const program = node.program;
  let before: u32 = 0;
  for (let page = rowsFirst(state.kept); page && !stacks.firstFailed; page = page.next) {
    bindPage(page, spec, program);
    const left = page.left;
    const to = page.to;
    for (let i = left; i < to; i++) {
      if (judgeRow(spec, i) >= 0) continue;
      stacks.firstFailed = before + (i - left) + 1;
      stacks.failedPage = page;
      stacks.failedRow = i;
      break;
    }
    before += to - left;
  }
  bindPage(stacks.failedPage, spec, program);
  judgeRow(spec, stacks.failedRow);
  return whereError();
}

/** Sends the window, or defers it. Afterwards the current batch and the bound inputs are other ones. */
export function stacksSend(node: Node, spec: WindowSpec, state: WindowState, start: f64, end: f64, trigger: f64): void {
  const stacks = changetype<Stacks>(state.stacks);
  const waits = (mayDefer(node) && (stacks.waits != 0 || isMuch(state, stacks))) || mustWait(node);
  if (waits && leave(node, state, stacks, start, end, trigger, Phase.NEW)) return;
  const query = stacks.query;
  stackedBegin(state, stacks, state.kept.count);
  if (bring(node, spec, state, query, false) == Stacked.ALL)
    sendGroups(node, spec, stacksSet(state, query), start, end, trigger);
  // A node below that has deferred its work may refer to the set.
  if (deferredCount && mayDefer(node) && isHeldBelow(node)) {
    const entry = leave(node, state, stacks, start, end, trigger, Phase.SENT);
    if (entry) {
      memory.copy(changetype<usize>(entry.set), changetype<usize>(query), SET_SIZE);
      setInit(query, accountOf(node));
      return;
    }
  }
  setReset(query);
}

/** True when so many rows and groups are to be joined that the work is deferred. */
function isMuch(state: WindowState, stacks: Stacks): bool {
  const fresh = state.kept.count - frontCount(stacks) - stacks.taken;
  return isLong(fresh + stacks.count + state.count);
}

/** Puts the window that has ended into the outbox. Returns its entry, 0 when the window is to be sent at once. */
function leave(
  node: Node,
  state: WindowState,
  stacks: Stacks,
  start: f64,
  end: f64,
  trigger: f64,
  phase: u32,
): OutboxEntry {
  const entry = outboxStacks(node, start, end, trigger, phase, rowsInside(state, stacks), stacks.since);
  if (!entry) return changetype<OutboxEntry>(0);
  stacks.since = 0;
  stacks.waits++;
  return entry;
}

/**
 * Takes the rows of the window into the stacks and joins them in the set; with `pauses` it may stop before the end.
 * Returns how far it came (Stacked); a window that can't be joined is sent as failed.
 */
function bring(node: Node, spec: WindowSpec, state: WindowState, set: GroupSet, pauses: bool): u32 {
  const stacks = changetype<Stacks>(state.stacks);
  const come = stackedJoin(node, spec, state, stacks, set, pauses);
  if (come == Stacked.EXHAUSTED) exhaust(node);
  else if (come == Stacked.LOST) sendNoMemory(node);
  else if (come == Stacked.ALL && stacks.failed) {
    const failure = firstFailure(node, spec, state, stacks);
    sendFailure(node, offOf(failure), lenOf(failure));
    return Stacked.LOST;
  }
  return come;
}

/** The set with the result of a window that was joined in `set`. */
export function stacksSet(state: WindowState, set: GroupSet): GroupSet {
  return frontCount(changetype<Front>(state.stacks)) ? set : state;
}

/** True for a window whose rows are in stacks of its own. */
export function isInStacks(spec: WindowSpec, state: WindowState): bool {
  return state.stacks != 0 && !isPartitioned(spec) && !hasFlag(spec, WindowFlag.PANES);
}

/**
 * Begins a window of the outbox that has `rows` rows; the `left` rows that have left since the entry before are
 * dropped.
 */
export function stacksBegin(node: Node, state: WindowState, left: u32, rows: u32): void {
  const stacks = changetype<Stacks>(state.stacks);
  stacks.left -= left;
  drop(state, stacks, left, accountOf(node));
  stackedBegin(state, stacks, rows);
}

/** Goes on with a join that was begun, in the set of the window, as far as it comes; see `bring`. */
export function stacksJoin(node: Node, spec: WindowSpec, state: WindowState, set: GroupSet): u32 {
  bindConstants(spec, node.program);
  return bring(node, spec, state, set, true);
}

/** Notes that a window of the outbox was sent; after the last one, rows that had to stay for it are dropped. */
export function stacksSent(node: Node, state: WindowState): void {
  const stacks = changetype<Stacks>(state.stacks);
  const waits = stacks.waits - 1;
  stacks.waits = waits;
  if (waits) return;
  const since = stacks.since;
  stacks.since = 0;
  stacks.left = 0;
  drop(state, stacks, since, accountOf(node));
}

/** Saves the groups of the part of the front that is still in the window, and how far the back is filled. */
export function stacksSave(spec: WindowSpec, state: WindowState): void {
  const stacks = changetype<Stacks>(state.stacks);
  const inFront = frontCount(stacks);
  let groups: u32 = 0;
  for (let i: u32 = 0; i < inFront; i++) groups += <u32>!!frontGroup(stacks, i);
  writeU32(inFront);
  writeU32(groups);
  for (let i: u32 = 0; i < inFront; i++) {
    const group = frontGroup(stacks, i);
    if (group) groupSave(spec, group);
  }
  writeU32(stacks.taken);
  writeBool(stacks.again != 0);
  writeU32(stacks.failed);
}

/** Fills newly made stacks from saved state; rows and back are there already. */
export function stacksLoad(node: Node, spec: WindowSpec, state: WindowState): void {
  const stacks = changetype<Stacks>(state.stacks);
  const rows = state.kept.count;
  const inFront = readUpTo(rows);
  const groups = groupsLoad(spec, stacks.partials, inFront);
  const taken = readUpTo(rows - inFront);
  const again = readBool();
  const failed = readUpTo(rows);
  if (readFails()) return;
  if (inFront) {
    if (!makeFront(spec, state, stacks, node.program, inFront, accountOf(node), false)) {
      readFail(LoadFault.MEMORY);
      return;
    }
    if (frontKeyed(stacks) != groups) {
      readFail(LoadFault.DAMAGED);
      return;
    }
    linkFront(spec, stacks);
  }
  stacks.taken = taken;
  stacks.again = <u32>again;
  stacks.failed = failed;
  stacks.firstFailed = 0;
}

/** A set for groups that are read and thrown away. */
const PASSED: GroupSet = changetype<GroupSet>(memory.data(128, 16));

/** Reads the state that `stacksSave` wrote, and throws it away. */
export function stacksPass(spec: WindowSpec): void {
  setInit(PASSED, 0);
  groupsLoad(spec, PASSED, readU32());
  setFree(PASSED);
  readU32();
  readBool();
  readU32();
}
