/**
 * Cuts PUBLISH packets out of the bytes of an MQTT connection, for a log that is to have them as they came. The kernel cuts for
 * itself; what counts here is which bytes belong to the next messages of QoS 1 that it names.
 */

const publish = 3;
/** Topic and properties beside the payload; as the kernel has it. */
const maxHeaderBytes = 131_072;

/** Messages of QoS 1 with the bytes of their packets. */
export interface Cut {
  readonly bytes: Buffer;
  /** Where each message ends. */
  readonly ends: Uint32Array;
}

export class PublishCutter {
  #kept = Buffer.allocUnsafe(64 * 1024);
  #length = 0;
  #ends: number[] = [];
  /** The begin of a packet, as far as it came, and how much is needed to go on. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #needed = 0;
  /** Bytes of a packet that is too long, still to come. */
  #skip = 0;

  constructor(private readonly maxMessageBytes: number) {}

  /** Takes the next bytes of the connection. */
  add(bytes: Uint8Array): void {
    let input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.#parts.length > 0) {
      this.#parts.push(Buffer.from(input));
      this.#partBytes += input.length;
      if (this.#partBytes < this.#needed) return;
      input = Buffer.concat(this.#parts, this.#partBytes);
      this.#parts = [];
      this.#partBytes = 0;
    }
    const rest = this.#cut(input);
    if (rest === input.length) return;
    this.#parts = [Buffer.from(input.subarray(rest))];
    this.#partBytes = input.length - rest;
  }

  /** A new connection: what was cut is of the old one. */
  reset(): void {
    this.#length = 0;
    this.#ends = [];
    this.#parts = [];
    this.#partBytes = 0;
    this.#skip = 0;
  }

  /** Takes so many messages out; undefined when they are not there. */
  take(messages: number): Cut | undefined {
    const end = this.#ends[messages - 1];
    if (end === undefined) return undefined;
    const cut = {
      bytes: Buffer.from(this.#kept.subarray(0, end)),
      ends: Uint32Array.from(this.#ends.slice(0, messages)),
    };
    this.#kept.copyWithin(0, end, this.#length);
    this.#length -= end;
    this.#ends = this.#ends.slice(messages).map((one) => one - end);
    return cut;
  }

  /** Returns where the first packet begins that is not whole. */
  #cut(input: Buffer): number {
    let at = Math.min(this.#skip, input.length);
    this.#skip -= at;
    while (at < input.length) {
      const head = input[at]!;
      let length = 0;
      let body = at + 1;
      for (let shift = 0; ; shift += 7) {
        const byte = input[body++];
        if (byte === undefined) {
          this.#needed = body - at;
          return at;
        }
        length |= (byte & 0x7f) << shift;
        if (byte < 0x80 || shift === 21) break;
      }
      const end = body + length;
      const isPublish = head >> 4 === publish;
      const isKept = (head & 2) !== 0;
      if (length > this.maxMessageBytes + maxHeaderBytes && isPublish) {
        // The kernel leaves it out, but names it.
        if (isKept) this.#ends.push(this.#length);
        this.#skip = Math.max(0, end - input.length);
        at = Math.min(end, input.length);
        continue;
      }
      if (end > input.length) {
        this.#needed = end - at;
        return at;
      }
      if (isPublish && isKept) {
        this.#keep(input, at, end);
        this.#ends.push(this.#length);
      }
      at = end;
    }
    return at;
  }

  #keep(input: Buffer, from: number, to: number): void {
    const size = to - from;
    if (this.#length + size > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#length + size, this.#kept.length * 2));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    input.copy(this.#kept, this.#length, from, to);
    this.#length += size;
  }
}
