/** Messages in the wire format of protobuf. */

import { isObject } from '../../../base/structures/is-object.js';
import {
  base64In,
  boolIn,
  checkDepth,
  enumIn,
  type Given,
  keyIn,
  listIn,
  membersOf,
  numberIn,
  objectIn,
  textIn,
  wholeIn,
} from './arguments.js';
import type { Field, Message } from './types.js';

const varint = 0;
const fixed64 = 1;
const delimited = 2;
const fixed32 = 5;
/** Fields of google.protobuf.Value. */
const Kind = { null: 1, number: 2, string: 3, bool: 4, struct: 5, list: 6 } as const;

/** Writes into one buffer that grows; what was written last is given out as a copy. */
export class WireWriter {
  #bytes = Buffer.allocUnsafe(1024);
  #at = 0;

  /** Bytes of a message with these fields, behind room for `head` bytes. */
  write(given: Given, head: number): Buffer {
    this.#at = head;
    this.#message(given, 0);
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  #message(given: Given, depth: number): void {
    checkDepth(depth);
    for (const [field, value] of given) this.#field(field, value, depth);
  }

  #field(field: Field, value: unknown, depth: number): void {
    const { key } = field;
    if (key !== undefined) {
      for (const [name, one] of Object.entries(objectIn(value, field))) {
        this.#head(field.number, delimited);
        this.#sized(() => {
          const keyField: Field = {
            ...field,
            name: `a key of ${field.name}`,
            number: 1,
            type: key,
            message: undefined,
          };
          this.#scalar(keyField, keyIn(name, key));
          if (one !== null) this.#single({ ...field, number: 2 }, one, depth);
        });
      }
    } else if (field.repeated === 'packed') {
      const values = listIn(value);
      if (values.length === 0) return;
      this.#head(field.number, delimited);
      this.#sized(() => {
        for (const one of values) this.#payload(field, one);
      });
    } else if (field.repeated === 'single') {
      for (const one of listIn(value)) this.#single(field, one, depth);
    } else this.#single(field, value, depth);
  }

  #single(field: Field, value: unknown, depth: number): void {
    const { message } = field;
    if (message === undefined) {
      this.#scalar(field, value);
      return;
    }
    this.#head(field.number, delimited);
    this.#sized(() => this.#content(message, field, value, depth + 1));
  }

  #content(message: Message, field: Field, value: unknown, depth: number): void {
    switch (message.stands) {
      case 'wrapper':
        if (value !== null) this.#scalar(message.fields[0]!, value);
        break;
      case 'struct':
        this.#struct(message, objectIn(value, field), depth);
        break;
      case 'list':
        for (const one of listIn(value)) this.#nested(message.fields[0]!, one, depth);
        break;
      case 'value':
        this.#value(message, value, depth);
        break;
      default:
        this.#message(membersOf(message.fields, objectIn(value, field)), depth);
    }
  }

  /** A message of a field, of any value of JSON. */
  #nested(field: Field, value: unknown, depth: number): void {
    this.#head(field.number, delimited);
    this.#sized(() => this.#value(field.message!, value, depth + 1));
  }

  #struct(message: Message, object: Readonly<Record<string, unknown>>, depth: number): void {
    const entries = message.fields[0]!;
    for (const [name, one] of Object.entries(object)) {
      this.#head(entries.number, delimited);
      this.#sized(() => {
        this.#head(1, delimited);
        this.#text(name);
        this.#nested({ ...entries, number: 2 }, one, depth);
      });
    }
  }

  #value(message: Message, value: unknown, depth: number): void {
    checkDepth(depth);
    const fieldOf = (kind: number) => message.byNumber.get(kind)!;
    if (value === null) {
      this.#head(fieldOf(Kind.null).number, varint);
      this.#varint(0n);
    } else if (typeof value === 'number' || typeof value === 'bigint') this.#scalar(fieldOf(Kind.number), value);
    else if (typeof value === 'string') this.#scalar(fieldOf(Kind.string), value);
    else if (typeof value === 'boolean') this.#scalar(fieldOf(Kind.bool), value);
    else {
      const field = fieldOf(isObject(value) ? Kind.struct : Kind.list);
      this.#head(field.number, delimited);
      this.#sized(() => this.#content(field.message!, field, value, depth + 1));
    }
  }

  #scalar(field: Field, value: unknown): void {
    this.#head(field.number, wireTypes[field.type] ?? varint);
    this.#payload(field, value);
  }

  #payload(field: Field, value: unknown): void {
    const { type } = field;
    switch (type) {
      case 'string':
        this.#text(textIn(value));
        break;
      case 'bytes': {
        const bytes = Buffer.from(base64In(value, field), 'base64');
        this.#varint(BigInt(bytes.length));
        this.#room(bytes.length);
        this.#at += bytes.copy(this.#bytes, this.#at);
        break;
      }
      case 'bool':
        this.#small(boolIn(value, field) ? 1 : 0);
        break;
      case 'enum':
        this.#signed(enumIn(value, field));
        break;
      case 'double':
        this.#room(8);
        this.#at = this.#bytes.writeDoubleLE(numberIn(value, field), this.#at);
        break;
      case 'float':
        this.#room(4);
        this.#at = this.#bytes.writeFloatLE(numberIn(value, field), this.#at);
        break;
      default:
        this.#whole(type, wholeIn(value, field));
    }
  }

  #whole(type: string, number: number | bigint): void {
    switch (type) {
      case 'fixed32':
      case 'sfixed32':
        this.#room(4);
        this.#at = this.#bytes.writeUInt32LE(Number(number) >>> 0, this.#at);
        break;
      case 'fixed64':
      case 'sfixed64':
        this.#room(8);
        this.#at = this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(number)), this.#at);
        break;
      case 'sint32':
      case 'sint64': {
        const value = BigInt(number);
        this.#varint(BigInt.asUintN(64, (value << 1n) ^ (value >> 63n)));
        break;
      }
      default:
        this.#signed(number);
    }
  }

  #signed(number: number | bigint): void {
    if (typeof number === 'number' && number >= 0 && number < 0x80000000) this.#small(number);
    else this.#varint(BigInt.asUintN(64, BigInt(number)));
  }

  #head(number: number, wire: number): void {
    this.#small(((number << 3) | wire) >>> 0);
  }

  #small(number: number): void {
    this.#room(5);
    let left = number;
    for (; left > 0x7f; left >>>= 7) this.#bytes[this.#at++] = (left & 0x7f) | 0x80;
    this.#bytes[this.#at++] = left;
  }

  #varint(number: bigint): void {
    this.#room(10);
    let left = number;
    for (; left > 0x7fn; left >>= 7n) this.#bytes[this.#at++] = Number(left & 0x7fn) | 0x80;
    this.#bytes[this.#at++] = Number(left);
  }

  #text(text: string): void {
    const length = Buffer.byteLength(text);
    this.#small(length);
    this.#room(length);
    this.#at += this.#bytes.write(text, this.#at);
  }

  /** What `write` writes, behind its length. */
  #sized(write: () => void): void {
    this.#room(1);
    const begin = ++this.#at;
    write();
    const length = this.#at - begin;
    const more = sizeOf(length) - 1;
    if (more > 0) {
      this.#room(more);
      this.#bytes.copyWithin(begin + more, begin, this.#at);
    }
    const end = this.#at + more;
    this.#at = begin - 1;
    this.#small(length);
    this.#at = end;
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

function sizeOf(length: number): number {
  let size = 1;
  for (let left = length >>> 7; left > 0; left >>>= 7) size++;
  return size;
}

const wireTypes: Readonly<Record<string, number>> = {
  double: fixed64,
  fixed64,
  sfixed64: fixed64,
  float: fixed32,
  fixed32,
  sfixed32: fixed32,
  string: delimited,
  bytes: delimited,
};
