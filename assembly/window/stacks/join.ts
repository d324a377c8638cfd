// Brings two stacks (window/stacks/stacks.ts) up to the rows of a window and joins them in one set, a step of a page or
// of at most PART groups after the other, so that much of it can be left in between: rows that come meanwhile come
// behind those that it is about, and none leaves before it is over.
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

/** Groups, or entries, of a step. */
const PART: u32 = 1024;

namespace Step {
  export const DONE: u32 = 0;
  /** Rows come into the back: those of `page`, which has `before` rows before it. */
  export const TAKES: u32 = 1;
  /** Rows become entries of the front: those of `page`. The group that the last one got is `group`. */
  export const PUTS: u32 = 2;
  /** No key comes any more: `group` is the next one. */
  export const SEALS: u32 = 3;
  /** Entries before `place` are linked, from behind. */
  export const LINKS: u32 = 4;
  /** First entries are marked from `place` on. */
  export const MARKS: u32 = 5;
  /** What the front holds of each key comes into the set: of entry `place` on. */
  export const HEADS: u32 = 6;
  /** So does the back: `group` is the next one. */
  export const BACK: u32 = 7;
}

/** How far a join came. */
export namespace Stacked {
  /** It is to go on. */
  export const SOME: u32 = 0;
  export const ALL: u32 = 1;
  /** There is no memory for what is to be sent. */
  export const LOST: u32 = 2;
  /** There is none for the stacks. */
  export const EXHAUSTED: u32 = 3;
}

/** Groups of the keys of a page of rows. */
const KEYS: usize = memory.data(4 * 1024, 16);

/** Begins to join the window of the first `n` kept rows. */
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

/** Finds the page of the kept row that has `done` rows before it, from behind. */
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
 * Goes on with the join in the set, which is empty at first; returns how far it came (Stacked). A window of which a row
 * failed, or which has no front, is not joined: its back is what is sent.
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

/** Takes a step; false when memory is exhausted. */
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

/** All rows are in; `isStackedWhole` says whether there is something to join. */
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
 * Selects the rows `from` to `to` of the bound page that are part of the window; `before`: kept rows before the page's
 * row 0.
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

/** Takes rows of the page at hand into the back; false when memory is exhausted. */
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
 * Puts rows of the page at hand into the front, of `n` in all, and (`fills`) a group for each of them into its set;
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

/** Puts the first `n` kept rows into the empty front, and (`fills`) a group for each of them into its set. */
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

/** Takes the kept rows up to the `n`th into the back, behind those of the stacks; false when memory is exhausted. */
export function takeRows(spec: WindowSpec, state: WindowState, stacks: Stacks, program: Program, n: u32): bool {
  stacks.again = 0;
  stacks.bound = n;
  beginTakes(state, stacks, frontCount(stacks) + stacks.taken);
  while (stacks.step == Step.TAKES) if (!takePage(spec, state, stacks, program)) return false;
  stacks.step = Step.DONE;
  return true;
}
