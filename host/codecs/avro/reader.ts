/**
 * Values of Avro as JSON: a schema becomes functions that read the bytes and write JSON, without a value in between.
 * Integers keep all digits, bytes are base64; what logical types stand for is written in its usual form.
 */

import { shortest } from '../../base/bytes/short-floats.js';
import { JsonWriter, maxDepth } from '../json-writer.js';
import { dateText, instantOf, timeOfDay, uuidText } from '../value-text.js';
import { LogicalType, shapeOf, type Type } from './schema.js';

const openObject = 0x7b;
const closeObject = 0x7d;
const openList = 0x5b;
const closeList = 0x5d;
const colon = 0x3a;
/** Bytes of a number that fits into 53 bits. */
const shortNumber = 7;
const longestNumber = 10;
/** Most elements of a list that take no bytes. */
const mostEmpty = 10_000;
/** Longest decimal, bytes. */
const maxDecimalBytes = 128;

const perSecond = { millis: 1000n, micros: 1_000_000n, nanos: 1_000_000_000n } as const;

/** The place in a message, and what is written of it. */
export class Cursor {
  readonly out = new JsonWriter();
  bytes: Uint8Array = new Uint8Array();
  view = new DataView(this.bytes.buffer);
  at = 0;
  depth = 0;

  begin(message: Uint8Array, at: number): void {
    this.bytes = message;
    this.view = new DataView(message.buffer, message.byteOffset, message.length);
    this.at = at;
    this.depth = 0;
    this.out.begin();
  }

  /** Place of so many bytes, which are behind it then. */
  take(size: number): number {
    const at = this.at;
    if (size < 0 || size > this.bytes.length - at) throw new Error('it ends in the middle of a value');
    this.at = at + size;
    return at;
  }

  /** Reads an integer: a number if it is safe, otherwise a bigint. */
  long(): number | bigint {
    let value = 0;
    let unit = 1;
    for (let i = 0; i < shortNumber; i++) {
      const byte = this.bytes[this.take(1)] as number;
      value += (byte & 127) * unit;
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      unit *= 128;
    }
    return this.#large(BigInt(value));
  }

  #large(low: bigint): bigint {
    let value = low;
    for (let i = shortNumber; i < longestNumber; i++) {
      const byte = this.bytes[this.take(1)] as number;
      value |= BigInt(byte & 127) << BigInt(7 * i);
      if (byte < 128) {
        if (value >> 64n !== 0n) break;
        return value & 1n ? -((value + 1n) >> 1n) : value >> 1n;
      }
    }
    throw new Error('it has an integer of more than 64 bits');
  }

  /** Reads a length. */
  size(): number {
    const size = Number(this.long());
    if (size < 0) throw new Error('it has a negative length');
    return size;
  }

  enter(): void {
    if (++this.depth > maxDepth) throw new Error(`it is nested deeper than ${maxDepth} levels`);
  }
}

export type Read = (cursor: Cursor) => void;

/** Makes the function that reads values of the type. */
export function readerOf(type: Type): Read {
  return new Readers().of(type);
}

class Readers {
  /** Functions of records, which may hold themselves. */
  readonly #known = new Map<Type, Read>();

  of(type: Type): Read {
    if (type instanceof LogicalType) return this.#logical(type);
    const shape = shapeOf(type);
    switch (shape.typeName) {
      case 'record':
      case 'error':
        return this.#record(type);
      case 'array':
        return list(this.of(shape.itemsType), isEmpty(shape.itemsType));
      case 'map':
        return map(this.of(shape.valuesType));
      case 'union:wrapped':
        return this.#union(shape.types);
      case 'enum':
        return symbol(shape.symbols);
      case 'fixed':
        return (cursor) => {
          const at = cursor.take(shape.size);
          cursor.out.base64(cursor.bytes, at, at + shape.size);
        };
      default:
        return primitive(shape.typeName);
    }
  }

  #record(type: Type): Read {
    const known = this.#known.get(type);
    if (known !== undefined) return known;
    const fields: { readonly name: string; readonly read: Read }[] = [];
    const read: Read = (cursor) => {
      const { out } = cursor;
      cursor.enter();
      out.sign(openObject);
      for (const field of fields) {
        out.raw(field.name);
        field.read(cursor);
      }
      out.sign(closeObject);
      cursor.depth--;
    };
    this.#known.set(type, read);
    shapeOf(type).fields.forEach(({ name, type: own }, i) => {
      fields.push({ name: `${i > 0 ? ',' : ''}"${name}":`, read: this.of(own) });
    });
    return read;
  }

  #union(types: readonly Type[]): Read {
    const reads = types.map((type) => this.of(type));
    return (cursor) => {
      const index = Number(cursor.long());
      const read = reads[index];
      if (read === undefined) throw new Error(`it has type ${index} of a union of ${reads.length}`);
      read(cursor);
    };
  }

  #logical(type: LogicalType): Read {
    const { logical, decimal, underlyingType } = type;
    const { size } = shapeOf(underlyingType);
    const unit = perSecond[(logical.split('-').at(-1) ?? '') as keyof typeof perSecond];
    switch (logical) {
      case 'decimal':
        return (cursor) => cursor.out.raw(decimalText(bytesOf(cursor, size), decimal.scale));
      case 'uuid':
        if (size === undefined) return this.of(underlyingType);
        return (cursor) => cursor.out.text(uuidText(bytesOf(cursor, size)));
      case 'date':
        return (cursor) => cursor.out.text(dateText(BigInt(cursor.long())));
      case 'time-millis':
      case 'time-micros':
        return (cursor) => cursor.out.text(timeOfDay(BigInt(cursor.long()), unit));
      case 'timestamp-millis':
        return this.of(underlyingType);
      case 'timestamp-micros':
      case 'timestamp-nanos':
        return (cursor) => cursor.out.text(instantOf(BigInt(cursor.long()), unit));
      case 'duration':
        return duration;
      default:
        return (cursor) => cursor.out.text(instantOf(BigInt(cursor.long()), unit).slice(0, -1));
    }
  }
}

function primitive(name: string): Read {
  switch (name) {
    case 'null':
      return ({ out }) => out.raw('null');
    case 'boolean':
      return (cursor) => cursor.out.raw(truth(cursor.bytes[cursor.take(1)] as number));
    case 'int':
    case 'long':
      return (cursor) => cursor.out.raw(String(cursor.long()));
    case 'float':
      return (cursor) => cursor.out.number(shortest(cursor.view.getFloat32(cursor.take(4), true)));
    case 'double':
      return (cursor) => cursor.out.number(cursor.view.getFloat64(cursor.take(8), true));
    case 'bytes':
      return (cursor) => {
        const size = cursor.size();
        const at = cursor.take(size);
        cursor.out.base64(cursor.bytes, at, at + size);
      };
    case 'string':
      return text;
    default:
      throw new Error(`the type ${name} is not known`);
  }
}

function truth(byte: number): string {
  if (byte > 1) throw new Error(`it has a boolean that is ${byte}`);
  return byte === 1 ? 'true' : 'false';
}

function text(cursor: Cursor): void {
  const size = cursor.size();
  const at = cursor.take(size);
  cursor.out.utf8(cursor.bytes, at, at + size);
}

function symbol(symbols: readonly string[]): Read {
  return (cursor) => {
    const index = Number(cursor.long());
    const name = symbols[index];
    if (name === undefined) throw new Error(`it has symbol ${index} of an enum of ${symbols.length}`);
    cursor.out.text(name);
  };
}

/** Number of elements of the next block; 0 at the end. */
function block(cursor: Cursor, takesNothing: boolean): number {
  const count = Number(cursor.long());
  // Then the size of the block follows.
  if (count < 0) cursor.size();
  const most = takesNothing ? mostEmpty : cursor.bytes.length - cursor.at;
  if (Math.abs(count) > most) throw new Error('it ends in the middle of a list');
  return Math.abs(count);
}

function list(read: Read, takesNothing: boolean): Read {
  return (cursor) => {
    const { out } = cursor;
    cursor.enter();
    out.sign(openList);
    let index = 0;
    for (let left = block(cursor, takesNothing); left > 0; left = block(cursor, takesNothing)) {
      for (; left > 0; left--) {
        out.next(index++);
        read(cursor);
      }
      if (takesNothing && index > mostEmpty) throw new Error('a list has too many elements without bytes');
    }
    out.sign(closeList);
    cursor.depth--;
  };
}

function map(read: Read): Read {
  return (cursor) => {
    const { out } = cursor;
    cursor.enter();
    out.sign(openObject);
    let index = 0;
    for (let left = block(cursor, false); left > 0; left = block(cursor, false)) {
      for (; left > 0; left--) {
        out.next(index++);
        text(cursor);
        out.sign(colon);
        read(cursor);
      }
    }
    out.sign(closeObject);
    cursor.depth--;
  };
}

/**
 * Whether values of the type take no bytes.
 * @param known types that were looked at; one within itself counts as no empty one
 */
function isEmpty(type: Type, known = new Map<Type, boolean>()): boolean {
  const shape = shapeOf(type instanceof LogicalType ? type.underlyingType : type);
  if (shape.typeName === 'record') {
    const found = known.get(type);
    if (found !== undefined) return found;
    known.set(type, false);
    const isOne = shape.fields.every((field) => isEmpty(field.type, known));
    known.set(type, isOne);
    return isOne;
  }
  return shape.typeName === 'null' || (shape.typeName === 'fixed' && shape.size === 0);
}

/** Bytes of a fixed size, or of the size that stands before them. */
function bytesOf(cursor: Cursor, fixed: number | undefined): Uint8Array {
  const size = fixed ?? cursor.size();
  const at = cursor.take(size);
  return cursor.bytes.subarray(at, at + size);
}

function decimalText(bytes: Uint8Array, scale: number): string {
  if (bytes.length > maxDecimalBytes) throw new Error(`it has a decimal of more than ${maxDecimalBytes} bytes`);
  if (bytes.length === 0) return '0';
  const value = BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  const whole = `${value < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}`;
  return scale === 0 ? whole : `${whole}.${digits.slice(-scale)}`;
}

function duration(cursor: Cursor): void {
  const { view, out } = cursor;
  const at = cursor.take(12);
  const [months, days, millis] = [0, 4, 8].map((place) => view.getUint32(at + place, true));
  out.raw(`{"months":${months},"days":${days},"millis":${millis}}`);
}
