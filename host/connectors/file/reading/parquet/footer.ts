/** Walks through the footer of a Parquet file before it is read: the library has room for lists before their items. */

const mostDepth = 32;
const Kind = { stop: 0, no: 2, byte: 3, short: 4, long: 6, double: 7, binary: 8, list: 9, struct: 12 } as const;
const longList = 15;

/** Throws when the footer does not have what it says. */
export function checkFooter(bytes: Uint8Array): void {
  new Walk(bytes).struct(0);
}

class Walk {
  #at = 0;

  constructor(readonly bytes: Uint8Array) {}

  struct(depth: number): void {
    if (depth > mostDepth) throw new Error('it is nested too deep');
    for (;;) {
      const head = this.#byte();
      const kind = head & 15;
      if (kind === Kind.stop) return;
      if (head >> 4 === 0) this.#varint();
      // Truth values of fields are in the kind.
      if (kind > Kind.no) this.#skip(kind, depth);
    }
  }

  #skip(kind: number, depth: number): void {
    if (kind <= Kind.byte) this.#byte();
    else if (kind >= Kind.short && kind <= Kind.long) this.#varint();
    else if (kind === Kind.double) this.#pass(8);
    else if (kind === Kind.binary) this.#pass(this.#varint());
    else if (kind === Kind.list) this.#list(depth);
    else if (kind === Kind.struct) this.struct(depth + 1);
    else throw new Error(`it has a value of the unknown kind ${kind}`);
  }

  #list(depth: number): void {
    if (depth > mostDepth) throw new Error('it is nested too deep');
    const head = this.#byte();
    const size = head >> 4 === longList ? this.#varint() : head >> 4;
    // An item has a byte at least.
    if (size > this.bytes.length - this.#at) throw new Error(`it has a list of ${size} items`);
    for (let i = 0; i < size; i++) this.#skip(head & 15, depth + 1);
  }

  #pass(bytes: number): void {
    if (bytes > this.bytes.length - this.#at) throw new Error(`it has a value of ${bytes} bytes`);
    this.#at += bytes;
  }

  #byte(): number {
    const byte = this.bytes[this.#at++];
    if (byte === undefined) throw new Error('its footer is cut off');
    return byte;
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#byte();
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  }
}
