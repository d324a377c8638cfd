/** Values of messages in the wire format of protobuf. */
import type { Value } from '../../../../kernels/values/value.js';
import { shortest } from '../../../base/bytes/short-floats.js';
import { refuse } from '../faults.js';
import { wholeValue } from './json.js';
import type { Field, Message } from './types.js';

const maxDepth = 64;

/** The value that the message in these bytes is. Fields that are missing have their zero, as the peer's have. */
export function valueOfWire(message: Message, bytes: Buffer): Value {
  return new WireReader(bytes).value(message, bytes.length, 0);
}

type Members = Record<string, Value>;

class WireReader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  value(message: Message, end: number, depth: number): Value {
    const members = this.#message(message, end, depth);
    switch (message.stands) {
      case 'empty':
        return null;
      case 'wrapper':
        return members[message.fields[0]!.name] ?? null;
      case 'struct':
        return members.fields ?? {};
      case 'list':
        return members.values ?? [];
      case 'value': {
        const [given] = Object.entries(members);
        // The first field says that it is null.
        return given === undefined || given[0] === message.byNumber.get(1)?.name ? null : given[1];
      }
      default:
        return members;
    }
  }

  #message(message: Message, end: number, depth: number): Members {
    if (depth > maxDepth) throw refuse('the answer is nested too deeply');
    const members: Members = message.stands === 'value' ? {} : zeros(message);
    while (this.#at < end) {
      const head = this.#small();
      const field = message.byNumber.get(head >>> 3);
      if (field === undefined) this.#skip(head & 7, 0);
      else this.#field(field, head & 7, members, end, depth);
    }
    if (this.#at !== end) throw broken();
    return members;
  }

  #field(field: Field, wire: number, members: Members, outer: number, depth: number): void {
    const { name } = field;
    if (field.key !== undefined) {
      const end = this.#end(wire, outer);
      this.#entry(field, end, members[name] as Members, depth);
    } else if (field.repeated !== undefined) {
      const list = members[name] as Value[];
      if (wire !== 2 || wireOf(field) === 2) list.push(this.#single(field, wire, outer, depth));
      else for (const end = this.#end(wire, outer); this.#at < end; ) list.push(this.#scalar(field, wireOf(field)));
    } else set(members, name, this.#single(field, wire, outer, depth));
  }

  #entry(field: Field, end: number, map: Members, depth: number): void {
    let key: Value = field.key === 'string' ? '' : field.key === 'bool' ? false : 0n;
    let value: Value = field.message === undefined ? zeroOf(field.type) : null;
    while (this.#at < end) {
      const head = this.#small();
      if (head >>> 3 === 1) key = this.#scalar({ ...field, type: field.key ?? 'string', message: undefined }, head & 7);
      else if (head >>> 3 === 2) value = this.#single(field, head & 7, end, depth);
      else this.#skip(head & 7, 0);
    }
    if (this.#at !== end) throw broken();
    set(map, String(key), value);
  }

  #single(field: Field, wire: number, outer: number, depth: number): Value {
    if (field.message === undefined) return this.#scalar(field, wire);
    return this.value(field.message, this.#end(wire, outer), depth + 1);
  }

  #scalar(field: Field, wire: number): Value {
    const { type } = field;
    if (wire !== wireOf(field)) throw refuse(`the answer has another type of ${field.name}`);
    switch (type) {
      case 'string':
        return this.#slice().toString();
      case 'bytes':
        return Buffer.from(this.#slice());
      case 'bool':
        return this.#varint() !== 0n;
      case 'double':
        return this.bytes.readDoubleLE(this.#take(8));
      case 'float':
        return shortest(this.bytes.readFloatLE(this.#take(4)));
      case 'fixed32':
        return BigInt(this.bytes.readUInt32LE(this.#take(4)));
      case 'sfixed32':
        return BigInt(this.bytes.readInt32LE(this.#take(4)));
      case 'fixed64':
        return wholeValue(this.bytes.readBigUInt64LE(this.#take(8)));
      case 'sfixed64':
        return this.bytes.readBigInt64LE(this.#take(8));
      case 'uint32':
      case 'uint64':
        return wholeValue(this.#varint());
      case 'sint32':
      case 'sint64': {
        const value = this.#varint();
        return (value >> 1n) ^ -(value & 1n);
      }
      case 'int64':
        return BigInt.asIntN(64, this.#varint());
      default:
        return BigInt.asIntN(32, this.#varint());
    }
  }

  #slice(): Buffer {
    const size = this.#small();
    const at = this.#take(size);
    return this.bytes.subarray(at, at + size);
  }

  /** End of what has its length in front. */
  #end(wire: number, outer: number): number {
    if (wire !== 2) throw broken();
    const size = this.#small();
    const end = this.#at + size;
    if (end > outer) throw broken();
    return end;
  }

  #take(size: number): number {
    const at = this.#at;
    if (at + size > this.bytes.length) throw broken();
    this.#at += size;
    return at;
  }

  #small(): number {
    const number = this.#varint();
    if (number > 0xffffffffn) throw broken();
    return Number(number);
  }

  #varint(): bigint {
    let low = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.bytes[this.#take(1)]!;
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt(low);
    }
    let number = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      const byte = this.bytes[this.#take(1)]!;
      number |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, number);
    }
    throw broken();
  }

  #skip(wire: number, depth: number): void {
    if (depth > maxDepth) throw broken();
    switch (wire) {
      case 0:
        this.#varint();
        break;
      case 1:
        this.#take(8);
        break;
      case 2:
        this.#slice();
        break;
      case 3:
        for (let head = this.#small(); (head & 7) !== 4; head = this.#small()) this.#skip(head & 7, depth + 1);
        break;
      case 5:
        this.#take(4);
        break;
      default:
        throw broken();
    }
  }
}

/** A name like __proto__ is a member as others are. */
function set(members: Members, name: string, value: Value): void {
  if (name === '__proto__') {
    Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
  } else members[name] = value;
}

/** A message of which nothing has come yet. */
function zeros({ fields }: Message): Members {
  const members: Members = {};
  for (const field of fields) {
    const { name, key, repeated, presence, message, type } = field;
    if (key !== undefined) set(members, name, {});
    else if (repeated !== undefined) set(members, name, []);
    else if (presence !== true && message === undefined) set(members, name, zeroOf(type));
  }
  return members;
}

function zeroOf(type: string): Value {
  switch (type) {
    case 'string':
      return '';
    case 'bytes':
      return Buffer.alloc(0);
    case 'bool':
      return false;
    case 'double':
    case 'float':
      return 0;
    default:
      return 0n;
  }
}

function wireOf({ type, message }: Field): number {
  if (message !== undefined) return 2;
  switch (type) {
    case 'string':
    case 'bytes':
      return 2;
    case 'double':
    case 'fixed64':
    case 'sfixed64':
      return 1;
    case 'float':
    case 'fixed32':
    case 'sfixed32':
      return 5;
    default:
      return 0;
  }
}

function broken(): Error {
  return refuse('the answer is no message of its type');
}
