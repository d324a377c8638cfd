/** Parts of packets in raw bytes, for people to look at and for codecs: the kernel cuts packets by itself. */
import { publish } from './packet-reader.js';

/**
 * Returns the payloads in bytes that begin with a packet; the last packet may be cut off. Bytes that go
 * on with an earlier packet can't be told from others: what comes out of them means nothing.
 */
export function payloadsOfPackets(packets: Uint8Array, version: 4 | 5): Uint8Array[] {
  const bytes = Buffer.from(packets.buffer, packets.byteOffset, packets.byteLength);
  const payloads: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const kind = bytes[at] ?? 0;
    const { value: length, end: body } = varintAt(bytes, at + 1);
    const end = body + length;
    if (kind >> 4 === publish && body + 2 <= bytes.length) {
      payloads.push(bytes.subarray(payloadAt(bytes, body, kind, version), end));
    }
    at = end;
  }
  return payloads;
}

/** Offset of the payload of a PUBLISH packet: behind topic, packet id (QoS 1 and 2) and properties (MQTT 5). */
export function payloadAt(bytes: Buffer, body: number, kind: number, version: 4 | 5): number {
  const hasId = ((kind >> 1) & 3) > 0;
  const at = body + 2 + bytes.readUInt16BE(body) + (hasId ? 2 : 0);
  if (version !== 5) return at;
  const { value, end } = varintAt(bytes, at);
  return end + value;
}

/** Reads a number of one to four bytes of seven bits, lowest first; `end` is the offset behind it. */
function varintAt(bytes: Buffer, from: number): { value: number; end: number } {
  let value = 0;
  let end = from;
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = bytes[end++] ?? 0;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return { value, end };
}

/** Where the body of the packet at an offset begins, and its length; undefined while that is incomplete. */
export function packetBody(bytes: Buffer, at: number): { at: number; length: number } | undefined {
  const { value, end } = varintAt(bytes, at + 1);
  return end > bytes.length ? undefined : { at: end, length: value };
}

/** A number as bytes of seven bits, lowest first. */
export function varintOf(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  do {
    bytes.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    left >>>= 7;
  } while (left > 0);
  return Buffer.from(bytes);
}
