/**
 * Values of a batch as one text for the sandbox, and back. JSON carries what it can; each other value stands in an object of
 * one member, which the other side takes apart when it is told that there are some (see guest.ts):
 *
 *     {"\0": "u"}              missing
 *     {"\0": "n", "v": "NaN"}  a number that JSON has not
 *     {"\0": "t", "v": 12.5}   a datetime, milliseconds since the epoch
 *     {"\0": "b", "v": "…"}    bytes, a character for each
 */
import type { HostColumns } from '../../../kernels/api.js';
import { Instant, type Value, ValueError } from '../../../kernels/value.js';

/** Arguments of a part of a batch. */
export interface Arguments {
  /** `[[a0, a1, …], [b0, b1, …]]` */
  readonly text: string;
  /** There are values that JSON has not. */
  readonly hasMarks: boolean;
  /** Rows with an argument that failed: their first error. */
  readonly failed: ReadonlyMap<number, string>;
}

const markKey = '\0';

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
        return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item, row)]));
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

/** A result as a value of the kernel: whole numbers are ints. */
export function resultOf(value: unknown, hasMarks: boolean): Value {
  if (value === null || value === undefined) return null;
  switch (typeof value) {
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value;
    case 'object':
      if (Array.isArray(value)) return value.map((item) => resultOf(item, hasMarks));
      if (hasMarks && markKey in value) return unmarked(value as unknown as Record<string, unknown>);
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resultOf(item, hasMarks)]));
    case 'string':
    case 'boolean':
      return value;
    default:
      return null;
  }
}

function unmarked({ [markKey]: kind, v }: Record<string, unknown>): Value {
  switch (kind) {
    case 'n':
      return Number(v);
    case 't':
      return new Instant(BigInt(Math.round((v as number) * 1e6)));
    case 'b':
      return Buffer.from(v as string, 'latin1');
    default:
      return null;
  }
}
