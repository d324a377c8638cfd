// Hopping windows with aggregates that can be joined: groups are kept for each part of the time (a pane) that lies in the same
// windows, so that a row is taken in once however many windows it is in. Where the length is no multiple of the hop, windows
// begin between two ends: then a hop has two panes.
//
// A window of few panes joins them all. Of many, the older ones are a front (window/front.ts), whose entries are their groups,
// and the newer ones are joined in the back as they end: a pane is joined twice, whatever the number of windows it is in.
//
//   panes   front 136 | 136 back: a group set 112
//           248 list u32 | first u32 | to u32 | capacity u32          panes `first` to `to` may be in the next window
//           264 inFront u32 | inBack u32 | failed u32 (panes with an error) | 0 u32
//           280 begun f64        begin of windows that the pane under way comes after, 0 none
//   pane    end f64 | group set 112
//
// The pane under way is the set of the window.
import { N_PROGRAM, accountOf, exhaust } from '../flow/node';
import { alloc, allocZeroed, free, refusals } from '../mem/alloc';
import { bindConstants } from './kept';
import {
  WINDOW_FLAGS, WINDOW_INPUTS, WINDOW_KIND, WINDOW_LENGTH, WINDOW_STEP, WINDOW_UNIT, WINDOW_ZONE, WindowFlag, WindowKind,
  allMergeable,
} from '../agg/spec';
import {
  GROUP_NEXT, SET_COUNT, SET_ERROR, SET_ERROR_LEN, SET_FIRST, SET_SIZE, regroup, setFree, setInit, setReset, setSeal,
} from '../agg/group';
import { mergeSet } from '../agg/merge';
import { setLoad, setSave } from '../agg/save';
import { LoadFault } from '../gen/state-layouts';
import { readF64, readFail, readFails, readLength, readTime, readUpTo } from '../state/reader';
import { writeF64, writeTime, writeU32 } from '../state/writer';
import {
  FRONT_SIZE, frontDrop, frontFree, frontInit, frontJoin, frontLink, frontMark, frontPut, frontReserve, frontReset, frontSeal,
} from './front';
import { HOUR, endAfter, startBefore } from './align';
import { sendFailure, sendGroups, sendNoMemory } from './output';
import { W_END, W_SET, W_STACKS } from './state';

const BACK: usize = FRONT_SIZE;
const LIST: usize = FRONT_SIZE + SET_SIZE;
const FIRST: usize = LIST + 4;
const TO: usize = LIST + 8;
const CAPACITY: usize = LIST + 12;
const IN_FRONT: usize = LIST + 16;
const IN_BACK: usize = LIST + 20;
const FAILED: usize = LIST + 24;
const BEGUN: usize = LIST + 32;
const PANES_SIZE: u32 = FRONT_SIZE + SET_SIZE + 40;

const PANE_SET: usize = 8;
const PANE_SIZE: u32 = 8 + SET_SIZE;
/** So many panes are joined for each window with less work than it is to make a front of them. */
const FEW: u32 = 16;

/** True for windows that this serves. */
export function hasPanes(spec: usize): bool {
  const isGrouped = (load<u32>(spec, WINDOW_FLAGS) & WindowFlag.GROUPED) != 0;
  if (!isGrouped || load<u32>(spec, WINDOW_KIND) != WindowKind.HOPPING || !allMergeable(spec)) return false;
  // Where clocks are set, windows that begin between two ends do so at another distance from them.
  const isRegular = !load<u32>(spec, WINDOW_ZONE) || load<f64>(spec, WINDOW_UNIT) < HOUR;
  return isRegular || load<f64>(spec, WINDOW_LENGTH) % load<f64>(spec, WINDOW_STEP) == 0;
}

export function panesOpen(node: usize, state: usize): bool {
  const acct = accountOf(node);
  const panes = allocZeroed(PANES_SIZE, acct);
  if (!panes) return false;
  frontInit(panes, acct);
  setInit(panes + BACK, acct);
  store<u32>(state, <u32>panes, W_STACKS);
  return true;
}

export function panesFree(node: usize, state: usize): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  if (!panes) return;
  const acct = accountOf(node);
  for (let i = load<u32>(panes, FIRST); i < load<u32>(panes, TO); i++) setFree(paneAt(panes, i) + PANE_SET);
  frontFree(panes, acct);
  setFree(panes + BACK);
  free(<usize>load<u32>(panes, LIST), load<u32>(panes, CAPACITY) * PANE_SIZE, acct);
  free(panes, PANES_SIZE, acct);
}

/** Saves the panes that have ended; those of the front are joined already. */
export function panesSave(spec: usize, state: usize): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  const first = load<u32>(panes, FIRST);
  const to = load<u32>(panes, TO);
  writeU32(to - first);
  for (let i = first; i < to; i++) {
    writeTime(load<f64>(paneAt(panes, i)));
    setSave(spec, paneAt(panes, i) + PANE_SET);
  }
  writeU32(load<u32>(panes, IN_FRONT));
  writeU32(load<u32>(panes, IN_BACK));
  writeF64(load<f64>(panes, BEGUN));
  setSave(spec, panes + BACK);
}

/** Adds saved panes; there must be none. */
export function panesLoad(node: usize, spec: usize, state: usize): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  const acct = accountOf(node);
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const end = readTime();
    const pane = addPane(panes, acct);
    if (!pane) {
      readFail(LoadFault.MEMORY);
      return;
    }
    store<f64>(pane, end);
    setInit(pane + PANE_SET, acct);
    setLoad(spec, pane + PANE_SET);
    endPane(panes, pane);
  }
  const inFront = readUpTo(count);
  const inBack = readUpTo(count - inFront);
  store<f64>(panes, readF64(), BEGUN);
  setLoad(spec, panes + BACK);
  if (readFails()) return;
  if (inFront && !makeFront(spec, panes, inFront, acct, false)) readFail(LoadFault.MEMORY);
  store<u32>(panes, inBack, IN_BACK);
}

/** All panes end so many ms earlier. */
export function panesSetBack(state: usize, ms: f64): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  const to = load<u32>(panes, TO);
  for (let i = load<u32>(panes, FIRST); i < to; i++) store<f64>(paneAt(panes, i), load<f64>(paneAt(panes, i)) - ms);
  if (load<f64>(panes, BEGUN)) store<f64>(panes, load<f64>(panes, BEGUN) - ms, BEGUN);
}

// @ts-ignore: decorator
@inline function paneAt(panes: usize, i: u32): usize {
  return <usize>load<u32>(panes, LIST) + <usize>(i * PANE_SIZE);
}

/** Room for a pane behind the others; 0 when memory is exhausted. */
function addPane(panes: usize, acct: usize): usize {
  const first = load<u32>(panes, FIRST);
  let to = load<u32>(panes, TO);
  const capacity = load<u32>(panes, CAPACITY);
  if (to == capacity) {
    const count = to - first;
    const list = <usize>load<u32>(panes, LIST);
    if (first > 0 && count <= capacity >> 1) memory.copy(list, paneAt(panes, first), count * PANE_SIZE);
    else {
      const wanted = max(capacity << 1, 8);
      const next = alloc(wanted * PANE_SIZE, acct);
      if (!next) return 0;
      memory.copy(next, paneAt(panes, first), count * PANE_SIZE);
      free(list, capacity * PANE_SIZE, acct);
      store<u32>(panes, <u32>next, LIST);
      store<u32>(panes, wanted, CAPACITY);
    }
    store<u32>(panes, 0, FIRST);
    to = count;
  }
  store<u32>(panes, to + 1, TO);
  return paneAt(panes, to);
}

/** No row comes into the pane any more. */
function endPane(panes: usize, pane: usize): void {
  setSeal(pane + PANE_SET);
  if (load<u32>(pane + PANE_SET, SET_ERROR)) store<u32>(panes, load<u32>(panes, FAILED) + 1, FAILED);
}

// @ts-ignore: decorator
@inline function isVoid(set: usize): bool {
  return (load<u32>(set, SET_COUNT) | load<u32>(set, SET_ERROR)) == 0;
}

/** True when neither the pane under way nor the others have rows or errors. */
export function panesAreVoid(state: usize): bool {
  const panes = <usize>load<u32>(state, W_STACKS);
  return load<u32>(panes, FIRST) == load<u32>(panes, TO) && isVoid(state + W_SET);
}

/** Where windows begin between two ends, of which `end` is the later one; there if they begin where others end. */
// @ts-ignore: decorator
@inline function beginOf(spec: usize, end: f64): f64 {
  const length = load<f64>(spec, WINDOW_LENGTH);
  const step = load<f64>(spec, WINDOW_STEP);
  return end - (length - floor(length / step) * step);
}

/** Returns the end of the pane that a row of the time `ms` comes into, after the pane before it is ended. */
export function panesEnd(node: usize, spec: usize, state: usize, ms: f64): f64 {
  const panes = <usize>load<u32>(state, W_STACKS);
  const end = load<f64>(state, W_END);
  const begin = beginOf(spec, end);
  if (ms < begin) return begin;
  if (begin < end && load<f64>(panes, BEGUN) != begin) {
    closePane(node, state, panes, begin);
    store<f64>(panes, begin, BEGUN);
  }
  return end;
}

/** Ends the pane under way; one without rows leaves no trace. */
function closePane(node: usize, state: usize, panes: usize, end: f64): void {
  const set = state + W_SET;
  if (isVoid(set)) return;
  const pane = addPane(panes, accountOf(node));
  if (!pane) {
    exhaust(node);
    return;
  }
  store<f64>(pane, end);
  memory.copy(pane + PANE_SET, set, SET_SIZE);
  setInit(set, accountOf(node));
  endPane(panes, pane);
}

/** Drops the panes that end at `ms` or before. */
function dropUntil(panes: usize, ms: f64, acct: usize): void {
  let first = load<u32>(panes, FIRST);
  const to = load<u32>(panes, TO);
  for (; first < to && load<f64>(paneAt(panes, first)) <= ms; first++) {
    const set = paneAt(panes, first) + PANE_SET;
    const inFront = load<u32>(panes, IN_FRONT);
    if (inFront > 0) {
      frontDrop(panes, load<u32>(set, SET_COUNT));
      store<u32>(panes, inFront - 1, IN_FRONT);
      if (inFront == 1) frontReset(panes, acct);
    } else if (load<u32>(panes, IN_BACK)) {
      store<u32>(panes, 0, IN_BACK);
      setReset(panes + BACK);
    }
    if (load<u32>(set, SET_ERROR)) store<u32>(panes, load<u32>(panes, FAILED) - 1, FAILED);
    setFree(set);
  }
  store<u32>(panes, first, FIRST);
}

/** Makes the first `n` panes the front; `joins`: and joins them, unless they were saved so. False when memory is exhausted. */
function makeFront(spec: usize, panes: usize, n: u32, acct: usize, joins: bool): bool {
  const first = load<u32>(panes, FIRST);
  let entries: u32 = 0;
  for (let i = first; i < first + n; i++) entries += load<u32>(paneAt(panes, i) + PANE_SET, SET_COUNT);
  if (!frontReserve(panes, entries, acct)) return false;
  for (let i = first; i < first + n; i++) {
    const set = paneAt(panes, i) + PANE_SET;
    for (let group = <usize>load<u32>(set, SET_FIRST); group; group = <usize>load<u32>(group, GROUP_NEXT)) {
      const key = regroup(spec, panes, set, group);
      if (!key) return false;
      frontPut(panes, group, key);
    }
  }
  frontSeal(panes);
  const before = refusals;
  for (let i = first + n; i > first; ) {
    const set = paneAt(panes, --i) + PANE_SET;
    const from = entries - load<u32>(set, SET_COUNT);
    frontLink(spec, panes, set, from, entries, joins);
    entries = from;
  }
  frontMark(panes);
  store<u32>(panes, n, IN_FRONT);
  return refusals == before;
}

/** Joins the panes of the window in the set, which is empty; false when memory is exhausted. */
function join(spec: usize, panes: usize, set: usize, acct: usize): bool {
  const first = load<u32>(panes, FIRST);
  const to = load<u32>(panes, TO);
  if ((load<u32>(panes, IN_FRONT) | load<u32>(panes, IN_BACK)) == 0) {
    if (to - first <= FEW) {
      for (let i = first; i < to; i++) {
        if (!mergeSet(spec, set, paneAt(panes, i) + PANE_SET)) return false;
      }
      return true;
    }
    if (!makeFront(spec, panes, to - first, acct, true)) return false;
  }
  for (let i = first + load<u32>(panes, IN_FRONT) + load<u32>(panes, IN_BACK); i < to; i++) {
    if (!mergeSet(spec, panes + BACK, paneAt(panes, i) + PANE_SET)) return false;
  }
  store<u32>(panes, to - first - load<u32>(panes, IN_FRONT), IN_BACK);
  return (load<u32>(panes, IN_FRONT) == 0 || frontJoin(spec, panes, set)) && mergeSet(spec, set, panes + BACK);
}

// @ts-ignore: decorator
@inline function startOf(spec: usize, end: f64): f64 {
  const unit = load<f64>(spec, WINDOW_UNIT);
  return startBefore(end, unit, load<f64>(spec, WINDOW_STEP), load<f64>(spec, WINDOW_LENGTH), load<u32>(spec, WINDOW_ZONE));
}

/** Ends the pane under way and sends the window that ends with it. */
export function panesSend(node: usize, spec: usize, state: usize, start: f64, end: f64): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  const acct = accountOf(node);
  const begin = beginOf(spec, end);
  closePane(node, state, panes, load<f64>(panes, BEGUN) == begin ? end : begin);
  dropUntil(panes, startOf(spec, end), acct);
  if (load<u32>(panes, FAILED)) sendFirstFailure(node, panes);
  else {
    const set = state + W_SET;
    const before = refusals;
    bindConstants(spec, <usize>load<u32>(node, N_PROGRAM));
    if (join(spec, panes, set, acct) && refusals == before) sendGroups(node, spec, set, start, end, end);
    else {
      sendNoMemory(node);
      exhaust(node);
    }
    setReset(set);
  }
  const next = endAfter(end, 1, load<f64>(spec, WINDOW_UNIT), load<f64>(spec, WINDOW_STEP), load<u32>(spec, WINDOW_ZONE));
  dropUntil(panes, startOf(spec, next), acct);
}

function sendFirstFailure(node: usize, panes: usize): void {
  let set = paneAt(panes, load<u32>(panes, FIRST)) + PANE_SET;
  while (!load<u32>(set, SET_ERROR)) set += PANE_SIZE;
  sendFailure(node, <usize>load<u32>(set, SET_ERROR), load<u32>(set, SET_ERROR_LEN));
}
