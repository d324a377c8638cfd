/** Reads the parts that Wasm binaries are made of; whatever is missing or malformed is an error that says where. */
import { WasmError } from './error.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class ByteReader {
  /** `end` is exclusive; `what` names the range in errors: `the type section`. */
  constructor(
    readonly bytes: Uint8Array,
    public at: number,
    readonly end: number,
    private readonly what: string,
  ) {}

  get left(): number {
    return this.end - this.at;
  }

  fail(reason: string, at = this.at): never {
    throw new WasmError(`${this.what}: ${reason}`, at);
  }

  byte(): number {
    if (this.at >= this.end) this.fail('it ends too early');
    return this.bytes[this.at++] as number;
  }

  /** Unsigned LEB128 of 32 bits. */
  u32(): number {
    const from = this.at;
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      if (shift === 28 && byte > 0x0f) this.fail('a number has more than 32 bits', from);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return this.fail('a number has more than 32 bits', from);
  }

  /** Signed LEB128 of 33 bits, what the type of a block is written as. */
  s33(): number {
    const from = this.at;
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return byte & 0x40 ? value - 2 ** (shift + 7) : value;
    }
    return this.fail('a number has more than 33 bits', from);
  }

  /** Passes a LEB128 number of at most `bits` bits. */
  skipLeb(bits: number): void {
    const from = this.at;
    for (let shift = 0; shift < bits; shift += 7) if (this.byte() < 0x80) return;
    this.fail(`a number has more than ${bits} bits`, from);
  }

  skip(count: number): void {
    if (count > this.left) this.fail('it ends too early');
    this.at += count;
  }

  /**
   * How many entries follow, each of at least `size` bytes: a number that does not fit is found before anything is made
   * of it.
   */
  count(name: string, size = 1): number {
    const from = this.at;
    const value = this.u32();
    if (value * size > this.left)
      this.fail(`it says that ${value} ${name} follow and has ${this.left} more bytes`, from);
    return value;
  }

  /** A name: length and UTF-8. */
  name(name: string): string {
    const length = this.count(`bytes of ${name}`);
    const from = this.at;
    this.at += length;
    try {
      return utf8.decode(this.bytes.subarray(from, this.at));
    } catch {
      return this.fail(`${name} is no UTF-8`, from);
    }
  }

  /** A reader of the next `length` bytes, which this one passes. */
  part(length: number, what: string): ByteReader {
    const from = this.at;
    this.skip(length);
    return new ByteReader(this.bytes, from, this.at, what);
  }

  /** Says that nothing may follow. */
  done(): void {
    if (this.left > 0) this.fail(`${this.left} bytes are left over`);
  }
}
