// Joins the panes of a hopping window in one set, in steps of at most PART groups, so that other work can run between
// steps. Panes that end meanwhile go behind the panes of the join, and no pane of the join leaves before its end.
//
// A window of few panes joins them all. Of many panes, the older ones form a front (window/stacks/front.ts), whose
// entries are their groups. The newer ones are joined in the back as they end. A pane is thus joined twice, however
// many windows it is in.
import { goesOn } from '../../node/deferred';
import { refusals } from '../../mem/alloc';
import { regroup, setReserve } from '../../agg/group/group';
import { setChangesUnseen } from '../../agg/group/changes';
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

/** Panes up to which joining them for each window costs less than a front. */
export const FEW: u32 = 16;
/** Groups of one step. */
const PART: u32 = 1024;

namespace Step {
  export const DONE: u32 = 0;
  /** Joins panes in the set without a front; `group` of pane `at` is next. */
  export const PANES: u32 = 1;
  /** Makes groups of panes entries of the front; `group` of pane `at` is next. */
  export const PUTS: u32 = 2;
  /** Ends the adding of keys to the front; `group` is the next one. */
  export const SEALS: u32 = 3;
  /**
   * Links the entries before `place`, from the last to the first; they belong to pane `at`, whose first entry is
   * `group`.
   */
  export const LINKS: u32 = 4;
  /** Marks first entries, from `place` on. */
  export const MARKS: u32 = 5;
  /** Joins panes behind the front in the back; `group` of pane `at` is next. */
  export const BACKS: u32 = 6;
  /** Joins the front in the set, from entry `place` on. */
  export const FRONT: u32 = 7;
  /** Joins the back in the set; `group` is the next one. */
  export const BACK: u32 = 8;
}

/** Values of `links`: how the entries of a new front are linked. */
namespace Links {
  /** Entries are joined as they are linked, and the join of the window follows. */
  export const JOINS: u32 = 0;
  /** Entries were saved as joined, and nothing follows. */
  export const LOADS: u32 = 1;
}

/** Progress of a join. */
export namespace Joined {
  /** The join is to go on. */
  export const SOME: u32 = 0;
  export const ALL: u32 = 1;
  /** Memory is exhausted. */
  export const LOST: u32 = 2;
}

/** Number of panes that have ended by `end`. */
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

/** Goes on with the join in the set, which is empty at first; returns how far it came (Joined). */
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

/** Begins a step over panes with pane `at`; when there are no more panes, begins the step after it. */
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

/** Goes on to the next pane when the current one has no group left. */
function nextPane(panes: Panes): void {
  if (!panes.group) beginPane(panes, panes.step, panes.at + 1);
}

// ---- the front -------------------------------------------------------------------------------------------------

function beginFront(panes: Panes, links: u32): void {
  panes.links = links;
  // The front is still empty: the first group makes room for all.
  beginPane(panes, Step.PUTS, 0);
}

/** Number of groups in the panes of the join. */
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
  // They are joined in place.
  if (group == set.first) setChangesUnseen(set);
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

/** Goes on with pane `at`, whose last entry is before `place`; `group` is set to the number of its first entry. */
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
