// Sends the content of a window: one row for each group, or its rows.
import * as ctx from '../../batch/context';
import { beginMessage, emit, endMessage } from '../../emit/emit';
import { addException } from '../../node/node';
import { identity, noteUniform, stageAcquire, stageRelease } from '../../batch/stage';
import { failLen, failNoMemory, failOff } from '../../batch/failure';
import { emptyIsNull } from '../../gen/aggregates';
import { bindIsConst } from '../../mem/bind';
import { BATCH_ROWS, COL_TAGS, COL_UNIFORM, COL_VALS, Tag, lenOf, offOf, setAt, span } from '../../mem/layout';
import { AGG_SIZE_OF, GROUP_HEAD, WindowFlag, aggsAt, bindOf, bindTag, bindVal, keepsAt } from '../../agg/group/spec';
import { frame } from './frame';
import { sendError } from './outbox';
import { finish } from '../../agg/finish';
import { giveResult, resultTag, resultVal } from '../../agg/state/result';
import { Node } from '../../gen/node-layouts';
import { WindowSpec, AggregateSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from '../../agg/group/table';

/** Rows below which copying one by one costs less than a block. */
const FEW_ROWS: u32 = 8;

const POINTERS: usize = memory.data(4 * 1024, 16);

/** Number of columns of the output: kept values, aggregates, start, end and time of the trigger. */
// @ts-ignore: decorator
@inline export function outputColumns(spec: WindowSpec): u32 {
  return spec.keeps + spec.aggs + 3;
}

// @ts-ignore: decorator
@inline export function columnAt(cols: usize, i: u32): usize {
  return <usize>load<u32>(cols + ((<usize>i) << 2));
}

/** Fills a column with one whole number. */
function fillTime(col: usize, n: u32, ms: f64): void {
  const payload = <u64>(<i64>floor(ms));
  store<u8>(col, Tag.I64, COL_UNIFORM);
  if (n == 1) {
    setAt(col, 0, Tag.I64, payload);
    return;
  }
  for (let i: u32 = 0; i < n; i++) store<u64>(col + ((<usize>i) << 3), payload, COL_VALS);
  memory.fill(col + COL_TAGS, Tag.I64, n);
}

function fillTimes(cols: usize, from: u32, n: u32, start: f64, end: f64, trigger: f64): void {
  fillTime(columnAt(cols, from), n, start);
  fillTime(columnAt(cols, from + 1), n, end);
  fillTime(columnAt(cols, from + 2), n, trigger);
}

/** Sends a message that failed before any of its rows was sent. */
export function sendFailure(node: Node, off: usize, len: u32): void {
  addException(node, off, len, 1);
  sendError(node, off, len);
}

/** As `sendFailure` with the error that memory is exhausted. */
export function sendNoMemory(node: Node): void {
  failNoMemory();
  sendFailure(node, failOff, failLen);
}

/** Fills `n` rows from the groups at POINTERS. A failed value is an error in its row. */
function fillGroups(spec: WindowSpec, cols: usize, n: u32): void {
  const keeps = spec.keeps;
  const tagsAt = spec.tagsAt;
  for (let k: u32 = 0; k < keeps; k++) {
    const col = columnAt(cols, k);
    const at = GROUP_HEAD + (k << 3);
    for (let i: u32 = 0; i < n; i++) {
      const group = <usize>load<u32>(POINTERS + ((<usize>i) << 2));
      setAt(col, i, load<u8>(group + tagsAt + k), load<u64>(group + at));
    }
    noteUniform(col, n);
  }
  const aggs = spec.aggs;
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const col = columnAt(cols, keeps + a);
    for (let i: u32 = 0; i < n; i++) {
      finish(
        changetype<AggregateSpec>(agg),
        changetype<Group>(load<u32>(POINTERS + ((<usize>i) << 2))),
        tagsAt + keeps + a,
      );
      setAt(col, i, resultTag, resultVal);
    }
    noteUniform(col, n);
  }
}

/** Fills one row without a group, with the aggregates over no rows. */
function fillEmpty(spec: WindowSpec, cols: usize): void {
  const keeps = spec.keeps;
  for (let k: u32 = 0; k < keeps; k++) {
    setAt(columnAt(cols, k), 0, Tag.MISSING, 0);
    store<u8>(columnAt(cols, k), Tag.MISSING, COL_UNIFORM);
  }
  const aggs = spec.aggs;
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const tag = emptyIsNull(load<u16>(agg, offsetof<AggregateSpec>('fn'))) ? Tag.NULL : Tag.MISSING;
    setAt(columnAt(cols, keeps + a), 0, tag, 0);
    store<u8>(columnAt(cols, keeps + a), tag, COL_UNIFORM);
  }
}

/**
 * Sends the groups of the set as one message. An empty set sends nothing, unless empty windows are sent. Afterwards the
 * current batch is another one, and the caller restores it.
 */
export function sendGroups(node: Node, spec: WindowSpec, set: GroupSet, start: f64, end: f64, trigger: f64): void {
  if (set.error) {
    sendFailure(node, <usize>set.error, set.errorLen);
    return;
  }
  const isEmpty = set.count == 0;
  if (isEmpty && !(spec.flags & WindowFlag.SEND_EMPTY)) return;
  const columns = outputColumns(spec);
  const cols = stageAcquire(columns);
  if (!cols) {
    sendNoMemory(node);
    return;
  }
  beginMessage(node);
  if (isEmpty) {
    fillEmpty(spec, cols);
    fillTimes(cols, columns - 3, 1, start, end, trigger);
    ctx.setBatch(cols, 1, identity, 1, 0);
    emit(node);
  }
  let group = set.first;
  while (group) group = sendSomeGroups(node, spec, cols, group, start, end, trigger);
  endMessage(node, 0, 0);
  stageRelease(columns);
}

/** Sends a batch of groups, from `first` on, by way of the blocks `cols`; returns the next group, 0 none. */
export function sendSomeGroups(
  node: Node,
  spec: WindowSpec,
  cols: usize,
  first: Group,
  start: f64,
  end: f64,
  trigger: f64,
): Group {
  let group = first;
  let n: u32 = 0;
  while (group && n < BATCH_ROWS) {
    store<u32>(POINTERS + ((<usize>n) << 2), changetype<u32>(group));
    group = group.next;
    n++;
  }
  fillGroups(spec, cols, n);
  fillTimes(cols, outputColumns(spec) - 3, n, start, end, trigger);
  ctx.setBatch(cols, n, identity, n, 0);
  emit(node);
  return group;
}

// ---- windows that send their rows ---------------------------------------------------------------------------

/**
 * Opens a message of rows; false when memory is exhausted (the message failed).
 * @param group of all rows of the message, one of `set`, for aggregates that each row shows; 0 without
 */
export function beginRows(
  node: Node,
  spec: WindowSpec,
  set: GroupSet,
  start: f64,
  end: f64,
  trigger: f64,
  group: Group,
): bool {
  if (!openRows(spec, set, start, end, trigger, group)) {
    sendNoMemory(node);
    return false;
  }
  beginMessage(node);
  return true;
}

/** As `beginRows` for a message that has begun already and was left by `pauseRows`. */
export function openRows(spec: WindowSpec, set: GroupSet, start: f64, end: f64, trigger: f64, group: Group): bool {
  const cols = stageAcquire(outputColumns(spec));
  if (!cols) return false;
  frame.rowCols = cols;
  frame.rowCount = 0;
  frame.rowGroup = group;
  frame.rowSet = set;
  frame.start = start;
  frame.end = end;
  frame.trigger = trigger;
  return true;
}

/** Leaves the message for a while, after sending the rows added so far. */
export function pauseRows(node: Node, spec: WindowSpec): void {
  flushRows(node, spec);
  stageRelease(outputColumns(spec));
}

/** Adds the kept values of the bound rows `sel[0 … n)`. */
export function addRows(node: Node, spec: WindowSpec, sel: usize, n: u32): void {
  ctx.addWork(n);
  const cols = frame.rowCols;
  let done: u32 = 0;
  while (done < n) {
    const count = frame.rowCount;
    const part = min(n - done, BATCH_ROWS - count);
    const keeps = spec.keeps;
    const first = load<u32>(sel + ((<usize>done) << 2));
    // Rows that follow each other are copied as a block.
    const isPart = part >= FEW_ROWS && load<u32>(sel + ((<usize>(done + part - 1)) << 2)) - first == part - 1;
    for (let k: u32 = 0; k < keeps; k++) {
      const bind = bindOf(load<u16>(keepsAt(spec) + ((<usize>k) << 1)));
      const col = columnAt(cols, k);
      if (isPart && !bindIsConst(bind)) {
        memory.copy(col + COL_VALS + ((<usize>count) << 3), bind.vals + ((<usize>first) << 3), (<usize>part) << 3);
        memory.copy(col + COL_TAGS + count, bind.tags + first, part);
        continue;
      }
      for (let i: u32 = 0; i < part; i++) {
        const row = load<u32>(sel + ((<usize>(done + i)) << 2));
        setAt(col, count + i, bindTag(bind, row), bindVal(bind, row));
      }
    }
    frame.rowCount = count + part;
    done += part;
    if (count + part == BATCH_ROWS) flushRows(node, spec);
  }
}

function flushRows(node: Node, spec: WindowSpec): void {
  const n = frame.rowCount;
  if (n == 0) return;
  const cols = frame.rowCols;
  const group = frame.rowGroup;
  const keeps = spec.keeps;
  for (let k: u32 = 0; k < keeps; k++) noteUniform(columnAt(cols, k), n);
  if (group) fillShared(spec, cols, frame.rowSet, group, n);
  fillTimes(cols, outputColumns(spec) - 3, n, frame.start, frame.end, frame.trigger);
  ctx.setBatch(cols, n, identity, n, 0);
  emit(node);
  frame.rowCount = 0;
}

/** Fills the aggregates over all rows into each row; when one of them failed, all are errors. */
function fillShared(spec: WindowSpec, cols: usize, set: GroupSet, group: Group, n: u32): void {
  const failed = set.error;
  const keeps = spec.keeps;
  const tagsAt = spec.tagsAt + keeps;
  const aggs = spec.aggs;
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const col = columnAt(cols, keeps + a);
    if (failed) giveResult(Tag.ERROR, span(failed, set.errorLen));
    else finish(changetype<AggregateSpec>(agg), group, tagsAt + a);
    for (let i: u32 = 0; i < n; i++) setAt(col, i, resultTag, resultVal);
    noteUniform(col, n);
  }
}

/** Closes the message of rows; `failure`: payload of the error that takes its place, 0 none. */
export function endRows(node: Node, spec: WindowSpec, failure: u64): void {
  if (failure) addException(node, offOf(failure), lenOf(failure), 1);
  else flushRows(node, spec);
  endMessage(node, offOf(failure), lenOf(failure));
  stageRelease(outputColumns(spec));
}
