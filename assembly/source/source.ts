// Sources: bytes of a stream to batches of columns. Exports for the feed loop and the binding:
//
//   sourceInit(node, specPtr, specLen): i32              0, or a SourceError < 0
//   sourceUse(node, kind, namePtr, nameLen, typePtr): i32   column index, or a SourceError < 0
//   sourceUseAt(node, index, kind, namePtr, nameLen, typePtr): i32   the same at a place that is free
//   sourceRelease(node, index)                           takes back one use
//   sourceFree(node)                                     frees the state (not the node)
//   sourceReset(node)                                    new connection: forgets aliases and half-skipped messages
//   sourceBegin()                                        before and after the fills for a piece of input
//   sourceFill(node, pos, end): usize                    decodes up to BATCH_ROWS rows; returns where it stopped
//   sourceMessages/sourceBytes/sourceDecodeErrors/sourceOversized(node): u64   counters; the last error text is the
//                                                        exception of the node (addException)
// After a fill (globals):
//   colsTable      u32 table of column blocks for ctx.cols; its address may change with sourceUse
//   filledRows     rows of the batch, error rows included
//   filledErrors   column block for ctx.rowErrors, 0 when no row failed
//   fillMore       call again with the rest, even when no byte is added: the batch was full or packets wait
//   packetCount, packetList   MQTT packets for the host (off u32 | len u32), to be handed on after the rows of this
//   fill
//   ackCount, ackList         packet ids of QoS 1 and 2 messages in this fill
//   filledSignal, filledValue   a signal that goes on behind the rows of this fill, 0 none
//   protocolError  not 0: the bytes are not MQTT; drop the connection (rows filled before are good)
//
// Needs: 64 writable bytes behind `end` (a sentinel is written there, block reads go beyond the end); the bytes
// [pos, end) stay in place until the batch is done, columns refer to them. sourceFill resets ctx.scratch.
import * as ctx from '../batch/context';
import { accountOf } from '../node/node';
import { BATCH_ROWS } from '../mem/layout';
import { messageBegin, messageBytes } from '../text/message';
import { batchBegin, batchEnd, filledRows, putErrorRow } from './columns/batch';
import { decodeBinary } from './decode/other';
import { decodeProtobuf } from './decode/protobuf';
import { decodeRows, filledSignal, forgetSignal } from './decode/rows';
import { decodeDelimited, decodeFields, decodeForm } from './decode/text-rows';
import { decodeJson } from './decode/decode';
import { codedForget, codedMore, fillCoded } from './decode/coded';
import { frameEnd, nextFrame, nextLine, skipRest } from './framing/frames';
import { acknowledge, mqttBegin, nextPacket, Packet, packetEnd } from './framing/mqtt';
import * as message from './framing/message';
import { parserFor } from './decode/parser';
import { aliasesForget } from './framing/aliases';
import { Source, Framing, InputFormat, stateOf } from './columns/state';
import { Node } from '../gen/node-layouts';

export { colsTable } from './columns/blocks';
export { sourceFree, sourceInit } from './open';
export { sourceRelease, sourceRetype, sourceUse, sourceUseAt } from './decode/use-columns';
export { filledErrors, filledRows } from './columns/batch';
export { filledSignal, filledValue } from './decode/rows';
export { ackCount, ackList, packetCount, packetList, protocolError } from './framing/mqtt';

/** True when the rest may have more rows: the batch is full, or packets wait. */
export let fillMore: bool = false;

/** Forgets messages of the piece of input before; called before and after each piece. */
export function sourceBegin(): void {
  codedForget();
}

/** Decodes messages of [pos, end) into the source's columns; see the list above. */
export function sourceFill(node: Node, pos: usize, end: usize): usize {
  const state = stateOf(node);
  const framing = state.framing;
  ctx.scratchReset();
  batchBegin(state);
  parserFor(state);
  mqttBegin();
  message.setTopic(0, 0);
  message.setDelivery(0, false, 0);
  message.setExtra(0, 0);
  fillMore = false;
  forgetSignal();
  store<u64>(end, 0);
  store<u64>(end, 0, 8);
  if (state.format == InputFormat.CODED) {
    const stop = fillCoded(node, state, pos, end);
    fillMore = codedMore;
    return stop;
  }
  let p = pos;
  let messages: u64 = 0;
  if (state.skip) p = skipRest(state, p, end);
  while (p < end) {
    if (filledRows == BATCH_ROWS || filledSignal) {
      fillMore = true;
      break;
    }
    let found: u32;
    let next: usize;
    if (framing == Framing.MQTT) {
      found = nextPacket(node, state, p, end);
      next = packetEnd;
    } else {
      found = framing == Framing.LINES ? nextLine(state, p, end) : nextFrame(state, p, end);
      next = frameEnd;
    }
    if (found == Packet.MESSAGE) {
      if (!decodeMessage(node, state)) {
        fillMore = true;
        break;
      }
      messages++;
      acknowledge();
    } else if (found != Packet.OTHER) {
      fillMore = found == Packet.STOP;
      break;
    }
    p = next;
  }
  batchEnd(state);
  state.messages += messages;
  state.bytes += p - pos;
  return p;
}

// @ts-ignore: decorator
@inline function decodeMessage(node: Node, state: Source): bool {
  const format = state.format;
  if (state.framing == Framing.FRAMES && message.isFailure()) return putFailure(state);
  if (format == InputFormat.JSON) return decodeJson(node, state);
  if (format == InputFormat.BINARY) return decodeBinary(node);
  if (format == InputFormat.ROWS) return decodeRows(node);
  if (format == InputFormat.FIELDS) return decodeFields(node, state);
  if (format == InputFormat.PROTOBUF) return decodeProtobuf(node, state);
  return format == InputFormat.FORM ? decodeForm(node, state) : decodeDelimited(node, state);
}

/** Makes a row of an error that the source has counted. */
function putFailure(state: Source): bool {
  messageBegin();
  messageBytes(message.payload, <u32>(message.payloadEnd - message.payload));
  putErrorRow(state);
  return true;
}

/** Forgets the state of the old connection, for a new one. */
export function sourceReset(node: Node): void {
  const state = stateOf(node);
  state.skip = 0;
  state.resume = 0;
  aliasesForget(state, accountOf(node));
}

export function sourceMessages(node: Node): u64 {
  return stateOf(node).messages;
}

export function sourceBytes(node: Node): u64 {
  return stateOf(node).bytes;
}

export function sourceDecodeErrors(node: Node): u64 {
  return stateOf(node).decodeErrors;
}

export function sourceOversized(node: Node): u64 {
  return stateOf(node).oversized;
}
