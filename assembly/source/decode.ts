// Payload to rows: by a known shape (shape.ts) or the general way. Only the columns in use are decoded; all others are
// checked as text and skipped.
import * as ctx from '../flow/context';
import { accountOf } from '../flow/node';
import { BATCH_ROWS, Tag, tagAt } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import { messageBegin, messageText } from '../text/message';
import { fault, faultMessage } from '../json/fault';
import { missingMessage, ParseFlag, parseAt, parseInto, valuePayload, valueTag } from '../json/parse';
import { afterKey, scanString, scanValue, skipSpace, stringEscaped, unescape } from '../json/scan';
import { addErrorRow, batchRewind, clearRow, filledRows, nextRow, put } from './batch';
import { hasSpecial, putSpecial } from './meta';
import * as message from './message';
import { decodeByShape, learn } from './shape';
import {
  blockAt, findUse, hasDefault, S_FLAGS, S_KINDS, S_MAX_DEPTH, S_RESUME, S_SCHEMA, S_SHAPE_LAST, S_SHAPE_MISSES,
  S_SHAPE_NEXT, S_SHAPE_REST, S_SHAPES, S_USE_COUNT, SpecFlag, U_DEFAULT, U_DEFAULT_TAG, U_KIND, U_NAME, U_NAME_LEN,
  U_NEXT, U_NUMBER, U_REFS, U_TEXT, useAt, UseKind,
} from './state';
import { putValue, skipValue } from './value';

/** Misses after which another shape is learnt. */
const LEARN_AFTER: u32 = 16;
/** Misses in a row (hits take away four) after which shapes rest: the sender has no stable shape. */
const REST_AFTER: u32 = 256;
const REST_MESSAGES: u32 = 4096;

/** Settings of the JSON parser for a source; once per fill, and again after metadata was parsed. */
export function parserFor(state: usize): void {
  const f = load<u8>(state, S_FLAGS);
  parseInto(ctx.scratch, (f & SpecFlag.INTS ? ParseFlag.INTS : 0) | (f & SpecFlag.STRICT ? ParseFlag.STRICT : 0));
}

/** Decodes the payload of the message under way. False: the batch is full, the same message has to be given again. */
// @ts-ignore: decorator
@inline export function decodeJson(node: usize, state: usize): bool {
  const row = filledRows;
  const shape = <usize>load<u32>(state + (load<u32>(state, S_SHAPE_LAST) << 2), S_SHAPES);
  if (shape && load<u32>(state, S_SHAPE_REST) == 0 && decodeByShape(state, shape, message.payload, message.payloadEnd, row)) {
    if (completeRow(state, row)) nextRow();
    else failMessage(node);
    return true;
  }
  return decodeOther(node, state, row);
}

/** A message that is not of the same shape as the one before. */
function decodeOther(node: usize, state: usize, row: u32): bool {
  const end = message.payloadEnd;
  const p = skipSpace(message.payload, end);
  const c = p < end ? <u32>load<u8>(p) : 0;
  if (c == 0x7b) {
    if (decodeObject(node, state, p, end, row) && completeRow(state, row)) nextRow();
    else failMessage(node);
    return true;
  }
  if (c == 0x5b) return decodeList(node, state, p, end);
  const q = scanValue(p, end, 1);
  if (q && skipSpace(q, end) == end) {
    messageBegin();
    messageText('the payload is neither an object nor a list of objects');
    addErrorRow(node);
  } else {
    if (q) fault('text after the value', skipSpace(q, end));
    failMessage(node);
  }
  return true;
}

function failMessage(node: usize): void {
  faultMessage(message.payload);
  addErrorRow(node);
}

/** Decodes an object with nothing but space after it. */
function decodeObject(node: usize, state: usize, p: usize, end: usize, row: u32): bool {
  const rest = load<u32>(state, S_SHAPE_REST);
  if (rest == 0 && !(load<u32>(state, S_KINDS) & (1 << UseKind.ROW))) return decodeShapes(node, state, p, end, row);
  if (rest) store<u32>(state, rest - 1, S_SHAPE_REST);
  clearRow(state, row);
  return decodeWhole(state, p, end, row);
}

/** Tries the other shapes, then the general way; learns after repeated misses. */
function decodeShapes(node: usize, state: usize, p: usize, end: usize, row: u32): bool {
  const tried = load<u32>(state, S_SHAPE_LAST);
  const misses = load<u32>(state, S_SHAPE_MISSES);
  let known: u32 = 0;
  for (let i: u32 = 0; i < 4; i++) {
    const shape = <usize>load<u32>(state + (i << 2), S_SHAPES);
    if (!shape) continue;
    known++;
    if (i == tried || !decodeByShape(state, shape, message.payload, end, row)) continue;
    store<u32>(state, i, S_SHAPE_LAST);
    store<u32>(state, misses > 4 ? misses - 4 : 0, S_SHAPE_MISSES);
    return true;
  }
  clearRow(state, row);
  if (!decodeWhole(state, p, end, row)) return false;
  store<u32>(state, misses + 1, S_SHAPE_MISSES);
  if (known == 0 || misses % LEARN_AFTER == LEARN_AFTER - 1) {
    const slot = load<u32>(state, S_SHAPE_NEXT);
    learn(state, accountOf(node), slot, message.payload, end);
    store<u32>(state, slot, S_SHAPE_LAST);
    store<u32>(state, (slot + 1) & 3, S_SHAPE_NEXT);
  }
  if (misses + 1 >= REST_AFTER) {
    store<u32>(state, 0, S_SHAPE_MISSES);
    store<u32>(state, REST_MESSAGES, S_SHAPE_REST);
  }
  return true;
}

function decodeWhole(state: usize, p: usize, end: usize, row: u32): bool {
  const q = decodeGeneral(state, p, end, row);
  if (!q) return false;
  const stop = skipSpace(q, end);
  if (stop == end) return true;
  fault('text after the object', stop);
  return false;
}

/** Decodes the object at `p` by looking up each key; returns the position after it, 0 on failure. */
function decodeGeneral(state: usize, p0: usize, end: usize, row: u32): usize {
  const depth = load<i32>(state, S_MAX_DEPTH);
  if (depth <= 0) return fault('nested too deeply', p0);
  if (load<u32>(state, S_KINDS) & (1 << UseKind.ROW)) {
    const q = parseAt(p0, end, depth, <usize>load<u32>(state, S_SCHEMA), 0, 0);
    if (!q) return 0;
    putRow(state, row);
    if (!(load<u32>(state, S_KINDS) & (1 << UseKind.FIELD))) return q;
  }
  let p = skipSpace(p0 + 1, end);
  if (p < end && load<u8>(p) == 0x7d) return p + 1;
  while (true) {
    if (p >= end || load<u8>(p) != 0x22) return fault('a key was expected', p);
    let key = p + 1;
    const close = scanString(key, end);
    if (!close) return 0;
    let keyLen = <u32>(close - key);
    if (stringEscaped) {
      const to = poolAlloc(ctx.scratch, keyLen);
      if (!to) return fault('out of memory', p);
      keyLen = <u32>(unescape(key, close, to) - to);
      key = to;
    }
    p = afterKey(close + 1, end);
    if (!p) return 0;
    let use = findUse(state, key, keyLen);
    if (!use) p = skipValue(state, p, end);
    else {
      let next = p;
      while (use) {
        const entry = useAt(state, use - 1);
        next = putValue(state, use - 1, blockAt(use - 1), load<u8>(entry, U_NUMBER), load<u8>(entry, U_TEXT), p, end, row);
        if (!next) return 0;
        use = load<u32>(entry, U_NEXT);
      }
      p = next;
    }
    if (!p) return 0;
    p = skipSpace(p, end);
    const c: u32 = p < end ? load<u8>(p) : 0;
    if (c == 0x7d) return p + 1;
    if (c != 0x2c) return fault("',' or '}' was expected", p);
    p = skipSpace(p + 1, end);
  }
}

/** Stores the object just parsed in the columns that take the whole row. */
function putRow(state: usize, row: u32): void {
  const count = load<u32>(state, S_USE_COUNT);
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    if (load<u32>(use, U_REFS) && load<u8>(use, U_KIND) == UseKind.ROW) put(blockAt(i), row, valueTag, valuePayload);
  }
}

/** Adds what does not come from the payload; with strict validation, checks for missing columns. False: an error. */
// @ts-ignore: decorator
@inline function completeRow(state: usize, row: u32): bool {
  if ((load<u8>(state, S_FLAGS) & SpecFlag.STRICT) && !checkMissing(state, row)) return false;
  if (hasSpecial(state)) putSpecial(state, row);
  return true;
}

function checkMissing(state: usize, row: u32): bool {
  const count = load<u32>(state, S_USE_COUNT);
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    if (!load<u32>(use, U_REFS) || load<u8>(use, U_KIND) != UseKind.FIELD || tagAt(blockAt(i), row) != Tag.MISSING) continue;
    if (hasDefault(use)) put(blockAt(i), row, load<u8>(use, U_DEFAULT_TAG), load<u64>(use, U_DEFAULT));
    else {
      missingMessage(<usize>load<u32>(use, U_NAME), load<u32>(use, U_NAME_LEN));
      return false;
    }
  }
  return true;
}

// ---- lists of rows --------------------------------------------------------------------------------------------

/**
 * A list of objects is as many rows; one bad element makes the whole payload an error. Lists longer than a batch are
 * checked to the end first, then given out over several batches (S_RESUME).
 */
function decodeList(node: usize, state: usize, p0: usize, end: usize): bool {
  const resume = load<u32>(state, S_RESUME);
  let p = resume ? message.payload + resume : skipSpace(p0 + 1, end);
  const start = filledRows;
  let last = p;
  if (!resume && p < end && load<u8>(p) == 0x5d) {
    p = skipSpace(p + 1, end);
    if (p == end) return true;
    fault('text after the list', p);
    failMessage(node);
    return true;
  }
  while (true) {
    if (filledRows == BATCH_ROWS) {
      if (resume) {
        store<u32>(state, <u32>(p - message.payload), S_RESUME);
        return false;
      }
      if (start == 0) {
        if (!checkList(state, p, end, last)) {
          batchRewind(state, 0);
          failMessage(node);
          return true;
        }
        store<u32>(state, <u32>(p - message.payload), S_RESUME);
        return false;
      }
      batchRewind(state, start);
      return false;
    }
    last = p;
    p = decodeElement(state, p, end, filledRows);
    if (!p) {
      batchRewind(state, start);
      failMessage(node);
      return true;
    }
    nextRow();
    p = afterElement(p, end);
    if (p == end) {
      store<u32>(state, 0, S_RESUME);
      return true;
    }
    if (!p) {
      batchRewind(state, start);
      failMessage(node);
      return true;
    }
  }
}

function decodeElement(state: usize, p: usize, end: usize, row: u32): usize {
  if (p < end && load<u8>(p) == 0x7b) {
    clearRow(state, row);
    const q = decodeGeneral(state, p, end, row);
    return q && completeRow(state, row) ? q : 0;
  }
  if (!scanValue(p, end, 64)) return 0;
  return fault('an element of the list is not an object', p);
}

/** From behind an element to the next one, or to `end` after the last; 0 on failure. */
function afterElement(p0: usize, end: usize): usize {
  let p = skipSpace(p0, end);
  const c: u32 = p < end ? load<u8>(p) : 0;
  if (c == 0x2c) {
    p = skipSpace(p + 1, end);
    return p < end ? p : fault('the text ends where a value was expected', p);
  }
  if (c != 0x5d) return fault("',' or ']' was expected", p);
  p = skipSpace(p + 1, end);
  return p == end ? p : fault('text after the list', p);
}

/** Checks all further elements, decoding them in place of the batch's last row, which is decoded again from `last`. */
function checkList(state: usize, p0: usize, end: usize, last: usize): bool {
  let p = p0;
  while (true) {
    p = decodeElement(state, p, end, BATCH_ROWS - 1);
    if (!p) return false;
    p = afterElement(p, end);
    if (p == end) break;
    if (!p) return false;
  }
  return decodeElement(state, last, end, BATCH_ROWS - 1) != 0;
}
