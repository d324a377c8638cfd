/**
 * Kernel values as JavaScript values and back. A value is a tag and an 8-byte payload (assembly/mem/layout.ts).
 */
import { member as memberLayout, near as nearNanos, slot as slotLayout, Tag } from '../gen/layouts.js';
import { bytesOfText, textOfBytes } from './text.js';

/**
 * A datetime: nanoseconds since the epoch, and the offset it was written with in seconds east of UTC. Kernels round
 * those in UTC to microseconds before 1834 and after 2106, others always, and where the offset is no quarter of an
 * hour, before 1399 and after 2540 to milliseconds; with seconds in the offset, before 1761 and after 2039, to seconds.
 */
export class Instant {
  constructor(
    readonly nanos: bigint,
    readonly offset = 0,
  ) {}
}

const nearMicros = nearNanos / 1000n;
/** Forms of the payload of a datetime, in its two upper bits; UTC has none of them (assembly/text/time.ts). */
const inQuarters = 1n;
const inMinutes = 2n;
/** Offsets with seconds use numbers above the largest offset in minutes. */
const odd = 1440n << 50n;
const oddLimit = 57_600n;
const oddFromMs = -6_597_069_766_656n;
const oddFar = odd + ((2n * oddLimit) << 43n);
const farSeconds = 1n << 39n;
const oddEnd = 2657n << 50n;

/** The datetime that a payload stands for. */
export function instantOf(payload: bigint): Instant {
  const form = BigInt.asUintN(64, payload) >> 62n;
  if (form === inQuarters) {
    return new Instant(BigInt.asIntN(55, payload) * 1000n, Number(BigInt.asIntN(7, payload >> 55n)) * 900);
  }
  if (form === inMinutes) {
    const n = BigInt.asUintN(62, payload);
    if (n >= odd && n < oddEnd) return oddInstant(n);
    return new Instant(BigInt.asIntN(50, payload) * 1_000_000n, Number(BigInt.asIntN(12, payload >> 50n)) * 60);
  }
  return new Instant(nanosOf(payload));
}

function oddInstant(n: bigint): Instant {
  if (n < oddFar) {
    const ms = BigInt.asUintN(43, n - odd) + oddFromMs;
    return new Instant(ms * 1_000_000n, Number(((n - odd) >> 43n) - oddLimit));
  }
  const seconds = BigInt.asUintN(40, n - oddFar) - farSeconds;
  return new Instant(seconds * 1_000_000_000n, Number(((n - oddFar) >> 40n) - oddLimit));
}

function oddNumber(nanos: bigint, offset: number): bigint {
  const place = BigInt(offset) + oddLimit;
  const ms = floor(nanos, 1_000_000n) - oddFromMs;
  if (BigInt.asUintN(43, ms) === ms) return odd + (place << 43n) + ms;
  return oddFar + (place << 40n) + floor(nanos, 1_000_000_000n) + farSeconds;
}

function nanosOf(payload: bigint): bigint {
  if (payload >= nearNanos) return (payload - nearNanos + nearMicros) * 1000n;
  if (payload < -nearNanos) return (payload + nearNanos - nearMicros) * 1000n;
  return payload;
}

function floor(value: bigint, unit: bigint): bigint {
  const rest = value % unit;
  return (value - rest) / unit - (rest < 0n ? 1n : 0n);
}

/** The payload that a datetime has in the kernel. */
export function timePayload({ nanos, offset }: Instant): bigint {
  if (offset !== 0) {
    const micros = floor(nanos, 1000n);
    if (offset % 900 === 0 && Math.abs(offset) < 57_600 && BigInt.asIntN(55, micros) === micros) {
      return (inQuarters << 62n) | (BigInt.asUintN(7, BigInt(offset / 900)) << 55n) | BigInt.asUintN(55, micros);
    }
    if (offset % 60 !== 0) return BigInt.asIntN(64, (inMinutes << 62n) | oddNumber(nanos, offset));
    const ms = BigInt.asUintN(50, floor(nanos, 1_000_000n));
    return BigInt.asIntN(64, (inMinutes << 62n) | (BigInt.asUintN(12, BigInt(offset / 60)) << 50n) | ms);
  }
  if (nanos >= nearNanos) return nearNanos + (nanos / 1000n - nearMicros);
  if (nanos < -nearNanos) return (nanos - 999n) / 1000n + nearMicros - nearNanos;
  return nanos;
}

/** An error in the place of a value. */
export class ValueError {
  constructor(readonly message: string) {}
}

/**
 * A value in JavaScript: `undefined` is missing, bigint an int64, number a double; arrays and objects hold such values.
 */
export type Value =
  | undefined
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Instant
  | ValueError
  | Value[]
  | { [key: string]: Value };

/** A text by its UTF-8 bytes, to be written as one. */
export class Utf8 {
  constructor(readonly bytes: Uint8Array) {}
}

const utf8 = new TextEncoder();

/** A value can't be written to the kernel: there is no room for it, or it is none. */
export class UnwritableError extends RangeError {}

/** Deepest nesting of a value. */
export const deepest = 1000;

/** Reads and writes values in one Wasm memory; views are renewed when the memory grows. */
export class ValueAccess {
  private buffer: Buffer;
  private data: DataView;
  /** Scratch bytes of the value that is being written. */
  private taken = 0;
  private isError = false;
  private depth = 0;

  /**
   * @param memory memory of the kernel
   * @param alloc returns the address of scratch bytes (8-byte aligned, valid for the batch), 0 when memory is exhausted
   *   or the values of the batch take more than they may; `isCounted` is false for messages of errors
   * @param maxBytes length of the longest value that can be written
   */
  constructor(
    readonly memory: WebAssembly.Memory,
    private readonly alloc: (size: number, isCounted: boolean) => number,
    private readonly maxBytes = Number.POSITIVE_INFINITY,
  ) {
    this.buffer = Buffer.from(memory.buffer);
    this.data = new DataView(memory.buffer);
  }

  /** Memory as a view, good until the next call that may allocate. */
  view(): DataView {
    this.renew();
    return this.data;
  }

  /** Memory as bytes, good until the next call that may allocate. */
  bytes(): Buffer {
    this.renew();
    return this.buffer;
  }

  private renew(): void {
    if (this.data.buffer === this.memory.buffer) return;
    this.buffer = Buffer.from(this.memory.buffer);
    this.data = new DataView(this.memory.buffer);
  }

  /** Reads the value whose payload stands at `at`. Bytes are copied. */
  read(tag: number, at: number): Value {
    this.renew();
    return this.readAt(tag, at);
  }

  private readAt(tag: number, at: number): Value {
    const data = this.data;
    switch (tag) {
      case Tag.missing:
        return undefined;
      case Tag.null:
        return null;
      case Tag.bool:
        return data.getUint32(at, true) !== 0;
      case Tag.i64:
        return data.getBigInt64(at, true);
      case Tag.f64:
        return data.getFloat64(at, true);
      case Tag.time:
        return instantOf(data.getBigInt64(at, true));
      default:
        break;
    }
    const off = data.getUint32(at, true);
    const count = data.getUint32(at + 4, true);
    switch (tag) {
      case Tag.str:
        return this.text(off, count);
      case Tag.bytes:
        return new Uint8Array(this.buffer.subarray(off, off + count));
      case Tag.error:
        return new ValueError(this.text(off, count));
      case Tag.array:
        return Array.from({ length: count }, (_, i) => {
          const slot = off + i * slotLayout.size;
          return this.readAt(data.getUint8(slot + slotLayout.at.tag), slot);
        });
      case Tag.object: {
        const object: { [key: string]: Value } = {};
        for (let i = 0; i < count; i++) {
          const member = off + i * memberLayout.size;
          const key = this.text(
            data.getUint32(member + memberLayout.at.keyOff, true),
            data.getUint32(member + memberLayout.at.keyLen, true),
          );
          // A plain assignment of "__proto__" would not make a member.
          Object.defineProperty(object, key, {
            value: this.readAt(data.getUint8(member + memberLayout.at.tag), member),
            enumerable: true,
            configurable: true,
            writable: true,
          });
        }
        return object;
      }
      default:
        throw new RangeError(`no value has tag ${tag}`);
    }
  }

  private text(off: number, len: number): string {
    const text = this.buffer.toString('utf8', off, off + len);
    return text.includes('\ufffd') ? textOfBytes(this.buffer.subarray(off, off + len)) : text;
  }

  /**
   * Writes the value's payload to `at`, what it refers to into scratch memory, and returns the tag. Throws
   * UnwritableError when there is no room for it, or it is no value.
   */
  write(at: number, value: Value | Utf8): number {
    this.taken = 0;
    this.isError = value instanceof ValueError;
    this.depth = 0;
    return this.put(at, value);
  }

  private put(at: number, value: Value | Utf8): number {
    this.renew();
    if (value === undefined) return this.plain(at, Tag.missing, 0n);
    if (value === null) return this.plain(at, Tag.null, 0n);
    switch (typeof value) {
      case 'boolean':
        return this.plain(at, Tag.bool, value ? 1n : 0n);
      case 'bigint':
        if (BigInt.asIntN(64, value) !== value) throw new UnwritableError(`${value} is beyond 64 bits`);
        return this.plain(at, Tag.i64, value);
      case 'number':
        this.data.setFloat64(at, value, true);
        return Tag.f64;
      case 'string':
        return this.span(at, Tag.str, bytesOfText(value));
      case 'object':
        break;
      default:
        throw new UnwritableError(`a ${typeof value} is no value`);
    }
    if (value instanceof Uint8Array) return this.span(at, Tag.bytes, value);
    if (value instanceof Utf8) return this.span(at, Tag.str, value.bytes);
    if (value instanceof Instant) return this.plain(at, Tag.time, timePayload(value));
    if (value instanceof ValueError) return this.span(at, Tag.error, utf8.encode(value.message));
    if (++this.depth > deepest) throw new UnwritableError(`a value is nested deeper than ${deepest} levels`);
    const tag = Array.isArray(value) ? this.array(at, value) : this.object(at, value);
    this.depth--;
    return tag;
  }

  private array(at: number, items: readonly Value[]): number {
    const off = this.take(items.length * slotLayout.size);
    // With an index, since a list may have holes.
    for (let i = 0; i < items.length; i++) {
      const slot = off + i * slotLayout.size;
      const tag = this.put(slot, items[i]);
      this.data.setBigUint64(slot + slotLayout.at.tag, BigInt(tag), true);
    }
    return this.head(at, Tag.array, off, items.length);
  }

  private object(at: number, value: { [key: string]: Value }): number {
    const members = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => ({ key: utf8.encode(key), item }))
      .sort((a, b) => Buffer.compare(a.key, b.key));
    const off = this.take(members.length * memberLayout.size);
    members.forEach(({ key, item }, i) => {
      const member = off + i * memberLayout.size;
      const keyOff = this.copy(key);
      const tag = this.put(member, item);
      this.data.setUint32(member + memberLayout.at.tag, tag, true);
      this.data.setUint32(member + memberLayout.at.keyLen, key.length, true);
      this.data.setBigUint64(member + memberLayout.at.keyOff, BigInt(keyOff), true);
    });
    return this.head(at, Tag.object, off, members.length);
  }

  private plain(at: number, tag: number, payload: bigint): number {
    this.data.setBigInt64(at, payload, true);
    return tag;
  }

  private span(at: number, tag: number, bytes: Uint8Array): number {
    return this.head(at, tag, this.copy(bytes), bytes.length);
  }

  private head(at: number, tag: number, off: number, count: number): number {
    this.data.setUint32(at, off, true);
    this.data.setUint32(at + 4, count, true);
    return tag;
  }

  private copy(bytes: Uint8Array): number {
    const off = this.take(bytes.length);
    this.buffer.set(bytes, off);
    return off;
  }

  /** Length of the longest value that can be written. */
  get longest(): number {
    return this.maxBytes;
  }

  /** Scratch bytes for a value; 0 when there is no room. */
  reserve(size: number): number {
    const off = this.alloc(size, true) >>> 0;
    this.renew();
    return off;
  }

  private take(size: number): number {
    this.taken += size;
    if (this.taken > this.maxBytes && !this.isError) {
      throw new UnwritableError(`the result is longer than a value may be: ${this.maxBytes} bytes (maxValueBytes)`);
    }
    const off = this.alloc(size, !this.isError) >>> 0;
    if (off === 0)
      throw new UnwritableError('memory is exhausted, or the values computed for one batch of rows take too much');
    this.renew();
    return off;
  }
}
