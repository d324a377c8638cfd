/** Writes rows in the engine's own binary form (assembly/json/binary-form.ts), a value at a time. */
import { Tag } from '../gen/layouts.js';
import { Instant, timePayload } from './value.js';

const lengthBytes = 4;

/** Longest bytes that are copied one by one, which is faster for few. */
const few = 32;

export class RowWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(64 * 1024);
  #view = viewOf(this.#bytes);
  #length = 0;

  /** What was written since `clear`; valid until the next call. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
    // One large row must not hold memory for ever.
    if (this.#bytes.length > 1 << 22) this.#use(Buffer.allocUnsafeSlow(64 * 1024));
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
  name(name: Uint8Array): void {
    this.#room(lengthBytes + name.length);
    this.#view.setUint32(this.#length, name.length, true);
    this.#length += lengthBytes;
    this.#copy(name);
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
    if (typeof value === 'number') {
      if (value !== (value | 0)) {
        this.integer(BigInt(value));
        return;
      }
      this.#room(9);
      this.#bytes[this.#length] = Tag.i64;
      this.#view.setInt32(this.#length + 1, value, true);
      this.#view.setInt32(this.#length + 5, value < 0 ? -1 : 0, true);
    } else {
      if (BigInt.asIntN(64, value) !== value) {
        this.float(Number(value));
        return;
      }
      this.#room(9);
      this.#bytes[this.#length] = Tag.i64;
      this.#view.setBigInt64(this.#length + 1, value, true);
    }
    this.#length += 9;
  }

  float(value: number): void {
    this.#room(9);
    this.#bytes[this.#length] = Tag.f64;
    this.#view.setFloat64(this.#length + 1, value, true);
    this.#length += 9;
  }

  time(value: Instant): void {
    this.#room(9);
    this.#bytes[this.#length] = Tag.time;
    this.#view.setBigInt64(this.#length + 1, BigInt.asIntN(64, timePayload(value)), true);
    this.#length += 9;
  }

  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.#head(Tag.str, size);
    this.#room(size);
    this.#length += this.#bytes.write(value, this.#length);
  }

  /** A text as its bytes, which are UTF-8. */
  encoded(value: Uint8Array): void {
    this.#head(Tag.str, value.length);
    this.#room(value.length);
    this.#copy(value);
  }

  binary(value: Uint8Array): void {
    this.#head(Tag.bytes, value.length);
    this.#room(value.length);
    this.#copy(value);
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
    this.#view.setUint32(this.#length + 1, count, true);
    this.#length += 1 + lengthBytes;
  }

  #copy(from: Uint8Array): void {
    const size = from.length;
    const to = this.#bytes;
    const at = this.#length;
    if (size > few) to.set(from, at);
    else for (let i = 0; i < size; i++) to[at + i] = from[i]!;
    this.#length = at + size;
  }

  #room(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#use(grown);
  }

  #use(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}
