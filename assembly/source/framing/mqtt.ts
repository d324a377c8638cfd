// MQTT framing (3.1.1 and 5). PUBLISH packets become messages; all other packets are listed for the host,
// which sees them in their place: the fill stops before the next message.
import { isUtf8 } from '../../text/utf8';
import { resolveAlias } from './aliases';
import * as message from './message';
import { ProtocolError } from '../../gen/source-layouts';
import { PropertyId, propertyEnd } from './properties';
import { UseKind } from '../columns/use';
import { Node } from '../../gen/node-layouts';
import { Source } from '../columns/state';

const MAX_PACKETS: u32 = 256;
const MAX_ACKS: u32 = 2048;
/** Bit that marks ids of QoS 2, as in host/connectors/messages/receipts.ts. */
const EXACTLY_ONCE: u32 = 0x10000;
/** Room of topic and properties beside the payload. */
const MAX_HEADER: u32 = 131072;

/** Packets for the host: off u32 | len u32. */
export const packetList: usize = memory.data(8 * 256, 8);
export let packetCount: u32 = 0;
/** Ids of the messages taken over, u32 each; ids of QoS 2 have the bit `EXACTLY_ONCE`. */
export const ackList: usize = memory.data(4 * 2048, 8);
export let ackCount: u32 = 0;

/** Results of nextPacket. */
export namespace Packet {
  /** A message stands in source/framing/message.ts. */
  export const MESSAGE: u32 = 0;
  /** The packet ends behind the input. */
  export const INCOMPLETE: u32 = 1;
  /** The packet has no row for this batch: it is listed or skipped. */
  export const OTHER: u32 = 2;
  /** The packet has to wait for the next fill. */
  export const STOP: u32 = 3;
  /** The stream of bytes is not MQTT; see protocolError. */
  export const BROKEN: u32 = 4;
}
/** Position after the packet found. */
export let packetEnd: usize = 0;

/** The ProtocolError in the bytes, for which the host drops the connection; 0 none. */
export let protocolError: u32 = 0;

export function mqttBegin(): void {
  packetCount = 0;
  ackCount = 0;
  protocolError = 0;
}

/** Forgets the error, which will be found again: rows before it are not given out yet. */
export function postponeError(): void {
  protocolError = 0;
}

function broken(error: u32): u32 {
  protocolError = error;
  return Packet.BROKEN;
}

/** Notes that the message under way is taken over. */
// @ts-ignore: decorator
@inline export function acknowledge(): void {
  if (message.qos == 0) return;
  store<u32>(ackList + ((<usize>ackCount) << 2), message.packetId | (message.qos == 2 ? EXACTLY_ONCE : 0));
  ackCount++;
}

// @ts-ignore: decorator
@inline function bigEndian(p: usize): u32 {
  return <u32>bswap<u16>(load<u16>(p));
}

/** Looks at the packet at `p`; at least one byte is there. */
// @ts-ignore: decorator
@inline export function nextPacket(node: Node, state: Source, p: usize, end: usize): u32 {
  const head = <u32>load<u8>(p);
  if (p + 2 > end) return Packet.INCOMPLETE;
  let length = <u32>load<u8>(p, 1);
  let body = p + 2;
  if (length & 0x80) {
    length &= 0x7f;
    let shift: u32 = 7;
    while (true) {
      if (body >= end) return Packet.INCOMPLETE;
      const b = <u32>load<u8>(body++);
      length |= (b & 0x7f) << shift;
      if (!(b & 0x80)) break;
      shift += 7;
      if (shift > 21) return broken(ProtocolError.LENGTH);
    }
  }
  const stop = body + length;
  packetEnd = stop;
  if ((head & 0xf0) != 0x30 || (head & 6) == 6) return otherPacket(state, head, p, body, length, end);
  if (stop > end) return unfinished(node, state, head, body, length, end);
  if (packetCount != 0 || ackCount == MAX_ACKS) return Packet.STOP;
  const qos = (head >> 1) & 3;
  if (length < 2) return broken(ProtocolError.PUBLISH);
  const topicLen = bigEndian(body);
  const topic = body + 2;
  let at = topic + topicLen;
  message.setTopic(topic, topicLen);
  let id: u32 = 0;
  if (qos) {
    if (at + 2 > stop) return broken(ProtocolError.PUBLISH);
    id = bigEndian(at);
    if (id == 0) return broken(ProtocolError.PUBLISH);
    at += 2;
  }
  message.setDelivery(qos, (head & 1) != 0, id);
  if (at > stop) return broken(ProtocolError.PUBLISH);
  if (state.version == 5) {
    at = readProperties(node, state, at, stop);
    if (!at) return Packet.BROKEN;
  } else if (topicLen == 0) return broken(ProtocolError.TOPIC);
  if (state.kinds & ((1 << UseKind.META) | (1 << UseKind.META_ALL)) && !isUtf8(topic, topic + topicLen)) {
    return broken(ProtocolError.TOPIC);
  }
  message.setPayload(at, stop);
  if (<u32>(stop - at) > state.maxMessage) {
    state.oversized++;
    acknowledge();
    return Packet.OTHER;
  }
  return Packet.MESSAGE;
}

/** Handles a packet that is no PUBLISH of a known QoS. */
function otherPacket(state: Source, head: u32, p: usize, body: usize, length: u32, end: usize): u32 {
  const type = head >> 4;
  if (type == 0 || (head & 0xf6) == 0x36 || (type == 15 && state.version != 5)) {
    return broken(ProtocolError.TYPE);
  }
  if (length > state.maxMessage + MAX_HEADER) return broken(ProtocolError.TOO_LONG);
  if (packetEnd > end) return Packet.INCOMPLETE;
  if (packetCount == MAX_PACKETS) return Packet.STOP;
  const entry = packetList + ((<usize>packetCount) << 3);
  store<u32>(entry, <u32>p);
  store<u32>(entry, <u32>(packetEnd - p), 4);
  packetCount++;
  return Packet.OTHER;
}

/** Handles a PUBLISH without its end: waits for it, or skips it when it is longer than a message may be. */
function unfinished(node: Node, state: Source, head: u32, body: usize, length: u32, end: usize): u32 {
  if (length <= state.maxMessage + MAX_HEADER && !message.skipsUnfinished) return Packet.INCOMPLETE;
  if (packetCount != 0 || ackCount == MAX_ACKS) return Packet.STOP;
  if (head & 6) {
    // The id stands behind the topic; the sender has to get its acknowledgement, or it would send again for ever.
    if (body + 2 > end) return Packet.INCOMPLETE;
    const at = body + 2 + bigEndian(body);
    if (at + 2 > packetEnd) return broken(ProtocolError.PUBLISH);
    if (at + 2 > end) return Packet.INCOMPLETE;
    message.setDelivery((head >> 1) & 3, false, bigEndian(at));
    acknowledge();
  }
  state.oversized++;
  state.skip = packetEnd - end;
  packetEnd = end;
  return Packet.OTHER;
}

/** Reads the properties at `at`; returns the start of the payload, 0 when they are malformed. */
function readProperties(node: Node, state: Source, at: usize, stop: usize): usize {
  let length: usize = 0;
  let p = at;
  for (let shift: usize = 0; ; shift += 7) {
    if (p >= stop || shift > 21) {
      protocolError = ProtocolError.PROPERTIES;
      return 0;
    }
    const b = <usize>load<u8>(p++);
    length |= (b & 0x7f) << shift;
    if (!(b & 0x80)) break;
  }
  const from = p;
  const to = p + length;
  if (to > stop) {
    protocolError = ProtocolError.PROPERTIES;
    return 0;
  }
  message.setExtra(from, to);
  let alias: u32 = 0;
  while (p < to) {
    const next = propertyEnd(p, to);
    if (!next) {
      protocolError = ProtocolError.PROPERTIES;
      return 0;
    }
    if (load<u8>(p) == PropertyId.TOPIC_ALIAS) alias = bigEndian(p + 1) || 0x10000;
    p = next;
  }
  if (!alias) {
    if (message.topicLen) return to;
    protocolError = ProtocolError.TOPIC;
    return 0;
  }
  if (alias < 0x10000 && resolveAlias(node, state, alias)) return to;
  protocolError = ProtocolError.ALIAS;
  return 0;
}
