// Joins the panes of a hopping window in one set, a step of at most PART groups after the other, so that a join of many
// groups can be left in between: panes that end meanwhile come behind those that it is about, and none of these leaves
// before it is over.
//
// A window of few panes joins them all. Of many, the older ones are a front (window/stacks/front.ts), whose entries are
// their groups, and the newer ones are joined in the back as they end: a pane is joined twice, whatever the number of
// windows it is in.
import { goesOn } from '../../node/deferred';
import { refusals } from '../../mem/alloc';
import { regroup, setReserve } from '../../agg/group/group';
import { GROUP_NEXT, SET_COUNT, SET_FIRST } from '../../agg/group/table';
import { mergeSome } from '../../agg/merge';
import {
  FRONT_END,
  frontCount,
  frontJoinSome,
  frontLink,
  frontMarkBegin,
  frontMarkSome,
  frontPut,
  frontReserve,
  frontSealSome,
} from '../stacks/front';
import { AT, BACK, BOUND, FIRST, GROUP, IN_BACK, IN_FRONT, LINKS, PLACE, STEP, TO, paneAt, paneSet } from './state';

/** So many panes are joined for each window with less work than it is to make a front of them. */
const FEW: u32 = 16;
/** Groups of a step. */
const PART: u32 = 1024;

namespace Step {
  export const DONE: u32 = 0;
  /** Panes come into the set as they are: `group` of pane `at` is next. */
  export const PANES: u32 = 1;
  /** Groups of panes become entries of the front: `group` of pane `at`. */
  export const PUTS: u32 = 2;
  /** No key comes any more: `group` is the next one. */
  export const SEALS: u32 = 3;
  /** Entries are linked from behind: those before `place`, of pane `at`, whose first one is `group`. */
  export const LINKS: u32 = 4;
  /** First entries are marked from `place` on. */
  export const MARKS: u32 = 5;
  /** Panes behind the front come into the back: `group` of pane `at`. */
  export const BACKS: u32 = 6;
  /** The front comes into the set, from entry `place` on. */
  export const FRONT: u32 = 7;
  /** The back comes into the set: `group` is next. */
  export const BACK: u32 = 8;
}

/** What `links` says of a front that is made. */
namespace Links {
  /** Its entries are joined as they are linked; what comes after is the window's join. */
  export const JOINS: u32 = 0;
  /** They were saved so, and nothing comes after. */
  export const LOADS: u32 = 1;
}

/** How far a join came. */
export namespace Joined {
  /** It is to go on. */
  export const SOME: u32 = 0;
  export const ALL: u32 = 1;
  /** Memory is exhausted. */
  export const LOST: u32 = 2;
}

/** How many panes have ended by `end`. */
export function panesUntil(panes: usize, end: f64): u32 {
  const first = load<u32>(panes, FIRST);
  let to = load<u32>(panes, TO);
  while (to > first && load<f64>(paneAt(panes, to - 1)) > end) to--;
  return to - first;
}

/** Begins to join the first `bound` panes. */
export function joinBegin(panes: usize, bound: u32): void {
  store<u32>(panes, bound, BOUND);
  if (load<u32>(panes, IN_FRONT) | load<u32>(panes, IN_BACK)) beginBacks(panes);
  else if (bound > FEW) beginFront(panes, Links.JOINS);
  else beginPane(panes, Step.PANES, 0);
}

/** Goes on with the join in the set, which is empty at first; returns how far it came. */
export function joinSome(spec: usize, panes: usize, set: usize, acct: usize, pauses: bool): u32 {
  const before = refusals;
  while (load<u32>(panes, STEP) != Step.DONE) {
    step(spec, panes, set, acct);
    if (refusals != before) {
      store<u32>(panes, Step.DONE, STEP);
      return Joined.LOST;
    }
    if (pauses && load<u32>(panes, STEP) != Step.DONE && !goesOn(PART)) return Joined.SOME;
  }
  return Joined.ALL;
}

/** Makes the first `n` panes the front, as it was saved; false when memory is exhausted. */
export function frontLoad(spec: usize, panes: usize, n: u32, acct: usize): bool {
  store<u32>(panes, n, BOUND);
  beginFront(panes, Links.LOADS);
  return joinSome(spec, panes, 0, acct, false) == Joined.ALL;
}

function step(spec: usize, panes: usize, set: usize, acct: usize): void {
  const group = <usize>load<u32>(panes, GROUP);
  const place = load<u32>(panes, PLACE);
  const at = load<u32>(panes, AT);
  switch (load<u32>(panes, STEP)) {
    case Step.PANES:
      setReserve(set, load<u32>(paneSet(panes, at), SET_COUNT));
      store<u32>(panes, <u32>mergeSome(spec, set, paneSet(panes, at), group, PART), GROUP);
      nextPane(panes);
      break;
    case Step.PUTS:
      putSome(spec, panes, acct);
      break;
    case Step.SEALS: {
      const next = frontSealSome(panes, group, PART);
      store<u32>(panes, <u32>next, GROUP);
      if (!next) beginLinks(panes);
      break;
    }
    case Step.LINKS:
      linkSome(spec, panes);
      break;
    case Step.MARKS: {
      const end = min(place + (PART << 3), frontCount(panes));
      frontMarkSome(panes, place, end);
      store<u32>(panes, end, PLACE);
      if (end == frontCount(panes)) endFront(panes);
      break;
    }
    case Step.BACKS:
      setReserve(panes + BACK, load<u32>(paneSet(panes, at), SET_COUNT));
      store<u32>(panes, <u32>mergeSome(spec, panes + BACK, paneSet(panes, at), group, PART), GROUP);
      if (!load<u32>(panes, GROUP)) store<u32>(panes, load<u32>(panes, IN_BACK) + 1, IN_BACK);
      nextPane(panes);
      break;
    case Step.FRONT: {
      setReserve(set, load<u32>(panes, SET_COUNT));
      const next = frontJoinSome(spec, panes, set, place, PART);
      store<u32>(panes, next, PLACE);
      if (next == FRONT_END) beginBack(panes);
      break;
    }
    default: {
      const next = mergeSome(spec, set, panes + BACK, group, PART);
      store<u32>(panes, <u32>next, GROUP);
      if (!next) store<u32>(panes, Step.DONE, STEP);
    }
  }
}

/** Begins a step over panes with pane `at`, or the one after it when there are no more. */
function beginPane(panes: usize, step: u32, at: u32): void {
  const bound = load<u32>(panes, BOUND);
  store<u32>(panes, step, STEP);
  store<u32>(panes, at, AT);
  if (at < bound) {
    store<u32>(panes, load<u32>(paneSet(panes, at), SET_FIRST), GROUP);
    return;
  }
  switch (step) {
    case Step.PUTS:
      store<u32>(panes, load<u32>(panes, SET_FIRST), GROUP);
      store<u32>(panes, Step.SEALS, STEP);
      break;
    case Step.BACKS:
      beginHeads(panes);
      break;
    default:
      store<u32>(panes, Step.DONE, STEP);
  }
}

/** Goes on to the next pane when no group of the one at hand is left. */
function nextPane(panes: usize): void {
  if (!load<u32>(panes, GROUP)) beginPane(panes, load<u32>(panes, STEP), load<u32>(panes, AT) + 1);
}

// ---- the front -------------------------------------------------------------------------------------------------

function beginFront(panes: usize, links: u32): void {
  store<u32>(panes, links, LINKS);
  // Nothing is put in yet: room for all is made with the first group.
  beginPane(panes, Step.PUTS, 0);
}

/** Groups of the panes that the join is about. */
function entriesOf(panes: usize): u32 {
  const bound = load<u32>(panes, BOUND);
  let entries: u32 = 0;
  for (let i: u32 = 0; i < bound; i++) entries += load<u32>(paneSet(panes, i), SET_COUNT);
  return entries;
}

function putSome(spec: usize, panes: usize, acct: usize): void {
  const at = load<u32>(panes, AT);
  const set = paneSet(panes, at);
  let group = <usize>load<u32>(panes, GROUP);
  if (at == 0 && group == <usize>load<u32>(set, SET_FIRST)) {
    if (!frontReserve(panes, entriesOf(panes), acct)) return;
    setReserve(panes, load<u32>(set, SET_COUNT));
  }
  for (let n: u32 = 0; group && n < PART; n++, group = <usize>load<u32>(group, GROUP_NEXT)) {
    const key = regroup(spec, panes, set, group);
    if (!key) return;
    frontPut(panes, group, key);
  }
  store<u32>(panes, <u32>group, GROUP);
  nextPane(panes);
}

function beginLinks(panes: usize): void {
  store<u32>(panes, Step.LINKS, STEP);
  store<u32>(panes, frontCount(panes), PLACE);
  linkPane(panes, load<u32>(panes, BOUND) - 1);
}

/** Goes on with pane `at`, whose last entry is before `place`; the number of its first one is kept as `group`. */
function linkPane(panes: usize, at: u32): void {
  store<u32>(panes, at, AT);
  store<u32>(panes, load<u32>(panes, PLACE) - load<u32>(paneSet(panes, at), SET_COUNT), GROUP);
}

function linkSome(spec: usize, panes: usize): void {
  const at = load<u32>(panes, AT);
  const to = load<u32>(panes, PLACE);
  const first = load<u32>(panes, GROUP);
  const from = to - first > PART ? to - PART : first;
  frontLink(spec, panes, paneSet(panes, at), from, to, load<u32>(panes, LINKS) == Links.JOINS);
  store<u32>(panes, from, PLACE);
  if (from > first) return;
  if (at > 0) linkPane(panes, at - 1);
  else {
    frontMarkBegin(panes);
    store<u32>(panes, 0, PLACE);
    store<u32>(panes, Step.MARKS, STEP);
  }
}

function endFront(panes: usize): void {
  store<u32>(panes, load<u32>(panes, BOUND), IN_FRONT);
  if (load<u32>(panes, LINKS) == Links.LOADS) store<u32>(panes, Step.DONE, STEP);
  else beginBacks(panes);
}

// ---- the set ---------------------------------------------------------------------------------------------------

function beginBacks(panes: usize): void {
  beginPane(panes, Step.BACKS, load<u32>(panes, IN_FRONT) + load<u32>(panes, IN_BACK));
}

function beginHeads(panes: usize): void {
  store<u32>(panes, 0, PLACE);
  if (load<u32>(panes, IN_FRONT)) store<u32>(panes, Step.FRONT, STEP);
  else beginBack(panes);
}

function beginBack(panes: usize): void {
  store<u32>(panes, load<u32>(panes + BACK, SET_FIRST), GROUP);
  store<u32>(panes, Step.BACK, STEP);
}
