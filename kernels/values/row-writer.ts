/** Writes rows in the engine's own binary form (assembly/json/binary-form.ts), a value at a time. */
import { Tag } from '../gen/layouts.js';
import { Instant, timePayload } from './value.js';

const lengthBytes = 4;
const most64 = 2n ** 63n;

export class RowWriter {
  #bytes = Buffer.allocUnsafe(64 * 1024);
  #length = 0;

  /** What was written since `clear`; valid until the next call. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    // One large row must not hold memory for ever.
    if (this.#bytes.length > 1 << 22) this.#bytes = Buffer.allocUnsafe(64 * 1024);
  }

  /** Begins an object of so many members, each a `name` and a value. */
  object(members: number): void {
    this.#head(Tag.object, members);
  }

  /** Begins a list of so many values. */
  list(items: number): void {
    this.#head(Tag.array, items);
  }

  /** Name of a member, as its bytes. */
  name(name: Buffer): void {
    this.#room(lengthBytes + name.length);
    this.#length = this.#bytes.writeUInt32LE(name.length, this.#length);
    this.#bytes.set(name, this.#length);
    this.#length += name.length;
  }

  null(): void {
    this.#room(1);
    this.#bytes[this.#length++] = Tag.null;
  }

  bool(value: boolean): void {
    this.#room(2);
    this.#bytes[this.#length++] = Tag.bool;
    this.#bytes[this.#length++] = value ? 1 : 0;
  }

  /** An integer; one that has no room in 64 bits is a double. */
  integer(value: bigint | number): void {
    const whole = BigInt(value);
    if (whole >= most64 || whole < -most64) {
      this.float(Number(whole));
      return;
    }
    this.#room(9);
    this.#bytes[this.#length] = Tag.i64;
    this.#length = this.#bytes.writeBigInt64LE(whole, this.#length + 1);
  }

  float(value: number): void {
    this.#room(9);
    this.#bytes[this.#length] = Tag.f64;
    this.#length = this.#bytes.writeDoubleLE(value, this.#length + 1);
  }

  time(value: Instant): void {
    this.#room(9);
    this.#bytes[this.#length] = Tag.time;
    this.#length = this.#bytes.writeBigInt64LE(BigInt.asIntN(64, timePayload(value)), this.#length + 1);
  }

  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.#head(Tag.str, size);
    this.#room(size);
    this.#length += this.#bytes.write(value, this.#length);
  }

  binary(value: Uint8Array): void {
    this.#head(Tag.bytes, value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** A value as JSON has it: numbers are doubles, bigints are integers. */
  value(value: unknown): void {
    if (value === null || value === undefined) this.null();
    else if (typeof value === 'boolean') this.bool(value);
    else if (typeof value === 'number') this.float(value);
    else if (typeof value === 'bigint') this.integer(value);
    else if (typeof value === 'string') this.text(value);
    else if (value instanceof Uint8Array) this.binary(value);
    else if (value instanceof Instant) this.time(value);
    else if (Array.isArray(value)) {
      this.list(value.length);
      for (const item of value) this.value(item);
    } else {
      const members = Object.entries(value);
      this.object(members.length);
      for (const [name, member] of members) {
        this.name(Buffer.from(name));
        this.value(member);
      }
    }
  }

  #head(tag: number, count: number): void {
    this.#room(1 + lengthBytes);
    this.#bytes[this.#length] = tag;
    this.#length = this.#bytes.writeUInt32LE(count, this.#length + 1);
  }

  #room(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
