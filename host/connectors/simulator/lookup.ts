/** Looks in rows of its configuration. */
import type { LookupAnswer } from '../../../kernels/api.js';
import type { Value } from '../../../kernels/values/value.js';
import type { Lookup, LookupRequest } from '../running.js';

type Row = Readonly<Record<string, Value>>;

export class SimulatorLookup implements Lookup {
  readonly #rows: readonly Row[];
  readonly #names: readonly string[];

  constructor(data: readonly Record<string, unknown>[]) {
    this.#rows = data as readonly Row[];
    this.#names = [...new Set(data.flatMap((row) => Object.keys(row)))];
  }

  async ask({ names, keys, count, fields }: LookupRequest): Promise<LookupAnswer> {
    const of: number[] = [];
    const found: Row[] = [];
    for (let i = 0; i < count; i++) {
      for (const row of this.#rows) {
        if (!names.every((name, k) => isSame(row[name], keys[k]?.[i]))) continue;
        of.push(i);
        found.push(row);
      }
    }
    const read = fields ?? this.#names;
    return { of, columns: Object.fromEntries(read.map((name) => [name, found.map((row) => row[name])])) };
  }

  async close(): Promise<void> {}
}

/** Numbers are equal by value, whatever their kind. */
function isSame(one: Value, other: Value): boolean {
  return comparable(one) === comparable(other);
}

function comparable(value: Value): Value {
  return typeof value === 'bigint' ? Number(value) : value;
}
