/** The last values of the columns by which a source goes on. */
import type { Cell, SqlColumn, SqlParam } from '../../clients/sql/driver.js';
import { cellParam } from './cells.js';
import { timeText } from './date-pattern.js';
import type { IndexConf } from './query-props.js';

/** A value as JSON has it: integers that a double can't hold, and bytes, say what they are. */
type Kept = string | number | boolean | null | { readonly int: string } | { readonly base64: string };

interface IndexField {
  readonly name: string;
  /** undefined before the first row when no value is given. */
  value: SqlParam | undefined;
}

export class IndexValues {
  readonly fields: readonly IndexField[];

  constructor({ indexFields = [], ...single }: IndexConf) {
    const given = [single, ...indexFields].filter(({ indexField = '' }) => indexField !== '');
    this.fields = given.map(({ indexField, indexValue, indexFieldType, dateTimeFormat }) => ({
      name: indexField as string,
      value: firstValue(indexValue, indexFieldType === 'DATETIME' ? dateTimeFormat : undefined),
    }));
  }

  get(name: string): SqlParam | undefined {
    return this.fields.find((one) => one.name === name)?.value;
  }

  /** Takes the values of the last row of a result; columns that it lacks keep theirs. */
  take(columns: readonly SqlColumn[], row: readonly Cell[]): void {
    for (const field of this.fields) {
      const at = indexOf(columns, field.name);
      const cell = row[at];
      // What is behind NULL can't be asked for.
      if (cell !== undefined && cell !== null) field.value = cellParam(cell, columns[at]!.kind);
    }
  }

  get position(): Record<string, Kept> {
    const known = this.fields.filter(({ value }) => value !== undefined);
    return Object.fromEntries(known.map(({ name, value }) => [name, kept(value as SqlParam)]));
  }

  seek(position: Readonly<Record<string, Kept>>): void {
    for (const field of this.fields) {
      const value = position[field.name];
      if (value !== undefined) field.value = unkept(value);
    }
  }
}

function indexOf(columns: readonly SqlColumn[], name: string): number {
  const exact = columns.findIndex((column) => column.name === name);
  return exact >= 0 ? exact : columns.findIndex((column) => column.name.toLowerCase() === name.toLowerCase());
}

/** Numbers for columns of times are milliseconds since 1970. */
function firstValue(value: unknown, pattern: string | undefined): SqlParam | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'number' && pattern !== undefined) return timeText(value, pattern);
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint' ? value : String(value);
}

function kept(value: SqlParam): Kept {
  if (typeof value === 'bigint') return { int: String(value) };
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString('base64') } : value;
}

function unkept(value: Kept): SqlParam {
  if (typeof value !== 'object' || value === null) return value;
  return 'int' in value ? BigInt(value.int) : Buffer.from(value.base64, 'base64');
}
