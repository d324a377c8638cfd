/** Grows a message of Avro byte by byte. */

/** A buffer that grew beyond this is given up after the message. */
const keptBytes = 1 << 20;
const firstBytes = 1 << 12;
const maxBytes = 1 << 26;
/** Integers below this are written by 32-bit arithmetic. */
const short = 1 << 30;

export class ByteWriter {
  #buffer = Buffer.allocUnsafe(firstBytes);
  #at = 0;

  begin(): void {
    this.#at = 0;
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.allocUnsafe(firstBytes);
  }

  /** A copy of what was written. */
  taken(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#at));
  }

  /** Place for so many bytes, which count as written. */
  #place(size: number): number {
    const at = this.#at;
    const end = at + size;
    if (end > this.#buffer.length) {
      if (end > maxBytes) throw new Error(`the message has more than ${maxBytes} bytes`);
      const grown = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(end, this.#buffer.length * 2)));
      this.#buffer.copy(grown, 0, 0, at);
      this.#buffer = grown;
    }
    this.#at = end;
    return at;
  }

  byte(value: number): void {
    this.#buffer[this.#place(1)] = value;
  }

  bytes(value: Uint8Array): void {
    this.#buffer.set(value, this.#place(value.length));
  }

  /** Writes an integer of up to 64 bits, in as few bytes as it takes. */
  long(value: number | bigint): void {
    if (typeof value === 'number' && value > -short && value < short) {
      let rest = value < 0 ? -value * 2 - 1 : value * 2;
      for (; rest > 127; rest >>>= 7) this.byte((rest & 127) | 128);
      this.byte(rest);
      return;
    }
    const wide = BigInt(value);
    let rest = BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
    for (; rest > 127n; rest >>= 7n) this.byte(Number(rest & 127n) | 128);
    this.byte(Number(rest));
  }

  float(value: number): void {
    const at = this.#place(4);
    this.#buffer.writeFloatLE(value, at);
  }

  double(value: number): void {
    const at = this.#place(8);
    this.#buffer.writeDoubleLE(value, at);
  }

  uint32(value: number): void {
    const at = this.#place(4);
    this.#buffer.writeUInt32LE(value, at);
  }

  /** Writes bytes behind their length. */
  sized(value: Uint8Array): void {
    this.long(value.length);
    this.bytes(value);
  }

  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.long(size);
    const at = this.#place(size);
    this.#buffer.write(value, at, 'utf8');
  }
}
