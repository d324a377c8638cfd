// Payloads within messages: one column of their rows has messages of another format. They are gathered of all messages
// of a list, with the other members of their rows, so that a function of the host makes JSON of them in one call.
//
//   rows   payloads u64 | texts u64 | others u64 (members without braces) | tags of payloads u8 | tags of texts u8
import { alloc, free, WORKSPACE } from '../../mem/alloc';
import { BATCH_ROWS, lenOf, offOf, span, Tag } from '../../mem/layout';
import { Pool, poolAlloc } from '../../mem/pool';
import { fault, faultComplete, faultMessage } from '../../json/fault';
import { afterKey, scanString, scanValue, skipSpace, stringEscaped, unescape } from '../../json/scan';
import { bytesOf } from '../../text/base64';
import { messageBegin, messageBytes, messageLen, messageOff, messageText } from '../../text/message';
import { isEnd } from './decode';
import { textAdd, textAddByte, textFrom, textLength, textNext, textsBegin } from './payload-text';

const ROW: u32 = 26;
const FIRST_CAPACITY: u32 = 2 * BATCH_ROWS;
/** Rows for which memory is kept from one list to the next. */
const KEPT_CAPACITY: u32 = 64 * BATCH_ROWS;

let rows: usize = 0;
let capacity: u32 = 0;
/** Rows of all messages of the list. */
export let payloadCount: u32 = 0;
/** Number of the first row behind those of each message. */
const ENDS: usize = memory.data(4 * 1024, 4);

let field: usize = 0;
let fieldLen: u32 = 0;
let depth: i32 = 0;
let pool: Pool = changetype<Pool>(0);

// @ts-ignore: decorator
@inline export function payloadsAt(row: u32): usize {
  return rows + ((<usize>row) << 3);
}

// @ts-ignore: decorator
@inline export function payloadTextsAt(row: u32): usize {
  return rows + ((<usize>(capacity + row)) << 3);
}

// @ts-ignore: decorator
@inline export function othersAt(row: u32): usize {
  return rows + ((<usize>(2 * capacity + row)) << 3);
}

// @ts-ignore: decorator
@inline export function payloadTagsAt(row: u32): usize {
  return rows + 24 * <usize>capacity + row;
}

// @ts-ignore: decorator
@inline export function payloadTextTagsAt(row: u32): usize {
  return rows + 25 * <usize>capacity + row;
}

/** Number of the first row behind those of a message. */
// @ts-ignore: decorator
@inline export function rowsEnd(message: u32): u32 {
  return load<u32>(ENDS + ((<usize>message) << 2));
}

/**
 * Gathers the payloads in a column of the texts. A text without rows becomes null, one that is none of rows with
 * payloads an error.
 */
export function payloadsGather(
  texts: usize,
  tags: usize,
  count: u32,
  column: usize,
  columnLen: u32,
  maxDepth: i32,
  into: Pool,
): void {
  field = column;
  fieldLen = columnLen;
  depth = maxDepth;
  pool = into;
  payloadCount = 0;
  textsBegin(into);
  for (let i: u32 = 0; i < count; i++) {
    const first = payloadCount;
    if (load<u8>(tags + i) == Tag.STR) {
      const at = texts + ((<usize>i) << 3);
      const text = load<u64>(at);
      if (!gatherMessage(offOf(text), offOf(text) + lenOf(text))) {
        payloadCount = first;
        faultMessage(offOf(text));
        store<u64>(at, messageIn(into));
        store<u8>(tags + i, Tag.ERROR);
      } else if (payloadCount == first) store<u8>(tags + i, Tag.NULL);
    }
    store<u32>(ENDS + ((<usize>i) << 2), payloadCount);
  }
}

/** The message in text/message.ts, in memory of the pool. */
export function messageIn(to: Pool): u64 {
  const len = messageLen();
  const at = poolAlloc(to, len);
  if (!at) return 0;
  memory.copy(at, messageOff(), len);
  return span(at, len);
}

/** Forgets the rows. */
export function payloadsForget(): void {
  payloadCount = 0;
  if (capacity <= KEPT_CAPACITY) return;
  free(rows, capacity * ROW, WORKSPACE);
  rows = 0;
  capacity = 0;
}

/** Gathers the payloads of a message; false after noting a fault. */
function gatherMessage(from: usize, end: usize): bool {
  let p = skipSpace(from, end);
  const c: u32 = p < end ? load<u8>(p) : 0;
  if (c == 0x7b) {
    p = gatherRow(p, end);
    return p != 0 && isEnd(p, end, 'text after the object');
  }
  if (c == 0x5b) {
    p = gatherList(p, end);
    return p != 0 && isEnd(p, end, 'text after the list');
  }
  p = scanValue(p, end, 1);
  if (!p || !isEnd(p, end, 'text after the value')) return false;
  messageBegin();
  messageText('the payload is neither an object nor a list of objects');
  faultComplete();
  return false;
}

function gatherList(from: usize, end: usize): usize {
  let p = skipSpace(from + 1, end);
  if (p < end && load<u8>(p) == 0x5d) return p + 1;
  while (true) {
    if (p < end && load<u8>(p) == 0x7b) p = gatherRow(p, end);
    else p = scanValue(p, end, depth) ? fault('an element of the list is not an object', p) : 0;
    if (!p) return 0;
    p = skipSpace(p, end);
    const c: u32 = p < end ? load<u8>(p) : 0;
    if (c == 0x5d) return p + 1;
    if (c != 0x2c) return fault("',' or ']' was expected", p);
    p = skipSpace(p + 1, end);
  }
}

/** Adds the row of the object at `from`, unless it has no payload; returns the position behind it, 0 on failure. */
function gatherRow(from: usize, end: usize): usize {
  let value: usize = 0;
  let valueEnd: usize = 0;
  let hasEscapes = false;
  let p = skipSpace(from + 1, end);
  textNext();
  if (p < end && load<u8>(p) == 0x7d) return p + 1;
  while (true) {
    const member = p;
    if (p >= end || load<u8>(p) != 0x22) return fault('a key was expected', p);
    const close = scanString(p + 1, end);
    if (!close) return 0;
    const isPayload = isField(p + 1, close);
    p = afterKey(close + 1, end);
    if (!p) return 0;
    const start = p;
    p = scanValue(p, end, depth - 1);
    if (!p) return 0;
    if (isPayload) {
      value = start;
      valueEnd = p;
      hasEscapes = stringEscaped;
    } else if ((textLength() && !textAddByte(0x2c)) || !textAdd(member, <u32>(p - member))) return noRoom();
    p = skipSpace(p, end);
    const c: u32 = p < end ? load<u8>(p) : 0;
    if (c == 0x7d) break;
    if (c != 0x2c) return fault("',' or '}' was expected", p);
    p = skipSpace(p + 1, end);
  }
  return !value || addRow(value, valueEnd, hasEscapes) ? p + 1 : 0;
}

/** Whether the key [from, to), just read by scanString, is the column of the payloads. */
function isField(from: usize, to: usize): bool {
  let key = from;
  let len = <u32>(to - from);
  if (stringEscaped) {
    const out = poolAlloc(pool, len);
    if (!out) return false;
    len = <u32>(unescape(from, to, out) - out);
    key = out;
  }
  return len == fieldLen && memory.compare(key, field, len) == 0;
}

/** Adds a row with the payload that the value is, and the other members gathered. */
function addRow(value: usize, end: usize, hasEscapes: bool): bool {
  if (load<u8>(value) != 0x22) {
    messageBegin();
    messageText('the payload in ');
    messageBytes(field, fieldLen);
    messageText(' is neither text nor bytes');
    faultComplete();
    return false;
  }
  let off = value + 1;
  let len = <u32>(end - 1 - off);
  if (hasEscapes) {
    const out = poolAlloc(pool, len);
    if (!out) return noRoom() != 0;
    len = <u32>(unescape(off, end - 1, out) - out);
    off = out;
  }
  if (payloadCount == capacity && !growRows()) return noRoom() != 0;
  // Objects and lists are no base64.
  const c: u32 = len ? load<u8>(off) : 0;
  const payload = c == 0x7b || c == 0x5b ? span(off, len) : bytesOf(off, len, pool);
  const row = payloadCount++;
  store<u64>(payloadsAt(row), payload);
  store<u64>(othersAt(row), textFrom(0));
  store<u8>(payloadTagsAt(row), Tag.BYTES);
  return true;
}

/** Notes that a text has no room; returns 0. */
export function noRoom(): usize {
  messageBegin();
  messageText('its rows take more room than a value may (maxValueBytes), or memory is exhausted');
  return faultComplete();
}

function growRows(): bool {
  const more = capacity ? capacity << 1 : FIRST_CAPACITY;
  const to = alloc(more * ROW, WORKSPACE);
  if (!to) return false;
  const from = rows;
  const before = capacity;
  memory.copy(to, from, before << 3);
  memory.copy(to + 16 * <usize>more, from + 16 * <usize>before, before << 3);
  memory.copy(to + 24 * <usize>more, from + 24 * <usize>before, before);
  if (from) free(from, before * ROW, WORKSPACE);
  rows = to;
  capacity = more;
  return true;
}
