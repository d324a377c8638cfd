// Encode nodes whose messages have several rows: the result of a window, or rows gathered up to `batchSize`. The rows are
// written to a buffer of the node first: when a row fails, the rows of its message that were written before are taken back and
// an error is sent in their place; and the nodes below one window get its rows batch by batch in turn, so that their messages
// would mix in the output.
//
//   state (only of nodes that gather or keep the names of columns, 80 bytes)
//   0    buf u32, 4 cap u32, 8 len u32      text of the complete rows, in a message of several rows each with the
//                                           separator before it
//   12   rows u32
//   16   ends u32, 20 endsCap u32, 24 endsLen u32     ends of the messages, with sendSingle
//   28   failOff u32, 32 failLen u32        why the message under way is lost, 0 if it is not
//   36   markLen u32, 40 markRows u32, 44 markEnds u32   where the message under way begins
//   48   sent u32            times that the buffer was sent
//   52   place u32           address of the word that names the node, 0 while it is in no list
//   56   next u32            the node after it there
//   60   names u32           columns of delimited rows (flow/encode-text.ts), 0 none
//   64   heads u32, 68 headsCap u32, 72 headsLen u32, 76 markHeads u32   without sendSingle: the rows as JSON, a comma before
//                            each (flow/head.ts)
//
// Nodes that hold rows for a batch are in a list that begins at the root above them, so that nobody has to ask all nodes.
import * as ctx from './context';
import { N_GATHERING, N_OUT, N_PARENT, N_SPEC, N_STATE, accountOf, addException, keepFailure } from './node';
import {
  ENCODE_BATCH_SIZE, ENCODE_FLAGS, ENCODE_FORMAT, ENCODE_LINGER, EncodeFlag, OutputFormat, ROWS_HEAD, isText, rowBound, rowIsEmpty,
  rowWrite, rowWriteHead,
} from './encode-row';
import { isTextFormat, keepsNames, namesFree, namesOfRow, textPlace } from './encode-text';
import { ONE_END, isLines, sendFailure } from './send';
import { outClose, outDirect, outEnd, outEndsFull, outFlush, outLimit, outOpen } from './output';
import { TWO_ENDS, hasHead, headBound, headWrite, headsOf } from './head';
import { clearDeadline, setDeadline } from './timers';
import { fail, failLen, failNoMemory, failOff } from './failure';
import { alloc, free, roundedSize } from '../mem/alloc';
import { Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';

export const STATE_SIZE: u32 = 80;
export const GATHER_BUF: usize = 0;
const GATHER_CAP: usize = 4;
export const GATHER_LEN: usize = 8;
export const GATHER_ROWS: usize = 12;
export const GATHER_ENDS: usize = 16;
const GATHER_ENDS_CAP: usize = 20;
export const GATHER_ENDS_LEN: usize = 24;
const GATHER_FAIL_OFF: usize = 28;
const GATHER_FAIL_LEN: usize = 32;
const GATHER_MARK_LEN: usize = 36;
const GATHER_MARK_ROWS: usize = 40;
const GATHER_MARK_ENDS: usize = 44;
const GATHER_SENT: usize = 48;
const GATHER_PLACE: usize = 52;
const GATHER_NEXT: usize = 56;
export const GATHER_NAMES: usize = 60;
export const GATHER_HEADS: usize = 64;
const GATHER_HEADS_CAP: usize = 68;
export const GATHER_HEADS_LEN: usize = 72;
const GATHER_MARK_HEADS: usize = 76;

const FIRST_BUFFER: u32 = 1024;
/** A buffer above this size is freed when its content is sent: most messages are far smaller. */
const KEEP_BUFFER: u32 = 16384;
/** Messages above this size are handed out where they stand instead of being copied. */
const COPY_MAX: u32 = 131072;
/** Room for the closing bracket and the line feed. */
const TAIL: u32 = 2;

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
}

function rewind(state: usize): void {
  store<u32>(state, load<u32>(state, GATHER_MARK_LEN), GATHER_LEN);
  store<u32>(state, load<u32>(state, GATHER_MARK_ROWS), GATHER_ROWS);
  store<u32>(state, load<u32>(state, GATHER_MARK_ENDS), GATHER_ENDS_LEN);
  store<u32>(state, load<u32>(state, GATHER_MARK_HEADS), GATHER_HEADS_LEN);
}

/** The message under way is replaced by the reason in flow/failure.ts. */
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
  const batchSize = load<u32>(spec, ENCODE_BATCH_SIZE);
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + (<usize>i << 2));
    let isDone = false;
    if (rowErrors && tagAt(rowErrors, row) == Tag.ERROR) {
      const text = valAt(rowErrors, row);
      fail(offOf(text), lenOf(text));
    } else {
      isDone = gather(node, spec, state, row);
      if (!isDone) addException(node, failOff, failLen, 1);
    }
    if (!isDone) {
      if (isMessage) {
        loseMessage(node, state);
        return;
      }
      sendFailure(node, spec);
    } else if (!isMessage) afterRow(node, spec, state, batchSize);
  }
}

// @ts-ignore: decorator
@inline function afterRow(node: usize, spec: usize, state: usize, batchSize: u32): void {
  const rows = load<u32>(state, GATHER_ROWS);
  if (batchSize > 1 && rows >= batchSize) commit(node, spec, state);
  else if (rows == 1) batchBegins(node, spec, state);
}

/** Rows are held from now on, after a message or a row that is none. */
function batchBegins(node: usize, spec: usize, state: usize): void {
  enlist(node, state);
  const wait = load<f64>(spec, ENCODE_LINGER);
  if (wait > 0) setDeadline(node, ctx.nowMs + wait);
}

/** Puts the node into the list of its root, if it isn't there. */
export function enlist(node: usize, state: usize): void {
  if (load<u32>(state, GATHER_PLACE)) return;
  let root = node;
  for (let above = node; above; above = <usize>load<u32>(above, N_PARENT)) root = above;
  const next = <usize>load<u32>(root, N_GATHERING);
  store<u32>(root, <u32>node, N_GATHERING);
  store<u32>(state, <u32>(root + N_GATHERING), GATHER_PLACE);
  store<u32>(state, <u32>next, GATHER_NEXT);
  if (next) store<u32>(<usize>load<u32>(next, N_STATE), <u32>(state + GATHER_NEXT), GATHER_PLACE);
}

/** Takes the node out of the list. */
function delist(state: usize): void {
  const place = <usize>load<u32>(state, GATHER_PLACE);
  if (!place) return;
  const next = <usize>load<u32>(state, GATHER_NEXT);
  store<u32>(place, <u32>next);
  if (next) store<u32>(<usize>load<u32>(next, N_STATE), <u32>place, GATHER_PLACE);
  store<u32>(state, 0, GATHER_PLACE);
}

/** The first node below the root that holds rows for a batch, 0 none. */
export function gatheringFirst(root: usize): usize {
  return <usize>load<u32>(root, N_GATHERING);
}

/** The one after a node that does, 0 none. */
export function gatheringNext(node: usize): usize {
  return <usize>load<u32>(<usize>load<u32>(node, N_STATE), GATHER_NEXT);
}

/** Appends a row to the buffer; false when it fails. */
function gather(node: usize, spec: usize, state: usize, row: u32): bool {
  const flags = load<u8>(spec, ENCODE_FLAGS);
  const isJson = load<u8>(spec, ENCODE_FORMAT) == OutputFormat.JSON;
  const isFirst = (flags & EncodeFlag.SINGLE) != 0 || load<u32>(state, GATHER_ROWS) == 0;
  if (isText) placeNames(node, state, row, isFirst);
  let need = rowBound(row) + 16;
  if (hasHead) need += headBound(row);
  if (!reserve(node, state, need)) {
    failNoMemory();
    return false;
  }
  const len = load<u32>(state, GATHER_LEN);
  const ends = load<u32>(state, GATHER_ENDS_LEN);
  const at = <usize>load<u32>(state, GATHER_BUF) + len;
  let from = at;
  if (flags & EncodeFlag.SINGLE) {
    if (hasHead) {
      from = headWrite(at, row);
      if (!from) return false;
    }
  } else {
    if (isText) {
      if (!isFirst) store<u8>(from++, 0x0a);
    } else if (isJson) store<u8>(from++, 0x2c);
    else if (!len) from += ROWS_HEAD;
  }
  let end = rowWrite(from, row);
  if (!end) return false;
  if (flags & EncodeFlag.SINGLE) {
    if (flags & EncodeFlag.OMIT_EMPTY && rowIsEmpty(from, end)) return true;
    if (isLines(spec)) store<u8>(end++, 0x0a);
    else {
      const buf = load<u32>(state, GATHER_BUF);
      if ((hasHead && !addEnd(node, state, <u32>from - buf)) || !addEnd(node, state, <u32>end - buf)) {
        store<u32>(state, ends, GATHER_ENDS_LEN);
        failNoMemory();
        return false;
      }
    }
  } else if (hasHead && !addHead(node, state, row)) return false;
  store<u32>(state, <u32>(end - at) + len, GATHER_LEN);
  store<u32>(state, load<u32>(state, GATHER_ROWS) + 1, GATHER_ROWS);
  return true;
}

/**
 * Says what columns the row has that is written next. Of objects: those of the first row, of the message or (sendSingle) of all
 * that the node has written.
 */
export function placeNames(node: usize, state: usize, row: u32, isFirst: bool): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  if (keepsNames(spec)) {
    const isSingle = (load<u8>(spec, ENCODE_FLAGS) & EncodeFlag.SINGLE) != 0;
    if (!isSingle && isFirst) namesDrop(node, state);
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
  store<u8>(at, 0x2c);
  const end = headWrite(at + 1, row);
  if (!end) return false;
  store<u32>(state, <u32>(end - heads), GATHER_HEADS_LEN);
  return true;
}

/** Makes room for `more` bytes and the end of the message behind what the buffer at {buf, cap, len} holds. */
export function reserve(node: usize, state: usize, more: u64): bool {
  const len = load<u32>(state, GATHER_LEN);
  const cap = load<u32>(state, GATHER_CAP);
  const need = more + len + TAIL;
  if (need <= cap) return true;
  const wanted = max<u64>(need, max<u64>(<u64>cap * 2, FIRST_BUFFER));
  if (wanted > 0x7fffffff) return false;
  const size = roundedSize(<u32>wanted);
  const bigger = alloc(size, accountOf(node));
  if (!bigger) return false;
  memory.copy(bigger, <usize>load<u32>(state, GATHER_BUF), len);
  free(<usize>load<u32>(state, GATHER_BUF), cap, accountOf(node));
  store<u32>(state, <u32>bigger, GATHER_BUF);
  store<u32>(state, size, GATHER_CAP);
  return true;
}

export function addEnd(node: usize, state: usize, end: u32): bool {
  const n = load<u32>(state, GATHER_ENDS_LEN);
  const cap = load<u32>(state, GATHER_ENDS_CAP);
  if (n == cap) {
    const wanted = cap ? cap << 1 : 64;
    const bigger = alloc(wanted << 2, accountOf(node));
    if (!bigger) return false;
    memory.copy(bigger, <usize>load<u32>(state, GATHER_ENDS), <usize>n << 2);
    free(<usize>load<u32>(state, GATHER_ENDS), cap << 2, accountOf(node));
    store<u32>(state, <u32>bigger, GATHER_ENDS);
    store<u32>(state, wanted, GATHER_ENDS_CAP);
  }
  store<u32>(<usize>load<u32>(state, GATHER_ENDS) + (<usize>n << 2), end);
  store<u32>(state, n + 1, GATHER_ENDS_LEN);
  return true;
}

export function gatherEnd(node: usize, failedOff: usize, failedLen: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (!state) return;
  const spec = <usize>load<u32>(node, N_SPEC);
  const ownOff = <usize>load<u32>(state, GATHER_FAIL_OFF);
  if (ownOff || failedOff) {
    rewind(state);
    if (ownOff) fail(ownOff, load<u32>(state, GATHER_FAIL_LEN));
    else fail(failedOff, failedLen);
    sendFailure(node, spec);
    mark(state);
    return;
  }
  const batchSize = load<u32>(spec, ENCODE_BATCH_SIZE);
  const isSingle = (load<u8>(spec, ENCODE_FLAGS) & EncodeFlag.SINGLE) != 0;
  if (isSingle || (batchSize <= 1 && load<f64>(spec, ENCODE_LINGER) == 0)) commit(node, spec, state);
  else {
    const rows = load<u32>(state, GATHER_ROWS);
    if (batchSize > 1 && rows >= batchSize) commit(node, spec, state);
    else if (rows && !load<u32>(state, GATHER_MARK_ROWS)) batchBegins(node, spec, state);
  }
  mark(state);
}

/** Sends what was gathered, if anything. */
export function gatherFlush(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  if (state && load<u32>(state, GATHER_ROWS)) commit(node, <usize>load<u32>(node, N_SPEC), state);
}

/** Number of the batch that the node gathers, from 1; 0 while it holds no rows. */
export function gatheredBatch(node: usize): u32 {
  const state = <usize>load<u32>(node, N_STATE);
  return state && load<u32>(state, GATHER_ROWS) ? load<u32>(state, GATHER_SENT) + 1 : 0;
}

/** Sends the buffer as one message (an empty one is `[]`), or with sendSingle as the messages that it holds. */
function commit(node: usize, spec: usize, state: usize): void {
  clearDeadline(node);
  delist(state);
  const rows = load<u32>(state, GATHER_ROWS);
  const isSingle = (load<u8>(spec, ENCODE_FLAGS) & EncodeFlag.SINGLE) != 0;
  if (isSingle && !rows) return;
  const isJoined = !isSingle && headsOf(spec);
  if (!isSingle && (!close(node, spec, state) || (isJoined && !joinHead(node, state)))) {
    failNoMemory();
    addException(node, failOff, failLen, max(rows, 1));
    dropBuffers(node, state);
    store<u32>(state, 0, GATHER_ROWS);
    sendFailure(node, spec);
    return;
  }
  const place = isJoined ? state + GATHER_HEADS : state;
  const buf = <usize>load<u32>(place, GATHER_BUF);
  const len = load<u32>(place, GATHER_LEN);
  const hasEnds = !isLines(spec);
  const ends: usize = isSingle ? <usize>load<u32>(state, GATHER_ENDS) : isJoined ? TWO_ENDS : 0;
  const messages: u32 = isSingle ? (headsOf(spec) ? rows << 1 : rows) : isJoined ? 2 : 1;
  if (len > COPY_MAX || (hasEnds && messages > 1024)) {
    store<u32>(ONE_END, len);
    outDirect(node, buf, len, hasEnds ? (ends ? ends : ONE_END) : 0, messages, rows);
  } else copyOut(node, buf, len, hasEnds, ends, messages, rows);
  store<u64>(node, load<u64>(node, N_OUT) + rows, N_OUT);
  store<u32>(state, 0, GATHER_LEN);
  store<u32>(state, 0, GATHER_ROWS);
  store<u32>(state, 0, GATHER_ENDS_LEN);
  store<u32>(state, 0, GATHER_HEADS_LEN);
  store<u32>(state, load<u32>(state, GATHER_SENT) + 1, GATHER_SENT);
  if (max(load<u32>(state, GATHER_CAP), load<u32>(state, GATHER_HEADS_CAP)) > KEEP_BUFFER) dropBuffers(node, state);
}

function copyOut(node: usize, buf: usize, len: u32, hasEnds: bool, ends: usize, messages: u32, rows: u32): void {
  let p = outOpen(node, hasEnds);
  if (p + len > outLimit || (hasEnds && outEndsFull(messages))) {
    outClose(p, 0, 0);
    outFlush();
    p = outOpen(node, hasEnds);
  }
  memory.copy(p, buf, len);
  if (hasEnds) {
    if (ends) {
      for (let i: u32 = 0; i < messages; i++) outEnd(p + load<u32>(ends + (<usize>i << 2)));
    } else outEnd(p + len);
  }
  outClose(p + len, messages, rows);
}

/** Completes the array in the buffer. */
function close(node: usize, spec: usize, state: usize): bool {
  if (!reserve(node, state, 8)) return false;
  const buf = <usize>load<u32>(state, GATHER_BUF);
  let len = load<u32>(state, GATHER_LEN);
  if (isTextFormat(load<u8>(spec, ENCODE_FORMAT))) {
    if (isLines(spec)) store<u8>(buf + len++, 0x0a);
    store<u32>(state, len, GATHER_LEN);
    return true;
  }
  if (load<u8>(spec, ENCODE_FORMAT) == OutputFormat.JSON) {
    if (!len) len = 1;
    store<u8>(buf, 0x5b);
    store<u8>(buf + len++, 0x5d);
  } else {
    if (!len) len = <u32>ROWS_HEAD;
    rowWriteHead(buf, Tag.ARRAY, load<u32>(state, GATHER_ROWS));
  }
  if (isLines(spec)) store<u8>(buf + len++, 0x0a);
  store<u32>(state, len, GATHER_LEN);
  return true;
}

/** Puts the message, as it is to be sent, behind the array of its rows. */
function joinHead(node: usize, state: usize): bool {
  const len = load<u32>(state, GATHER_LEN);
  if (!reserve(node, state + GATHER_HEADS, <u64>len + 2)) return false;
  const heads = <usize>load<u32>(state, GATHER_HEADS);
  let end = heads + max<u32>(load<u32>(state, GATHER_HEADS_LEN), 1);
  store<u8>(heads, 0x5b);
  store<u8>(end++, 0x5d);
  store<u32>(TWO_ENDS, <u32>(end - heads));
  memory.copy(end, <usize>load<u32>(state, GATHER_BUF), len);
  store<u32>(TWO_ENDS, <u32>(end + len - heads), 4);
  store<u32>(state, <u32>(end + len - heads), GATHER_HEADS_LEN);
  return true;
}

/** Frees what the state holds: its node goes. */
export function gatherFree(node: usize, state: usize): void {
  delist(state);
  dropBuffers(node, state);
  free(state, STATE_SIZE, accountOf(node));
}

function dropBuffers(node: usize, state: usize): void {
  free(<usize>load<u32>(state, GATHER_BUF), load<u32>(state, GATHER_CAP), accountOf(node));
  free(<usize>load<u32>(state, GATHER_ENDS), load<u32>(state, GATHER_ENDS_CAP) << 2, accountOf(node));
  free(<usize>load<u32>(state, GATHER_HEADS), load<u32>(state, GATHER_HEADS_CAP), accountOf(node));
  store<u64>(state, 0);
  store<u64>(state, 0, GATHER_ENDS);
  store<u64>(state, 0, GATHER_HEADS);
  store<u32>(state, 0, GATHER_LEN);
  store<u32>(state, 0, GATHER_ENDS_LEN);
  store<u32>(state, 0, GATHER_HEADS_LEN);
}
