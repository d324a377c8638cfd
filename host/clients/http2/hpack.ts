/** Header fields of HTTP/2 as bytes and back (RFC 7541). */
import { huffmanText } from './huffman.js';
import { type HeaderField, staticTable } from './static-table.js';

/** Size that the table of a connection has unless the other side was told another one. */
const tableBytes = 4096;
const entryBytes = 32;

/**
 * Bytes of header fields. None goes into the table of the connection, so that the bytes of a request are good for all
 * later ones.
 */
export function headerBytes(fields: Iterable<HeaderField>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields) parts.push(Buffer.of(0), textBytes(name), textBytes(value));
  return Buffer.concat(parts);
}

function textBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([intBytes(bytes.length), bytes]);
}

/** A length of seven bits, or more behind them. */
function intBytes(value: number): Buffer {
  if (value < 127) return Buffer.of(value);
  const bytes = [127];
  let left = value - 127;
  for (; left > 127; left >>>= 7) bytes.push((left & 127) | 128);
  bytes.push(left);
  return Buffer.from(bytes);
}

/** Reads the header blocks of a connection, one after the other. */
export class HeaderDecoder {
  /** The newest entry first. */
  readonly #table: HeaderField[] = [];
  #bytes = 0;
  #limit = tableBytes;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** Throws for a block that breaks the rules; the connection can't be used any more then. */
  read(block: Buffer, most: number): Map<string, string> {
    this.#block = block;
    this.#at = 0;
    const fields = new Map<string, string>();
    let size = 0;
    while (this.#at < block.length) {
      const first = block[this.#at]!;
      if ((first & 0xe0) === 0x20) {
        this.#resize(this.#int(5));
        continue;
      }
      const [name, value] = this.#field(first);
      size += name.length + value.length;
      if (size > most) throw new Error(`the headers have more than ${most} bytes`);
      const former = fields.get(name);
      fields.set(name, former === undefined ? value : `${former}, ${value}`);
    }
    return fields;
  }

  #field(first: number): HeaderField {
    if ((first & 0x80) !== 0) return this.#entry(this.#int(7));
    const isKept = (first & 0x40) !== 0;
    const index = this.#int(isKept ? 6 : 4);
    const name = index === 0 ? this.#text() : this.#entry(index)[0];
    const field = [name, this.#text()] as const;
    if (isKept) this.#keep(field);
    return field;
  }

  #entry(index: number): HeaderField {
    const entry = staticTable[index - 1] ?? this.#table[index - 1 - staticTable.length];
    if (entry === undefined) throw new Error('a header is not in the table');
    return entry;
  }

  #keep(field: HeaderField): void {
    this.#table.unshift(field);
    this.#bytes += sizeOf(field);
    this.#trim();
  }

  #resize(size: number): void {
    if (size > tableBytes) throw new Error('the table of headers is larger than was agreed');
    this.#limit = size;
    this.#trim();
  }

  #trim(): void {
    while (this.#bytes > this.#limit) this.#bytes -= sizeOf(this.#table.pop()!);
  }

  #text(): string {
    const isCoded = (this.#byte(this.#at) & 0x80) !== 0;
    const size = this.#int(7);
    const end = this.#at + size;
    if (end > this.#block.length) throw new Error('a header ends too early');
    const bytes = this.#block.subarray(this.#at, end);
    this.#at = end;
    return isCoded ? huffmanText(bytes) : bytes.toString('latin1');
  }

  #int(bits: number): number {
    const most = (1 << bits) - 1;
    let value = this.#byte(this.#at++) & most;
    if (value < most) return value;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#byte(this.#at++);
      value += (byte & 127) << shift;
      if (byte < 128) return value;
    }
    throw new Error('a number in the headers is too large');
  }

  #byte(at: number): number {
    const byte = this.#block[at];
    if (byte === undefined) throw new Error('the headers end too early');
    return byte;
  }
}

function sizeOf([name, value]: HeaderField): number {
  return name.length + value.length + entryBytes;
}
