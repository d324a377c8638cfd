// Payload to rows: by known steps (steps.ts) or the general way. Only the columns in use are decoded; all others are
// checked as text and skipped.
import { accountOf } from '../../node/node';
import { BATCH_ROWS, Tag, tagAt } from '../../mem/layout';
import { messageBegin, messageText } from '../../text/message';
import { fault, faultMessage } from '../../json/fault';
import { missingMessage, parseAt, valuePayload, valueTag } from '../../json/parse';
import { scanValue, skipSpace } from '../../json/scan';
import { batchRewind, clearRow, filledRows, nextRow, put } from '../columns/batch';
import { addMessageError } from './message-error';
import { hasSpecial, putSpecial } from './meta';
import * as message from '../framing/message';
import { decodeBySteps, ended, readMember, stepsBegin } from './steps';
import { blockAt } from '../columns/blocks';
import { Source, StreamFlag } from '../columns/state';
import { hasDefault, useAt, UseKind } from '../columns/use';
import { Node } from '../../gen/node-layouts';

/** Decodes the payload of the message under way. False: the batch is full, the same message has to be given again. */
// @ts-ignore: decorator
@inline export function decodeJson(node: Node, state: Source): bool {
  const row = filledRows;
  const end = message.payloadEnd;
  const q = decodeBySteps(state.steps, message.payload, end, row);
  if (q != end) return decodeOther(node, state, q, row);
  if (completeRow(state, row)) nextRow();
  else failMessage(node);
  return true;
}

/** Decodes a message that the steps decoded only up to `q`; 0: not at all. */
function decodeOther(node: Node, state: Source, q: usize, row: u32): bool {
  const end = message.payloadEnd;
  const p = skipSpace(message.payload, end);
  const c = p < end ? <u32>load<u8>(p) : 0;
  if (c == 0x5b) return decodeList(node, state, p, end);
  if (c == 0x7b) {
    const stop = q || decodeFirst(node, state, p, end, row);
    if (stop && isEnd(stop, end, 'text after the object') && completeRow(state, row)) nextRow();
    else failMessage(node);
    return true;
  }
  const stop = scanValue(p, end, 1);
  if (stop && isEnd(stop, end, 'text after the value')) {
    messageBegin();
    messageText('the payload is neither an object nor a list of objects');
    addMessageError(node);
  } else failMessage(node);
  return true;
}

/** Whether nothing but spaces follow; notes the fault otherwise. */
export function isEnd(p: usize, end: usize, otherwise: string): bool {
  const stop = skipSpace(p, end);
  if (stop != end) fault(otherwise, stop);
  return stop == end;
}

/** Makes the message under way an error row, with the reason in json/fault.ts. */
export function failMessage(node: Node): void {
  faultMessage(message.payload);
  addMessageError(node);
}

/** Decodes the object at `p` that the steps did not decode; returns the position after it, 0 on failure. */
function decodeFirst(node: Node, state: Source, p: usize, end: usize, row: u32): usize {
  clearRow(state, row);
  if (!state.steps && !(state.kinds & (1 << UseKind.ROW)) && <i32>state.maxDepth > 0)
    stepsBegin(state, accountOf(node));
  return decodeGeneral(state, p, end, row);
}

/** Decodes the object at `p` by looking up each key; returns the position after it, 0 on failure. */
function decodeGeneral(state: Source, p0: usize, end: usize, row: u32): usize {
  const depth = <i32>state.maxDepth;
  if (depth <= 0) return fault('nested too deeply', p0);
  if (state.kinds & (1 << UseKind.ROW)) {
    const q = parseAt(p0, end, depth, state.schema, 0, 0);
    if (!q) return 0;
    putRow(state, row);
    if (!(state.kinds & (1 << UseKind.FIELD))) return q;
  }
  let p = readMember(0, true, p0, end, row);
  while (p && !ended) p = readMember(0, false, p, end, row);
  return p;
}

/** Stores the object just parsed in the columns that take the whole row. */
function putRow(state: Source, row: u32): void {
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    if (use.refs && use.kind == UseKind.ROW) put(blockAt(i), row, valueTag, valuePayload);
  }
}

/**
 * Adds the columns that do not come from the payload; with strict validation, checks for missing columns. False: an
 * error.
 */
// @ts-ignore: decorator
@inline export function completeRow(state: Source, row: u32): bool {
  if (state.flags & StreamFlag.STRICT && !checkMissing(state, row)) return false;
  if (hasSpecial(state)) putSpecial(state, row);
  return true;
}

function checkMissing(state: Source, row: u32): bool {
  const count = state.useCount;
  for (let i: u32 = 0; i < count; i++) {
    const use = useAt(state, i);
    if (!use.refs || use.kind != UseKind.FIELD || tagAt(blockAt(i), row) != Tag.MISSING) continue;
    if (hasDefault(use)) put(blockAt(i), row, use.defaultTag, use.defaultPayload);
    else {
      missingMessage(use.name, use.nameLen);
      return false;
    }
  }
  return true;
}

// ---- lists of rows --------------------------------------------------------------------------------------------

/**
 * A list of objects is as many rows; one bad element makes the whole payload an error. Lists longer than a batch are
 * checked to the end first, then given out over several batches (`resume`).
 */
function decodeList(node: Node, state: Source, p0: usize, end: usize): bool {
  const resume = state.resume;
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
        state.resume = <u32>(p - message.payload);
        return false;
      }
      if (start == 0) {
        if (!checkList(node, state, p, end, last)) {
          batchRewind(state, 0);
          failMessage(node);
          return true;
        }
        state.resume = <u32>(p - message.payload);
        return false;
      }
      batchRewind(state, start);
      return false;
    }
    last = p;
    p = decodeElement(node, state, p, end, filledRows);
    if (!p) {
      batchRewind(state, start);
      failMessage(node);
      return true;
    }
    nextRow();
    p = afterElement(p, end);
    if (p == end) {
      state.resume = 0;
      return true;
    }
    if (!p) {
      batchRewind(state, start);
      failMessage(node);
      return true;
    }
  }
}

function decodeElement(node: Node, state: Source, p: usize, end: usize, row: u32): usize {
  if (p < end && load<u8>(p) == 0x7b) {
    clearRow(state, row);
    let q = decodeBySteps(state.steps, p, end, row);
    if (!q) q = decodeFirst(node, state, p, end, row);
    return q && completeRow(state, row) ? q : 0;
  }
  if (!scanValue(p, end, 64)) return 0;
  return fault('an element of the list is not an object', p);
}

/** Position of the next element, from behind one, or `end` after the last; 0 on failure. */
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
function checkList(node: Node, state: Source, p0: usize, end: usize, last: usize): bool {
  let p = p0;
  while (true) {
    p = decodeElement(node, state, p, end, BATCH_ROWS - 1);
    if (!p) return false;
    p = afterElement(p, end);
    if (p == end) break;
    if (!p) return false;
  }
  return decodeElement(node, state, last, end, BATCH_ROWS - 1) != 0;
}
