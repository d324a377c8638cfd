/** Writes PUBLISH packets of quality of service 0 for one topic. */
import { mqttErrors } from './errors.js';

/** Longest variable-length number of the protocol. */
const maxRemaining = 268_435_455;
/** Most bytes of a text in a packet. */
const maxText = 65_535;
const retainFlag = 1;
const publishType = 0x30;
const expiry = 0x02;
const contentType = 0x03;
const responseTopic = 0x08;
const correlationData = 0x09;
const userProperty = 0x26;

/** What MQTT 5 says of a message. */
export interface MessageProperties {
  readonly userProperties?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly responseTopic?: string;
  readonly correlationData?: Buffer;
  /** Seconds. */
  readonly messageExpiryInterval?: number;
}

export class PublishEncoder {
  readonly #head: Buffer;
  readonly #type: number;

  constructor(topic: string, isRetained: boolean, version: 3 | 4 | 5, properties: MessageProperties = {}) {
    this.#head = Buffer.concat([lengthAnd(topic), ...(version === 5 ? [propertiesOf(properties)] : [])]);
    this.#type = publishType | (isRetained ? retainFlag : 0);
  }

  /** Bytes of the packet around a payload; undefined when the payload is longer than the protocol allows. */
  sizeOf(payloadBytes: number): number | undefined {
    const remaining = this.#head.length + payloadBytes;
    return remaining > maxRemaining ? undefined : 1 + lengthBytes(remaining) + remaining;
  }

  /** Writes a packet at the offset and returns its end. */
  write(target: Buffer, at: number, payload: Uint8Array): number {
    let end = at;
    target[end++] = this.#type;
    let remaining = this.#head.length + payload.length;
    do {
      const more = remaining > 127 ? 128 : 0;
      target[end++] = (remaining & 127) | more;
      remaining >>>= 7;
    } while (remaining > 0);
    target.set(this.#head, end);
    end += this.#head.length;
    target.set(payload, end);
    return end + payload.length;
  }
}

function lengthBytes(value: number): number {
  return value < 1 << 7 ? 1 : value < 1 << 14 ? 2 : value < 1 << 21 ? 3 : 4;
}

function propertiesOf(said: MessageProperties): Buffer {
  const parts = Object.entries(said.userProperties ?? {}).map(([name, value]) => [
    Buffer.of(userProperty),
    lengthAnd(name),
    lengthAnd(value),
  ]);
  if (said.messageExpiryInterval !== undefined) {
    const seconds = Buffer.alloc(4);
    seconds.writeUInt32BE(said.messageExpiryInterval);
    parts.push([Buffer.of(expiry), seconds]);
  }
  if (said.contentType !== undefined) parts.push([Buffer.of(contentType), lengthAnd(said.contentType)]);
  if (/[+#]/.test(said.responseTopic ?? '')) throw mqttErrors.responseTopic();
  if (said.responseTopic !== undefined) parts.push([Buffer.of(responseTopic), lengthAnd(said.responseTopic)]);
  if (said.correlationData !== undefined) parts.push([Buffer.of(correlationData), lengthAnd(said.correlationData)]);
  const body = Buffer.concat(parts.flat());
  const length: number[] = [];
  let left = body.length;
  do {
    length.push((left & 127) | (left > 127 ? 128 : 0));
    left >>>= 7;
  } while (left > 0);
  return Buffer.concat([Buffer.from(length), body]);
}

function lengthAnd(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  if (bytes.length > maxText) throw mqttErrors.longText(bytes.length, maxText);
  // Brokers end the connection for it, and would so again for the same message.
  if (typeof content === 'string' && content.includes('\0')) throw mqttErrors.zeroText();
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
