// Brings two stacks (window/stacks/stacks.ts) up to the rows of a window and joins them in one set, a step of a page or
// of at most PART groups after the other, so that much of it can be left in between: rows that come meanwhile come
// behind those that it is about, and none leaves before it is over.
import { goesOn } from '../../node/deferred';
import { N_PROGRAM, accountOf } from '../../node/node';
import { selectionPop, selectionPush } from '../../batch/selection';
import { refusals } from '../../mem/alloc';
import { ROWS_COUNT } from '../../rows/layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_PREVIOUS, PAGE_TO } from '../../rows/page';
import { rowsFirst, rowsLast } from '../../rows/store';
import { assignGroups } from '../../agg/group/group';
import { GROUP_NEXT, SET_FIRST } from '../../agg/group/table';
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
import {
  AGAIN,
  BEFORE,
  BOUND,
  ENTRIES,
  FAILED,
  FAILED_PAGE,
  FAILED_ROW,
  FEW,
  FIRST_FAILED,
  GROUP,
  PAGE,
  PLACE,
  STEP,
  TAKEN,
} from './state';
import { W_ROWS, W_SET } from '../content/state';

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
export function stackedBegin(state: usize, stacks: usize, n: u32): void {
  const done = frontCount(stacks) + load<u32>(stacks, TAKEN);
  store<u32>(stacks, n, BOUND);
  if (n == done) {
    beginHeads(stacks);
    return;
  }
  const isAgain = load<u32>(stacks, AGAIN) != 0;
  store<u32>(stacks, 0, AGAIN);
  if (done == 0 && n > FEW && isAgain) {
    store<u32>(stacks, 0, FAILED);
    store<u32>(stacks, Step.PUTS, STEP);
    store<u32>(stacks, <u32>rowsFirst(state + W_ROWS), PAGE);
    store<u32>(stacks, 0, BEFORE);
    store<u32>(stacks, 0, GROUP);
  } else beginTakes(state, stacks, done);
}

/** Finds the page of the kept row that has `done` rows before it, from behind. */
function beginTakes(state: usize, stacks: usize, done: u32): void {
  let page = rowsLast(state + W_ROWS);
  let before = load<u32>(state + W_ROWS, ROWS_COUNT);
  for (;;) {
    before -= load<u32>(page, PAGE_TO) - load<u32>(page, PAGE_LEFT);
    if (before <= done) break;
    page = <usize>load<u32>(page, PAGE_PREVIOUS);
  }
  store<u32>(stacks, Step.TAKES, STEP);
  store<u32>(stacks, <u32>page, PAGE);
  store<u32>(stacks, before, BEFORE);
}

/**
 * Goes on with the join in the set, which is empty at first; returns how far it came (Stacked). A window of which a row
 * failed, or which has no front, is not joined: its back is what is sent.
 */
export function stackedJoin(node: usize, spec: usize, state: usize, stacks: usize, set: usize, pauses: bool): u32 {
  const before = refusals;
  while (load<u32>(stacks, STEP) != Step.DONE) {
    const step = load<u32>(stacks, STEP);
    if (!take(node, spec, state, stacks, set, step) || refusals != before) {
      store<u32>(stacks, Step.DONE, STEP);
      return step < Step.HEADS ? Stacked.EXHAUSTED : Stacked.LOST;
    }
    if (pauses && load<u32>(stacks, STEP) != Step.DONE && !goesOn(PART)) return Stacked.SOME;
  }
  return Stacked.ALL;
}

/** Takes a step; false when memory is exhausted. */
function take(node: usize, spec: usize, state: usize, stacks: usize, set: usize, step: u32): bool {
  const place = load<u32>(stacks, PLACE);
  switch (step) {
    case Step.TAKES:
      return takePage(spec, state, stacks, <usize>load<u32>(node, N_PROGRAM));
    case Step.PUTS: {
      const bound = load<u32>(stacks, BOUND);
      if (!load<u32>(stacks, BEFORE) && !frontReserve(stacks, bound, accountOf(node))) return false;
      if (!putPage(spec, stacks, <usize>load<u32>(node, N_PROGRAM), bound, true)) return false;
      if (load<u32>(stacks, BEFORE) < bound) return true;
      store<u32>(stacks, load<u32>(stacks, SET_FIRST), GROUP);
      store<u32>(stacks, Step.SEALS, STEP);
      return true;
    }
    case Step.SEALS: {
      const next = frontSealSome(stacks, <usize>load<u32>(stacks, GROUP), PART);
      store<u32>(stacks, <u32>next, GROUP);
      if (next) return true;
      store<u32>(stacks, frontCount(stacks), PLACE);
      store<u32>(stacks, Step.LINKS, STEP);
      return true;
    }
    case Step.LINKS: {
      const from = place > PART ? place - PART : 0;
      frontLink(spec, stacks, stacks + ENTRIES, from, place, true);
      store<u32>(stacks, from, PLACE);
      if (from) return true;
      frontMarkBegin(stacks);
      store<u32>(stacks, Step.MARKS, STEP);
      return true;
    }
    case Step.MARKS: {
      const end = min(place + (PART << 3), frontCount(stacks));
      frontMarkSome(stacks, place, end);
      store<u32>(stacks, end, PLACE);
      if (end == frontCount(stacks)) beginHeads(stacks);
      return true;
    }
    case Step.HEADS: {
      const next = frontJoinSome(spec, stacks, set, place, PART);
      store<u32>(stacks, next, PLACE);
      if (next == FRONT_END) beginBack(state, stacks);
      return true;
    }
    default: {
      const next = mergeSome(spec, set, state + W_SET, <usize>load<u32>(stacks, GROUP), PART);
      store<u32>(stacks, <u32>next, GROUP);
      if (!next) store<u32>(stacks, Step.DONE, STEP);
      return true;
    }
  }
}

/** All rows are in; `isStackedWhole` says whether there is something to join. */
function beginHeads(stacks: usize): void {
  store<u32>(stacks, 0, PLACE);
  store<u32>(stacks, load<u32>(stacks, FAILED) || frontCount(stacks) == 0 ? Step.DONE : Step.HEADS, STEP);
}

function beginBack(state: usize, stacks: usize): void {
  const first = load<u32>(state + W_SET, SET_FIRST);
  store<u32>(stacks, first, GROUP);
  store<u32>(stacks, first ? Step.BACK : Step.DONE, STEP);
}

// ---- rows ------------------------------------------------------------------------------------------------------

/**
 * Selects the rows `from` to `to` of the bound page that are part of the window; `before`: kept rows before the page's
 * row 0.
 */
function selectPart(spec: usize, stacks: usize, page: usize, from: u32, to: u32, before: u32, sel: usize): u32 {
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

function noteFailed(stacks: usize, page: usize, row: u32, place: u32): void {
  if (!load<u32>(stacks, FAILED)) {
    store<u32>(stacks, place, FIRST_FAILED);
    store<u32>(stacks, <u32>page, FAILED_PAGE);
    store<u32>(stacks, row, FAILED_ROW);
  }
  store<u32>(stacks, place, FAILED);
}

/** Takes rows of the page at hand into the back; false when memory is exhausted. */
function takePage(spec: usize, state: usize, stacks: usize, program: usize): bool {
  const sel = selectionPush();
  if (!sel) return false;
  const page = <usize>load<u32>(stacks, PAGE);
  const before = load<u32>(stacks, BEFORE);
  const bound = load<u32>(stacks, BOUND);
  const taken = load<u32>(stacks, TAKEN);
  const left = load<u32>(page, PAGE_LEFT);
  const from = left + (frontCount(stacks) + taken - before);
  const to = min(load<u32>(page, PAGE_TO), left + (bound - before));
  bindPage(page, spec, program);
  const count = selectPart(spec, stacks, page, from, to, before - left, sel);
  const isTaken = !count || accumulate(spec, state + W_SET, sel, count);
  selectionPop();
  store<u32>(stacks, taken + (to - from), TAKEN);
  store<u32>(stacks, before + (to - left), BEFORE);
  store<u32>(stacks, load<u32>(page, PAGE_NEXT), PAGE);
  if (before + (to - left) == bound) beginHeads(stacks);
  return isTaken;
}

/**
 * Puts rows of the page at hand into the front, of `n` in all, and (`fills`) a group for each of them into its set;
 * otherwise the groups are there. False when memory is exhausted.
 */
function putPage(spec: usize, stacks: usize, program: usize, n: u32, fills: bool): bool {
  const sel = selectionPush();
  if (!sel) return false;
  const page = <usize>load<u32>(stacks, PAGE);
  const before = load<u32>(stacks, BEFORE);
  const left = load<u32>(page, PAGE_LEFT);
  const to = min(load<u32>(page, PAGE_TO), left + n - before);
  bindPage(page, spec, program);
  const count = selectPart(spec, stacks, page, left, to, before - left, sel);
  const isDone =
    !count ||
    (assignGroups(spec, stacks, sel, count, KEYS) &&
      (!fills || accumulateSeparately(spec, stacks + ENTRIES, sel, count, KEYS)));
  let group = <usize>load<u32>(stacks, GROUP);
  for (let i = left, k: u32 = 0; i < to && isDone; i++) {
    if (k == count || load<u32>(sel + ((<usize>k) << 2)) != i) {
      frontPut(stacks, 0, 0);
      continue;
    }
    group = group ? <usize>load<u32>(group, GROUP_NEXT) : <usize>load<u32>(stacks + ENTRIES, SET_FIRST);
    frontPut(stacks, group, <usize>load<u32>(KEYS + ((<usize>k) << 2)));
    k++;
  }
  selectionPop();
  store<u32>(stacks, <u32>group, GROUP);
  store<u32>(stacks, before + (to - left), BEFORE);
  store<u32>(stacks, load<u32>(page, PAGE_NEXT), PAGE);
  return isDone;
}

// ---- what is made at once of state that comes from elsewhere -----------------------------------------------------

/** Puts the first `n` kept rows into the empty front, and (`fills`) a group for each of them into its set. */
export function makeFront(
  spec: usize,
  state: usize,
  stacks: usize,
  program: usize,
  n: u32,
  acct: usize,
  fills: bool,
): bool {
  store<u32>(stacks, 0, AGAIN);
  if (!frontReserve(stacks, n, acct)) return false;
  store<u32>(stacks, <u32>rowsFirst(state + W_ROWS), PAGE);
  store<u32>(stacks, 0, BEFORE);
  store<u32>(stacks, 0, GROUP);
  while (load<u32>(stacks, BEFORE) < n) if (!putPage(spec, stacks, program, n, fills)) return false;
  return true;
}

/** Links the rows of the front, which are joined already. */
export function linkFront(spec: usize, stacks: usize): void {
  frontSeal(stacks);
  frontLink(spec, stacks, stacks + ENTRIES, 0, frontCount(stacks), false);
  frontMark(stacks);
}

/** Takes the kept rows up to the `n`th into the back, behind those of the stacks; false when memory is exhausted. */
export function takeRows(spec: usize, state: usize, stacks: usize, program: usize, n: u32): bool {
  store<u32>(stacks, 0, AGAIN);
  store<u32>(stacks, n, BOUND);
  beginTakes(state, stacks, frontCount(stacks) + load<u32>(stacks, TAKEN));
  while (load<u32>(stacks, STEP) == Step.TAKES) if (!takePage(spec, state, stacks, program)) return false;
  store<u32>(stacks, Step.DONE, STEP);
  return true;
}
