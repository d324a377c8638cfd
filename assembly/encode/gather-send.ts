// What was gathered becomes messages: the buffer is closed, joined with its head, and sent whole or message by message.
import { N_OUT, addException } from '../node/node';
import { ENCODE_FLAGS, ENCODE_FORMAT, EncodeFlag, OutputFormat, ROWS_HEAD, rowWriteHead } from './row';
import { isApart, isTextFormat } from './text';
import {
  GATHER_BUF,
  GATHER_CAP,
  GATHER_ENDS,
  GATHER_ENDS_LEN,
  GATHER_HEADS,
  GATHER_HEADS_CAP,
  GATHER_HEADS_LEN,
  GATHER_ITEMS,
  GATHER_LEN,
  GATHER_ROWS,
  GATHER_SENT,
  GATHER_WANTED,
  KEEP_BUFFER,
  dropBuffers,
  reserve,
} from './gather-buffer';
import { ONE_END, isLines, sendFailure } from './send';
import { outClose, outDirect, outEnd, outEndsFull, outErrorEnd, outFlush, outLimit, outOpen } from './output';
import { delist } from './gathering';
import { TWO_ENDS, headsOf } from './head';
import { clearDeadline } from '../node/timers';
import { failLen, failNoMemory, failOff } from '../batch/failure';
import { Tag } from '../mem/layout';
import { ERROR_BIT } from '../gen/encode-layouts';

/** Messages above this size are handed out where they stand instead of being copied. */
const COPY_MAX: u32 = 131072;

/** Sends the buffer as one message (an empty one is `[]`), or with sendSingle as the messages that it holds. */
export function commit(node: usize, spec: usize, state: usize): void {
  clearDeadline(node);
  delist(state);
  const rows = load<u32>(state, GATHER_ROWS);
  const flags = load<u8>(spec, ENCODE_FLAGS);
  const isSingle = isApart(flags);
  // Those of single rows: rows and errors.
  const items = load<u32>(state, GATHER_ITEMS);
  if (isSingle ? !items : flags & EncodeFlag.FIRST && !rows) return;
  const isJoined = !isSingle && headsOf(spec);
  if (!isSingle && (!close(node, spec, state) || (isJoined && !joinHead(node, state)))) {
    failNoMemory();
    addException(node, failOff, failLen, max(rows, 1));
    dropBuffers(node, state);
    store<u32>(state, 0, GATHER_ROWS);
    store<u32>(state, 0, GATHER_ITEMS);
    sendFailure(node, spec);
    return;
  }
  const place = isJoined ? state + GATHER_HEADS : state;
  const buf = <usize>load<u32>(place, GATHER_BUF);
  const len = load<u32>(place, GATHER_LEN);
  const hasEnds = !isLines(spec);
  const ends: usize = isSingle ? <usize>load<u32>(state, GATHER_ENDS) : isJoined ? TWO_ENDS : 0;
  const messages: u32 = isSingle ? (headsOf(spec) ? items << 1 : items) : isJoined ? 2 : 1;
  if (len > COPY_MAX || (hasEnds && messages > 1024)) {
    store<u32>(ONE_END, len);
    const errors = isSingle && hasEnds ? items - rows : 0;
    outDirect(node, buf, len, hasEnds ? (ends ? ends : ONE_END) : 0, messages, rows, errors);
  } else copyOut(node, buf, len, hasEnds, ends, messages, rows);
  store<u64>(node, load<u64>(node, N_OUT) + rows, N_OUT);
  store<u32>(state, 0, GATHER_LEN);
  store<u32>(state, 0, GATHER_ROWS);
  store<u32>(state, 0, GATHER_ITEMS);
  store<u32>(state, 0, GATHER_ENDS_LEN);
  store<u32>(state, 0, GATHER_HEADS_LEN);
  store<u32>(state, load<u32>(state, GATHER_SENT) + 1, GATHER_SENT);
  if (max(load<u32>(state, GATHER_CAP), load<u32>(state, GATHER_HEADS_CAP)) > KEEP_BUFFER) {
    dropBuffers(node, state);
    store<u32>(state, len + (len >> 4), GATHER_WANTED);
  }
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
      for (let i: u32 = 0; i < messages; i++) {
        const end = load<u32>(ends + ((<usize>i) << 2));
        if (end & ERROR_BIT) outErrorEnd(p + (end & ~ERROR_BIT));
        else outEnd(p + end);
      }
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
  if ((load<u8>(spec, ENCODE_FLAGS) & (EncodeFlag.FIRST | EncodeFlag.BATCH)) == EncodeFlag.FIRST) {
    // The comma before the only row goes.
    if (len) memory.copy(buf, buf + 1, --len);
  } else if (load<u8>(spec, ENCODE_FORMAT) == OutputFormat.JSON) {
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
