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
import { Panes, paneAt, paneSet } from './state';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from '../../agg/group/table';

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
export function panesUntil(panes: Panes, end: f64): u32 {
  const first = panes.firstPane;
  let to = panes.to;
  while (to > first && load<f64>(paneAt(panes, to - 1)) > end) to--;
  return to - first;
}

/** Begins to join the first `bound` panes. */
export function joinBegin(panes: Panes, bound: u32): void {
  panes.bound = bound;
  if (panes.inFront | panes.inBack) beginBacks(panes);
  else if (bound > FEW) beginFront(panes, Links.JOINS);
  else beginPane(panes, Step.PANES, 0);
}

/** Goes on with the join in the set, which is empty at first; returns how far it came. */
export function joinSome(spec: WindowSpec, panes: Panes, set: GroupSet, acct: usize, pauses: bool): u32 {
  const before = refusals;
  while (panes.step != Step.DONE) {
    step(spec, panes, set, acct);
    if (refusals != before) {
      panes.step = Step.DONE;
      return Joined.LOST;
    }
    if (pauses && panes.step != Step.DONE && !goesOn(PART)) return Joined.SOME;
  }
  return Joined.ALL;
}

/** Makes the first `n` panes the front, as it was saved; false when memory is exhausted. */
export function frontLoad(spec: WindowSpec, panes: Panes, n: u32, acct: usize): bool {
  panes.bound = n;
  beginFront(panes, Links.LOADS);
  return joinSome(spec, panes, changetype<GroupSet>(0), acct, false) == Joined.ALL;
}

function step(spec: WindowSpec, panes: Panes, set: GroupSet, acct: usize): void {
  const group = panes.group;
  const place = panes.place;
  const at = panes.at;
  switch (panes.step) {
    case Step.PANES:
      setReserve(set, paneSet(panes, at).count);
      panes.group = mergeSome(spec, set, paneSet(panes, at), group, PART);
      nextPane(panes);
      break;
    case Step.PUTS:
      putSome(spec, panes, acct);
      break;
    case Step.SEALS: {
      const next = frontSealSome(panes, group, PART);
      panes.group = next;
      if (!next) beginLinks(panes);
      break;
    }
    case Step.LINKS:
      linkSome(spec, panes);
      break;
    case Step.MARKS: {
      const end = changetype<Group>(min(changetype<usize>(place) + (PART << 3), frontCount(panes)));
      frontMarkSome(panes, place, end);
      panes.place = end;
      if (changetype<usize>(end) == frontCount(panes)) endFront(panes);
      break;
    }
    case Step.BACKS:
      setReserve(panes.back, paneSet(panes, at).count);
      panes.group = mergeSome(spec, panes.back, paneSet(panes, at), group, PART);
      if (!panes.group) panes.inBack++;
      nextPane(panes);
      break;
    case Step.FRONT: {
      setReserve(set, panes.count);
      const next = changetype<Group>(frontJoinSome(spec, panes, set, place, PART));
      panes.place = next;
      if (changetype<usize>(next) == FRONT_END) beginBack(panes);
      break;
    }
    default: {
      const next = mergeSome(spec, set, panes.back, group, PART);
      panes.group = next;
      if (!next) panes.step = Step.DONE;
    }
  }
}

/** Begins a step over panes with pane `at`, or the one after it when there are no more. */
function beginPane(panes: Panes, step: u32, at: u32): void {
  const bound = panes.bound;
  panes.step = step;
  panes.at = at;
  if (at < bound) {
    panes.group = paneSet(panes, at).first;
    return;
  }
  switch (step) {
    case Step.PUTS:
      panes.group = panes.first;
      panes.step = Step.SEALS;
      break;
    case Step.BACKS:
      beginHeads(panes);
      break;
    default:
      panes.step = Step.DONE;
  }
}

/** Goes on to the next pane when no group of the one at hand is left. */
function nextPane(panes: Panes): void {
  if (!panes.group) beginPane(panes, panes.step, panes.at + 1);
}

// ---- the front -------------------------------------------------------------------------------------------------

function beginFront(panes: Panes, links: u32): void {
  panes.links = links;
  // Nothing is put in yet: room for all is made with the first group.
  beginPane(panes, Step.PUTS, 0);
}

/** Groups of the panes that the join is about. */
function entriesOf(panes: Panes): u32 {
  const bound = panes.bound;
  let entries: u32 = 0;
  for (let i: u32 = 0; i < bound; i++) entries += paneSet(panes, i).count;
  return entries;
}

function putSome(spec: WindowSpec, panes: Panes, acct: usize): void {
  const at = panes.at;
  const set = paneSet(panes, at);
  let group = panes.group;
  if (at == 0 && group == set.first) {
    if (!frontReserve(panes, entriesOf(panes), acct)) return;
    setReserve(panes, set.count);
  }
  for (let n: u32 = 0; group && n < PART; n++, changetype<usize>((group = group.next))) {
    const key = regroup(spec, changetype<usize>(panes), set, group);
    if (!key) return;
    frontPut(panes, group, key);
  }
  panes.group = group;
  nextPane(panes);
}

function beginLinks(panes: Panes): void {
  panes.step = Step.LINKS;
  panes.place = changetype<Group>(frontCount(panes));
  linkPane(panes, panes.bound - 1);
}

/** Goes on with pane `at`, whose last entry is before `place`; the number of its first one is kept as `group`. */
function linkPane(panes: Panes, at: u32): void {
  panes.at = at;
  panes.group = changetype<Group>(changetype<usize>(panes.place) - paneSet(panes, at).count);
}

function linkSome(spec: WindowSpec, panes: Panes): void {
  const at = panes.at;
  const to = panes.place;
  const first = panes.group;
  const from =
    changetype<usize>(to) - changetype<usize>(first) > PART ? changetype<Group>(changetype<usize>(to) - PART) : first;
  frontLink(spec, panes, paneSet(panes, at), from, to, panes.links == Links.JOINS);
  panes.place = from;
  if (changetype<usize>(from) > changetype<usize>(first)) return;
  if (at > 0) linkPane(panes, at - 1);
  else {
    frontMarkBegin(panes);
    panes.place = changetype<Group>(0);
    panes.step = Step.MARKS;
  }
}

function endFront(panes: Panes): void {
  panes.inFront = panes.bound;
  if (panes.links == Links.LOADS) panes.step = Step.DONE;
  else beginBacks(panes);
}

// ---- the set ---------------------------------------------------------------------------------------------------

function beginBacks(panes: Panes): void {
  beginPane(panes, Step.BACKS, panes.inFront + panes.inBack);
}

function beginHeads(panes: Panes): void {
  panes.place = changetype<Group>(0);
  if (panes.inFront) panes.step = Step.FRONT;
  else beginBack(panes);
}

function beginBack(panes: Panes): void {
  panes.group = panes.back.first;
  panes.step = Step.BACK;
}
