/** The columns that a message of a protobuf schema gives, by the names of its fields. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import type { Field, Root, Type } from 'protobufjs';
import { reasonOf } from '../../base/errors.js';
import type { SchemaEntry } from '../../sql/describe.js';
import { schemaErrors } from '../errors/schemas.js';

/** A schema with its file; imported files are in the same folder. */
export interface ProtobufFile {
  readonly name: string;
  readonly content: string;
  /** Path of the stored file. */
  readonly file: string;
}

const scalarTypes: Readonly<Record<string, string>> = {
  double: 'float',
  float: 'float',
  bool: 'boolean',
  string: 'string',
  bytes: 'bytea',
};

/** Columns of the message; rejects with a `stream` error when the schema can't be read or has no such message. */
export async function protobufColumns(schema: ProtobufFile, message: string): Promise<Record<string, SchemaEntry>> {
  const root = await rootOf(schema);
  const found = message === '' ? null : root.lookup(message);
  if (found === null || !('fieldsArray' in found)) {
    throw schemaErrors.noMessage(message, schema.name);
  }
  return columnsOf(found as Type, []);
}

async function rootOf({ name, content, file }: ProtobufFile): Promise<Root> {
  // Loaded when first used: most servers have no such schemas.
  const { default: protobuf } = await import('protobufjs');
  const root = new protobuf.Root();
  const folder = dirname(file);
  const seen = new Set<string>([file]);
  const add = async (text: string): Promise<void> => {
    const { imports = [], weakImports = [] } = protobuf.parse(text, root, { keepCase: true });
    for (const wanted of [...imports, ...weakImports]) {
      const common = protobuf.common.get(wanted);
      const path = common === null ? resolve(folder, wanted) : wanted;
      if (seen.has(path)) continue;
      seen.add(path);
      if (common !== null) root.addJSON(common.nested ?? {});
      else if (!path.startsWith(folder + sep)) throw new Error(`the import ${wanted} lies outside of the schema`);
      else await add(await readFile(path, 'utf8').catch(() => fail(`the import ${wanted} is not there`)));
    }
  };
  try {
    await add(content);
    root.resolveAll();
    return root;
  } catch (error) {
    throw schemaErrors.unreadable(name, reasonOf(error), { cause: error });
  }
}

function fail(reason: string): never {
  throw new Error(reason);
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
