// Hopping windows with aggregates that can be joined: each row is aggregated once, however many windows it is in.
// Groups are kept for each part of the time (a pane) whose rows are all in the same windows. Where the length is no
// multiple of the hop, windows begin between two ends, and a hop has two panes.
//
// The pane under way is the set of the window. A window of many groups is deferred and sent in pieces
// (window/content/outbox.ts). Its panes stay until it is sent, while others come behind them.
import { isHeld, isLong, mayDefer } from '../../node/deferred';
import { accountOf, exhaust } from '../../node/node';
import { alloc, allocZeroed, free } from '../../mem/alloc';
import { bindConstants } from '../content/kept';
import { WindowFlag, allMergeable, hasFlag } from '../../agg/group/spec';
import { SET_SIZE, setFree, setInit, setReset, setSeal } from '../../agg/group/group';
import { setLeave, setLoad, setSave } from '../../agg/save/save';
import { LoadFault } from '../../gen/state-layouts';
import { readF64, readFail, readFails, readLength, readTime, readUpTo } from '../../state/reader';
import { writeF64, writeTime, writeU32 } from '../../state/writer';
import { frontDrop, frontFree, frontInit, frontReset } from '../stacks/front';
import { HOUR, endAfter, startBefore } from '../content/align';
import { Phase, outboxGroups } from '../content/outbox';
import { sendFailure, sendGroups, sendNoMemory } from '../content/output';
import { FEW, Joined, frontLoad, joinBegin, joinSome, panesUntil } from './join';
import { Panes, PANES_SIZE, PANE_SET, PANE_SIZE, paneAt, paneSet } from './state';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet } from '../../agg/group/table';
import { WindowState } from '../content/state';

/** True when the aggregates can be joined, and all windows begin at the same distance from the ends around them. */
export function canHavePanes(spec: WindowSpec): bool {
  if (!hasFlag(spec, WindowFlag.GROUPED) || !allMergeable(spec)) return false;
  // Where clocks are set, windows that begin between two ends do so at another distance from them.
  const isRegular = !spec.zone || spec.unit < HOUR;
  return isRegular || spec.length % spec.step == 0;
}

/** True for windows that have panes. */
// @ts-ignore: decorator
@inline export function isInPanes(spec: WindowSpec, state: WindowState): bool {
  return hasFlag(spec, WindowFlag.PANES) && state.stacks != 0;
}

export function panesOpen(node: Node, state: WindowState): bool {
  const acct = accountOf(node);
  const panes = changetype<Panes>(allocZeroed(PANES_SIZE, acct));
  if (!panes) return false;
  frontInit(panes, acct);
  setInit(panes.back, acct);
  state.stacks = changetype<usize>(panes);
  return true;
}

export function panesFree(node: Node, state: WindowState): void {
  const panes = changetype<Panes>(state.stacks);
  if (!panes) return;
  const acct = accountOf(node);
  for (let i = panes.firstPane; i < panes.to; i++) setFree(changetype<GroupSet>(paneAt(panes, i) + PANE_SET));
  frontFree(panes, acct);
  setFree(panes.back);
  free(panes.panes, panes.paneCapacity * PANE_SIZE, acct);
  free(changetype<usize>(panes), PANES_SIZE, acct);
}

/**
 * True when nothing changes the groups of panes that have ended, nor those of the pane under way but rows: windows of
 * many panes join them in place.
 */
export function panesStay(spec: WindowSpec, state: WindowState): bool {
  const length = spec.length;
  const step = spec.step;
  const most = length % step == 0 ? length / step : (floor(length / step) + 1) * 2;
  return most <= <f64>FEW && !changetype<Panes>(state.stacks).inFront;
}

/** Saves the panes that have ended; panes of the front are saved as joined. */
export function panesSave(spec: WindowSpec, state: WindowState): void {
  const stay = panesStay(spec, state);
  const panes = changetype<Panes>(state.stacks);
  const first = panes.firstPane;
  const to = panes.to;
  writeU32(to - first);
  for (let i = first; i < to; i++) {
    writeTime(load<f64>(paneAt(panes, i)));
    const set = changetype<GroupSet>(paneAt(panes, i) + PANE_SET);
    if (stay) setLeave(spec, set);
    else setSave(spec, set);
  }
  writeU32(panes.inFront);
  writeU32(panes.inBack);
  writeF64(panes.begun);
  setSave(spec, panes.back);
}

/** Loads saved panes into a window without panes. */
export function panesLoad(node: Node, spec: WindowSpec, state: WindowState): void {
  const panes = changetype<Panes>(state.stacks);
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
    setInit(changetype<GroupSet>(pane + PANE_SET), acct);
    setLoad(spec, changetype<GroupSet>(pane + PANE_SET));
    endPane(panes, pane);
  }
  const inFront = readUpTo(count);
  const inBack = readUpTo(count - inFront);
  panes.begun = readF64();
  setLoad(spec, panes.back);
  if (readFails()) return;
  if (inFront && !frontLoad(spec, panes, inFront, acct)) readFail(LoadFault.MEMORY);
  panes.inBack = inBack;
}

/** Makes the ends of all panes earlier by `ms`. */
export function panesSetBack(state: WindowState, ms: f64): void {
  const panes = changetype<Panes>(state.stacks);
  const to = panes.to;
  for (let i = panes.firstPane; i < to; i++) store<f64>(paneAt(panes, i), load<f64>(paneAt(panes, i)) - ms);
  if (panes.begun) panes.begun -= ms;
}

/** Makes room for a pane behind the others; 0 when memory is exhausted. */
function addPane(panes: Panes, acct: usize): usize {
  const first = panes.firstPane;
  let to = panes.to;
  const capacity = panes.paneCapacity;
  if (to == capacity) {
    const count = to - first;
    const list = panes.panes;
    if (first > 0 && count <= capacity >> 1) memory.copy(list, paneAt(panes, first), count * PANE_SIZE);
    else {
      const wanted = max(capacity << 1, 8);
      const next = alloc(wanted * PANE_SIZE, acct);
      if (!next) return 0;
      memory.copy(next, paneAt(panes, first), count * PANE_SIZE);
      free(list, capacity * PANE_SIZE, acct);
      panes.panes = next;
      panes.paneCapacity = wanted;
    }
    panes.firstPane = 0;
    to = count;
  }
  panes.to = to + 1;
  return paneAt(panes, to);
}

/** Seals a pane that gets no more rows. */
function endPane(panes: Panes, pane: usize): void {
  setSeal(changetype<GroupSet>(pane + PANE_SET));
  panes.groups += load<u32>(pane + PANE_SET, offsetof<GroupSet>('count'));
  if (load<u32>(pane + PANE_SET, offsetof<GroupSet>('error'))) panes.failed++;
}

// @ts-ignore: decorator
@inline function isVoid(set: GroupSet): bool {
  return (set.count | set.error) == 0;
}

/** True when no pane of the window that ends at `end`, including the pane under way, has rows or errors. */
export function panesAreVoid(spec: WindowSpec, state: WindowState, end: f64): bool {
  if (!isVoid(state)) return false;
  const panes = changetype<Panes>(state.stacks);
  const to = panes.to;
  // Panes may still be there for windows that wait to be sent.
  return panes.firstPane == to || load<f64>(paneAt(panes, to - 1)) <= startOf(spec, end);
}

/** Begin of the window that starts in the hop that ends at `end`; it is `end` itself where windows begin at ends. */
// @ts-ignore: decorator
@inline function beginOf(spec: WindowSpec, end: f64): f64 {
  const length = spec.length;
  const step = spec.step;
  return end - (length - floor(length / step) * step);
}

/** Returns the end of the pane for a row of the time `ms`, and ends the pane before it. */
export function panesEnd(node: Node, spec: WindowSpec, state: WindowState, ms: f64): f64 {
  const panes = changetype<Panes>(state.stacks);
  const end = state.end;
  const begin = beginOf(spec, end);
  if (ms < begin) return begin;
  if (begin < end && panes.begun != begin) {
    closePane(node, state, panes, begin);
    panes.begun = begin;
  }
  return end;
}

/** Ends the pane under way; a pane without rows is dropped. */
function closePane(node: Node, state: WindowState, panes: Panes, end: f64): void {
  const set = state;
  if (isVoid(set)) return;
  const pane = addPane(panes, accountOf(node));
  if (!pane) {
    exhaust(node);
    return;
  }
  store<f64>(pane, end);
  memory.copy(pane + PANE_SET, changetype<usize>(set), SET_SIZE);
  setInit(set, accountOf(node));
  endPane(panes, pane);
}

/** Drops the panes that end at `ms` or before. */
function dropUntil(panes: Panes, ms: f64, acct: usize): void {
  let first = panes.firstPane;
  const to = panes.to;
  for (; first < to && load<f64>(paneAt(panes, first)) <= ms; first++) {
    const set = changetype<GroupSet>(paneAt(panes, first) + PANE_SET);
    const inFront = panes.inFront;
    if (inFront > 0) {
      frontDrop(panes, set.count);
      panes.inFront = inFront - 1;
      if (inFront == 1) frontReset(panes, acct);
    } else if (panes.inBack) {
      panes.inBack = 0;
      setReset(panes.back);
    }
    if (set.error) panes.failed--;
    panes.groups -= set.count;
    setFree(set);
  }
  panes.firstPane = first;
}

// @ts-ignore: decorator
@inline function startOf(spec: WindowSpec, end: f64): f64 {
  const unit = spec.unit;
  return startBefore(end, unit, spec.step, spec.length, spec.zone);
}

/**
 * Ends the pane under way and sends the window that ends with it. A window of many groups, and each window while others
 * wait, is deferred.
 */
export function panesSend(node: Node, spec: WindowSpec, state: WindowState, start: f64, end: f64): void {
  const panes = changetype<Panes>(state.stacks);
  const begin = beginOf(spec, end);
  closePane(node, state, panes, panes.begun == begin ? end : begin);
  const waits = (isLong(panes.groups) && mayDefer(node)) || isHeld(node);
  if (waits && outboxGroups(node, state, start, end, end, Phase.NEW)) return;
  const set = state;
  if (panesBegin(node, spec, state, end)) {
    if (panesJoin(node, spec, state, set, false) == Joined.ALL) sendGroups(node, spec, set, start, end, end);
    setReset(set);
  }
  panesSent(node, spec, state, end);
}

/**
 * Begins to join the panes of the window that ends at `end`. False when a pane has failed; the window was sent as
 * failed then.
 */
export function panesBegin(node: Node, spec: WindowSpec, state: WindowState, end: f64): bool {
  const panes = changetype<Panes>(state.stacks);
  dropUntil(panes, startOf(spec, end), accountOf(node));
  const count = panesUntil(panes, end);
  for (let i: u32 = 0; i < count && panes.failed; i++) {
    const set = paneSet(panes, i);
    if (!set.error) continue;
    sendFailure(node, <usize>set.error, set.errorLen);
    return false;
  }
  joinBegin(panes, count);
  return true;
}

/**
 * Joins the panes in the set, which is empty at first; with `pauses` it may stop before the end. Where memory is
 * exhausted, the window is sent as failed.
 */
export function panesJoin(node: Node, spec: WindowSpec, state: WindowState, set: GroupSet, pauses: bool): u32 {
  bindConstants(spec, node.program);
  const joined = joinSome(spec, changetype<Panes>(state.stacks), set, accountOf(node), pauses);
  if (joined == Joined.LOST) {
    sendNoMemory(node);
    exhaust(node);
  }
  return joined;
}

/** Drops panes that no later window needs, after the window that ends at `end` was sent. */
export function panesSent(node: Node, spec: WindowSpec, state: WindowState, end: f64): void {
  const next = endAfter(end, 1, spec.unit, spec.step, spec.zone);
  dropUntil(changetype<Panes>(state.stacks), startOf(spec, next), accountOf(node));
}
