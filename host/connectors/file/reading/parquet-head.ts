/** Heads of the pages of a Parquet file, in the compact protocol of Thrift. */

type Struct = Map<number, number | Struct>;

const mostDepth = 8;
const Kind = { stop: 0, yes: 1, no: 2, byte: 3, double: 7, binary: 8, struct: 12 } as const;

export class PageHead {
  readonly type: number;
  readonly unpacked: number;
  readonly packed: number;
  readonly values: number;
  readonly encoding: number;
  /** Of the second version. */
  readonly nulls: number;
  readonly definitionBytes: number;
  readonly repetitionBytes: number;
  readonly isPacked: boolean;
  /** Place behind the head. */
  readonly end: number;

  /** Throws for what is none. */
  constructor(bytes: Buffer, at: number) {
    const reader = new StructReader(bytes, at);
    const head = reader.struct(0);
    this.end = reader.at;
    this.type = number(head, 1);
    this.unpacked = number(head, 2);
    this.packed = number(head, 3);
    const second = head.get(8);
    const own = second ?? head.get(5) ?? head.get(7);
    const page: Struct = own instanceof Map ? own : new Map();
    this.values = number(page, 1);
    this.encoding = number(page, second === undefined ? 2 : 4);
    this.nulls = number(page, 2);
    this.definitionBytes = number(page, 5);
    this.repetitionBytes = number(page, 6);
    this.isPacked = page.get(7) !== 0;
  }
}

function number(struct: Struct, field: number): number {
  const value = struct.get(field);
  return typeof value === 'number' ? value : 0;
}

/** A number of 32 bits, as it stands, and the place behind it. */
export function varint(bytes: Buffer, from: number): [value: number, end: number] {
  let value = 0;
  for (let at = from, shift = 0; ; shift += 7) {
    const byte = bytes[at++];
    if (byte === undefined) throw new Error('a page is cut off');
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
    if (depth > mostDepth) throw new Error('the head of a page is damaged');
    const fields: Struct = new Map();
    for (let id = 0; ; ) {
      const head = this.#byte();
      const kind = head & 15;
      if (kind === Kind.stop) return fields;
      id = head >> 4 === 0 ? this.#integer() : id + (head >> 4);
      fields.set(id, this.#value(kind, depth));
    }
  }

  #value(kind: number, depth: number): number | Struct {
    switch (kind) {
      case Kind.yes:
        return 1;
      case Kind.no:
        return 0;
      case Kind.byte:
        return this.#byte();
      case 4:
      case 5:
      case 6:
        return this.#integer();
      case Kind.double:
        this.at += 8;
        return 0;
      case Kind.binary:
        this.at += this.#varint() >>> 0;
        return 0;
      case Kind.struct:
        return this.struct(depth + 1);
      default:
        throw new Error('the head of a page is damaged');
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
