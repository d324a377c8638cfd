/** Reads and writes the values of Kafka's protocol. Offsets are numbers: they stay below 2^53. */

/** Writes a request that is not flexible: texts and lists have plain lengths. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  int8(value: number): this {
    this.#room(1);
    this.#length = this.#bytes.writeInt8(value, this.#length);
    return this;
  }

  int16(value: number): this {
    this.#room(2);
    this.#length = this.#bytes.writeInt16BE(value, this.#length);
    return this;
  }

  int32(value: number): this {
    this.#room(4);
    this.#length = this.#bytes.writeInt32BE(value, this.#length);
    return this;
  }

  int64(value: number): this {
    this.#room(8);
    this.#length = this.#bytes.writeBigInt64BE(BigInt(value), this.#length);
    return this;
  }

  text(value: string | null): this {
    if (value === null) return this.int16(-1);
    const bytes = Buffer.from(value);
    return this.int16(bytes.length).raw(bytes);
  }

  raw(bytes: Uint8Array): this {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** What was written so far; valid until more is. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #room(more: number): void {
    const least = this.#length + more;
    if (least <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(least, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** Reads an answer; throws RangeError behind its end. */
export class ByteReader {
  constructor(
    readonly bytes: Buffer,
    public at = 0,
  ) {}

  int8(): number {
    return this.bytes.readInt8(this.#pass(1));
  }

  int16(): number {
    return this.bytes.readInt16BE(this.#pass(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.#pass(4));
  }

  int64(): number {
    return int64At(this.bytes, this.#pass(8));
  }

  text(): string {
    const length = this.int16();
    return length < 0 ? '' : this.bytes.toString('utf8', this.#pass(length), this.at);
  }

  /** Bytes with their length before them; a view. */
  block(): Buffer {
    const length = this.int32();
    return length <= 0 ? this.bytes.subarray(0, 0) : this.bytes.subarray(this.#pass(length), this.at);
  }

  /** Calls `read` for each item of a list. */
  list<T>(read: () => T): T[] {
    const count = this.int32();
    const items: T[] = [];
    for (let i = 0; i < count; i++) items.push(read());
    return items;
  }

  /** A number of the zigzag form with 7 bits a byte, as records have it. */
  varint(): number {
    const { bytes } = this;
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[this.at++];
      if (byte === undefined) throw new RangeError('the records end too early');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
      scale *= 128;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  #pass(length: number): number {
    const from = this.at;
    this.at += length;
    if (this.at > this.bytes.length) throw new RangeError('the answer ends too early');
    return from;
  }
}

/** The number of 64 bits at the offset; exact below 2^53. */
export function int64At(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}
