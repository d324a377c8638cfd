// A column of the rows of messages that has messages of another format, whose columns take its place. A row with a list
// as its payload becomes as many rows. What comes out is JSON, which is decoded as that of other messages is.
import { identity } from '../../batch/stage';
import { BATCH_ROWS, lenOf, offOf, Tag } from '../../mem/layout';
import { Pool } from '../../mem/pool';
import { fault, faultComplete, faultMessage } from '../../json/fault';
import { scanValue, skipSpace } from '../../json/scan';
import { Decoder, DECODER_SIZE_OF } from '../../gen/source-layouts';
import { callHostOver } from '../../ops/call/index';
import { messageBegin, messagesBeginWith, messageText } from '../../text/message';
import { isEnd } from './decode';
import {
  messageIn,
  noRoom,
  othersAt,
  payloadCount,
  payloadsAt,
  payloadsForget,
  payloadsGather,
  payloadTagsAt,
  payloadTextsAt,
  payloadTextTagsAt,
  rowsEnd,
} from './payload-column';
import { textAdd, textAddByte, textFrom, textNext } from './payload-text';

let depth: i32 = 0;
let pool: Pool = changetype<Pool>(0);
/** Texts that errors begin with: of messages, and of payloads in them. */
let errors: usize = 0;
let errorsLen: u32 = 0;
let within: usize = 0;
let withinLen: u32 = 0;

/** Puts the columns of the payloads into `count` texts of rows, in the place of the column that has them. */
export function payloadsInto(
  texts: usize,
  tags: usize,
  count: u32,
  decoder: Decoder,
  decoderSize: u32,
  maxDepth: i32,
  to: Pool,
): void {
  const column = changetype<usize>(decoder) + DECODER_SIZE_OF;
  depth = maxDepth;
  pool = to;
  errors = column + decoder.fieldLen;
  errorsLen = decoder.errorsLen;
  within = errors + errorsLen;
  withinLen = <u32>(changetype<usize>(decoder) + decoderSize - within);
  messagesBeginWith(errors, errorsLen);
  payloadsGather(texts, tags, count, column, decoder.fieldLen, maxDepth, to);
  messagesBeginWith(0, 0);
  if (decoder.within) callWithin(decoder.within);
  else takeAsTexts();
  messagesBeginWith(errors, errorsLen);
  let row: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const stop = rowsEnd(i);
    if (row < stop) store<u8>(tags + i, join(texts + ((<usize>i) << 3), row, stop));
    row = stop;
  }
  messagesBeginWith(0, 0);
  payloadsForget();
}

/** Calls the function that makes JSON of the payloads, for as many as a batch has rows at a time. */
function callWithin(fn: u32): void {
  for (let row: u32 = 0; row < payloadCount; row += BATCH_ROWS) {
    const rows = min(BATCH_ROWS, payloadCount - row);
    const toTags = payloadTextTagsAt(row);
    callHostOver(fn, payloadsAt(row), payloadTagsAt(row), identity, rows, payloadTextsAt(row), toTags, pool);
  }
}

/** The payloads are JSON themselves. */
function takeAsTexts(): void {
  memory.copy(payloadTextsAt(0), payloadsAt(0), (<usize>payloadCount) << 3);
  memory.fill(payloadTextTagsAt(0), Tag.STR, payloadCount);
}

/** Stores the text of the rows [first, stop) of a message at `to`, or an error; returns its tag. */
function join(to: usize, first: u32, stop: u32): u8 {
  textNext();
  let made: u32 = 0;
  let isJoined = textAddByte(0x5b) || noRoom() != 0;
  for (let row = first; row < stop && isJoined; row++) {
    const tag = load<u8>(payloadTextTagsAt(row));
    const text = load<u64>(payloadTextsAt(row));
    if (tag == Tag.ERROR) {
      store<u64>(to, text);
      return Tag.ERROR;
    }
    if (tag != Tag.STR) continue;
    // What is wrong with a payload is said with the column that has it.
    messagesBeginWith(within, withinLen);
    const rows = joinPayload(load<u64>(othersAt(row)), offOf(text), offOf(text) + lenOf(text), made > 0);
    isJoined = rows >= 0;
    if (isJoined) {
      messagesBeginWith(errors, errorsLen);
      made += rows;
    } else faultMessage(offOf(text));
  }
  if (isJoined && made > 1) isJoined = textAddByte(0x5d) || noRoom() != 0;
  if (!isJoined) {
    store<u64>(to, messageIn(pool));
    messagesBeginWith(errors, errorsLen);
    return Tag.ERROR;
  }
  if (!made) return Tag.NULL;
  store<u64>(to, textFrom(made == 1 ? 1 : 0));
  return Tag.STR;
}

/** Adds the rows of a payload to the text; returns their number, negative after noting a fault. */
function joinPayload(others: u64, from: usize, end: usize, hasBefore: bool): i32 {
  let p = skipSpace(from, end);
  const c: u32 = p < end ? load<u8>(p) : 0;
  if (c == 0x7b) {
    p = joinRow(others, p, end, hasBefore);
    return p && isEnd(p, end, 'text after the object') ? 1 : -1;
  }
  if (c != 0x5b) {
    p = scanValue(p, end, depth);
    if (p && isEnd(p, end, 'text after the value')) noRows();
    return -1;
  }
  p = skipSpace(p + 1, end);
  if (p < end && load<u8>(p) == 0x5d) return isEnd(p + 1, end, 'text after the list') ? 0 : -1;
  let rows: i32 = 0;
  while (true) {
    if (p < end && load<u8>(p) == 0x7b) p = joinRow(others, p, end, hasBefore || rows > 0);
    else p = scanValue(p, end, depth) ? noRows() : 0;
    if (!p) return -1;
    rows++;
    p = skipSpace(p, end);
    const next: u32 = p < end ? load<u8>(p) : 0;
    if (next == 0x5d) return isEnd(p + 1, end, 'text after the list') ? rows : -1;
    if (next != 0x2c) {
      fault("',' or ']' was expected", p);
      return -1;
    }
    p = skipSpace(p + 1, end);
  }
}

/** Adds a row with the members of the object at `from` behind the others, so that they win; 0 on failure. */
function joinRow(others: u64, from: usize, end: usize, hasBefore: bool): usize {
  const stop = scanValue(from, end, depth);
  if (!stop) return 0;
  const members = from + 1;
  const length = <u32>(stop - 1 - members);
  const isEmpty = skipSpace(members, stop - 1) == stop - 1;
  if (hasBefore && !textAddByte(0x2c)) return noRoom();
  if (!textAddByte(0x7b) || !textAdd(offOf(others), lenOf(others))) return noRoom();
  if (!isEmpty) {
    if (lenOf(others) && !textAddByte(0x2c)) return noRoom();
    if (!textAdd(members, length)) return noRoom();
  }
  return textAddByte(0x7d) ? stop : noRoom();
}

/** Notes that a payload is no row and no list of rows; returns 0. */
function noRows(): usize {
  messageBegin();
  messageText('neither an object nor a list of objects');
  return faultComplete();
}
