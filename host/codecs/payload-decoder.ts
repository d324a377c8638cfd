/**
 * Decodes one column of a message again: its text or bytes are a message of another format, whose columns take its
 * place. What comes out is JSON, which the kernel decodes.
 */
import { isBlank, partsOf, withinBraces } from '../base/text/json-parts.js';
import type { MessageDecoder } from './define.js';
import type { PayloadColumn } from './delimited-payload.js';

const comma = Buffer.from(',');
const base64Text = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** What a decoder of payloads has to know, as plain data. */
export interface PayloadSettings {
  /** Column with the message. */
  readonly field: string;
  readonly format: string;
  /** Settings of that format's decoder. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Of the format delimited: the text between values, and the columns of the stream, null where none are declared. */
  readonly delimiter: string;
  readonly columns: readonly PayloadColumn[] | null;
}

export class PayloadDecoder implements MessageDecoder {
  /**
   * @param outer makes JSON of the message; undefined where it is JSON
   * @param inner makes JSON of the payload; undefined where it is JSON
   */
  constructor(
    private readonly field: string,
    private readonly outer: MessageDecoder | undefined,
    private readonly inner: MessageDecoder | undefined,
  ) {}

  get needs(): MessageDecoder['needs'] {
    const { outer, inner } = this;
    if (outer?.needs === undefined && inner?.needs === undefined) return undefined;
    return (message) => outer?.needs?.(message) ?? (inner?.needs && this.#needsWithin(message));
  }

  /** What the first payload of a message needs: all of a message have one schema. */
  #needsWithin(message: Uint8Array): ReturnType<NonNullable<MessageDecoder['needs']>> {
    try {
      const value: unknown = JSON.parse(bufferOf(this.outer?.decode(message) ?? message).toString());
      const row: unknown = Array.isArray(value) ? value[0] : value;
      const payload = isRow(row) ? row[this.field] : undefined;
      return typeof payload === 'string' ? this.inner?.needs?.(bytesOf(payload)) : undefined;
    } catch {
      // A message that can't be decoded fails where it is.
      return undefined;
    }
  }

  decode(message: Uint8Array): Uint8Array {
    const json = bufferOf(this.outer?.decode(message) ?? message);
    const value: unknown = JSON.parse(json.toString());
    if (!Array.isArray(value)) {
      // What is no row fails where it is decoded.
      return isRow(value) ? textOf(this.#rows(json, value)) : json;
    }
    const items = partsOf(json);
    const rows = value.flatMap((item: unknown, i) => {
      const { from, to } = items[i]!;
      const part = json.subarray(from, to);
      return isRow(item) ? this.#rows(part, item) : [part];
    });
    return listOf(rows);
  }

  /** The rows that a row becomes; none without the column. */
  #rows(json: Buffer, row: Readonly<Record<string, unknown>>): Buffer[] {
    if (!Object.hasOwn(row, this.field)) return [];
    const payload = this.#payload(row[this.field]);
    const others = partsOf(json)
      .filter(({ name }) => JSON.parse(name) !== this.field)
      .map(({ from, to }) => json.subarray(from, to));
    const value: unknown = JSON.parse(payload.toString());
    if (isRow(value)) return [joined(others, payload)];
    if (!Array.isArray(value) || !value.every(isRow)) {
      throw new Error(`the payload in ${this.field} is neither an object nor a list of objects`);
    }
    return partsOf(payload).map(({ from, to }) => joined(others, payload.subarray(from, to)));
  }

  #payload(value: unknown): Buffer {
    if (typeof value !== 'string') throw new Error(`the payload in ${this.field} is neither text nor bytes`);
    const bytes = bytesOf(value);
    try {
      return bufferOf(this.inner?.decode(bytes) ?? bytes);
    } catch (error) {
      throw new Error(`the payload in ${this.field}: ${(error as Error).message}`);
    }
  }
}

/** Bytes are base64 in JSON; what is none is text. */
function bytesOf(text: string): Buffer {
  const packed = text.replace(/[\r\n]/g, '');
  return base64Text.test(packed) ? Buffer.from(packed, 'base64') : Buffer.from(text);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

function isRow(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(rows: readonly Buffer[]): Buffer {
  return rows.length === 1 ? rows[0]! : listOf(rows);
}

function listOf(items: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('['), ...between(items), Buffer.from(']')]);
}

function between(parts: readonly Buffer[]): Buffer[] {
  return parts.flatMap((part, i) => (i === 0 ? [part] : [comma, part]));
}

/** An object with the members of a row and of an object, which win. */
function joined(others: readonly Buffer[], object: Buffer): Buffer {
  const within = withinBraces(object);
  const members = isBlank(within) ? others : [...others, within];
  return Buffer.concat([Buffer.from('{'), ...between(members), Buffer.from('}')]);
}
