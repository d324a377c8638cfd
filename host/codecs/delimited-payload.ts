/** Lines of values with a delimiter between them as JSON: a row each. */
import type { MessageDecoder } from './define.js';

/** A column of the stream: values are converted to its type where they can be. */
export interface PayloadColumn {
  readonly name: string;
  readonly type: string;
}

/** What the decoder has to know, as plain data. */
export interface DelimitedSettings {
  /** The text between values. */
  readonly delimiter: string;
  /** Columns in order; null: they are col0, col1 … and have texts. */
  readonly columns: readonly PayloadColumn[] | null;
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const numbers: ReadonlySet<string> = new Set(['bigint', 'float']);

export class DelimitedPayload implements MessageDecoder {
  readonly #delimiter: string;
  readonly #columns: readonly PayloadColumn[] | null;

  constructor({ delimiter, columns }: DelimitedSettings) {
    this.#delimiter = delimiter;
    this.#columns = columns;
  }

  decode(message: Uint8Array): Uint8Array {
    const text = Buffer.from(message.buffer, message.byteOffset, message.length).toString();
    const lines = text.split(/\r?\n/).filter((line) => line !== '');
    const rows = lines.map((line) => `{${this.#members(line.split(this.#delimiter)).join(',')}}`);
    return Buffer.from(rows.length === 1 ? rows[0]! : `[${rows.join(',')}]`);
  }

  #members(values: readonly string[]): string[] {
    if (this.#columns === null) return values.map((value, i) => `"col${i}":${JSON.stringify(value)}`);
    return this.#columns.flatMap(({ name, type }, i) => {
      const value = values[i];
      return value === undefined ? [] : [`${JSON.stringify(name)}:${jsonOf(value, type)}`];
    });
  }
}

/** A value of a type; what is none of it stays a text, which the column refuses. */
function jsonOf(value: string, type: string): string {
  if (type === 'string' || type === 'any') return JSON.stringify(value);
  if (value === '') return 'null';
  const isWritten = numbers.has(type) ? number.test(value) : type === 'boolean' && /^(?:true|false)$/.test(value);
  return isWritten ? value : JSON.stringify(value);
}
