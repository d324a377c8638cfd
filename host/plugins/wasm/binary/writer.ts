/** Writes the parts that Wasm binaries are made of. */
const utf8 = new TextEncoder();
const firstBytes = 256;

export class ByteWriter {
  #bytes = new Uint8Array(firstBytes);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Bytes written so far; the view is valid until more is written. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }

  byte(...values: number[]): this {
    this.#room(values.length);
    for (const value of values) this.#bytes[this.#length++] = value;
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  u32(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    return this.byte(rest);
  }

  /** Signed LEB128; `value` is a whole number that a double holds exactly. */
  signed(value: number): this {
    let rest = value;
    for (;;) {
      const low = ((rest % 0x80) + 0x80) % 0x80;
      rest = Math.floor(rest / 0x80);
      if ((rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40)) return this.byte(low);
      this.byte(low | 0x80);
    }
  }

  f64(value: number): this {
    this.#room(8);
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true);
    this.#length += 8;
    return this;
  }

  name(text: string): this {
    return this.sized(utf8.encode(text));
  }

  /** Bytes with their number in front. */
  sized(bytes: Uint8Array): this {
    return this.u32(bytes.length).raw(bytes);
  }

  /** A section: its number, its size, what `write` puts into it. */
  section(id: number, write: (body: ByteWriter) => void): this {
    const body = new ByteWriter();
    write(body);
    return this.byte(id).sized(body.view());
  }

  #room(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    larger.set(this.view());
    this.#bytes = larger;
  }
}
