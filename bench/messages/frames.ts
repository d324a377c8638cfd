/**
 * Pre-encoded MQTT PUBLISH frames (QoS 0, 3.1.1). Messages are grouped into blocks that are sent again and again; ids
 * are consecutive, have nine digits and are patched in place before each send, so that a message costs the generator a
 * few nanoseconds and yet no two are equal.
 */

/** One message of a block; `idAt` is the offset of the nine digits within the payload, -1 without an id. */
export interface Message {
  topic: string;
  payload: string;
}

/** First id that is sent; ids have nine digits. */
export const FIRST_ID = 100_000_000;
/** Text that stands for the id in a payload template. */
export const ID_MARK = '#########';

export interface Block {
  bytes: Buffer;
  /** Start of each frame in `bytes`, and the total length as last item. */
  starts: Uint32Array;
  /** Offset of the id digits of each message, 0 when it has none. */
  ids: Uint32Array;
}

/** Encodes one PUBLISH packet with QoS 0. */
export function publishFrame(topic: string, payload: Buffer): Buffer {
  const topicBytes = Buffer.from(topic);
  let remaining = 2 + topicBytes.length + payload.length;
  const head = [0x30];
  const body = remaining;
  do {
    const digit = remaining & 127;
    remaining >>>= 7;
    head.push(remaining > 0 ? digit | 128 : digit);
  } while (remaining > 0);
  const frame = Buffer.allocUnsafe(head.length + body);
  frame.set(head, 0);
  frame.writeUInt16BE(topicBytes.length, head.length);
  topicBytes.copy(frame, head.length + 2);
  payload.copy(frame, head.length + 2 + topicBytes.length);
  return frame;
}

/** Encodes messages into one block. */
export function makeBlock(messages: Message[]): Block {
  const starts = new Uint32Array(messages.length + 1);
  const ids = new Uint32Array(messages.length);
  const frames: Buffer[] = [];
  let at = 0;
  messages.forEach((message, i) => {
    const payload = Buffer.from(message.payload);
    const frame = publishFrame(message.topic, payload);
    const mark = payload.indexOf(ID_MARK);
    starts[i] = at;
    ids[i] = mark < 0 ? 0 : at + frame.length - payload.length + mark;
    frames.push(frame);
    at += frame.length;
  });
  starts[messages.length] = at;
  return { bytes: Buffer.concat(frames), starts, ids };
}

/** Writes the ids `first`, `first + 1`, … into the messages `from` … `to`-1 of the block. */
export function patchIds(block: Block, first: number, from: number, to: number): void {
  const { bytes, ids } = block;
  let low = first % 10_000;
  let high = Math.floor(first / 10_000);
  for (let i = from; i < to; i++) {
    const at = ids[i] as number;
    if (at !== 0) {
      let v = high;
      bytes[at + 4] = 48 + (v % 10);
      v = (v / 10) | 0;
      bytes[at + 3] = 48 + (v % 10);
      v = (v / 10) | 0;
      bytes[at + 2] = 48 + (v % 10);
      v = (v / 10) | 0;
      bytes[at + 1] = 48 + (v % 10);
      bytes[at] = 48 + ((v / 10) | 0);
      v = low;
      bytes[at + 8] = 48 + (v % 10);
      v = (v / 10) | 0;
      bytes[at + 7] = 48 + (v % 10);
      v = (v / 10) | 0;
      bytes[at + 6] = 48 + (v % 10);
      bytes[at + 5] = 48 + ((v / 10) | 0);
    }
    if (++low === 10_000) {
      low = 0;
      high++;
    }
  }
}
