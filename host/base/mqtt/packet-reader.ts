/**
 * Finds the packets in the bytes of an MQTT connection, in whatever pieces they arrive. The kernel finds packets by
 * itself; this reader is for parts of the host that have to know of messages.
 */

export const publish = 3;
/** Largest size of topic and properties beside the payload; the same number as in the kernel. */
const maxHeaderBytes = 131_072;

/** Receives the packets that a reader finds. */
export interface PacketVisitor {
  /** Whether packets with this first byte are passed on, whole; PUBLISH packets that are too long never are. */
  wants(head: number): boolean;
  /** A packet from `at` to `end`, whose length ends where `body` begins. */
  packet(input: Buffer, at: number, body: number, end: number): void;
  /** A PUBLISH packet with this first byte is too long: the kernel leaves it out, but reports its receipt. */
  tooLong(head: number): void;
}

/** The result of reading one piece of the connection. */
export interface ReadPiece {
  /** The piece, with the earlier bytes of its first packet in front. */
  readonly input: Buffer;
  /** Number of those earlier bytes. */
  readonly before: number;
  /** Offset of the first incomplete packet; the length of `input` when there is none. */
  readonly rest: number;
}

export class PacketReader {
  /** Bytes of an incomplete packet, their number, and the number needed to go on. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #needed = 0;
  /** Bytes still to come of a packet that is skipped. */
  #skip = 0;

  constructor(
    private readonly maxMessageBytes: number,
    private readonly visitor: PacketVisitor,
  ) {}

  /** Takes the next bytes of the connection; undefined while they are too few for the packet that has begun. */
  read(bytes: Uint8Array): ReadPiece | undefined {
    let input = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const before = this.#partBytes;
    if (before > 0) {
      this.#parts.push(Buffer.from(input));
      this.#partBytes += input.length;
      if (this.#partBytes < this.#needed) return undefined;
      input = Buffer.concat(this.#parts, this.#partBytes);
      this.#parts = [];
      this.#partBytes = 0;
    }
    const rest = this.#packets(input);
    if (rest < input.length) {
      this.#parts = [Buffer.from(input.subarray(rest))];
      this.#partBytes = input.length - rest;
    }
    return { input, before, rest };
  }

  /** Starts anew: the next bytes begin with a packet. */
  reset(): void {
    this.#parts = [];
    this.#partBytes = 0;
    this.#skip = 0;
  }

  /** Looks at all whole packets; returns where the first begins that is not whole. */
  #packets(input: Buffer): number {
    const { visitor } = this;
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
      const isTooLong = head >> 4 === publish && length > this.maxMessageBytes + maxHeaderBytes;
      if (isTooLong || !visitor.wants(head)) {
        if (isTooLong) visitor.tooLong(head);
        this.#skip = Math.max(0, end - input.length);
        at = Math.min(end, input.length);
        continue;
      }
      if (end > input.length) {
        this.#needed = end - at;
        return at;
      }
      visitor.packet(input, at, body, end);
      at = end;
    }
    return at;
  }
}

/** Whether a packet with this first byte is a message with a packet id (of QoS 1 or 2). */
export function isNamed(head: number): boolean {
  return head >> 4 === publish && (head & 6) !== 0;
}
