/** Finds rows by their keys where all rows are at hand. */
import type { LookupAnswer } from '../../kernels/api.js';
import type { Value } from '../../kernels/values/value.js';
import type { LookupRequest } from './running.js';

type Row = Readonly<Record<string, Value>>;

/** The rows for each list of values, in their order. */
export function answerFrom(rows: readonly Row[], { names, keys, count, fields }: LookupRequest): LookupAnswer {
  const byKey = new Map<string, Row[]>();
  for (const row of rows) {
    // No value that is looked for is null.
    if (names.some((name) => row[name] === undefined || row[name] === null)) continue;
    const key = keyOf(names.map((name) => row[name]));
    const same = byKey.get(key);
    if (same === undefined) byKey.set(key, [row]);
    else same.push(row);
  }
  const of: number[] = [];
  const found: Row[] = [];
  for (let i = 0; i < count; i++) {
    for (const row of byKey.get(keyOf(names.map((_name, k) => keys[k]?.[i]))) ?? []) {
      of.push(i);
      found.push(row);
    }
  }
  const read = fields ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return { of, columns: Object.fromEntries(read.map((name) => [name, found.map((row) => row[name])])) };
}

/** Numbers are equal by value, whatever their kind. */
function keyOf(values: readonly (Value | undefined)[]): string {
  return JSON.stringify(values.map((value) => (typeof value === 'bigint' ? Number(value) : value)));
}
