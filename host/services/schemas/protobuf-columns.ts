/** The columns that a message of a protobuf schema gives, by the names of its fields. */
import type { Field, Type } from 'protobufjs';
import type { SchemaEntry } from '../../sql/describe.js';
import { schemaErrors } from '../errors/schemas.js';

const scalarTypes: Readonly<Record<string, string>> = {
  double: 'float',
  float: 'float',
  bool: 'boolean',
  string: 'string',
  bytes: 'bytea',
};

/** Most columns, members of messages among them: messages that name each other twice would have any number. */
const mostColumns = 10_000;

/** Columns of the message; throws a `stream` error when they are too many. */
export function protobufColumns(message: Type): Record<string, SchemaEntry> {
  return columnsOf(message, { types: [], so: { count: 0 } });
}

/** Enclosing messages, at which recursion ends, and the number of columns so far. */
interface Outer {
  readonly types: readonly Type[];
  readonly so: { count: number };
}

function columnsOf(type: Type, { types, so }: Outer): Record<string, SchemaEntry> {
  so.count += type.fieldsArray.length;
  if (so.count > mostColumns) throw schemaErrors.columns(mostColumns);
  const outer = { types: [...types, type], so };
  return Object.fromEntries(type.fieldsArray.map((field) => [field.name, entryOf(field, outer)]));
}

/** Positions are not known before a rule reads the columns. */
function entryOf(field: Field, outer: Outer): SchemaEntry {
  if (field.map) {
    const key: SchemaEntry = { type: scalarOf((field as Field & { keyType: string }).keyType), index: 0 };
    const properties = { key, value: singleOf(field, outer) };
    return { type: 'array', items: { type: 'struct', properties, index: 0 }, index: 0 };
  }
  return field.repeated ? { type: 'array', items: singleOf(field, outer), index: 0 } : singleOf(field, outer);
}

function singleOf({ type, resolvedType }: Field, outer: Outer): SchemaEntry {
  if (resolvedType === null) return { type: scalarOf(type), index: 0 };
  if (!('fields' in resolvedType)) return { type: 'bigint', index: 0 };
  const properties = outer.types.includes(resolvedType) ? {} : columnsOf(resolvedType, outer);
  return { type: 'struct', properties, index: 0 };
}

/** All others are whole numbers. */
function scalarOf(type: string): string {
  return scalarTypes[type] ?? 'bigint';
}
