// Gathered rows become messages: the buffer is closed, joined with its head, and sent whole or message by message.
import { addException } from '../node/node';
import { EncodeFlag, OutputFormat, ROWS_HEAD, rowWriteHead } from './row';
import { isApart, isTextFormat } from './text';
import { Gather, KEEP_BUFFER, dropBuffers, reserve } from './gather-buffer';
import { ONE_END, isLines, sendFailure } from './send';
import { outClose, outDirect, outEnd, outEndsFull, outErrorEnd, outFlush, outLimit, outOpen } from './output';
import { delist } from './gathering';
import { TWO_ENDS, headsOf } from './head';
import { clearDeadline } from '../node/timers';
import { failLen, failNoMemory, failOff } from '../batch/failure';
import { Tag } from '../mem/layout';
import { EncodeSpec, ERROR_BIT } from '../gen/encode-layouts';
import { Node } from '../gen/node-layouts';

/** Messages above this size are handed out where they stand instead of being copied. */
const COPY_MAX: u32 = 131072;

/** Sends the buffer as one message (an empty one is `[]`), or with sendSingle as the messages that it holds. */
export function commit(node: Node, spec: EncodeSpec, state: Gather): void {
  clearDeadline(node);
  delist(state);
  const rows = state.rows;
  const flags = spec.flags;
  const isSingle = isApart(flags);
  // Messages of single rows: rows and errors.
  const items = state.items;
  if (isSingle ? !items : flags & EncodeFlag.FIRST && !rows) return;
  const isJoined = !isSingle && headsOf(spec);
  if (!isSingle && (!close(node, spec, state) || (isJoined && !joinHead(node, state)))) {
    failNoMemory();
    addException(node, failOff, failLen, max(rows, 1));
    dropBuffers(node, state);
    state.rows = 0;
    state.items = 0;
    sendFailure(node, spec);
    return;
  }
  const place = isJoined ? changetype<Gather>(changetype<usize>(state) + offsetof<Gather>('heads')) : state;
  const buf = place.buf;
  const len = place.len;
  const hasEnds = !isLines(spec);
  const ends: usize = isSingle ? state.ends : isJoined ? TWO_ENDS : 0;
  const messages: u32 = isSingle ? (headsOf(spec) ? items << 1 : items) : isJoined ? 2 : 1;
  if (len > COPY_MAX || (hasEnds && messages > 1024)) {
    store<u32>(ONE_END, len);
    const errors = isSingle && hasEnds ? items - rows : 0;
    outDirect(node, buf, len, hasEnds ? (ends ? ends : ONE_END) : 0, messages, rows, errors);
  } else copyOut(node, buf, len, hasEnds, ends, messages, rows);
  node.out += rows;
  state.len = 0;
  state.rows = 0;
  state.items = 0;
  state.endsLen = 0;
  state.headsLen = 0;
  state.sent++;
  if (max(state.cap, state.headsCap) > KEEP_BUFFER) {
    dropBuffers(node, state);
    state.wanted = len + (len >> 4);
  }
}

function copyOut(node: Node, buf: usize, len: u32, hasEnds: bool, ends: usize, messages: u32, rows: u32): void {
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
function close(node: Node, spec: EncodeSpec, state: Gather): bool {
  if (!reserve(node, state, 8)) return false;
  const buf = state.buf;
  let len = state.len;
  if (isTextFormat(spec.format)) {
    if (isLines(spec)) store<u8>(buf + len++, 0x0a);
    state.len = len;
    return true;
  }
  if ((spec.flags & (EncodeFlag.FIRST | EncodeFlag.BATCH)) == EncodeFlag.FIRST) {
    // The comma before the only row goes.
    if (len) memory.copy(buf, buf + 1, --len);
  } else if (spec.format == OutputFormat.JSON) {
    if (!len) len = 1;
    store<u8>(buf, 0x5b);
    store<u8>(buf + len++, 0x5d);
  } else {
    if (!len) len = <u32>ROWS_HEAD;
    rowWriteHead(buf, Tag.ARRAY, state.rows);
  }
  if (isLines(spec)) store<u8>(buf + len++, 0x0a);
  state.len = len;
  return true;
}

/** Puts the message, as it is to be sent, behind the array of its rows. */
function joinHead(node: Node, state: Gather): bool {
  const len = state.len;
  if (!reserve(node, changetype<Gather>(changetype<usize>(state) + offsetof<Gather>('heads')), <u64>len + 2))
    return false;
  const heads = state.heads;
  let end = heads + max<u32>(state.headsLen, 1);
  store<u8>(heads, 0x5b);
  store<u8>(end++, 0x5d);
  store<u32>(TWO_ENDS, <u32>(end - heads));
  memory.copy(end, state.buf, len);
  store<u32>(TWO_ENDS, <u32>(end + len - heads), 4);
  state.headsLen = <u32>(end + len - heads);
  return true;
}
