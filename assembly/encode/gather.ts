// Encode nodes whose messages have several rows: the result of a window, or rows gathered up to `batchSize`. The rows
// are written to a buffer of the node first: when a row fails, the rows of its message that were written before are
// taken back and an error is sent in their place; and the nodes below one window get its rows batch by batch in turn,
// so that their messages would mix in the output.
//
// A batch (`batchSize`, `lingerInterval`) is a list of messages: with sendSingle of rows, otherwise of the lists of
// rows that would be sent one by one. Its size counts messages, those among them that failed or were left out as empty.
// In formats other than JSON there are no lists in lists, a batch has the rows of all its messages.
//
// The state of a node is drawn in encode/gather-buffer.ts; nodes that hold rows for a batch are in the list of
// encode/gathering.ts.
import * as ctx from '../batch/context';
import { accountOf, addException, exhaust, keepFailure } from '../node/node';
import { addFailed } from './failed-row';
import {
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
import { Gather, STATE_SIZE, addEnd, dropBuffers, reserve } from './gather-buffer';
import { FAILURE_HEAD, failureWrite, isLines, sendFailure } from './send';
import { OUT_SIZE } from './output';
import { delist, enlist } from './gathering';
import { hasHead, headBound, headWrite, headsOf } from './head';
import { setDeadline } from '../node/timers';
import { fail, failLen, failNoMemory, failOff, isNotObject } from '../batch/failure';
import { free } from '../mem/alloc';
import { Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';
import { EncodeSpec, ERROR_BIT } from '../gen/encode-layouts';
import { commit } from './gather-send';
import { Node } from '../gen/node-layouts';

/** Rows at once from which on the buffer is made as large as the last message needed. */
const MANY_ROWS: u32 = 256;
/** Bytes of rows for which room is made at once. */
const ROOM: u32 = 65536;
/** Bytes from which on a batch counts as a cause of exhausted memory. */
const LARGE_BATCH: u32 = 4 << 20;

/** True when rows are gathered for a batch. */
// @ts-ignore: decorator
@inline export function isBatch(flags: u32): bool {
  return (flags & EncodeFlag.BATCH) != 0;
}

/** True when the rows of each message are a list within the list of the batch. */
// @ts-ignore: decorator
@inline function isNested(spec: EncodeSpec, flags: u32): bool {
  const ofLists = EncodeFlag.SINGLE | EncodeFlag.BATCH | EncodeFlag.FIRST;
  return (flags & ofLists) == EncodeFlag.BATCH && spec.format == OutputFormat.JSON;
}

/** True when the message under way is lost already. */
// @ts-ignore: decorator
@inline export function isLost(state: Gather): bool {
  return state.failOff != 0;
}

export function gatherBegin(node: Node): void {
  const state = changetype<Gather>(node.state);
  if (state) mark(state);
}

function mark(state: Gather): void {
  state.failOff = 0;
  state.markLen = state.len;
  state.markRows = state.rows;
  state.markEnds = state.endsLen;
  state.markHeads = state.headsLen;
  state.markItems = state.items;
}

function rewind(state: Gather): void {
  state.len = state.markLen;
  state.rows = state.markRows;
  state.endsLen = state.markEnds;
  state.headsLen = state.markHeads;
  state.items = state.markItems;
}

/** The message under way is replaced by the reason in batch/failure.ts. */
export function loseMessage(node: Node, state: Gather): void {
  keepFailure(node);
  state.failOff = <u32>failOff;
  state.failLen = failLen;
  rewind(state);
}

export function gatherRows(node: Node, spec: EncodeSpec, state: Gather, isMessage: bool): void {
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const rowErrors = ctx.rowErrors;
  if (selLen >= MANY_ROWS && !state.cap) reserve(node, state, state.wanted);
  for (let i = isMessage && !rowErrors ? gatherMany(node, spec, state) : 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    let isDone = false;
    if (!isMessage) mark(state);
    if (rowErrors && tagAt(rowErrors, row) == Tag.ERROR) {
      const text = valAt(rowErrors, row);
      fail(offOf(text), lenOf(text));
    } else {
      isDone = gather(node, spec, state, row) && (isMessage || endItem(node, spec, state));
      if (!isDone) addFailed(node, row);
    }
    if (!isDone) {
      if (isMessage) {
        // With sendSingle only the row is lost whose column (dataField) is no row.
        if (isNotObject() && spec.flags & EncodeFlag.SINGLE && putFailure(node, spec, state)) continue;
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
function gatherMany(node: Node, spec: EncodeSpec, state: Gather): u32 {
  const bound = boundOfAll() + 16;
  const flags = spec.flags;
  if (bound == 16 || hasHead || isText || spec.format != OutputFormat.JSON) return 0;
  if (isApart(flags) || flags & (EncodeFlag.BATCH | EncodeFlag.FIRST | EncodeFlag.OMIT_EMPTY)) return 0;
  const selLen = ctx.selLen;
  const step = max(ROOM / bound, 1);
  let done: u32 = 0;
  while (done < selLen) {
    const to = min(done + step, selLen);
    if (!reserve(node, state, <u64>bound * (to - done))) break;
    const buf = state.buf;
    const first = done;
    let p = buf + state.len;
    for (; done < to; done++) {
      store<u8>(p, 0x2c);
      const end = rowWrite(p + 1, load<u32>(ctx.sel + ((<usize>done) << 2)));
      if (!end) break;
      p = end;
    }
    state.len = <u32>(p - buf);
    state.rows = state.rows + done - first;
    state.items = state.items + done - first;
    if (done < to) break;
  }
  return done;
}

/** A message of a batch is complete: closes its list. False when there is no memory for that. */
function endItem(node: Node, spec: EncodeSpec, state: Gather): bool {
  const flags = spec.flags;
  const hasRows = state.rows != state.markRows;
  const closes = isNested(spec, flags) && (hasRows || !(flags & EncodeFlag.OMIT_EMPTY));
  if (closes && !reserve(node, state, 4)) {
    failNoMemory();
    return false;
  }
  if (hasRows) keepHeads(state, flags);
  if (!closes) return true;
  let at = state.buf + state.len;
  if (!hasRows) {
    store<u16>(at, 0x5b2c);
    at += 2;
  }
  store<u8>(at++, 0x5d);
  state.len = <u32>(at - state.buf);
  state.items++;
  return true;
}

/** Templates of a batch see its last message: with sendSingle its last row. */
function keepHeads(state: Gather, flags: u32): void {
  const len = state.headsLen;
  const from = flags & EncodeFlag.SINGLE ? state.lastHead : state.markHeads;
  if (!from || !len) return;
  const heads = state.heads;
  memory.copy(heads, heads + from, len - from);
  state.headsLen = len - from;
}

/** Sends the batch when it is full. Messages that failed count where errors are sent. */
function afterItem(node: Node, spec: EncodeSpec, state: Gather, isDone: bool): void {
  if (isDone || spec.flags & EncodeFlag.SEND_ERROR) {
    state.taken++;
  }
  const batchSize = spec.batchSize;
  if (batchSize && state.taken >= batchSize) {
    if (state.items) commit(node, spec, state);
    state.taken = 0;
  } else if (state.items && !state.place) batchBegins(node, spec, state);
}

/** Begins to hold rows for a batch: the node comes to the list, with a deadline if it lingers. */
function batchBegins(node: Node, spec: EncodeSpec, state: Gather): void {
  enlist(node, state);
  const wait = spec.linger;
  if (wait > 0) setDeadline(node, ctx.nowMs + wait);
}

/** Appends a row to the buffer; false when it fails. */
function gather(node: Node, spec: EncodeSpec, state: Gather, row: u32): bool {
  const flags = spec.flags;
  const isJson = spec.format == OutputFormat.JSON;
  const rows = state.rows;
  const isFirst = isApart(flags) || rows == 0;
  if (rowIsEmpty(row)) return true;
  if (isText) placeNames(node, state, row, isFirst);
  if (flags & EncodeFlag.FIRST && rows != state.markRows) return !hasHead || addHead(node, state, row);
  let need = rowBound(row) + 16;
  if (hasHead) need += headBound(row);
  if (!reserve(node, state, need)) {
    // A large batch that can't grow never becomes full: all rows to come would fail. A small one only lacks memory that
    // others hold.
    if (isBatch(flags) && state.items && state.cap >= LARGE_BATCH) exhaust(node);
    failNoMemory();
    return false;
  }
  const len = state.len;
  const ends = state.endsLen;
  const at = state.buf + len;
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
      if (isNested(spec, flags) && rows == state.markRows) store<u8>(from++, 0x5b);
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
      const buf = state.buf;
      if ((hasHead && !addEnd(node, state, <u32>from - buf)) || !addEnd(node, state, <u32>end - buf)) {
        state.endsLen = ends;
        failNoMemory();
        return false;
      }
    }
  } else {
    if (hasHead && !addHead(node, state, row)) return false;
    if (!isJson && !isText && rowIsList(row)) {
      // The rows of this list become rows of the list that is written.
      written = load<u32>(from, 1);
      memory.copy(from, from + ROWS_HEAD, end - from - ROWS_HEAD);
      end -= ROWS_HEAD;
    }
  }
  state.len = <u32>(end - at) + len;
  state.rows = rows + written;
  if (!isNested(spec, flags)) state.items++;
  return true;
}

/**
 * Puts the reason in batch/failure.ts where the row would stand, if the rule wants that: at once in a batch, otherwise
 * behind the rows before it. False when there is no memory for it.
 */
function putFailure(node: Node, spec: EncodeSpec, state: Gather): bool {
  const flags = spec.flags;
  if (!isApart(flags)) {
    sendFailure(node, spec);
    return true;
  }
  if (!(flags & EncodeFlag.SEND_ERROR)) return true;
  const len = min(failLen, OUT_SIZE >> 2);
  const ends = state.endsLen;
  if (!reserve(node, state, ((<u64>len) << 1) + FAILURE_HEAD)) {
    failNoMemory();
    return false;
  }
  const buf = state.buf;
  let at = buf + state.len;
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
    state.endsLen = ends;
    failNoMemory();
    return false;
  }
  state.len = <u32>(at - buf);
  state.items++;
  return true;
}

/**
 * Sets the columns of the row that is written next. Rows that are objects have the columns of the first row: of the
 * message, or (sendSingle) of all rows that the node has written.
 */
export function placeNames(node: Node, state: Gather, row: u32, isFirst: bool): void {
  const spec = changetype<EncodeSpec>(node.spec);
  if (keepsNames(spec)) {
    if (!isApart(spec.flags) && isFirst) namesDrop(node, state);
    if (!state.names) state.names = namesOfRow(row, accountOf(node));
  }
  textPlace(state.names, isFirst);
}

export function namesDrop(node: Node, state: Gather): void {
  namesFree(state.names, accountOf(node));
  state.names = 0;
}

/** Appends the row to the heads; false when it fails. */
function addHead(node: Node, state: Gather, row: u32): bool {
  if (!reserve(node, changetype<Gather>(changetype<usize>(state) + offsetof<Gather>('heads')), headBound(row) + 1)) {
    failNoMemory();
    return false;
  }
  const heads = state.heads;
  const at = heads + state.headsLen;
  state.lastHead = state.headsLen;
  store<u8>(at, 0x2c);
  const end = headWrite(at + 1, row);
  if (!end) return false;
  state.headsLen = <u32>(end - heads);
  return true;
}

export function gatherEnd(node: Node, failedOff: usize, failedLen: u32): void {
  const state = changetype<Gather>(node.state);
  if (!state) return;
  const spec = changetype<EncodeSpec>(node.spec);
  const flags = spec.flags;
  const ownOff = <usize>state.failOff;
  let isDone = false;
  if (ownOff) fail(ownOff, state.failLen);
  else if (failedOff) fail(failedOff, failedLen);
  else if (isBatch(flags)) {
    isDone = endItem(node, spec, state);
    if (!isDone) addException(node, failOff, failLen, 1);
  } else {
    const sent = isApart(flags) ? state.items : state.rows;
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

/** Sends the gathered rows, if there are any. */
export function gatherFlush(node: Node): void {
  const state = changetype<Gather>(node.state);
  if (!state) return;
  if (state.items) commit(node, changetype<EncodeSpec>(node.spec), state);
  state.taken = 0;
}

/** Frees the state of a node that goes. */
export function gatherFree(node: Node, state: Gather): void {
  delist(state);
  dropBuffers(node, state);
  free(changetype<usize>(state), STATE_SIZE, accountOf(node));
}
