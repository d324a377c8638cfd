// What a window takes in and what it sends: incrementally in the groups of its set, or as kept rows that are worked on
// when the window is sent.
import { deferredCount, isHeldBelow, isLong, mayDefer } from '../../node/deferred';
import { failLen, failNotBoolean, failOff } from '../../batch/failure';
import { N_PROGRAM } from '../../node/node';
import { selectionPop, selectionPush } from '../../batch/selection';
import { Tag, lenOf, offOf, span } from '../../mem/layout';
import {
  NO_INPUT,
  WINDOW_AGGS,
  WINDOW_FLAGS,
  WINDOW_KEYS,
  WINDOW_WHERE,
  WindowFlag,
  bindOf,
  bindTag,
  bindUniform,
  bindVal,
  hasFlag,
  keysAt,
} from '../../agg/group/spec';
import { SET_ERROR, setError, setReset } from '../../agg/group/group';
import { SET_COUNT, SET_FIRST } from '../../agg/group/table';
import { accumulate } from '../../agg/accumulate';
import { addRows, beginRows, endRows, sendFailure, sendGroups, sendNoMemory } from './output';
import { ROWS_COUNT } from '../../rows/layout';
import { PAGE_LEFT, PAGE_NEXT, PAGE_TO, timeAt } from '../../rows/page';
import { rowsClear, rowsFirst } from '../../rows/store';
import { FRAME_WHERE_ERROR, frame } from './frame';
import { bindPage, keep } from './kept';
import { Phase, mustWait, outboxGroups, outboxRows } from './outbox';
import { W_ROWS, W_SET } from './state';

// @ts-ignore: decorator
@inline export function isGrouped(spec: usize): bool {
  return hasFlag(spec, WindowFlag.GROUPED);
}

/** True when the window keeps rows; otherwise it keeps only aggregate states. */
// @ts-ignore: decorator
@inline export function keepsRows(spec: usize): bool {
  return hasFlag(spec, WindowFlag.KEEPS_ROWS);
}

/** Payload of the error that WHERE gave last, 0 when there was none. */
// @ts-ignore: decorator
@inline export function whereError(): u64 {
  return load<u64>(frame, FRAME_WHERE_ERROR);
}

// @ts-ignore: decorator
@inline export function setWhereError(payload: u64): void {
  store<u64>(frame, payload, FRAME_WHERE_ERROR);
}

/** Decides WHERE for one bound row: 1 in, 0 out, -1 failed (`whereError`). */
function judge(where: u32, row: u32): i32 {
  const bind = bindOf(where);
  const tag = bindTag(bind, row);
  const payload = bindVal(bind, row);
  if (tag == Tag.BOOL) return payload != 0 ? 1 : 0;
  if (tag <= Tag.NULL) return 0;
  // A failure that was kept with its row has become plain text (the store keeps the tag).
  if (tag == Tag.ERROR) setWhereError(payload);
  else {
    failNotBoolean();
    setWhereError(span(failOff, failLen));
  }
  return -1;
}

/** As `judge` by the WHERE of the spec and by the keys of the group, none of which may have failed. */
export function judgeRow(spec: usize, row: u32): i32 {
  const where = load<u16>(spec, WINDOW_WHERE);
  if (where != NO_INPUT) {
    const verdict = judge(where, row);
    if (verdict <= 0) return verdict;
  }
  const count = load<u32>(spec, WINDOW_KEYS);
  for (let k: u32 = 0; k < count; k++) {
    const bind = bindOf(load<u16>(keysAt(spec) + ((<usize>k) << 1)));
    if (bindTag(bind, row) != Tag.ERROR) continue;
    setWhereError(bindVal(bind, row));
    return -1;
  }
  return 1;
}

/**
 * Takes the bound rows `sel[0 … n)` in. Rows that WHERE rejects leave no trace, except where they are kept to
 * be counted. Returns false when memory is exhausted.
 */
export function takeIn(spec: usize, state: usize, sel: usize, n: u32): bool {
  const where = load<u16>(spec, WINDOW_WHERE);
  const asRows = keepsRows(spec);
  if (where == NO_INPUT || (asRows && hasFlag(spec, WindowFlag.KEEPS_REJECTED))) {
    return asRows ? keep(spec, state, sel, n) : accumulate(spec, state + W_SET, sel, n);
  }
  const kept = selectionPush();
  if (!kept) return false;
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const verdict = judge(where, row);
    if (verdict < 0 && !asRows) setError(state + W_SET, whereError());
    if (verdict == 0 || (verdict < 0 && !asRows)) continue;
    store<u32>(kept + ((<usize>count) << 2), row);
    count++;
  }
  let ok = true;
  if (count) ok = asRows ? keep(spec, state, kept, count) : accumulate(spec, state + W_SET, kept, count);
  selectionPop();
  return ok;
}

/** True when nothing is taken in, and nothing failed. */
export function isVoid(spec: usize, state: usize): bool {
  if (keepsRows(spec)) return load<u32>(state + W_ROWS, ROWS_COUNT) == 0;
  return (load<u32>(state + W_SET, SET_COUNT) | load<u32>(state + W_SET, SET_ERROR)) == 0;
}

/**
 * Sends the groups taken in, or all kept rows, and forgets them. Many of them are left to later, as all while something
 * waits.
 */
export function sendAll(node: usize, spec: usize, state: usize, start: f64, end: f64, trigger: f64): void {
  if (keepsRows(spec)) {
    sendRange(node, spec, state, start, end, trigger, -Infinity, Infinity, true);
    rowsClear(state + W_ROWS);
    return;
  }
  const count = load<u32>(state + W_SET, SET_COUNT);
  const waits = (isLong(count) && mayDefer(node)) || mustWait(node);
  if (waits && outboxGroups(node, state, start, end, trigger, Phase.NEW)) return;
  sendGroups(node, spec, state + W_SET, start, end, trigger);
  setReset(state + W_SET);
}

/**
 * Writes those of the rows `left` to `end` of the page with times from `from` to `to` that WHERE accepts to `sel`; see
 * `judge`. Of several failures in a window the first one counts, however the rows are divided among pages.
 */
export function selectRows(
  spec: usize,
  page: usize,
  left: u32,
  end: u32,
  from: f64,
  to: f64,
  closed: bool,
  sel: usize,
): u32 {
  const where = load<u16>(spec, WINDOW_WHERE);
  let failed = whereError();
  let n: u32 = 0;
  if (where == NO_INPUT && from == -Infinity && to == Infinity) {
    for (let i = left; i < end; i++) store<u32>(sel + ((n++ as usize) << 2), i);
    return n;
  }
  for (let i = left; i < end; i++) {
    const ms = timeAt(page, i);
    if (ms < from || ms > to || (!closed && ms == to)) continue;
    if (where != NO_INPUT) {
      const verdict = judge(where, i);
      if (verdict < 0 && !failed) failed = whereError();
      if (verdict <= 0) continue;
    }
    store<u32>(sel + ((<usize>n) << 2), i);
    n++;
  }
  setWhereError(failed);
  return n;
}

/** True when WHERE decided each row of the page that is bound, and gave no error. */
// @ts-ignore: decorator
@inline function isDecided(spec: usize): bool {
  return bindUniform(bindOf(load<u16>(spec, WINDOW_WHERE))) == Tag.BOOL;
}

/** As `selectRows` of all rows that the store holds. */
function selectHeld(spec: usize, page: usize, from: f64, to: f64, closed: bool, sel: usize): u32 {
  return selectRows(spec, page, load<u32>(page, PAGE_LEFT), load<u32>(page, PAGE_TO), from, to, closed, sel);
}

/**
 * Sends the kept rows with `from <= time < to` (`closed`: `<= to`) as one message, grouped or as they are. The rows
 * stay. Many of them are left to later, as all while something waits.
 */
export function sendRange(
  node: usize,
  spec: usize,
  state: usize,
  start: f64,
  end: f64,
  trigger: f64,
  from: f64,
  to: f64,
  closed: bool,
): void {
  const waits = (isLong(load<u32>(state + W_ROWS, ROWS_COUNT)) && mayDefer(node)) || mustWait(node);
  if (waits && outboxRows(node, state, start, end, trigger, from, to, closed, Phase.NEW)) return;
  const sel = selectionPush();
  if (!sel) {
    sendNoMemory(node);
    return;
  }
  setWhereError(0);
  if (isGrouped(spec)) sendRangeGrouped(node, spec, state, start, end, trigger, from, to, closed, sel);
  else sendRangeRows(node, spec, state, start, end, trigger, from, to, closed, sel);
  selectionPop();
  // A node below that has deferred its work refers to them.
  if (deferredCount && mayDefer(node) && isHeldBelow(node))
    outboxRows(node, state, start, end, trigger, from, to, closed, Phase.SENT);
}

function sendRangeGrouped(
  node: usize,
  spec: usize,
  state: usize,
  start: f64,
  end: f64,
  trigger: f64,
  from: f64,
  to: f64,
  closed: bool,
  sel: usize,
): void {
  const program = <usize>load<u32>(node, N_PROGRAM);
  const set = state + W_SET;
  for (let page = rowsFirst(state + W_ROWS); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    bindPage(page, spec, program);
    const n = selectHeld(spec, page, from, to, closed, sel);
    if (whereError()) setError(set, whereError());
    if (n && !accumulate(spec, set, sel, n)) {
      sendNoMemory(node);
      setReset(set);
      return;
    }
  }
  sendGroups(node, spec, set, start, end, trigger);
  setReset(set);
}

/** Takes all rows of the range into one group of the set; false when memory is exhausted. */
function groupAll(spec: usize, state: usize, program: usize, from: f64, to: f64, closed: bool, sel: usize): bool {
  const set = state + W_SET;
  for (let page = rowsFirst(state + W_ROWS); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    bindPage(page, spec, program);
    const n = selectHeld(spec, page, from, to, closed, sel);
    if (n && !accumulate(spec, set, sel, n)) return false;
  }
  return true;
}

/**
 * Looks whether WHERE fails in a row of the range (`whereError`): then none of its message may come to nodes that
 * remember it.
 */
function judgeAll(spec: usize, state: usize, program: usize, from: f64, to: f64, closed: bool, sel: usize): void {
  for (let page = rowsFirst(state + W_ROWS); page && !whereError(); page = <usize>load<u32>(page, PAGE_NEXT)) {
    bindPage(page, spec, program);
    if (!isDecided(spec)) selectHeld(spec, page, from, to, closed, sel);
  }
}

function sendRangeRows(
  node: usize,
  spec: usize,
  state: usize,
  start: f64,
  end: f64,
  trigger: f64,
  from: f64,
  to: f64,
  closed: bool,
  sel: usize,
): void {
  const program = <usize>load<u32>(node, N_PROGRAM);
  const set = state + W_SET;
  if (load<u32>(spec, WINDOW_AGGS) && !groupAll(spec, state, program, from, to, closed, sel)) {
    sendNoMemory(node);
    setReset(set);
    return;
  }
  if (load<u16>(spec, WINDOW_WHERE) != NO_INPUT) judgeAll(spec, state, program, from, to, closed, sel);
  const group = <usize>load<u32>(set, SET_FIRST);
  let isOpen = false;
  for (let page = rowsFirst(state + W_ROWS); page; page = <usize>load<u32>(page, PAGE_NEXT)) {
    bindPage(page, spec, program);
    const n = selectHeld(spec, page, from, to, closed, sel);
    if (whereError()) break;
    if (n == 0) continue;
    if (!isOpen && !beginRows(node, spec, set, start, end, trigger, group)) {
      setReset(set);
      return;
    }
    isOpen = true;
    addRows(node, spec, sel, n);
  }
  if (isOpen) endRows(node, spec, whereError());
  else if (whereError()) sendFailure(node, offOf(whereError()), lenOf(whereError()));
  else if (load<u32>(spec, WINDOW_FLAGS) & WindowFlag.SEND_EMPTY) {
    if (beginRows(node, spec, set, start, end, trigger, 0)) endRows(node, spec, 0);
  }
  if (group) setReset(set);
}
