/**
 * Values of a batch as one text for the sandbox, and back. A value that JSON lacks is a mark, an object that the other
 * side reads where a flag says that there are marks (guest.ts):
 *
 *     {"\0": "u"}              missing
 *     {"\0": "n", "v": "NaN"}  a number that JSON lacks
 *     {"\0": "i", "v": "12"}   a whole number of any length
 *     {"\0": "t", "v": 12.5}   a datetime, milliseconds since the epoch
 *     {"\0": "b", "v": "…"}    bytes, a character for each
 *
 * A member of a message or a script whose name begins with that character gets a second one in front of it, so that
 * nothing but a mark has a member `\0`. The members of a mark are looked at all the same as if a script had written
 * them.
 */
import type { HostColumns } from '../../../kernels/api.js';
import { Instant, type Value, ValueError } from '../../../kernels/values/value.js';

/** Arguments of a part of a batch. */
export interface Arguments {
  /** `[[a0, a1, …], [b0, b1, …]]` */
  readonly text: string;
  /** Whether there are values that JSON lacks. */
  readonly hasMarks: boolean;
  /** First errors of rows with an argument that failed. */
  readonly failed: ReadonlyMap<number, string>;
}

const markKey = '\0';
/** Years 0 to 9999, milliseconds. */
const firstMs = -62_167_219_200_000;
const endMs = 253_402_300_800_000;
/** Digits of a whole number that may have 64 bits. */
const maxDigits = 20;

/** Reads the arguments of the rows from `first` on. */
export function argumentsOf(columns: HostColumns, first: number): Arguments {
  const failed = new Map<number, string>();
  let hasMarks = false;
  const mark = (kind: string, v?: unknown): object => {
    hasMarks = true;
    return v === undefined ? { [markKey]: kind } : { [markKey]: kind, v };
  };
  const plain = (value: unknown, row: number): unknown => {
    if (value === null) return null;
    switch (typeof value) {
      case 'undefined':
        return mark('u');
      case 'number':
        return Number.isFinite(value) ? value : mark('n', String(value));
      case 'bigint':
        return Number(value);
      case 'object':
        if (Array.isArray(value)) return value.map((item) => plain(item, row));
        if (value instanceof Instant) return mark('t', Number(value.nanos) / 1e6);
        if (value instanceof Uint8Array) return mark('b', Buffer.from(value).toString('latin1'));
        if (value instanceof ValueError) {
          if (!failed.has(row)) failed.set(row, value.message);
          return null;
        }
        return Object.fromEntries(
          Object.entries(value).map(([name, item]) => {
            if (!name.startsWith(markKey)) return [name, plain(item, row)];
            hasMarks = true;
            return [markKey + name, plain(item, row)];
          }),
        );
      default:
        return value;
    }
  };
  const all = Array.from({ length: columns.argCount }, (_, i) => {
    const column = new Array<unknown>(columns.count - first);
    for (let k = first; k < columns.count; k++) column[k - first] = plain(columns.get(i, k), k);
    return column;
  });
  return { text: JSON.stringify(all), hasMarks, failed };
}

/** Answer of the sandbox for a part of a batch. */
export interface Answer {
  readonly results: readonly unknown[];
  /** Reasons of rows that failed, by their places in the part. */
  readonly errors: readonly (readonly [k: number, reason: string])[];
  readonly hasMarks: boolean;
}

/** Reads the answer for `count` rows; throws when its shape is wrong. */
export function answerOf(text: string, count: number): Answer {
  const answer = JSON.parse(text) as unknown;
  if (!Array.isArray(answer)) throw new Error('the answer is no list');
  const [results, errors, hasMarks] = answer as unknown[];
  if (!Array.isArray(results) || results.length !== count) throw new Error(`the answer has no ${count} results`);
  if (typeof hasMarks !== 'boolean') throw new Error('the answer does not say whether it has marks');
  return { results, errors: errorsOf(errors, count), hasMarks };
}

function errorsOf(flat: unknown, count: number): [number, string][] {
  if (!Array.isArray(flat) || flat.length % 2 !== 0) throw new Error('the answer has no list of errors');
  return Array.from({ length: flat.length / 2 }, (_, i) => {
    const [k, reason] = [flat[2 * i] as unknown, flat[2 * i + 1] as unknown];
    if (typeof k !== 'number' || !Number.isInteger(k) || k < 0 || k >= count || typeof reason !== 'string') {
      throw new Error(`the answer has an error of no row: ${String(k).slice(0, 40)}`);
    }
    return [k, reason];
  });
}

/** Converts a result to a value of the kernel, whole numbers to ints; throws when it can't be one. */
export function resultOf(value: unknown, hasMarks: boolean): Value {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
    case 'object':
      if (Array.isArray(value)) return value.map((item) => resultOf(item, hasMarks));
      if (hasMarks && Object.hasOwn(value, markKey)) return unmarked(value as Record<string, unknown>);
      return Object.fromEntries(
        Object.entries(value).map(([name, item]) => [
          hasMarks && name.startsWith(markKey) ? name.slice(1) : name,
          resultOf(item, hasMarks),
        ]),
      );
    case 'string':
    case 'boolean':
      return value;
    default:
      return null;
  }
}

function unmarked({ [markKey]: kind, v }: Record<string, unknown>): Value {
  if (kind === 't' && typeof v === 'number') {
    if (v >= firstMs && v < endMs) return new Instant(BigInt(Math.round(v * 1e6)));
    throw new RangeError('a time beyond the years 0 to 9999');
  }
  if (typeof v === 'string') {
    if (kind === 'n' && /^(NaN|-?Infinity)$/.test(v)) return Number(v);
    if (kind === 'i' && /^-?\d+$/.test(v)) {
      if (v.length <= maxDigits) return BigInt(v);
      throw new RangeError('a whole number beyond 64 bits');
    }
    if (kind === 'b') return Buffer.from(v, 'latin1');
  }
  throw new TypeError('a mark that nobody writes');
}
