// Hopping windows with aggregates that can be joined: groups are kept for each part of the time (a pane) that lies in
// the same windows, so that a row is taken in once however many windows it is in. Where the length is no multiple of
// the hop, windows begin between two ends: then a hop has two panes.
//
// The pane under way is the set of the window. A window of many groups is joined and sent later, piece by piece
// (window/content/outbox.ts): its panes stay until then, while others come behind them.
import { isHeld, isLong, mayDefer } from '../../node/deferred';
import { N_PROGRAM, accountOf, exhaust } from '../../node/node';
import { alloc, allocZeroed, free } from '../../mem/alloc';
import { bindConstants } from '../content/kept';
import {
  WINDOW_LENGTH,
  WINDOW_STEP,
  WINDOW_UNIT,
  WINDOW_ZONE,
  WindowFlag,
  allMergeable,
  hasFlag,
} from '../../agg/group/spec';
import { SET_ERROR, SET_ERROR_LEN, SET_SIZE, setFree, setInit, setReset, setSeal } from '../../agg/group/group';
import { SET_COUNT } from '../../agg/group/table';
import { setLoad, setSave } from '../../agg/save/save';
import { LoadFault } from '../../gen/state-layouts';
import { readF64, readFail, readFails, readLength, readTime, readUpTo } from '../../state/reader';
import { writeF64, writeTime, writeU32 } from '../../state/writer';
import { frontDrop, frontFree, frontInit, frontReset } from '../stacks/front';
import { HOUR, endAfter, startBefore } from '../content/align';
import { Phase, outboxGroups } from '../content/outbox';
import { sendFailure, sendGroups, sendNoMemory } from '../content/output';
import { Joined, frontLoad, joinBegin, joinSome, panesUntil } from './join';
import {
  BACK,
  BEGUN,
  CAPACITY,
  FAILED,
  FIRST,
  GROUPS,
  IN_BACK,
  IN_FRONT,
  LIST,
  PANES_SIZE,
  PANE_SET,
  PANE_SIZE,
  TO,
  paneAt,
  paneSet,
} from './state';
import { W_END, W_SET, W_STACKS } from '../content/state';

/** True for groups whose aggregates can be joined, and windows that begin as long before each end. */
export function canHavePanes(spec: usize): bool {
  if (!hasFlag(spec, WindowFlag.GROUPED) || !allMergeable(spec)) return false;
  // Where clocks are set, windows that begin between two ends do so at another distance from them.
  const isRegular = !load<u32>(spec, WINDOW_ZONE) || load<f64>(spec, WINDOW_UNIT) < HOUR;
  return isRegular || load<f64>(spec, WINDOW_LENGTH) % load<f64>(spec, WINDOW_STEP) == 0;
}

/** True for windows that have panes. */
// @ts-ignore: decorator
@inline export function isInPanes(spec: usize, state: usize): bool {
  return hasFlag(spec, WindowFlag.PANES) && load<u32>(state, W_STACKS) != 0;
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
  if (inFront && !frontLoad(spec, panes, inFront, acct)) readFail(LoadFault.MEMORY);
  store<u32>(panes, inBack, IN_BACK);
}

/** All panes end so many ms earlier. */
export function panesSetBack(state: usize, ms: f64): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  const to = load<u32>(panes, TO);
  for (let i = load<u32>(panes, FIRST); i < to; i++) store<f64>(paneAt(panes, i), load<f64>(paneAt(panes, i)) - ms);
  if (load<f64>(panes, BEGUN)) store<f64>(panes, load<f64>(panes, BEGUN) - ms, BEGUN);
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
  store<u32>(panes, load<u32>(panes, GROUPS) + load<u32>(pane + PANE_SET, SET_COUNT), GROUPS);
  if (load<u32>(pane + PANE_SET, SET_ERROR)) store<u32>(panes, load<u32>(panes, FAILED) + 1, FAILED);
}

// @ts-ignore: decorator
@inline function isVoid(set: usize): bool {
  return (load<u32>(set, SET_COUNT) | load<u32>(set, SET_ERROR)) == 0;
}

/**
 * True when neither the pane under way nor the others that are in the window which ends at `end` have rows or errors.
 */
export function panesAreVoid(spec: usize, state: usize, end: f64): bool {
  if (!isVoid(state + W_SET)) return false;
  const panes = <usize>load<u32>(state, W_STACKS);
  const to = load<u32>(panes, TO);
  // Panes of windows that wait to be sent may be there still.
  return load<u32>(panes, FIRST) == to || load<f64>(paneAt(panes, to - 1)) <= startOf(spec, end);
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
    store<u32>(panes, load<u32>(panes, GROUPS) - load<u32>(set, SET_COUNT), GROUPS);
    setFree(set);
  }
  store<u32>(panes, first, FIRST);
}

// @ts-ignore: decorator
@inline function startOf(spec: usize, end: f64): f64 {
  const unit = load<f64>(spec, WINDOW_UNIT);
  return startBefore(
    end,
    unit,
    load<f64>(spec, WINDOW_STEP),
    load<f64>(spec, WINDOW_LENGTH),
    load<u32>(spec, WINDOW_ZONE),
  );
}

/**
 * Ends the pane under way and sends the window that ends with it; one of many groups, and each while something waits,
 * is left to later.
 */
export function panesSend(node: usize, spec: usize, state: usize, start: f64, end: f64): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  const begin = beginOf(spec, end);
  closePane(node, state, panes, load<f64>(panes, BEGUN) == begin ? end : begin);
  const waits = (isLong(load<u32>(panes, GROUPS)) && mayDefer(node)) || isHeld(node);
  if (waits && outboxGroups(node, state, start, end, end, Phase.NEW)) return;
  const set = state + W_SET;
  if (panesBegin(node, spec, state, end)) {
    if (panesJoin(node, spec, state, set, false) == Joined.ALL) sendGroups(node, spec, set, start, end, end);
    setReset(set);
  }
  panesSent(node, spec, state, end);
}

/**
 * Begins to join the panes of the window that ends at `end`; false when one of them has failed, and the window was sent
 * as such.
 */
export function panesBegin(node: usize, spec: usize, state: usize, end: f64): bool {
  const panes = <usize>load<u32>(state, W_STACKS);
  dropUntil(panes, startOf(spec, end), accountOf(node));
  const count = panesUntil(panes, end);
  for (let i: u32 = 0; i < count && load<u32>(panes, FAILED); i++) {
    const set = paneSet(panes, i);
    if (!load<u32>(set, SET_ERROR)) continue;
    sendFailure(node, <usize>load<u32>(set, SET_ERROR), load<u32>(set, SET_ERROR_LEN));
    return false;
  }
  joinBegin(panes, count);
  return true;
}

/**
 * Joins the panes in the set, which is empty at first; `pauses`: as far as it comes. Where memory is exhausted the
 * window is sent as failed.
 */
export function panesJoin(node: usize, spec: usize, state: usize, set: usize, pauses: bool): u32 {
  bindConstants(spec, <usize>load<u32>(node, N_PROGRAM));
  const joined = joinSome(spec, <usize>load<u32>(state, W_STACKS), set, accountOf(node), pauses);
  if (joined == Joined.LOST) {
    sendNoMemory(node);
    exhaust(node);
  }
  return joined;
}

/** The window that ends at `end` was sent: panes that are in no later one are not needed any more. */
export function panesSent(node: usize, spec: usize, state: usize, end: f64): void {
  const next = endAfter(
    end,
    1,
    load<f64>(spec, WINDOW_UNIT),
    load<f64>(spec, WINDOW_STEP),
    load<u32>(spec, WINDOW_ZONE),
  );
  dropUntil(<usize>load<u32>(state, W_STACKS), startOf(spec, next), accountOf(node));
}
