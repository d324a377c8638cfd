/**
 * Cuts CSV into records, each in the kernel's form `fields`: names and texts with their lengths. Fields may be quoted,
 * and hold delimiters, line feeds and doubled quotes then. Space before a field is left out, empty lines are no
 * records. A quote where none is due is text, so that one careless line costs no other.
 */

export interface CsvConf {
  /** The first record has the names of the columns. */
  hasHeader: boolean;
  /** Names of the columns; without any they are `cols0`, `cols1` … */
  columns?: readonly string[] | undefined;
  /** Text between fields; its first byte counts. */
  delimiter: string;
}

const lineFeed = 10;
const carriageReturn = 13;
const space = 32;
const tab = 9;
const quote = 34;
const comma = 44;
const lengthBytes = 4;
const nothing = Buffer.alloc(0);

/** Longest record: one that is longer most likely has a quote that is never closed. */
const mostBytes = 16 * 1024 * 1024;

export class CsvSplitter {
  readonly #delimiter: number;
  /** Names of the columns, as fields begin with them; undefined where they have none. */
  #names: Buffer[] | undefined;
  readonly #numbered: Buffer[] = [];
  #isHeaderDue: boolean;
  /** Begin of a record. */
  #rest: Buffer = nothing;
  /** No more comes. */
  #isLast = false;
  /** Fields of the record. */
  #out = nothing;
  #length = 0;
  /** Whether the field read last is the last one of its record. */
  #isLastField = false;

  constructor(
    { hasHeader, columns = [], delimiter }: CsvConf,
    private readonly exception: (reason: string) => void,
  ) {
    this.#delimiter = Buffer.from(delimiter)[0] ?? comma;
    this.#isHeaderDue = hasHeader;
    if (!hasHeader && columns.length > 0) this.#names = columns.map(nameOf);
  }

  *add(chunk: Buffer): Generator<Uint8Array> {
    yield* this.#records(this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]));
    if (this.#rest.length > mostBytes) {
      throw new Error(`a record has more than ${mostBytes} bytes: maybe a quote is not closed`);
    }
  }

  *end(): Generator<Uint8Array> {
    this.#isLast = true;
    yield* this.#records(this.#rest);
    if (this.#isHeaderDue) this.exception('it has no header');
  }

  *#records(text: Buffer): Generator<Uint8Array> {
    let from = 0;
    while (from < text.length) {
      const feed = text[from] === carriageReturn ? from + 1 : from;
      if (text[feed] === lineFeed) {
        from = feed + 1;
        continue;
      }
      const end = this.#isHeaderDue ? this.#header(text, from) : this.#record(text, from);
      if (end < 0) break;
      if (this.#length > 0) yield this.#out.subarray(0, this.#length);
      from = end;
    }
    // The chunk's memory is used again by the reader.
    this.#rest = from >= text.length ? nothing : Buffer.from(text.subarray(from));
  }

  /** Takes the names of the columns; returns where the next record begins, -1 when this one has no end yet. */
  #header(text: Buffer, from: number): number {
    const names: Buffer[] = [];
    let at = from;
    do {
      this.#length = 0;
      this.#room(text.length - at);
      at = this.#field(text, at);
      if (at < 0) return -1;
      names.push(nameOf(this.#out.toString('utf8', 0, this.#length)));
    } while (!this.#isLastField);
    this.#length = 0;
    this.#names = names;
    this.#isHeaderDue = false;
    return at;
  }

  #record(text: Buffer, from: number): number {
    const names = this.#names;
    let at = from;
    let column = 0;
    let known = 0;
    this.#length = 0;
    do {
      const name = names === undefined ? this.#numberedAt(column) : names[column];
      column++;
      // More fields than names: nobody can ask for them.
      const head = name === undefined ? 0 : name.length + lengthBytes;
      this.#room(head + text.length - at);
      if (name !== undefined) this.#out.set(name, known);
      this.#length = known + head;
      at = this.#field(text, at);
      if (at < 0) return -1;
      if (name === undefined) continue;
      writeLength(this.#out, known + head - lengthBytes, this.#length - known - head);
      known = this.#length;
    } while (!this.#isLastField);
    this.#length = known;
    return at;
  }

  #numberedAt(column: number): Buffer {
    this.#numbered[column] ??= nameOf(`cols${column}`);
    return this.#numbered[column];
  }

  /** Writes the field at a place; returns the place behind its delimiter or line feed, -1 when neither is there yet. */
  #field(text: Buffer, begin: number): number {
    const delimiter = this.#delimiter;
    const size = text.length;
    const out = this.#out;
    let at = begin;
    while (at < size && isBlank(text[at]!) && (text[at] !== delimiter || delimiter === space)) at++;
    if (text[at] === quote) {
      at = this.#quoted(text, at + 1);
      if (at < 0) return -1;
    }
    let length = this.#length;
    let byte = delimiter;
    for (; at < size; at++) {
      byte = text[at]!;
      if (byte === delimiter || byte === lineFeed) break;
      out[length++] = byte;
    }
    if (at >= size && !this.#isLast) return -1;
    this.#isLastField = at >= size || byte === lineFeed;
    if (this.#isLastField && at > begin && text[at - 1] === carriageReturn) length--;
    this.#length = length;
    return at + 1;
  }

  /** Writes the text up to the closing quote; returns the place behind it, -1 when it is not there yet. */
  #quoted(text: Buffer, begin: number): number {
    const out = this.#out;
    const size = text.length;
    let length = this.#length;
    let at = begin;
    for (; at < size; at++) {
      const byte = text[at]!;
      if (byte === quote && text[++at] !== quote) break;
      out[length++] = byte;
    }
    // Whether a quote is doubled is seen with the next byte.
    if (at >= size && !this.#isLast) return -1;
    if (text[at - 1] !== quote) this.exception('its last record has a quote that is not closed');
    this.#length = length;
    return at;
  }

  /** Has room for so many bytes more. */
  #room(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#out.length) return;
    const grown = Buffer.allocUnsafe(needed * 2);
    this.#out.copy(grown, 0, 0, this.#length);
    this.#out = grown;
  }
}

function isBlank(byte: number): boolean {
  return byte === space || byte === tab;
}

/** The name behind its length, with room for the length of a text. */
function nameOf(column: string): Buffer {
  const name = Buffer.from(column);
  const field = Buffer.allocUnsafe(lengthBytes + name.length);
  field.writeUInt32LE(name.length);
  field.set(name, lengthBytes);
  return field;
}

function writeLength(out: Buffer, at: number, length: number): void {
  out[at] = length;
  out[at + 1] = length >>> 8;
  out[at + 2] = length >>> 16;
  out[at + 3] = length >>> 24;
}
