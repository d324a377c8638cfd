// Payloads that are rows in the engine's own binary form (json/binary-form.ts): a row, a list of rows, or a run of such
// messages, which has one frame for many of them.
//
//   run   RUN_TAG u8, messages u32, the messages
//
// Between the messages of a run stand signals, which go on behind the rows before them:
//
//   signal   SIGNAL_TAG u8, signal u8, value u64
import * as ctx from '../../batch/context';
import {
  BATCH_ROWS,
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  span,
  Tag,
} from '../../mem/layout';
import { messageBegin, messageText } from '../../text/message';
import { isUtf8 } from '../../text/utf8';
import { rowsRead, rowsPayload, rowsSkip, rowsTag } from '../../json/binary-form';
import { RUN_TAG, SIGNAL_SIZE, SIGNAL_TAG } from '../../gen/source-layouts';
import { batchRewind, clearRow, filledRows, nextRow, put } from '../columns/batch';
import { addMessageError } from './message-error';
import { hasSpecial, putSpecial } from './meta';
import * as message from '../framing/message';
import { blockAt } from '../columns/blocks';
import { Source, stateOf } from '../columns/state';
import { findUse, useAt, UseKind } from '../columns/use';
import { Node } from '../../gen/node-layouts';

/** Bytes before the messages of a run, the items of a list and the members of a row: tag u8, count u32. */
const HEAD: usize = 5;

/** The signal behind the rows of the batch; 0 when there is none. */
export let filledSignal: u32 = 0;
/** Its value. */
export let filledValue: u64 = 0;

/** To be called before each batch. */
export function forgetSignal(): void {
  filledSignal = 0;
}

/**
 * Decodes the payload of the message under way. False: the batch is full, the same payload has to be given again
 * (`resume`: the place in the run, or the row of the list).
 */
export function decodeRows(node: Node): bool {
  const state = stateOf(node);
  const from = message.payload;
  const end = message.payloadEnd;
  if (end - from >= HEAD && load<u8>(from) == RUN_TAG) return decodeRun(node, state, from, end);
  const isInOne = !state.resume && filledRows + rowsAt(from, end) <= BATCH_ROWS;
  if (isInOne && readDirectly(state, from, end) == end) return true;
  return readTree(node, state, from, end);
}

/**
 * Each list of a run has as many rows as a batch at most, so that messages begin and end within one. A signal ends the
 * batch.
 */
function decodeRun(node: Node, state: Source, from: usize, end: usize): bool {
  const isSpecial = hasSpecial(state);
  let at = from + max<usize>(state.resume, HEAD);
  state.resume = 0;
  while (at < end) {
    if (load<u8>(at) == SIGNAL_TAG && end - at >= <usize>SIGNAL_SIZE) {
      filledSignal = load<u8>(at, 1);
      filledValue = load<u64>(at, 2);
      at += SIGNAL_SIZE;
      state.messages--;
      if (at == end) break;
      state.resume = <u32>(at - from);
      return false;
    }
    if (filledRows + rowsAt(at, end) > BATCH_ROWS && filledRows) {
      state.resume = <u32>(at - from);
      return false;
    }
    // One of the columns may be the payload.
    if (isSpecial) message.setPayload(at, rowsSkip(at, end, <i32>state.maxDepth) || end);
    let next = readDirectly(state, at, end);
    if (!next) {
      next = rowsSkip(at, end, <i32>state.maxDepth) || end;
      if (rowsAt(at, end) > BATCH_ROWS) failRows(node, true);
      else readTree(node, state, at, next);
    }
    at = next;
  }
  state.messages += max<u32>(load<u32>(from, 1), 1) - 1;
  return true;
}

/** Rows of the message at `p`. */
// @ts-ignore: decorator
@inline function rowsAt(p: usize, end: usize): u32 {
  return end - p < HEAD || load<u8>(p) != Tag.ARRAY ? 1 : load<u32>(p, 1);
}

/**
 * Reads the message at `p` into the columns, for which there is room, without making objects of its rows. Returns the
 * position after it; 0 when the message has to be read as a whole: because a column is the row, or to tell what is
 * wrong.
 */
function readDirectly(state: Source, p: usize, end: usize): usize {
  if (state.kinds & (1 << UseKind.ROW) || end - p < HEAD) return 0;
  const start = filledRows;
  const isSpecial = hasSpecial(state);
  let q: usize = 0;
  if (load<u8>(p) == Tag.OBJECT) {
    q = readRow(state, p, end, start);
    if (q) {
      if (isSpecial) putSpecial(state, start);
      nextRow();
      return q;
    }
  } else if (load<u8>(p) == Tag.ARRAY) {
    q = p + HEAD;
    for (let n = min<u32>(load<u32>(p, 1), BATCH_ROWS - start + 1); n > 0; n--) {
      const row = filledRows;
      q = row < BATCH_ROWS && end - q >= HEAD && load<u8>(q) == Tag.OBJECT ? readRow(state, q, end, row) : 0;
      if (!q) break;
      if (isSpecial) putSpecial(state, row);
      nextRow();
    }
    if (q) return q;
  }
  if (filledRows < BATCH_ROWS) clearRow(state, filledRows);
  batchRewind(state, start);
  return 0;
}

/** Reads the members of the object at `p` that are columns; returns the position after it, 0 when that fails. */
function readRow(state: Source, p: usize, end: usize, row: u32): usize {
  let q = p + HEAD;
  for (let n = load<u32>(p, 1); n > 0; n--) {
    // Its length, and the tag of the value.
    if (end - q < 5) return 0;
    const len = load<u32>(q);
    const key = q + 4;
    if (<usize>len >= end - key) return 0;
    q = key + len;
    const tag = load<u8>(q++);
    let value: u64 = 0;
    if (tag == Tag.I64 || tag == Tag.F64 || tag == Tag.TIME) {
      if (end - q < 8) return 0;
      value = load<u64>(q);
      q += 8;
    } else if (tag == Tag.STR || tag == Tag.BYTES || tag == Tag.ERROR) {
      if (end - q < 4) return 0;
      const size = load<u32>(q);
      q += 4;
      if (<usize>size > end - q || (tag != Tag.BYTES && !isUtf8(q, q + size))) return 0;
      value = span(q, size);
      q += size;
    } else if (tag == Tag.BOOL) {
      if (q == end || load<u8>(q) > 1) return 0;
      value = load<u8>(q++);
    } else if (tag > Tag.NULL) {
      q = rowsRead(q - 1, end, ctx.scratch, <i32>state.maxDepth - 1);
      if (!q) return 0;
      value = rowsPayload;
    }
    let use = findUse(state, key, len);
    while (use) {
      put(blockAt(use - 1), row, tag, value);
      use = useAt(state, use - 1).next;
    }
  }
  return q;
}

/** Reads a message as a whole; rows of a list that do not fit in the batch follow in the next one (`resume`). */
function readTree(node: Node, state: Source, from: usize, end: usize): bool {
  const read = rowsRead(from, end, ctx.scratch, <i32>state.maxDepth);
  if (read != end || !isRows(rowsTag, rowsPayload)) {
    failRows(node, read != end);
    return true;
  }
  if (rowsTag == Tag.OBJECT) {
    putObject(state, rowsPayload);
    return true;
  }
  const n = <u32>(rowsPayload >> 32);
  const slots = <usize>(<u32>rowsPayload);
  for (let i = state.resume; i < n; i++) {
    if (filledRows == BATCH_ROWS) {
      state.resume = i;
      return false;
    }
    putObject(state, load<u64>(slots + i * SLOT_SIZE));
  }
  state.resume = 0;
  return true;
}

function failRows(node: Node, isInvalid: bool): void {
  messageBegin();
  messageText(isInvalid ? 'invalid row data' : 'the payload is neither an object nor a list of objects');
  addMessageError(node);
}

function isRows(tag: u8, payload: u64): bool {
  if (tag == Tag.OBJECT) return true;
  if (tag != Tag.ARRAY) return false;
  const slots = <usize>(<u32>payload);
  for (let i: u32 = 0; i < <u32>(payload >> 32); i++) {
    if (load<u8>(slots + i * SLOT_SIZE, SLOT_TAG) != Tag.OBJECT) return false;
  }
  return true;
}

function putObject(state: Source, object: u64): void {
  const row = filledRows;
  let member = <usize>(<u32>object);
  for (let n = <u32>(object >> 32); n > 0; n--, member += MEMBER_SIZE) {
    let use = findUse(state, <usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN));
    while (use) {
      put(blockAt(use - 1), row, load<u8>(member, MEMBER_TAG), load<u64>(member));
      use = useAt(state, use - 1).next;
    }
  }
  if (state.kinds & (1 << UseKind.ROW)) {
    const count = state.useCount;
    for (let i: u32 = 0; i < count; i++) {
      const use = useAt(state, i);
      if (use.refs && use.kind == UseKind.ROW) put(blockAt(i), row, Tag.OBJECT, object);
    }
  }
  if (hasSpecial(state)) putSpecial(state, row);
  nextRow();
}
