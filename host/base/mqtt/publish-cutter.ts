/**
 * Cuts PUBLISH packets of QoS 1 and 2 out of the bytes of an MQTT connection, for a log that keeps them as they came.
 * The kernel cuts packets by itself; the cutter finds the bytes of the next messages that the kernel reports receipts
 * for.
 */
import { isNamed, PacketReader } from './packet-reader.js';

/** Messages with the bytes of their packets. */
export interface Cut {
  readonly bytes: Buffer;
  /** Offset in `bytes` at which each message ends. */
  readonly ends: Uint32Array;
}

export class PublishCutter {
  #kept = Buffer.allocUnsafe(64 * 1024);
  #length = 0;
  #ends: number[] = [];
  readonly #reader: PacketReader;

  constructor(maxMessageBytes: number) {
    this.#reader = new PacketReader(maxMessageBytes, {
      wants: isNamed,
      packet: (input, at, _body, end) => this.#keep(input, at, end),
      tooLong: (head) => {
        if (isNamed(head)) this.#ends.push(this.#length);
      },
    });
  }

  /** Takes the next bytes of the connection. */
  add(bytes: Uint8Array): void {
    this.#reader.read(bytes);
  }

  /** Forgets all cut packets, since they belong to the former connection. */
  reset(): void {
    this.#length = 0;
    this.#ends = [];
    this.#reader.reset();
  }

  /** Takes the next messages out; undefined when there are fewer. */
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

  #keep(input: Buffer, from: number, to: number): void {
    const size = to - from;
    if (this.#length + size > this.#kept.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#length + size, this.#kept.length * 2));
      this.#kept.copy(grown, 0, 0, this.#length);
      this.#kept = grown;
    }
    input.copy(this.#kept, this.#length, from, to);
    this.#length += size;
    this.#ends.push(this.#length);
  }
}
