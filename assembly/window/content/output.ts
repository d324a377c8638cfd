// Sends what a window holds: one row for each group, or its rows.
import * as ctx from '../../batch/context';
import { beginMessage, emit, endMessage } from '../../emit/emit';
import { addException } from '../../node/node';
import { identity, noteUniform, stageAcquire, stageRelease } from '../../batch/stage';
import { failLen, failNoMemory, failOff } from '../../batch/failure';
import { emptyIsNull } from '../../gen/aggregates';
import { BIND_TAGS, bindIsConst } from '../../mem/bind';
import { BATCH_ROWS, COL_TAGS, COL_UNIFORM, COL_VALS, Tag, lenOf, offOf, setAt, span } from '../../mem/layout';
import {
  AGG_SIZE_OF,
  GROUP_HEAD,
  AGG_FN,
  WINDOW_AGGS,
  WINDOW_FLAGS,
  WINDOW_KEEPS,
  WINDOW_TAGS_AT,
  WindowFlag,
  aggsAt,
  bindOf,
  bindTag,
  bindVal,
  keepsAt,
} from '../../agg/group/spec';
import { SET_ERROR, SET_ERROR_LEN } from '../../agg/group/group';
import { GROUP_NEXT, SET_COUNT, SET_FIRST } from '../../agg/group/table';
import {
  FRAME_END,
  FRAME_ROW_COLS,
  FRAME_ROW_COUNT,
  FRAME_ROW_GROUP,
  FRAME_ROW_SET,
  FRAME_START,
  FRAME_TRIGGER,
  frame,
} from './frame';
import { sendError } from './outbox';
import { finish } from '../../agg/finish';
import { giveResult, resultTag, resultVal } from '../../agg/state/result';

/** Fewer rows are copied one by one with less work. */
const FEW_ROWS: u32 = 8;

const POINTERS: usize = memory.data(4 * 1024, 16);

/** Columns of the output: kept values, aggregates, start, end and time of the trigger. */
// @ts-ignore: decorator
@inline export function outputColumns(spec: usize): u32 {
  return load<u32>(spec, WINDOW_KEEPS) + load<u32>(spec, WINDOW_AGGS) + 3;
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

/** Sends a message that failed before a row of it was sent. */
export function sendFailure(node: usize, off: usize, len: u32): void {
  addException(node, off, len, 1);
  sendError(node, off, len);
}

/** As `sendFailure`: memory is exhausted. */
export function sendNoMemory(node: usize): void {
  failNoMemory();
  sendFailure(node, failOff, failLen);
}

/** Fills `n` rows from the groups at POINTERS. What failed is an error in its row. */
function fillGroups(spec: usize, cols: usize, n: u32): void {
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  const tagsAt = load<u32>(spec, WINDOW_TAGS_AT);
  for (let k: u32 = 0; k < keeps; k++) {
    const col = columnAt(cols, k);
    const at = GROUP_HEAD + (k << 3);
    for (let i: u32 = 0; i < n; i++) {
      const group = <usize>load<u32>(POINTERS + ((<usize>i) << 2));
      setAt(col, i, load<u8>(group + tagsAt + k), load<u64>(group + at));
    }
    noteUniform(col, n);
  }
  const aggs = load<u32>(spec, WINDOW_AGGS);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const col = columnAt(cols, keeps + a);
    for (let i: u32 = 0; i < n; i++) {
      finish(agg, <usize>load<u32>(POINTERS + ((<usize>i) << 2)), tagsAt + keeps + a);
      setAt(col, i, resultTag, resultVal);
    }
    noteUniform(col, n);
  }
}

/** One row without groups: its aggregates are those over no rows. */
function fillEmpty(spec: usize, cols: usize): void {
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  for (let k: u32 = 0; k < keeps; k++) {
    setAt(columnAt(cols, k), 0, Tag.MISSING, 0);
    store<u8>(columnAt(cols, k), Tag.MISSING, COL_UNIFORM);
  }
  const aggs = load<u32>(spec, WINDOW_AGGS);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const tag = emptyIsNull(load<u16>(agg, AGG_FN)) ? Tag.NULL : Tag.MISSING;
    setAt(columnAt(cols, keeps + a), 0, tag, 0);
    store<u8>(columnAt(cols, keeps + a), tag, COL_UNIFORM);
  }
}

/**
 * Sends the groups of the set as one message; nothing when it has none, unless empty windows are sent. The current
 * batch is another one afterwards: the caller restores it.
 */
export function sendGroups(node: usize, spec: usize, set: usize, start: f64, end: f64, trigger: f64): void {
  if (load<u32>(set, SET_ERROR)) {
    sendFailure(node, <usize>load<u32>(set, SET_ERROR), load<u32>(set, SET_ERROR_LEN));
    return;
  }
  const isEmpty = load<u32>(set, SET_COUNT) == 0;
  if (isEmpty && !(load<u32>(spec, WINDOW_FLAGS) & WindowFlag.SEND_EMPTY)) return;
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
  let group = <usize>load<u32>(set, SET_FIRST);
  while (group) group = sendSomeGroups(node, spec, cols, group, start, end, trigger);
  endMessage(node, 0, 0);
  stageRelease(columns);
}

/**
 * Sends a batch of groups, `first` and those behind it, by way of the blocks `cols`; returns the group that comes next,
 * 0 none.
 */
export function sendSomeGroups(
  node: usize,
  spec: usize,
  cols: usize,
  first: usize,
  start: f64,
  end: f64,
  trigger: f64,
): usize {
  let group = first;
  let n: u32 = 0;
  while (group && n < BATCH_ROWS) {
    store<u32>(POINTERS + ((<usize>n) << 2), <u32>group);
    group = <usize>load<u32>(group, GROUP_NEXT);
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
  node: usize,
  spec: usize,
  set: usize,
  start: f64,
  end: f64,
  trigger: f64,
  group: usize,
): bool {
  if (!openRows(spec, set, start, end, trigger, group)) {
    sendNoMemory(node);
    return false;
  }
  beginMessage(node);
  return true;
}

/** As `beginRows` of a message that has begun already, and was left by `pauseRows`. */
export function openRows(spec: usize, set: usize, start: f64, end: f64, trigger: f64, group: usize): bool {
  const cols = stageAcquire(outputColumns(spec));
  if (!cols) return false;
  store<u32>(frame, <u32>cols, FRAME_ROW_COLS);
  store<u32>(frame, 0, FRAME_ROW_COUNT);
  store<u32>(frame, <u32>group, FRAME_ROW_GROUP);
  store<u32>(frame, <u32>set, FRAME_ROW_SET);
  store<f64>(frame, start, FRAME_START);
  store<f64>(frame, end, FRAME_END);
  store<f64>(frame, trigger, FRAME_TRIGGER);
  return true;
}

/** Leaves the message for a while: what was added to it is sent. */
export function pauseRows(node: usize, spec: usize): void {
  flushRows(node, spec);
  stageRelease(outputColumns(spec));
}

/** Adds the kept values of the bound rows `sel[0 … n)`. */
export function addRows(node: usize, spec: usize, sel: usize, n: u32): void {
  ctx.addWork(n);
  const cols = <usize>load<u32>(frame, FRAME_ROW_COLS);
  let done: u32 = 0;
  while (done < n) {
    const count = load<u32>(frame, FRAME_ROW_COUNT);
    const part = min(n - done, BATCH_ROWS - count);
    const keeps = load<u32>(spec, WINDOW_KEEPS);
    const first = load<u32>(sel + ((<usize>done) << 2));
    // Rows that follow each other are copied as they stand.
    const isPart = part >= FEW_ROWS && load<u32>(sel + ((<usize>(done + part - 1)) << 2)) - first == part - 1;
    for (let k: u32 = 0; k < keeps; k++) {
      const bind = bindOf(load<u16>(keepsAt(spec) + ((<usize>k) << 1)));
      const col = columnAt(cols, k);
      if (isPart && !bindIsConst(bind)) {
        memory.copy(
          col + COL_VALS + ((<usize>count) << 3),
          <usize>load<u32>(bind) + ((<usize>first) << 3),
          (<usize>part) << 3,
        );
        memory.copy(col + COL_TAGS + count, <usize>load<u32>(bind, BIND_TAGS) + first, part);
        continue;
      }
      for (let i: u32 = 0; i < part; i++) {
        const row = load<u32>(sel + ((<usize>(done + i)) << 2));
        setAt(col, count + i, bindTag(bind, row), bindVal(bind, row));
      }
    }
    store<u32>(frame, count + part, FRAME_ROW_COUNT);
    done += part;
    if (count + part == BATCH_ROWS) flushRows(node, spec);
  }
}

function flushRows(node: usize, spec: usize): void {
  const n = load<u32>(frame, FRAME_ROW_COUNT);
  if (n == 0) return;
  const cols = <usize>load<u32>(frame, FRAME_ROW_COLS);
  const group = <usize>load<u32>(frame, FRAME_ROW_GROUP);
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  for (let k: u32 = 0; k < keeps; k++) noteUniform(columnAt(cols, k), n);
  if (group) fillShared(spec, cols, <usize>load<u32>(frame, FRAME_ROW_SET), group, n);
  fillTimes(
    cols,
    outputColumns(spec) - 3,
    n,
    load<f64>(frame, FRAME_START),
    load<f64>(frame, FRAME_END),
    load<f64>(frame, FRAME_TRIGGER),
  );
  ctx.setBatch(cols, n, identity, n, 0);
  emit(node);
  store<u32>(frame, 0, FRAME_ROW_COUNT);
}

/** Shows the aggregates of all rows in each of them; when one of them failed, all are errors. */
function fillShared(spec: usize, cols: usize, set: usize, group: usize, n: u32): void {
  const failed = load<u32>(set, SET_ERROR);
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  const tagsAt = load<u32>(spec, WINDOW_TAGS_AT) + keeps;
  const aggs = load<u32>(spec, WINDOW_AGGS);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const col = columnAt(cols, keeps + a);
    if (failed) giveResult(Tag.ERROR, span(failed, load<u32>(set, SET_ERROR_LEN)));
    else finish(agg, group, tagsAt + a);
    for (let i: u32 = 0; i < n; i++) setAt(col, i, resultTag, resultVal);
    noteUniform(col, n);
  }
}

/** Closes the message of rows; `failure`: payload of the error that takes its place, 0 none. */
export function endRows(node: usize, spec: usize, failure: u64): void {
  if (failure) addException(node, offOf(failure), lenOf(failure), 1);
  else flushRows(node, spec);
  endMessage(node, offOf(failure), lenOf(failure));
  stageRelease(outputColumns(spec));
}
