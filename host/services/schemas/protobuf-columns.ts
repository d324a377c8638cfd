/** The columns that a message of a protobuf schema gives, by the names of its fields. */
import type { Field, Type } from 'protobufjs';
import type { SchemaEntry } from '../../sql/describe.js';

const scalarTypes: Readonly<Record<string, string>> = {
  double: 'float',
  float: 'float',
  bool: 'boolean',
  string: 'string',
  bytes: 'bytea',
};

/** Columns of the message. */
export function protobufColumns(message: Type): Record<string, SchemaEntry> {
  return columnsOf(message, []);
}

/** @param outer enclosing messages, at which recursion ends */
function columnsOf(type: Type, outer: readonly Type[]): Record<string, SchemaEntry> {
  return Object.fromEntries(type.fieldsArray.map((field) => [field.name, entryOf(field, [...outer, type])]));
}

/** Positions are not known before a rule reads the columns. */
function entryOf(field: Field, outer: readonly Type[]): SchemaEntry {
  if (field.map) {
    const key: SchemaEntry = { type: scalarOf((field as Field & { keyType: string }).keyType), index: 0 };
    const properties = { key, value: singleOf(field, outer) };
    return { type: 'array', items: { type: 'struct', properties, index: 0 }, index: 0 };
  }
  return field.repeated ? { type: 'array', items: singleOf(field, outer), index: 0 } : singleOf(field, outer);
}

function singleOf({ type, resolvedType }: Field, outer: readonly Type[]): SchemaEntry {
  if (resolvedType === null) return { type: scalarOf(type), index: 0 };
  if (!('fields' in resolvedType)) return { type: 'bigint', index: 0 };
  const properties = outer.includes(resolvedType) ? {} : columnsOf(resolvedType, outer);
  return { type: 'struct', properties, index: 0 };
}

/** All others are whole numbers. */
function scalarOf(type: string): string {
  return scalarTypes[type] ?? 'bigint';
}
