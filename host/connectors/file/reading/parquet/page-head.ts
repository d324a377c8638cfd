/** Heads of the pages of a Parquet file, in the compact protocol of Thrift. */

type Struct = Map<number, number | boolean | Struct>;

const mostDepth = 8;
/** Bytes of the longest number; the library makes numbers of all bytes that it finds. */
const mostDigits = 10;
const Kind = {
  stop: 0,
  yes: 1,
  no: 2,
  byte: 3,
  short: 4,
  integer: 5,
  long: 6,
  double: 7,
  binary: 8,
  struct: 12,
} as const;

export const Page = { data: 0, dictionary: 2, data2: 3 } as const;

export class PageHead {
  readonly type: number;
  readonly unpacked: number;
  readonly packed: number;
  readonly values: number;
  readonly encoding: number;
  /** Of the second version. */
  readonly nulls: number = 0;
  readonly definitionBytes: number = 0;
  readonly repetitionBytes: number = 0;
  readonly isPacked: boolean = true;
  /** Place behind the head. */
  readonly end: number;

  /** Throws for what is none, and when a number is missing: the library takes it for one all the same. */
  constructor(bytes: Buffer, at: number) {
    const reader = new StructReader(bytes, at);
    const head = reader.struct(0);
    this.end = reader.at;
    this.type = number(head, 1);
    this.unpacked = number(head, 2);
    this.packed = number(head, 3);
    const own = head.get(fieldOf(this.type));
    if (!(own instanceof Map)) throw damaged();
    this.values = number(own, 1);
    this.encoding = number(own, this.type === Page.data2 ? 4 : 2);
    if (this.type !== Page.data2) return;
    this.nulls = number(own, 2);
    this.definitionBytes = number(own, 5);
    this.repetitionBytes = number(own, 6);
    this.isPacked = own.get(7) !== false;
  }
}

/** Field of the head of a page of this type. */
function fieldOf(type: number): number {
  if (type === Page.data) return 5;
  if (type === Page.dictionary) return 7;
  if (type === Page.data2) return 8;
  throw new Error(`a page is of the unknown type ${type}`);
}

const damaged = () => new Error('the head of a page is damaged');

function number(struct: Struct, field: number): number {
  const value = struct.get(field);
  if (typeof value !== 'number') throw damaged();
  return value;
}

/** A number of 32 bits, as it stands, and the place behind it. */
export function varint(bytes: Buffer, from: number): [value: number, end: number] {
  let value = 0;
  for (let at = from, shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    if (byte === undefined) throw new Error('a page is cut off');
    if (at > from + mostDigits) throw damaged();
    value |= (byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
}

class StructReader {
  constructor(
    readonly bytes: Buffer,
    public at: number,
  ) {}

  struct(depth: number): Struct {
    if (depth > mostDepth) throw damaged();
    const fields: Struct = new Map();
    for (let id = 0; ; ) {
      const head = this.#byte();
      const kind = head & 15;
      if (kind === Kind.stop) return fields;
      id = head >> 4 === 0 ? this.#integer() : id + (head >> 4);
      fields.set(id, this.#value(kind, depth));
    }
  }

  /** True for a field whose value does not matter. */
  #value(kind: number, depth: number): number | boolean | Struct {
    switch (kind) {
      case Kind.yes:
      case Kind.no:
        return kind === Kind.yes;
      case Kind.byte:
        this.#byte();
        return true;
      case Kind.short:
      case Kind.integer:
        return this.#integer();
      case Kind.long:
        this.#varint();
        return true;
      case Kind.double:
        this.at += 8;
        return true;
      case Kind.binary: {
        const length = this.#varint() >>> 0;
        this.at += length;
        return true;
      }
      case Kind.struct:
        return this.struct(depth + 1);
      default:
        throw damaged();
    }
  }

  #byte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw new Error('a page is cut off');
    return byte;
  }

  #varint(): number {
    const [value, end] = varint(this.bytes, this.at);
    this.at = end;
    return value;
  }

  #integer(): number {
    const value = this.#varint();
    return (value >>> 1) ^ -(value & 1);
  }
}
