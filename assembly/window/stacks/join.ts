// Takes the rows of a window into two stacks (window/stacks/stacks.ts) and joins them in one set. A step is a page or
// at most PART groups, so that other work can run between steps. Rows that come meanwhile go behind the rows of the
// join, and no row of the join leaves before its end.
import { goesOn } from '../../node/deferred';
import { accountOf } from '../../node/node';
import { selectionPop, selectionPush } from '../../batch/selection';
import { refusals } from '../../mem/alloc';
import { rowsFirst, rowsLast } from '../../rows/store';
import { assignGroups } from '../../agg/group/group';
import { accumulate, accumulateSeparately } from '../../agg/accumulate';
import { mergeSome } from '../../agg/merge';
import { judgeRow } from '../content/content';
import {
  FRONT_END,
  frontCount,
  frontJoinSome,
  frontLink,
  frontMark,
  frontMarkBegin,
  frontMarkSome,
  frontPut,
  frontReserve,
  frontSeal,
  frontSealSome,
} from './front';
import { bindPage } from '../content/kept';
import { Stacks, FEW } from './state';
import { Node } from '../../gen/node-layouts';
import { Program } from '../../gen/ops-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { Page } from '../../rows/page';
import { GroupSet, Group } from '../../agg/group/table';
import { WindowState } from '../content/state';

/** Groups, or entries, of one step. */
const PART: u32 = 1024;

namespace Step {
  export const DONE: u32 = 0;
  /** Takes rows of `page` into the back; `before` rows come before the page. */
  export const TAKES: u32 = 1;
  /** Makes rows of `page` entries of the front; `group` is the group of the last one. */
  export const PUTS: u32 = 2;
  /** Ends the adding of keys to the front; `group` is the next one. */
  export const SEALS: u32 = 3;
  /** Links the entries before `place`, from the last to the first. */
  export const LINKS: u32 = 4;
  /** Marks first entries, from `place` on. */
  export const MARKS: u32 = 5;
  /** Joins the heads of the front in the set, from entry `place` on. */
  export const HEADS: u32 = 6;
  /** Joins the back in the set; `group` is the next one. */
  export const BACK: u32 = 7;
}

/** Progress of a join. */
export namespace Stacked {
  /** The join is to go on. */
  export const SOME: u32 = 0;
  export const ALL: u32 = 1;
  /** Memory is exhausted for the result. */
  export const LOST: u32 = 2;
  /** Memory is exhausted for the stacks. */
  export const EXHAUSTED: u32 = 3;
}

/** Groups that have the keys of a page of rows. */
const KEYS: usize = memory.data(4 * 1024, 16);

/** Begins to join the window that has the first `n` kept rows. */
export function stackedBegin(state: WindowState, stacks: Stacks, n: u32): void {
  const done = frontCount(stacks) + stacks.taken;
  stacks.bound = n;
  if (n == done) {
    beginHeads(stacks);
    return;
  }
  const isAgain = stacks.again != 0;
  stacks.again = 0;
  if (done == 0 && n > FEW && isAgain) {
    stacks.failed = 0;
    stacks.step = Step.PUTS;
    stacks.page = rowsFirst(state.kept);
    stacks.before = 0;
    stacks.group = changetype<Group>(0);
  } else beginTakes(state, stacks, done);
}

/** Finds the page of the kept row that has `done` rows before it, searching from the last page. */
function beginTakes(state: WindowState, stacks: Stacks, done: u32): void {
  let page = rowsLast(state.kept);
  let before = state.kept.count;
  for (;;) {
    before -= page.to - page.left;
    if (before <= done) break;
    page = page.previous;
  }
  stacks.step = Step.TAKES;
  stacks.page = page;
  stacks.before = before;
}

/**
 * Goes on with the join in the set, which is empty at first; returns how far it came (Stacked). A window with a failed
 * row, or without a front, is not joined: its result is the back.
 */
export function stackedJoin(
  node: Node,
  spec: WindowSpec,
  state: WindowState,
  stacks: Stacks,
  set: GroupSet,
  pauses: bool,
): u32 {
  const before = refusals;
  while (stacks.step != Step.DONE) {
    const step = stacks.step;
    if (!take(node, spec, state, stacks, set, step) || refusals != before) {
      stacks.step = Step.DONE;
      return step < Step.HEADS ? Stacked.EXHAUSTED : Stacked.LOST;
    }
    if (pauses && stacks.step != Step.DONE && !goesOn(PART)) return Stacked.SOME;
  }
  return Stacked.ALL;
}

/** Does one step; false when memory is exhausted. */
function take(node: Node, spec: WindowSpec, state: WindowState, stacks: Stacks, set: GroupSet, step: u32): bool {
  const place = stacks.place;
  switch (step) {
    case Step.TAKES:
      return takePage(spec, state, stacks, node.program);
    case Step.PUTS: {
      const bound = stacks.bound;
      if (!stacks.before && !frontReserve(stacks, bound, accountOf(node))) return false;
      if (!putPage(spec, stacks, node.program, bound, true)) return false;
      if (stacks.before < bound) return true;
      stacks.group = stacks.first;
      stacks.step = Step.SEALS;
      return true;
    }
    case Step.SEALS: {
      const next = frontSealSome(stacks, stacks.group, PART);
      stacks.group = next;
      if (next) return true;
      stacks.place = changetype<Group>(frontCount(stacks));
      stacks.step = Step.LINKS;
      return true;
    }
    case Step.LINKS: {
      const from =
        changetype<usize>(place) > PART ? changetype<Group>(changetype<usize>(place) - PART) : changetype<Group>(0);
      frontLink(spec, stacks, stacks.partials, from, place, true);
      stacks.place = from;
      if (from) return true;
      frontMarkBegin(stacks);
      stacks.step = Step.MARKS;
      return true;
    }
    case Step.MARKS: {
      const end = changetype<Group>(min(changetype<usize>(place) + (PART << 3), frontCount(stacks)));
      frontMarkSome(stacks, place, end);
      stacks.place = end;
      if (changetype<usize>(end) == frontCount(stacks)) beginHeads(stacks);
      return true;
    }
    case Step.HEADS: {
      const next = changetype<Group>(frontJoinSome(spec, stacks, set, place, PART));
      stacks.place = next;
      if (changetype<usize>(next) == FRONT_END) beginBack(state, stacks);
      return true;
    }
    default: {
      const next = mergeSome(spec, set, state, stacks.group, PART);
      stacks.group = next;
      if (!next) stacks.step = Step.DONE;
      return true;
    }
  }
}

/** Begins the last part, after all rows are in; `isStackedWhole` says whether there is something to join. */
function beginHeads(stacks: Stacks): void {
  stacks.place = changetype<Group>(0);
  stacks.step = stacks.failed || frontCount(stacks) == 0 ? Step.DONE : Step.HEADS;
}

function beginBack(state: WindowState, stacks: Stacks): void {
  const first = state.first;
  stacks.group = first;
  stacks.step = first ? Step.BACK : Step.DONE;
}

// ---- rows ------------------------------------------------------------------------------------------------------

/**
 * Selects the rows `from` to `to` of the bound page that are part of the window; `before`: number of kept rows before
 * row 0 of the page.
 */
function selectPart(spec: WindowSpec, stacks: Stacks, page: Page, from: u32, to: u32, before: u32, sel: usize): u32 {
  let n: u32 = 0;
  for (let i = from; i < to; i++) {
    const verdict = judgeRow(spec, i);
    if (verdict < 0) noteFailed(stacks, page, i, before + i + 1);
    if (verdict <= 0) continue;
    store<u32>(sel + ((<usize>n) << 2), i);
    n++;
  }
  return n;
}

function noteFailed(stacks: Stacks, page: Page, row: u32, place: u32): void {
  if (!stacks.failed) {
    stacks.firstFailed = place;
    stacks.failedPage = page;
    stacks.failedRow = row;
  }
  stacks.failed = place;
}

/** Takes rows of the current page into the back; false when memory is exhausted. */
function takePage(spec: WindowSpec, state: WindowState, stacks: Stacks, program: Program): bool {
  const sel = selectionPush();
  if (!sel) return false;
  const page = stacks.page;
  const before = stacks.before;
  const bound = stacks.bound;
  const taken = stacks.taken;
  const left = page.left;
  const from = left + (frontCount(stacks) + taken - before);
  const to = min(page.to, left + (bound - before));
  bindPage(page, spec, program);
  const count = selectPart(spec, stacks, page, from, to, before - left, sel);
  const isTaken = !count || accumulate(spec, state, sel, count);
  selectionPop();
  stacks.taken = taken + (to - from);
  stacks.before = before + (to - left);
  stacks.page = page.next;
  if (before + (to - left) == bound) beginHeads(stacks);
  return isTaken;
}

/**
 * Puts rows of the current page into the front, of `n` in all. With `fills` each gets a group in the set of the front;
 * otherwise the groups are there. False when memory is exhausted.
 */
function putPage(spec: WindowSpec, stacks: Stacks, program: Program, n: u32, fills: bool): bool {
  const sel = selectionPush();
  if (!sel) return false;
  const page = stacks.page;
  const before = stacks.before;
  const left = page.left;
  const to = min(page.to, left + n - before);
  bindPage(page, spec, program);
  const count = selectPart(spec, stacks, page, left, to, before - left, sel);
  const isDone =
    !count ||
    (assignGroups(spec, changetype<usize>(stacks), sel, count, KEYS) &&
      (!fills || accumulateSeparately(spec, stacks.partials, sel, count, KEYS)));
  let group = stacks.group;
  for (let i = left, k: u32 = 0; i < to && isDone; i++) {
    if (k == count || load<u32>(sel + ((<usize>k) << 2)) != i) {
      frontPut(stacks, changetype<Group>(0), changetype<Group>(0));
      continue;
    }
    group = group ? group.next : stacks.partials.first;
    frontPut(stacks, group, changetype<Group>(load<u32>(KEYS + ((<usize>k) << 2))));
    k++;
  }
  selectionPop();
  stacks.group = group;
  stacks.before = before + (to - left);
  stacks.page = page.next;
  return isDone;
}

// ---- what is made at once of state that comes from elsewhere -----------------------------------------------------

/** Puts the first `n` kept rows into the empty front; with `fills` each gets a group in the set of the front. */
export function makeFront(
  spec: WindowSpec,
  state: WindowState,
  stacks: Stacks,
  program: Program,
  n: u32,
  acct: usize,
  fills: bool,
): bool {
  stacks.again = 0;
  if (!frontReserve(stacks, n, acct)) return false;
  stacks.page = rowsFirst(state.kept);
  stacks.before = 0;
  stacks.group = changetype<Group>(0);
  while (stacks.before < n) if (!putPage(spec, stacks, program, n, fills)) return false;
  return true;
}

/** Links the rows of the front, which are joined already. */
export function linkFront(spec: WindowSpec, stacks: Stacks): void {
  frontSeal(stacks);
  frontLink(spec, stacks, stacks.partials, changetype<Group>(0), changetype<Group>(frontCount(stacks)), false);
  frontMark(stacks);
}

/** Takes the kept rows up to the `n`th into the back, behind the rows in the stacks; false when memory is exhausted. */
export function takeRows(spec: WindowSpec, state: WindowState, stacks: Stacks, program: Program, n: u32): bool {
  stacks.again = 0;
  stacks.bound = n;
  beginTakes(state, stacks, frontCount(stacks) + stacks.taken);
  while (stacks.step == Step.TAKES) if (!takePage(spec, state, stacks, program)) return false;
  stacks.step = Step.DONE;
  return true;
}
