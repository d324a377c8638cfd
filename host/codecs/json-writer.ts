/** Writes the JSON text of a message as UTF-8 bytes, for decoders that walk through the bytes of other formats. */
import { isUtf8 } from 'node:buffer';

/** Deepest nesting of a message. */
export const maxDepth = 512;
/** Longest text of a message, bytes. */
const maxBytes = 1 << 26;
/** A buffer that grew beyond this is given up after the message. */
const keptBytes = 1 << 20;
const firstBytes = 1 << 14;
const short = 32;
/** The signs of a text of more bytes are counted before it is written. */
const long = 1 << 12;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const firstPrintable = 0x20;
const firstOther = 0x80;
const hex = '0123456789abcdef';

export class JsonWriter {
  #buffer = Buffer.allocUnsafe(firstBytes);
  #at = 0;

  /** Begins the text of another message. */
  begin(): void {
    this.#at = 0;
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.allocUnsafe(firstBytes);
  }

  /** The text so far; good until the next `begin`. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#at);
  }

  #room(size: number): void {
    const needed = this.#at + size;
    if (needed <= this.#buffer.length) return;
    if (needed > maxBytes) throw new Error(`its JSON has more than ${maxBytes} bytes`);
    const grown = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(needed, this.#buffer.length * 2)));
    this.#buffer.copy(grown, 0, 0, this.#at);
    this.#buffer = grown;
  }

  /** Writes ASCII text as it is: signs of JSON, numbers. */
  raw(text: string): void {
    const { length } = text;
    this.#room(length);
    const buffer = this.#buffer;
    let at = this.#at;
    // For a few signs a loop takes less time than a call of the runtime.
    if (length > short) at += buffer.write(text, at, 'latin1');
    else for (let i = 0; i < length; i++) buffer[at++] = text.charCodeAt(i);
    this.#at = at;
  }

  /** Writes one sign. */
  sign(code: number): void {
    if (this.#at === this.#buffer.length) this.#room(1);
    this.#buffer[this.#at++] = code;
  }

  /** Writes the comma before all members but the first. */
  next(index: number): void {
    if (index > 0) this.sign(comma);
  }

  /** Writes a number; JSON has none for NaN and what is infinite: null. Large whole numbers have all their digits. */
  number(value: number): void {
    if (!Number.isFinite(value)) this.raw('null');
    else if (Math.abs(value) > Number.MAX_SAFE_INTEGER && Math.abs(value) < 1e21) this.raw(String(BigInt(value)));
    else this.raw(String(value));
  }

  text(text: string): void {
    const quoted = JSON.stringify(text);
    this.#room(quoted.length * 3);
    this.#at += this.#buffer.write(quoted, this.#at, 'utf8');
  }

  /** Writes a text whose UTF-8 bytes stand in `from`. Throws when they are no UTF-8. */
  utf8(from: Uint8Array, start: number, end: number): void {
    const length = end - start;
    this.#room(2 + length + (length > long ? escapes(from, start, end) : length) * 5);
    const buffer = this.#buffer;
    let at = this.#at;
    let isAscii = true;
    buffer[at++] = quote;
    for (let i = start; i < end; i++) {
      const byte = from[i] as number;
      if (byte >= firstOther) isAscii = false;
      if (byte === quote || byte === backslash) buffer[at++] = backslash;
      if (byte >= firstPrintable) buffer[at++] = byte;
      else at += buffer.write(`\\u00${hex[byte >> 4]}${hex[byte & 15]}`, at, 'latin1');
    }
    buffer[at++] = quote;
    if (!isAscii && !isUtf8(from.subarray(start, end))) throw new Error('a text is not UTF-8');
    this.#at = at;
  }

  /** Writes bytes as base64 text. */
  base64(from: Uint8Array, start: number, end: number): void {
    const text = Buffer.from(from.buffer, from.byteOffset + start, end - start).toString('base64');
    this.raw(`"${text}"`);
  }
}

/** Number of bytes that are written as escapes. */
function escapes(from: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (let i = start; i < end; i++) {
    const byte = from[i] as number;
    if (byte < firstPrintable || byte === quote || byte === backslash) count++;
  }
  return count;
}
