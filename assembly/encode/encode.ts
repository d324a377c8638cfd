// The last step of a rule: rows become messages.
//
// A row of a stream is a message of its own and is written straight to the output. Rows that belong together (the
// result of a window, or rows gathered up to `batchSize`) are gathered first: see encode/gather.ts.
import * as ctx from '../batch/context';
import { NodeFlag, accountOf, addException, joinTally } from '../node/node';
import { addFailed } from './failed-row';
import {
  EncodeFlag,
  OutputFormat,
  ROWS_HEAD,
  isText,
  rowBound,
  rowFails,
  rowIsEmpty,
  rowIsOmitted,
  rowWrite,
  rowWriteHead,
  rowsPrepare,
} from './row';
import {
  gatherBegin,
  gatherEnd,
  gatherFlush,
  gatherFree,
  gatherRows,
  isBatch,
  isLost,
  loseMessage,
  namesDrop,
  placeNames,
} from './gather';
import { Gather, STATE_SIZE } from './gather-buffer';
import { gatherLoad, gatherSave } from './gather-save';
import { keepsNames } from './text';
import { Operator, Signal } from '../node/operator';
import { OUT_SIZE, outClose, outDirect, outEnd, outEndsFull, outFlush, outLimit, outOpen } from './output';
import { ONE_END, isLines, sendFailure } from './send';
import { fail, failLen, failNoMemory, failOff } from '../batch/failure';
import { TWO_ENDS, hasHead, headBound, headPrepare, headWrite } from './head';
import { alloc, allocZeroed, free } from '../mem/alloc';
import { Tag, lenOf, offOf, tagAt, valAt } from '../mem/layout';
import { runClean } from '../ops/clean';
import { EncodeSpec } from '../gen/encode-layouts';
import { Node } from '../gen/node-layouts';
import { SIGNAL_SIZE, SIGNAL_TAG } from '../gen/source-layouts';

export function encodeOperator(operator: Operator): void {
  operator.open = encodeOpen;
  operator.push = encodePush;
  operator.pushEach = encodePushEach;
  operator.signal = encodeSignal;
  operator.tick = gatherFlush;
  operator.save = gatherSave;
  operator.load = gatherLoad;
  operator.free = encodeFree;
}

// @ts-ignore: decorator
@inline function specOf(node: Node): EncodeSpec {
  return changetype<EncodeSpec>(node.spec);
}

/** True when rows are gathered: rows of messages, and rows that wait for a batch. */
// @ts-ignore: decorator
@inline function gathers(node: Node, spec: EncodeSpec): bool {
  return (node.flags & NodeFlag.MESSAGES) != 0 || isBatch(spec.flags);
}

/** Makes the state of an encode node; false when memory is exhausted. */
function encodeOpen(node: Node): bool {
  const spec = specOf(node);
  if (spec.format == OutputFormat.NONE) {
    const flags = node.flags;
    if (!node.program && !(flags & NodeFlag.MESSAGES)) {
      node.flags = flags | NodeFlag.COUNTS;
      joinTally(node.parent);
    }
    return true;
  }
  if (!gathers(node, spec) && !keepsNames(spec)) return true;
  const state = allocZeroed(STATE_SIZE, accountOf(node));
  node.state = state;
  node.stateSize = STATE_SIZE;
  return state != 0;
}

function encodeFree(node: Node): void {
  const state = changetype<Gather>(node.state);
  if (!state) return;
  namesDrop(node, state);
  gatherFree(node, state);
}

function encodeSignal(node: Node, signal: u32, value: u64): void {
  if (signal == Signal.BEGIN) gatherBegin(node);
  else if (signal == Signal.END) gatherEnd(node, offOf(value), lenOf(value));
  else if (signal == Signal.FLUSH) gatherFlush(node);
  else if (specOf(node).flags & EncodeFlag.TELLS) writeSignal(node, signal, value);
}

/** Writes what is known of the times of rows as a message among theirs, for another rule (source/decode/rows.ts). */
function writeSignal(node: Node, signal: u32, value: u64): void {
  let p = outOpen(node, true);
  if (p + SIGNAL_SIZE > outLimit || outEndsFull(1)) {
    outClose(p, 0, 0);
    outFlush();
    p = outOpen(node, true);
  }
  store<u8>(p, SIGNAL_TAG);
  store<u8>(p, <u8>signal, 1);
  store<u64>(p, value, 2);
  p += SIGNAL_SIZE;
  outEnd(p);
  outClose(p, 1, 0);
}

function encodePush(node: Node): void {
  const spec = specOf(node);
  if (spec.format == OutputFormat.NONE) {
    countRows(node, spec);
    return;
  }
  const state = changetype<Gather>(node.state);
  const isMessage = (node.flags & NodeFlag.MESSAGES) != 0;
  if (isMessage && isLost(state)) return;
  if (!compute(node) || !rowsPrepare(spec, node.program)) {
    failNoMemory();
    addException(node, failOff, failLen, isMessage ? 1 : ctx.selLen);
    if (isMessage) loseMessage(node, state);
    else sendFailure(node, spec);
    return;
  }
  headPrepare(spec, node.program);
  if (state && gathers(node, spec)) gatherRows(node, spec, state, isMessage);
  else writeRows(node, spec);
}

/** Takes rows that are a message each; they are written at once, unless messages are gathered. */
function encodePushEach(node: Node): void {
  const spec = specOf(node);
  if (spec.format == OutputFormat.NONE) {
    countRows(node, spec);
    return;
  }
  const program = node.program;
  if (!compute(node) || !rowsPrepare(spec, program)) {
    failNoMemory();
    addException(node, failOff, failLen, ctx.selLen);
    for (let i = ctx.selLen; i > 0; i--) sendFailure(node, spec);
    return;
  }
  headPrepare(spec, program);
  if (isBatch(spec.flags)) gatherRows(node, spec, changetype<Gather>(node.state), false);
  else writeRows(node, spec);
}

/**
 * Takes rows for a rule whose output nobody reads. Computed values, of this node or a window above, can fail, so such
 * rows are looked at; columns of the input are not.
 */
function countRows(node: Node, spec: EncodeSpec): void {
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const program = node.program;
  let rows = selLen;
  if (program || node.flags & NodeFlag.MESSAGES) {
    if (!compute(node) || !rowsPrepare(spec, program)) {
      failNoMemory();
      addException(node, failOff, failLen, selLen);
      return;
    }
    const rowErrors = ctx.rowErrors;
    for (let i: u32 = 0; i < selLen; i++) {
      const row = load<u32>(sel + ((<usize>i) << 2));
      // Rows that failed above are counted there.
      if ((rowErrors && tagAt(rowErrors, row) == Tag.ERROR) || rowIsEmpty(row)) {
        rows--;
      } else if (rowFails(row)) {
        addFailed(node, row);
        rows--;
      }
    }
  }
  node.out += rows;
}

/** Runs the program, on the rows that did not fail before; false when memory is exhausted. */
// @ts-ignore: decorator
@inline function compute(node: Node): bool {
  const program = node.program;
  return !program || runClean(program);
}

// ---- rows of a stream: each a message ---------------------------------------------------------------------------

function writeRows(node: Node, spec: EncodeSpec): void {
  const flags = spec.flags;
  const isSingle = (flags & EncodeFlag.SINGLE) != 0;
  const isBare = (flags & (EncodeFlag.SINGLE | EncodeFlag.FIRST)) != 0;
  const omitsEmpty = isSingle && (flags & EncodeFlag.OMIT_EMPTY) != 0;
  const isJson = spec.format == OutputFormat.JSON;
  const hasEnds = !isLines(spec);
  const state = isText ? changetype<Gather>(node.state) : changetype<Gather>(0);
  const sel = ctx.sel;
  const selLen = ctx.selLen;
  const rowErrors = ctx.rowErrors;
  let rows: u32 = 0;
  let total: u32 = 0;
  let p = outOpen(node, hasEnds);
  for (let i: u32 = 0; i < selLen; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    if (rowErrors && tagAt(rowErrors, row) == Tag.ERROR) {
      outClose(p, messagesOf(rows), rows);
      total += rows;
      rows = 0;
      const text = valAt(rowErrors, row);
      fail(offOf(text), lenOf(text));
      sendFailure(node, spec);
      p = outOpen(node, hasEnds);
      continue;
    }
    if (rowIsEmpty(row)) continue;
    if (state) placeNames(node, state, row, true);
    let need = rowBound(row) + 16;
    if (hasHead) need += headBound(row);
    if (p + need > <u64>outLimit || (hasEnds && outEndsFull(2))) {
      outClose(p, messagesOf(rows), rows);
      total += rows;
      rows = 0;
      outFlush();
      if (need > OUT_SIZE) {
        total += writeLongRow(node, spec, row, need);
        p = outOpen(node, hasEnds);
        continue;
      }
      p = outOpen(node, hasEnds);
    }
    const from = hasHead ? writeHead(p, row, isSingle) : p;
    const end = from ? writeMessage(from, row, isBare, isJson) : 0;
    if (!end) {
      outClose(p, messagesOf(rows), rows);
      total += rows;
      rows = 0;
      addFailed(node, row);
      sendFailure(node, spec);
      p = outOpen(node, hasEnds);
      continue;
    }
    if (omitsEmpty && rowIsOmitted(row, from, end)) continue;
    if (hasHead) outEnd(from);
    p = end;
    rows++;
    if (hasEnds) outEnd(p);
    else store<u8>(p++, 0x0a);
  }
  outClose(p, messagesOf(rows), rows);
  node.out = node.out + total + rows;
}

/** Messages that `rows` rows are in the output, heads counted. */
// @ts-ignore: decorator
@inline function messagesOf(rows: u32): u32 {
  return hasHead ? rows << 1 : rows;
}

/** Writes the head of a row that is a message; returns its end or 0 when the row fails. */
function writeHead(to: usize, row: u32, isSingle: bool): usize {
  if (isSingle) return headWrite(to, row);
  store<u8>(to, 0x5b);
  const end = headWrite(to + 1, row);
  if (!end) return 0;
  store<u8>(end, 0x5d);
  return end + 1;
}

/** Writes one row as a message, without line feed; returns its end or 0 when the row fails. */
// @ts-ignore: decorator
@inline function writeMessage(to: usize, row: u32, isBare: bool, isJson: bool): usize {
  if (isBare || isText) return rowWrite(to, row);
  if (!isJson) {
    rowWriteHead(to, Tag.ARRAY, 1);
    return rowWrite(to + ROWS_HEAD, row);
  }
  store<u8>(to, 0x5b);
  const end = rowWrite(to + 1, row);
  if (!end) return 0;
  store<u8>(end, 0x5d);
  return end + 1;
}

/** Writes a row that may be longer than the output region aside, and hands it out at once. Returns the rows sent. */
function writeLongRow(node: Node, spec: EncodeSpec, row: u32, need: u64): u32 {
  const flags = spec.flags;
  const isSingle = (flags & EncodeFlag.SINGLE) != 0;
  const aside = need < 0x7fffffff ? alloc(<u32>need, 0) : 0;
  let from = aside;
  let end: usize = 0;
  if (aside) {
    if (hasHead) from = writeHead(aside, row, isSingle);
    if (from)
      end = writeMessage(
        from,
        row,
        (flags & (EncodeFlag.SINGLE | EncodeFlag.FIRST)) != 0,
        spec.format == OutputFormat.JSON,
      );
  } else failNoMemory();
  let sent: u32 = 0;
  if (!end) {
    addFailed(node, row);
    sendFailure(node, spec);
  } else if (!(isSingle && flags & EncodeFlag.OMIT_EMPTY && rowIsOmitted(row, from, end))) {
    handOut(node, spec, aside, from, end);
    sent = 1;
  }
  free(aside, <u32>need, 0);
  return sent;
}

/** Hands out one message that stands outside the region, behind its head. */
function handOut(node: Node, spec: EncodeSpec, from: usize, headEnd: usize, end: usize): void {
  if (hasHead) {
    store<u32>(TWO_ENDS, <u32>(headEnd - from));
    store<u32>(TWO_ENDS, <u32>(end - from), 4);
    outDirect(node, from, <u32>(end - from), TWO_ENDS, 2, 1);
  } else if (isLines(spec)) {
    store<u8>(end, 0x0a);
    outDirect(node, from, <u32>(end + 1 - from), 0, 1, 1);
  } else {
    store<u32>(ONE_END, <u32>(end - from));
    outDirect(node, from, <u32>(end - from), ONE_END, 1, 1);
  }
}
