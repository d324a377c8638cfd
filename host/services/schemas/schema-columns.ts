/** Columns of the messages of a schema, as clients get them. */
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { type SchemaColumn, schemaColumns } from '../../codecs/index.js';
import type { SchemaEntry } from '../../sql/describe.js';
import { schemaErrors } from '../errors/schemas.js';

/** Columns of messages, as the format that reads them by the schema says; `name` or `name.Type` as in SCHEMAID. */
export async function columnsOf(
  type: string,
  schemaId: string,
  textOf: (name: string) => string,
): Promise<Record<string, SchemaEntry>> {
  const at = schemaId.indexOf('.');
  const name = at < 0 ? schemaId : schemaId.slice(0, at);
  try {
    const columns = await schemaColumns(type, textOf(name), at < 0 ? '' : schemaId.slice(at + 1));
    return schemaEntries(columns);
  } catch (error) {
    if (error instanceof HaumeaError) throw error;
    throw schemaErrors.unreadable(name, reasonOf(error), { cause: error });
  }
}

/** Columns as clients get them; `index` is the place among their neighbours. */
function schemaEntries(columns: readonly SchemaColumn[]): Record<string, SchemaEntry> {
  return Object.fromEntries(columns.map(({ name, type }, index) => [name, schemaEntry(type, index)]));
}

function schemaEntry(type: SchemaColumn['type'], index: number): SchemaEntry {
  if (type.type === 'array') return { type: 'array', items: schemaEntry(type.element, 0), index };
  if (type.type === 'struct') return { type: 'struct', properties: schemaEntries(type.fields), index };
  return { type: type.type, index };
}
