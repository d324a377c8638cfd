// Encode nodes whose messages have several rows: the result of a window, or rows gathered up to `batchSize`. The rows
// are written to a buffer of the node first: when a row fails, the rows of its message that were written before are
// taken back and an error is sent in their place; and the nodes below one window get its rows batch by batch in turn,
// so that their messages would mix in the output.
//
// A batch (`batchSize`, `lingerInterval`) is a list of messages: with sendSingle of rows, otherwise of the lists of
// rows that would be sent one by one. Its size counts messages, those among them that failed or were left out as empty.
// In formats other than JSON there are no lists in lists, a batch has the rows of all its messages.
//
// What a node keeps is told in encode/gather-buffer.ts; nodes that hold rows for a batch are in the list of
// encode/gathering.ts.
import * as ctx from '../batch/context';
import { N_SPEC, N_STATE, accountOf, addException, exhaust, keepFailure } from '../node/node';
import {
  ENCODE_BATCH_SIZE,
  ENCODE_FLAGS,
  ENCODE_FORMAT,
  ENCODE_LINGER,
  EncodeFlag,
  OutputFormat,
  ROWS_HEAD,
  boundOfAll,
  isText,
  rowBound,
  rowIsEmpty,
  rowIsList,
  rowIsOmitted,
  rowWrite,
} from './row';
import { isApart, keepsNames, namesFree, namesOfRow, textPlace } from './text';
import {
  GATHER_BUF,
  GATHER_CAP,
  GATHER_ENDS_LEN,
  GATHER_FAIL_LEN,
  GATHER_FAIL_OFF,
  GATHER_HEADS,
  GATHER_HEADS_LEN,
  GATHER_ITEMS,
  GATHER_LAST_HEAD,
  GATHER_LEN,
  GATHER_MARK_ENDS,
  GATHER_MARK_HEADS,
  GATHER_MARK_ITEMS,
  GATHER_MARK_LEN,
  GATHER_MARK_ROWS,
  GATHER_NAMES,
  GATHER_PLACE,
  GATHER_ROWS,
  GATHER_TAKEN,
  GATHER_WANTED,
  STATE_SIZE,
  addEnd,
  dropBuffers,
  reserve,
} from './gather-buffer';
import { FAILURE_HEAD, failureWrite, isLines, sendFailure } from './send';
import { OUT_SIZE } from './output';
import { delist, enlist } from './gathering';
import { hasHead, headBound, headWrite, headsOf } from './head';
import { setDeadline } from '../node/timers';
import { fail, failLen, failNoMemory, failOff, isNotObject } from '../batch/failure';
import { free } from '../mem/alloc';
import { Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';
import { ERROR_BIT } from '../gen/encode-layouts';
import { commit } from './gather-send';

/** So many rows at once are part of a message as long as the last one, mostly. */
const MANY_ROWS: u32 = 256;
/** Room is made for rows of so many bytes at once. */
const ROOM: u32 = 65536;
/** Bytes of a batch that has its part in it when memory is exhausted. */
const LARGE_BATCH: u32 = 4 << 20;

/** Rows are gathered for a batch. */
// @ts-ignore: decorator
@inline export function isBatch(flags: u32): bool {
  return (flags & EncodeFlag.BATCH) != 0;
}

/** The rows of each message are a list in the list that a batch is. */
// @ts-ignore: decorator
@inline function isNested(spec: usize, flags: u32): bool {
  const ofLists = EncodeFlag.SINGLE | EncodeFlag.BATCH | EncodeFlag.FIRST;
  return (flags & ofLists) == EncodeFlag.BATCH && load<u8>(spec, ENCODE_FORMAT) == OutputFormat.JSON;
}

/** True when the message under way is lost already. */
// @ts-ignore: decorator
@inline export function isLost(state: usize): bool {
  return load<u32>(state, GATHER_FAIL_OFF) != 0;
}

export function gatherBegin(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (state) mark(state);
}

function mark(state: usize): void {
  store<u32>(state, 0, GATHER_FAIL_OFF);
  store<u32>(state, load<u32>(state, GATHER_LEN), GATHER_MARK_LEN);
  store<u32>(state, load<u32>(state, GATHER_ROWS), GATHER_MARK_ROWS);
  store<u32>(state, load<u32>(state, GATHER_ENDS_LEN), GATHER_MARK_ENDS);
  store<u32>(state, load<u32>(state, GATHER_HEADS_LEN), GATHER_MARK_HEADS);
  store<u32>(state, load<u32>(state, GATHER_ITEMS), GATHER_MARK_ITEMS);
}

function rewind(state: usize): void {
  store<u32>(state, load<u32>(state, GATHER_MARK_LEN), GATHER_LEN);
  store<u32>(state, load<u32>(state, GATHER_MARK_ROWS), GATHER_ROWS);
  store<u32>(state, load<u32>(state, GATHER_MARK_ENDS), GATHER_ENDS_LEN);
  store<u32>(state, load<u32>(state, GATHER_MARK_HEADS), GATHER_HEADS_LEN);
  store<u32>(state, load<u32>(state, GATHER_MARK_ITEMS), GATHER_ITEMS);
}

/** The message under way is replaced by the reason in batch/failure.ts. */
export function loseMessage(node: usize, state: usize): void {
  keepFailure(node);
  store<u32>(state, <u32>failOff, GATHER_FAIL_OFF);
  store<u32>(state, failLen, GATHER_FAIL_LEN);
  rewind(state);
}

export function gatherRows(node: usize, spec: usize, state: usize, isMessage: bool): void {
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const rowErrors = ctx.rowErrors;
  if (selLen >= MANY_ROWS && !load<u32>(state, GATHER_CAP)) reserve(node, state, load<u32>(state, GATHER_WANTED));
  for (let i = isMessage && !rowErrors ? gatherMany(node, spec, state) : 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let isDone = false;
    if (!isMessage) mark(state);
    if (rowErrors && tagAt(rowErrors, row) == Tag.ERROR) {
      const text = valAt(rowErrors, row);
      fail(offOf(text), lenOf(text));
    } else {
      isDone = gather(node, spec, state, row) && (isMessage || endItem(node, spec, state));
      if (!isDone) addException(node, failOff, failLen, 1);
    }
    if (!isDone) {
      if (isMessage) {
        // What is sent row by row goes without the one whose column (dataField) is no row.
        if (isNotObject() && load<u8>(spec, ENCODE_FLAGS) & EncodeFlag.SINGLE && putFailure(node, spec, state))
          continue;
        loseMessage(node, state);
        return;
      }
      rewind(state);
      sendFailure(node, spec);
    }
    if (!isMessage) afterItem(node, spec, state, isDone);
  }
}

/**
 * Appends rows of a message to its array, as JSON, as far as that can be done without looking at each of them before;
 * returns how many.
 */
function gatherMany(node: usize, spec: usize, state: usize): u32 {
  const bound = boundOfAll() + 16;
  const flags = load<u8>(spec, ENCODE_FLAGS);
  if (bound == 16 || hasHead || isText || load<u8>(spec, ENCODE_FORMAT) != OutputFormat.JSON) return 0;
  if (isApart(flags) || flags & (EncodeFlag.BATCH | EncodeFlag.FIRST | EncodeFlag.OMIT_EMPTY)) return 0;
  const selLen = ctx.selLen;
  const step = max(ROOM / bound, 1);
  let done: u32 = 0;
  while (done < selLen) {
    const to = min(done + step, selLen);
    if (!reserve(node, state, <u64>bound * (to - done))) break;
    const buf = <usize>load<u32>(state, GATHER_BUF);
    const first = done;
    let p = buf + load<u32>(state, GATHER_LEN);
    for (; done < to; done++) {
      store<u8>(p, 0x2c);
      const end = rowWrite(p + 1, load<u32>(ctx.sel + ((<usize>done) << 2)));
      if (!end) break;
      p = end;
    }
    store<u32>(state, <u32>(p - buf), GATHER_LEN);
    store<u32>(state, load<u32>(state, GATHER_ROWS) + done - first, GATHER_ROWS);
    store<u32>(state, load<u32>(state, GATHER_ITEMS) + done - first, GATHER_ITEMS);
    if (done < to) break;
  }
  return done;
}

/** A message of a batch is complete: closes its list. False when there is no memory for that. */
function endItem(node: usize, spec: usize, state: usize): bool {
  const flags = load<u8>(spec, ENCODE_FLAGS);
  const hasRows = load<u32>(state, GATHER_ROWS) != load<u32>(state, GATHER_MARK_ROWS);
  const closes = isNested(spec, flags) && (hasRows || !(flags & EncodeFlag.OMIT_EMPTY));
  if (closes && !reserve(node, state, 4)) {
    failNoMemory();
    return false;
  }
  if (hasRows) keepHeads(state, flags);
  if (!closes) return true;
  let at = <usize>load<u32>(state, GATHER_BUF) + load<u32>(state, GATHER_LEN);
  if (!hasRows) {
    store<u16>(at, 0x5b2c);
    at += 2;
  }
  store<u8>(at++, 0x5d);
  store<u32>(state, <u32>(at - load<u32>(state, GATHER_BUF)), GATHER_LEN);
  store<u32>(state, load<u32>(state, GATHER_ITEMS) + 1, GATHER_ITEMS);
  return true;
}

/** Templates of a batch see its last message: with sendSingle its last row. */
function keepHeads(state: usize, flags: u32): void {
  const len = load<u32>(state, GATHER_HEADS_LEN);
  const from = flags & EncodeFlag.SINGLE ? load<u32>(state, GATHER_LAST_HEAD) : load<u32>(state, GATHER_MARK_HEADS);
  if (!from || !len) return;
  const heads = <usize>load<u32>(state, GATHER_HEADS);
  memory.copy(heads, heads + from, len - from);
  store<u32>(state, len - from, GATHER_HEADS_LEN);
}

/** Sends the batch when it is full. Errors are messages of it where they are sent. */
function afterItem(node: usize, spec: usize, state: usize, isDone: bool): void {
  if (isDone || load<u8>(spec, ENCODE_FLAGS) & EncodeFlag.SEND_ERROR) {
    store<u32>(state, load<u32>(state, GATHER_TAKEN) + 1, GATHER_TAKEN);
  }
  const batchSize = load<u32>(spec, ENCODE_BATCH_SIZE);
  if (batchSize && load<u32>(state, GATHER_TAKEN) >= batchSize) {
    if (load<u32>(state, GATHER_ITEMS)) commit(node, spec, state);
    store<u32>(state, 0, GATHER_TAKEN);
  } else if (load<u32>(state, GATHER_ITEMS) && !load<u32>(state, GATHER_PLACE)) batchBegins(node, spec, state);
}

/** Rows are held from now on, after a message or a row that is none. */
function batchBegins(node: usize, spec: usize, state: usize): void {
  enlist(node, state);
  const wait = load<f64>(spec, ENCODE_LINGER);
  if (wait > 0) setDeadline(node, ctx.nowMs + wait);
}

/** Appends a row to the buffer; false when it fails. */
function gather(node: usize, spec: usize, state: usize, row: u32): bool {
  const flags = load<u8>(spec, ENCODE_FLAGS);
  const isJson = load<u8>(spec, ENCODE_FORMAT) == OutputFormat.JSON;
  const rows = load<u32>(state, GATHER_ROWS);
  const isFirst = isApart(flags) || rows == 0;
  if (rowIsEmpty(row)) return true;
  if (isText) placeNames(node, state, row, isFirst);
  if (flags & EncodeFlag.FIRST && rows != load<u32>(state, GATHER_MARK_ROWS))
    return !hasHead || addHead(node, state, row);
  let need = rowBound(row) + 16;
  if (hasHead) need += headBound(row);
  if (!reserve(node, state, need)) {
    // A large batch that can't grow is never full: all rows to come would fail. A small one is short of what others
    // have.
    if (isBatch(flags) && load<u32>(state, GATHER_ITEMS) && load<u32>(state, GATHER_CAP) >= LARGE_BATCH) exhaust(node);
    failNoMemory();
    return false;
  }
  const len = load<u32>(state, GATHER_LEN);
  const ends = load<u32>(state, GATHER_ENDS_LEN);
  const at = <usize>load<u32>(state, GATHER_BUF) + len;
  let from = at;
  if (isApart(flags)) {
    if (hasHead) {
      from = headWrite(at, row);
      if (!from) return false;
    }
  } else {
    if (isText) {
      if (!isFirst) store<u8>(from++, 0x0a);
    } else if (isJson) {
      store<u8>(from++, 0x2c);
      if (isNested(spec, flags) && rows == load<u32>(state, GATHER_MARK_ROWS)) store<u8>(from++, 0x5b);
    } else if (!len) from += ROWS_HEAD;
  }
  let end = rowWrite(from, row);
  if (!end) return false;
  const omitted = EncodeFlag.OMIT_EMPTY | EncodeFlag.SINGLE;
  if ((flags & omitted) == omitted && rowIsOmitted(row, from, end)) return true;
  let written: u32 = 1;
  if (isApart(flags)) {
    if (isLines(spec)) store<u8>(end++, 0x0a);
    else {
      const buf = load<u32>(state, GATHER_BUF);
      if ((hasHead && !addEnd(node, state, <u32>from - buf)) || !addEnd(node, state, <u32>end - buf)) {
        store<u32>(state, ends, GATHER_ENDS_LEN);
        failNoMemory();
        return false;
      }
    }
  } else {
    if (hasHead && !addHead(node, state, row)) return false;
    if (!isJson && !isText && rowIsList(row)) {
      // Its rows are rows of the list that is written.
      written = load<u32>(from, 1);
      memory.copy(from, from + ROWS_HEAD, end - from - ROWS_HEAD);
      end -= ROWS_HEAD;
    }
  }
  store<u32>(state, <u32>(end - at) + len, GATHER_LEN);
  store<u32>(state, rows + written, GATHER_ROWS);
  if (!isNested(spec, flags)) store<u32>(state, load<u32>(state, GATHER_ITEMS) + 1, GATHER_ITEMS);
  return true;
}

/**
 * Puts the reason in batch/failure.ts where the row would stand, if the rule wants that: at once in a batch, otherwise
 * behind the rows before it. False when there is no memory for it.
 */
function putFailure(node: usize, spec: usize, state: usize): bool {
  const flags = load<u8>(spec, ENCODE_FLAGS);
  if (!isApart(flags)) {
    sendFailure(node, spec);
    return true;
  }
  if (!(flags & EncodeFlag.SEND_ERROR)) return true;
  const len = min(failLen, OUT_SIZE >> 2);
  const ends = load<u32>(state, GATHER_ENDS_LEN);
  if (!reserve(node, state, ((<u64>len) << 1) + FAILURE_HEAD)) {
    failNoMemory();
    return false;
  }
  const buf = <usize>load<u32>(state, GATHER_BUF);
  let at = buf + load<u32>(state, GATHER_LEN);
  const hasEnds = !isLines(spec);
  if (headsOf(spec)) {
    memory.copy(at, failOff, len);
    at += len;
    if (!addEnd(node, state, <u32>(at - buf))) {
      failNoMemory();
      return false;
    }
  }
  at = failureWrite(spec, at, len);
  if (!hasEnds) store<u8>(at++, 0x0a);
  else if (!addEnd(node, state, <u32>(at - buf) | ERROR_BIT)) {
    store<u32>(state, ends, GATHER_ENDS_LEN);
    failNoMemory();
    return false;
  }
  store<u32>(state, <u32>(at - buf), GATHER_LEN);
  store<u32>(state, load<u32>(state, GATHER_ITEMS) + 1, GATHER_ITEMS);
  return true;
}

/**
 * Says what columns the row has that is written next. Of objects: those of the first row, of the message or
 * (sendSingle) of all that the node has written.
 */
export function placeNames(node: usize, state: usize, row: u32, isFirst: bool): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  if (keepsNames(spec)) {
    if (!isApart(load<u8>(spec, ENCODE_FLAGS)) && isFirst) namesDrop(node, state);
    if (!load<u32>(state, GATHER_NAMES)) store<u32>(state, <u32>namesOfRow(row, accountOf(node)), GATHER_NAMES);
  }
  textPlace(<usize>load<u32>(state, GATHER_NAMES), isFirst);
}

export function namesDrop(node: usize, state: usize): void {
  namesFree(<usize>load<u32>(state, GATHER_NAMES), accountOf(node));
  store<u32>(state, 0, GATHER_NAMES);
}

/** Appends the row to the heads; false when it fails. */
function addHead(node: usize, state: usize, row: u32): bool {
  if (!reserve(node, state + GATHER_HEADS, headBound(row) + 1)) {
    failNoMemory();
    return false;
  }
  const heads = <usize>load<u32>(state, GATHER_HEADS);
  const at = heads + load<u32>(state, GATHER_HEADS_LEN);
  store<u32>(state, load<u32>(state, GATHER_HEADS_LEN), GATHER_LAST_HEAD);
  store<u8>(at, 0x2c);
  const end = headWrite(at + 1, row);
  if (!end) return false;
  store<u32>(state, <u32>(end - heads), GATHER_HEADS_LEN);
  return true;
}

export function gatherEnd(node: usize, failedOff: usize, failedLen: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const flags = load<u8>(spec, ENCODE_FLAGS);
  const ownOff = <usize>load<u32>(state, GATHER_FAIL_OFF);
  let isDone = false;
  if (ownOff) fail(ownOff, load<u32>(state, GATHER_FAIL_LEN));
  else if (failedOff) fail(failedOff, failedLen);
  else if (isBatch(flags)) {
    isDone = endItem(node, spec, state);
    if (!isDone) addException(node, failOff, failLen, 1);
  } else {
    const sent = isApart(flags) ? load<u32>(state, GATHER_ITEMS) : load<u32>(state, GATHER_ROWS);
    if (sent || !(flags & EncodeFlag.OMIT_EMPTY)) commit(node, spec, state);
    isDone = true;
  }
  if (!isDone) {
    rewind(state);
    sendFailure(node, spec);
  }
  if (isBatch(flags)) afterItem(node, spec, state, isDone);
  mark(state);
}

/** Sends what was gathered, if anything. */
export function gatherFlush(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  if (load<u32>(state, GATHER_ITEMS)) commit(node, <usize>load<u32>(node, N_SPEC), state);
  store<u32>(state, 0, GATHER_TAKEN);
}

/** Frees what the state holds: its node goes. */
export function gatherFree(node: usize, state: usize): void {
  delist(state);
  dropBuffers(node, state);
  free(state, STATE_SIZE, accountOf(node));
}
