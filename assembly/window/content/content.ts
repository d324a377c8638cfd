// Content of a window and how it is sent: aggregated into the groups of its set as rows come, or kept as rows that are
// worked on when the window is sent.
import { deferredCount, isHeldBelow, isLong, mayDefer } from '../../node/deferred';
import { failLen, failNotBoolean, failOff } from '../../batch/failure';
import { selectionPop, selectionPush } from '../../batch/selection';
import { Tag, lenOf, offOf, span } from '../../mem/layout';
import { NO_INPUT, WindowFlag, bindOf, bindTag, bindUniform, bindVal, hasFlag, keysAt } from '../../agg/group/spec';
import { setError, setReset } from '../../agg/group/group';
import { accumulate } from '../../agg/accumulate';
import { addRows, beginRows, endRows, sendFailure, sendGroups, sendNoMemory } from './output';
import { Page, timeAt } from '../../rows/page';
import { rowsClear, rowsFirst } from '../../rows/store';
import { frame } from './frame';
import { bindPage, keep } from './kept';
import { Phase, mustWait, outboxGroups, outboxRows } from './outbox';
import { Node } from '../../gen/node-layouts';
import { Program } from '../../gen/ops-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { Group } from '../../agg/group/table';
import { WindowState } from './state';

// @ts-ignore: decorator
@inline export function isGrouped(spec: WindowSpec): bool {
  return hasFlag(spec, WindowFlag.GROUPED);
}

/** True when the window keeps rows; otherwise it keeps only aggregate states. */
// @ts-ignore: decorator
@inline export function keepsRows(spec: WindowSpec): bool {
  return hasFlag(spec, WindowFlag.KEEPS_ROWS);
}

/** Payload of the last error of WHERE; 0 when there was none. */
// @ts-ignore: decorator
@inline export function whereError(): u64 {
  return frame.whereError;
}

// @ts-ignore: decorator
@inline export function setWhereError(payload: u64): void {
  frame.whereError = payload;
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
export function judgeRow(spec: WindowSpec, row: u32): i32 {
  const where = spec.where;
  if (where != NO_INPUT) {
    const verdict = judge(where, row);
    if (verdict <= 0) return verdict;
  }
  const count = spec.keys;
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
export function takeIn(spec: WindowSpec, state: WindowState, sel: usize, n: u32): bool {
  const where = spec.where;
  const asRows = keepsRows(spec);
  if (where == NO_INPUT || (asRows && hasFlag(spec, WindowFlag.KEEPS_REJECTED))) {
    return asRows ? keep(spec, state, sel, n) : accumulate(spec, state, sel, n);
  }
  const kept = selectionPush();
  if (!kept) return false;
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const verdict = judge(where, row);
    if (verdict < 0 && !asRows) setError(state, whereError());
    if (verdict == 0 || (verdict < 0 && !asRows)) continue;
    store<u32>(kept + ((<usize>count) << 2), row);
    count++;
  }
  let ok = true;
  if (count) ok = asRows ? keep(spec, state, kept, count) : accumulate(spec, state, kept, count);
  selectionPop();
  return ok;
}

/** True when the window has no rows and no error. */
export function isVoid(spec: WindowSpec, state: WindowState): bool {
  if (keepsRows(spec)) return state.kept.count == 0;
  return (state.count | state.error) == 0;
}

/**
 * Sends the groups, or all kept rows, and forgets them. When they are many, or other windows wait, they are deferred.
 */
export function sendAll(node: Node, spec: WindowSpec, state: WindowState, start: f64, end: f64, trigger: f64): void {
  if (keepsRows(spec)) {
    sendRange(node, spec, state, start, end, trigger, -Infinity, Infinity, true);
    rowsClear(state.kept);
    return;
  }
  const count = state.count;
  const waits = (isLong(count) && mayDefer(node)) || mustWait(node);
  if (waits && outboxGroups(node, state, start, end, trigger, Phase.NEW)) return;
  sendGroups(node, spec, state, start, end, trigger);
  setReset(state);
}

/**
 * Writes the rows `left` to `end` of the page with times from `from` to `to` that WHERE accepts to `sel`; see `judge`.
 * The first of several failures in a window counts, however the rows are divided among pages.
 */
export function selectRows(
  spec: WindowSpec,
  page: Page,
  left: u32,
  end: u32,
  from: f64,
  to: f64,
  closed: bool,
  sel: usize,
): u32 {
  const where = spec.where;
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

/** True when WHERE has a value without an error for each row of the bound page. */
// @ts-ignore: decorator
@inline function isDecided(spec: WindowSpec): bool {
  return bindUniform(bindOf(spec.where)) == Tag.BOOL;
}

/** As `selectRows` of all rows that the store holds. */
function selectHeld(spec: WindowSpec, page: Page, from: f64, to: f64, closed: bool, sel: usize): u32 {
  return selectRows(spec, page, page.left, page.to, from, to, closed, sel);
}

/**
 * Sends the kept rows with `from <= time < to` (`closed`: `<= to`) as one message, grouped or as they are. The rows
 * stay. When they are many, or other windows wait, the message is deferred.
 */
export function sendRange(
  node: Node,
  spec: WindowSpec,
  state: WindowState,
  start: f64,
  end: f64,
  trigger: f64,
  from: f64,
  to: f64,
  closed: bool,
): void {
  const waits = (isLong(state.kept.count) && mayDefer(node)) || mustWait(node);
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
  // A node below that has deferred its work refers to these rows.
  if (deferredCount && mayDefer(node) && isHeldBelow(node))
    outboxRows(node, state, start, end, trigger, from, to, closed, Phase.SENT);
}

function sendRangeGrouped(
  node: Node,
  spec: WindowSpec,
  state: WindowState,
  start: f64,
  end: f64,
  trigger: f64,
  from: f64,
  to: f64,
  closed: bool,
  sel: usize,
): void {
  const program = node.program;
  const set = state;
  for (let page = rowsFirst(state.kept); page; page = page.next) {
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
function groupAll(
  spec: WindowSpec,
  state: WindowState,
  program: Program,
  from: f64,
  to: f64,
  closed: bool,
  sel: usize,
): bool {
  const set = state;
  for (let page = rowsFirst(state.kept); page; page = page.next) {
    bindPage(page, spec, program);
    const n = selectHeld(spec, page, from, to, closed, sel);
    if (n && !accumulate(spec, set, sel, n)) return false;
  }
  return true;
}

/**
 * Checks whether WHERE fails in a row of the range (`whereError`). A failed message must not reach nodes that remember
 * rows, so this is known before the first row is sent.
 */
function judgeAll(
  spec: WindowSpec,
  state: WindowState,
  program: Program,
  from: f64,
  to: f64,
  closed: bool,
  sel: usize,
): void {
  for (let page = rowsFirst(state.kept); page && !whereError(); page = page.next) {
    bindPage(page, spec, program);
    if (!isDecided(spec)) selectHeld(spec, page, from, to, closed, sel);
  }
}

function sendRangeRows(
  node: Node,
  spec: WindowSpec,
  state: WindowState,
  start: f64,
  end: f64,
  trigger: f64,
  from: f64,
  to: f64,
  closed: bool,
  sel: usize,
): void {
  const program = node.program;
  const set = state;
  if (spec.aggs && !groupAll(spec, state, program, from, to, closed, sel)) {
    sendNoMemory(node);
    setReset(set);
    return;
  }
  if (spec.where != NO_INPUT) judgeAll(spec, state, program, from, to, closed, sel);
  const group = set.first;
  let isOpen = false;
  for (let page = rowsFirst(state.kept); page; page = page.next) {
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
  else if (spec.flags & WindowFlag.SEND_EMPTY) {
    if (beginRows(node, spec, set, start, end, trigger, changetype<Group>(0))) endRows(node, spec, 0);
  }
  if (group) setReset(set);
}
