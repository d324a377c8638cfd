// Streams: input bytes become batches, batches go through the rules, output goes to the host.
import { FEED_LEFT } from '../gen/tree-layouts';
import { hostAcknowledge, hostClock, hostPacket } from '../batch/host';
import { Inlet, inletAt, inletBegin, inletKeep, inletReset } from './inlet';
import { signalBelow } from '../emit/emit';
import { isMeasured, noteFree } from '../node/latency';
import { longestBegin, longestNote } from '../node/longest';
import { NodeKind, nodeNew, nodeRelease, setCurrent } from '../node/node';
import { Signal } from '../node/operator';
import { outFlush } from '../encode/output';
import { identity } from '../batch/stage';
import { chargeRoot } from '../node/timing';
import { emitRoot, trim } from './tree';
import { addWork, setBatch, setNow } from '../batch/context';
import {
  ackCount,
  ackList,
  colsTable,
  filledErrors,
  filledRows,
  filledSignal,
  filledValue,
  fillMore,
  packetCount,
  packetList,
  protocolError,
  sourceBegin,
  sourceFill,
  sourceFree,
  sourceInit,
  sourceReset,
} from '../source/source';
import * as message from '../source/framing/message';
import { Framing, stateOf } from '../source/columns/state';
import { Node } from '../gen/node-layouts';
import { StreamSpec } from '../gen/source-layouts';

/**
 * Makes a stream from its spec (source/columns/state.ts), which is copied; 0 when memory is exhausted or the spec is
 * cut short.
 */
export function streamOpen(spec: StreamSpec, specLen: u32): Node {
  const root = nodeNew(NodeKind.SOURCE, changetype<Node>(0));
  if (!root) return changetype<Node>(0);
  if (sourceInit(root, spec, specLen) == 0) return root;
  nodeRelease(root);
  return changetype<Node>(0);
}

/** Frees a stream without nodes. */
export function streamClose(root: Node): void {
  sourceFree(root);
  noteFree(root);
  nodeRelease(root);
}

/** Bytes of input that count as the work of one row. */
const BYTES_PER_ROW: u32 = 64;

/**
 * Takes `length` bytes that were written to `inletAt(inlet)`, runs all rules of the stream over the complete messages
 * and keeps the rest. With `skips` there is no rest: the message that has begun is skipped. Returns 0, a ProtocolError,
 * or FEED_LEFT. With FEED_LEFT comes the number of bytes at the end that were not taken for want of memory: they are to
 * be given again.
 */
export function feed(root: Node, inlet: Inlet, length: u32, now: f64, skips: bool): u32 {
  const from = inletBegin(inlet);
  const at = inletAt(inlet);
  const end = at + length;
  message.setSkipsUnfinished(skips);
  setNow(now);
  longestBegin();
  const stopped = run(root, from, end);
  const error = protocolError;
  message.setSkipsUnfinished(false);
  let left: u32 = 0;
  if (!inletKeep(inlet, error ? end : stopped, end)) {
    // The rest that was kept before is still there, unless its message was taken.
    if (stopped > from) inletReset(inlet);
    left = <u32>(end - max(stopped, at));
  }
  outFlush();
  trim();
  return error ? error : left ? FEED_LEFT + left : 0;
}

function run(root: Node, from: usize, end: usize): usize {
  let p = from;
  sourceBegin();
  do {
    setCurrent(root);
    const start = isMeasured ? hostClock() : 0;
    const first = p;
    p = sourceFill(root, p, end);
    addWork(<u32>(p - first) / BYTES_PER_ROW);
    longestNote(root, filledRows);
    if (isMeasured) chargeRoot(root, start);
    const rows = filledRows;
    const isFull = fillMore;
    if (rows) {
      root.in += rows;
      setBatch(colsTable, rows, identity, rows, filledErrors);
      emitRoot(root);
    }
    if (filledSignal) signalBelow(root, filledSignal, filledValue);
    handOver(root);
    if (!isFull) break;
  } while (protocolError == 0);
  sourceBegin();
  setCurrent(changetype<Node>(0));
  return p;
}

/** Hands the packets and ids of the last fill to the host. An id is named only after the output of its message. */
function handOver(root: Node): void {
  for (let i: u32 = 0; i < packetCount; i++) {
    const at = packetList + ((<usize>i) << 3);
    hostPacket(root, <usize>load<u32>(at), load<u32>(at, 4));
  }
  if (ackCount) {
    outFlush();
    hostAcknowledge(root, ackList, ackCount);
  }
}

/** The input is over: an unfinished last line is a message, any other rest is dropped; gathered output is sent. */
export function endInput(root: Node, inlet: Inlet, now: f64): void {
  setNow(now);
  longestBegin();
  const from = inletBegin(inlet);
  const end = inletAt(inlet);
  if (end > from && stateOf(root).framing == Framing.LINES) {
    store<u8>(end, 0x0a);
    run(root, from, end + 1);
  }
  inletReset(inlet);
  sourceReset(root);
  signalBelow(root, Signal.FLUSH, 0);
  setCurrent(changetype<Node>(0));
  outFlush();
}

/** Drops the half message of a connection that is lost. */
export function resetInput(root: Node, inlet: Inlet): void {
  inletReset(inlet);
  sourceReset(root);
}
