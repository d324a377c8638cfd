/** Writes points in the line protocol of InfluxDB: one line for each, in a buffer that is used again and again. */
import { influxErrors } from './errors.js';

const comma = 0x2c;
const equals = 0x3d;
const space = 0x20;
const quote = 0x22;
const backslash = 0x5c;
const lineFeed = 0x0a;

/** Bytes of a name or a tag with the escapes that it needs; throws for one that no escape makes possible. */
export function escapedName(text: string, what: string, escaped = /[,= ]/g): Buffer {
  if (text.endsWith('\\')) throw influxErrors.backslash(what);
  return Buffer.from(text.replace(escaped, '\\$&').replaceAll('\n', '\\n'));
}

export function escapedMeasurement(text: string): Buffer {
  // A line with this begin is a comment, which the database drops unseen.
  if (text.startsWith('#')) throw influxErrors.comment();
  return escapedName(text, 'the measurement', /[, ]/g);
}

export class LineBuffer {
  #bytes = Buffer.allocUnsafe(4096);
  #length = 0;
  /** Where the line under way begins. */
  #begin = 0;
  #fields = 0;

  /** The lines so far, a view that is valid until the next call. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Forgets all lines. */
  clear(): void {
    this.#length = 0;
    // One long row must not hold memory for ever.
    if (this.#bytes.length > 1 << 20) this.#bytes = Buffer.allocUnsafe(4096);
  }

  /** Adds lines that somebody else has written. */
  add(lines: Buffer): void {
    if (lines.length === 0) return;
    this.#add(lines);
    if (lines.at(-1) !== lineFeed) this.#byte(lineFeed);
  }

  /** Begins a line. `head` is the measurement with the tags that all points have. */
  begin(head: Buffer): void {
    this.#begin = this.#length;
    this.#fields = 0;
    this.#add(head);
  }

  /** Adds a tag; an empty one is left out. */
  tag(name: Buffer, value: Buffer): void {
    if (value.length === 0) return;
    this.#byte(comma);
    this.#add(name);
    this.#byte(equals);
    this.#add(value);
  }

  /** Adds a field; the value is written as it is. */
  field(name: Buffer, value: string): void {
    this.#name(name);
    this.#room(value.length);
    this.#length += this.#bytes.write(value, this.#length, 'latin1');
  }

  /** Adds a field with a text, which gets quotes and escapes. */
  text(name: Buffer, value: Buffer): void {
    this.#name(name);
    this.#room(2 * value.length + 2);
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at++] = quote;
    if (value.indexOf(quote) < 0 && value.indexOf(backslash) < 0) {
      bytes.set(value, at);
      at += value.length;
    } else {
      for (const byte of value) {
        if (byte === quote || byte === backslash) bytes[at++] = backslash;
        bytes[at++] = byte;
      }
    }
    bytes[at++] = quote;
    this.#length = at;
  }

  /** Ends the line with its time; throws when it has no field. */
  end(time: string): void {
    if (this.#fields === 0) throw influxErrors.noFields();
    this.#room(time.length + 2);
    this.#bytes[this.#length++] = space;
    this.#length += this.#bytes.write(time, this.#length, 'latin1');
    this.#bytes[this.#length++] = lineFeed;
  }

  /** Takes back the line under way. */
  drop(): void {
    this.#length = this.#begin;
  }

  #name(name: Buffer): void {
    this.#byte(this.#fields++ === 0 ? space : comma);
    this.#add(name);
    this.#byte(equals);
  }

  #byte(byte: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = byte;
  }

  #add(bytes: Buffer): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #room(size: number): void {
    const end = this.#length + size;
    if (end <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(end, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
