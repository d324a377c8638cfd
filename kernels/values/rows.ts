/** Reads messages in the engine's own binary form (assembly/json/binary-form.ts) without making objects of them. */
import { Tag } from '../gen/layouts.js';
import { textOfBytes } from './text.js';
import { Instant, instantOf, timePayload, type Value, ValueError } from './value.js';

const headBytes = 5;

/** Calls back with the place of each row of a message, which is a row or a list of rows. */
export function eachRow(message: Buffer, take: (at: number) => void): void {
  if (message[0] === Tag.object) {
    take(0);
    return;
  }
  if (message[0] !== Tag.array) return;
  let at = headBytes;
  for (let left = message.readUInt32LE(1); left > 0; left--) {
    if (message[at] === Tag.object) take(at);
    at = valueEnd(message, at);
  }
}

/** Goes over the members of a row, names ascending by their bytes. */
export class RowCursor {
  bytes: Buffer = Buffer.alloc(0);
  /** Bounds of the name of the member. */
  keyFrom = 0;
  keyTo = 0;
  /** Place of its value, which begins with the tag. */
  at = 0;
  tag: number = Tag.missing;
  #left = 0;
  #next = 0;

  /** Begins with the row at a place that `eachRow` has given. */
  open(bytes: Buffer, at: number): void {
    this.bytes = bytes;
    this.#left = bytes.readUInt32LE(at + 1);
    this.#next = at + headBytes;
  }

  /** Goes to the next member; false when there is none. */
  next(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    const { bytes } = this;
    this.keyFrom = this.#next + 4;
    this.keyTo = this.keyFrom + bytes.readUInt32LE(this.#next);
    this.at = this.keyTo;
    this.tag = bytes[this.at]!;
    this.#next = valueEnd(bytes, this.at);
    return true;
  }
}

/** Bytes of the text at a place, a view. */
export function textAt(bytes: Buffer, at: number): Buffer {
  return bytes.subarray(at + headBytes, at + headBytes + bytes.readUInt32LE(at + 1));
}

/** The value at a place. Bytes are copied. */
export function valueAt(bytes: Buffer, at: number): Value {
  switch (bytes[at]) {
    case Tag.null:
      return null;
    case Tag.bool:
      return bytes[at + 1] !== 0;
    case Tag.i64:
      return bytes.readBigInt64LE(at + 1);
    case Tag.f64:
      return bytes.readDoubleLE(at + 1);
    case Tag.time:
      return instantOf(bytes.readBigInt64LE(at + 1));
    case Tag.bytes:
      return new Uint8Array(textAt(bytes, at));
    case Tag.str:
    case Tag.error:
      return textOfBytes(textAt(bytes, at));
    case Tag.array: {
      const items: Value[] = [];
      let next = at + headBytes;
      for (let left = bytes.readUInt32LE(at + 1); left > 0; left--) {
        items.push(valueAt(bytes, next));
        next = valueEnd(bytes, next);
      }
      return items;
    }
    case Tag.object:
      return rowAt(bytes, at);
    default:
      return undefined;
  }
}

/** The row at a place as an object. */
export function rowAt(bytes: Buffer, at: number): { [key: string]: Value } {
  const row: { [key: string]: Value } = {};
  const members = new RowCursor();
  members.open(bytes, at);
  while (members.next()) {
    const value = valueAt(bytes, members.at);
    const key = bytes.toString('utf8', members.keyFrom, members.keyTo);
    Object.defineProperty(row, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return row;
}

/** The place behind a value. */
export function valueEnd(bytes: Buffer, at: number): number {
  const tag = bytes[at]!;
  if (tag <= Tag.null) return at + 1;
  if (tag === Tag.bool) return at + 2;
  if (tag === Tag.i64 || tag === Tag.f64 || tag === Tag.time) return at + 9;
  const count = bytes.readUInt32LE(at + 1);
  let end = at + headBytes;
  if (tag !== Tag.array && tag !== Tag.object) return end + count;
  for (let left = count; left > 0; left--) {
    if (tag === Tag.object) end += 4 + bytes.readUInt32LE(end);
    end = valueEnd(bytes, end);
  }
  return end;
}

/** Bytes of a value in the engine's own form. Names in objects may have any order. */
export function rowBytes(value: Value): Buffer {
  if (value === undefined || value === null) return Buffer.from([Tag.null]);
  if (typeof value === 'boolean') return Buffer.from([Tag.bool, value ? 1 : 0]);
  if (typeof value === 'number' || typeof value === 'bigint') {
    const bytes = Buffer.allocUnsafe(9);
    bytes[0] = typeof value === 'number' ? Tag.f64 : Tag.i64;
    if (typeof value === 'number') bytes.writeDoubleLE(value, 1);
    else bytes.writeBigInt64LE(BigInt.asIntN(64, value), 1);
    return bytes;
  }
  if (typeof value === 'string') return withCount(Tag.str, Buffer.byteLength(value), [Buffer.from(value)]);
  if (value instanceof Uint8Array) return withCount(Tag.bytes, value.length, [value]);
  if (value instanceof Instant) {
    const bytes = Buffer.allocUnsafe(9);
    bytes[0] = Tag.time;
    bytes.writeBigInt64LE(timePayload(value), 1);
    return bytes;
  }
  if (Array.isArray(value)) return withCount(Tag.array, value.length, value.map(rowBytes));
  if (value instanceof ValueError) return rowBytes(null);
  const members = Object.entries(value).flatMap(([name, member]) => {
    const key = Buffer.from(name);
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(key.length, 0);
    return [length, key, rowBytes(member)];
  });
  return withCount(Tag.object, Object.keys(value).length, members);
}

function withCount(tag: number, count: number, parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.allocUnsafe(headBytes);
  head[0] = tag;
  head.writeUInt32LE(count, 1);
  return Buffer.concat([head, ...parts]);
}
