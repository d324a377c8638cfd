/**
 * Checks a CREATE STREAM or CREATE TABLE and turns it into the definition the planner and the connectors work with.
 * All failures are `HaumeaError`s of kind `stream` that name the option or column and the reason.
 */
import type { HaumeaError } from '../base/errors.js';
import { meantOr } from '../base/text/nearest.js';
import { decodedFormats, decodeOf, defaultFormat, formatNames } from '../codecs/index.js';
import { connectorOf, defaultType, lookups, unknownLookup } from '../connectors/index.js';
import type { CreateSource, Expr, FieldDef, FieldType } from './ast.js';
import { sqlErrors } from './errors.js';

export type BufferFullPolicy = 'block' | 'dropOldest';

/** Options of a stream or table, checked and with their defaults. */
export interface StreamOptions {
  /** Topic, path, endpoint …, as the connector understands it; empty when not given. */
  datasource: string;
  /** Connector. */
  type: string;
  /** Payload format, lower case. */
  format: string;
  /** Name of the configuration key of the connector. */
  confKey: string | null;
  /** Key column of a lookup table. */
  key: string | null;
  /** `schema.Message` in the schema registry. */
  schemaId: string | null;
  /** Column separator of the delimited format. */
  delimiter: string | null;
  strictValidation: boolean;
  /** One decoded copy serves all rules. */
  shared: boolean;
  /** Column that holds the event time. */
  timestamp: string | null;
  timestampFormat: string | null;
  /** How many of its newest rows a scan table keeps. */
  retainSize: number;
  /** Null for streams. */
  tableKind: 'scan' | 'lookup' | null;
  /** Connector properties of this stream alone, the strongest in precedence. */
  extra: Record<string, unknown> | null;
  version: string | null;
  /** Kept in memory only. */
  temp: boolean;
  bufferFullPolicy: BufferFullPolicy | null;
}

export interface StreamDefinition {
  name: string;
  kind: 'stream' | 'table';
  /** Declared columns with defaults of their column's type; null for a source without schema. */
  fields: FieldDef[] | null;
  options: StreamOptions;
  /** Rows come in the order of event time, with the watermark between them; in streams of the engine's own. */
  isTold?: boolean;
}

export const optionNames = [
  'DATASOURCE',
  'FORMAT',
  'KEY',
  'CONF_KEY',
  'SHARED',
  'STRICT_VALIDATION',
  'TYPE',
  'TIMESTAMP',
  'TIMESTAMP_FORMAT',
  'RETAIN_SIZE',
  'SCHEMAID',
  'EXTRA',
  'VERSION',
  'TEMP',
  'KIND',
  'DELIMITER',
  'BUFFER_FULL_POLICY',
] as const;

export type OptionName = (typeof optionNames)[number];

/** Rows that a table without RETAIN_SIZE keeps, unless its connector says so: the last one counts. */
const retainedRows = 1;
/** More rows than memory can hold. */
const maxRetained = 2 ** 31;

/** Checks a parsed CREATE statement and completes it with defaults. */
export function defineSource(create: CreateSource): StreamDefinition {
  const { target: kind, name } = create;
  for (const option of Object.keys(create.options)) {
    if (!(optionNames as readonly string[]).includes(option)) {
      throw fail(`unknown option ${option}${meantOr(option, optionNames, 'expected one of')}`);
    }
  }
  const options = readOptions(create);
  const declared = create.fields === null || create.fields.length === 0 ? null : create.fields;
  const fields = declared === null ? null : checkFields(declared, '');
  checkFormat(kind, fields, options);
  if (options.tableKind === 'lookup') checkLookup(options);
  return { name, kind, fields, options };
}

function fail(message: string, cause?: unknown): HaumeaError {
  return sqlErrors.source(message, { cause });
}

function readOptions({ target, options }: CreateSource): StreamOptions {
  const text = (name: OptionName): string | null => (options[name] ? options[name] : null);
  const tableKind = readTableKind(target, text('KIND'));
  const type = text('TYPE') ?? defaultType(tableKind === 'scan' ? 'table' : 'stream');
  return {
    datasource: options.DATASOURCE ?? '',
    type,
    format: (text('FORMAT') ?? defaultFormat).toLowerCase(),
    confKey: text('CONF_KEY'),
    key: text('KEY'),
    schemaId: text('SCHEMAID'),
    delimiter: text('DELIMITER'),
    strictValidation: readBoolean('STRICT_VALIDATION', options),
    shared: readBoolean('SHARED', options),
    timestamp: text('TIMESTAMP'),
    timestampFormat: text('TIMESTAMP_FORMAT'),
    retainSize: readRetainSize(text('RETAIN_SIZE')) || (connectorOf(type)?.source?.retainedRows ?? retainedRows),
    tableKind,
    extra: readExtra(text('EXTRA')),
    version: text('VERSION')?.toLowerCase() ?? null,
    temp: readBoolean('TEMP', options),
    bufferFullPolicy: readPolicy(text('BUFFER_FULL_POLICY')),
  };
}

function checkLookup({ type, key, datasource }: StreamOptions): void {
  const lookup = lookups().get(type);
  if (lookup === undefined) throw fail(unknownLookup(type));
  const reason = lookup.refusal?.(datasource, key);
  if (reason !== undefined) throw fail(reason);
}

function readBoolean(name: OptionName, options: Record<string, string>): boolean {
  const value = options[name];
  if (value === undefined) return false;
  const upper = value.toUpperCase();
  if (upper !== 'TRUE' && upper !== 'FALSE') throw fail(`the option ${name} is "${value}", expected TRUE or FALSE`);
  return upper === 'TRUE';
}

/** 0 without the option. */
function readRetainSize(value: string | null): number {
  if (value === null) return 0;
  const size = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw fail(`the option RETAIN_SIZE is "${value}", expected a number of rows`);
  return Math.min(size, maxRetained);
}

/** KIND on a stream is checked but means nothing. */
function readTableKind(target: 'stream' | 'table', value: string | null): 'scan' | 'lookup' | null {
  const kind = (value ?? 'scan').toLowerCase();
  if (kind !== 'scan' && kind !== 'lookup') throw fail(`the option KIND is "${value}", expected scan or lookup`);
  return target === 'table' ? kind : null;
}

function readPolicy(value: string | null): BufferFullPolicy | null {
  if (value === null) return null;
  if (value === 'block' || value === 'dropOldest') return value;
  throw fail(`the option BUFFER_FULL_POLICY is "${value}", expected block or dropOldest`);
}

function readExtra(value: string | null): Record<string, unknown> | null {
  if (value === null) return null;
  let extra: unknown;
  try {
    extra = JSON.parse(value);
  } catch (cause) {
    throw fail(`the option EXTRA is no valid JSON: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
  if (typeof extra !== 'object' || extra === null || Array.isArray(extra)) {
    throw fail('the option EXTRA must be a JSON object of properties');
  }
  return { ...extra };
}

function checkFormat(kind: 'stream' | 'table', fields: FieldDef[] | null, options: StreamOptions): void {
  const { format } = options;
  if (!formatNames.includes(format)) {
    throw fail(`the option FORMAT is "${format}"${meantOr(format, decodedFormats(), 'expected one of')}`);
  }
  if (decodeOf(format)?.usesCodec === true && (options.schemaId ?? '') === '') {
    throw fail(`the option FORMAT is "${format}", which needs SCHEMAID: the schema or plugin with the codec`);
  }
  if (decodeOf(format)?.isWhole !== true) return;
  if (kind === 'table') throw fail(`the format ${format} is not supported for a table`);
  if (fields === null) return;
  if (fields.length > 1 || fields[0]?.fieldType.type !== 'bytea') {
    throw fail(`a stream of format ${format} can have only one column, of type BYTEA`);
  }
}

/** Checks names and defaults, `path` being the struct column they stand in. */
function checkFields(fields: readonly FieldDef[], path: string): FieldDef[] {
  const seen = new Set<string>();
  return fields.map((field) => {
    const name = path + field.name;
    if (seen.has(field.name)) throw fail(`the column ${name} is declared twice`);
    seen.add(field.name);
    const value = field.default === null ? null : convertDefault(name, field.fieldType, field.default);
    return { name: field.name, fieldType: checkType(field.fieldType, name), default: value };
  });
}

function checkType(fieldType: FieldType, path: string): FieldType {
  switch (fieldType.type) {
    case 'array':
      return { type: 'array', element: checkType(fieldType.element, `${path}[]`) };
    case 'struct':
      return { type: 'struct', fields: checkFields(fieldType.fields, `${path}.`) };
    default:
      return fieldType;
  }
}

/** Turns the literal after DEFAULT into one of the column's type. */
function convertDefault(name: string, { type }: FieldType, value: Expr): Expr {
  const text = literalText(value);
  const { span } = value;
  switch (type) {
    case 'string':
      return { kind: 'string', value: text, span };
    case 'boolean':
      if (/^(true|false)$/i.test(text)) return { kind: 'boolean', value: text.toLowerCase() === 'true', span };
      break;
    case 'float': {
      const number = text.trim() === '' || value.kind === 'boolean' ? Number.NaN : Number(text);
      if (Number.isFinite(number)) return { kind: 'number', value: number, span };
      break;
    }
    case 'bigint':
      if (value.kind === 'integer') return value;
      if (/^-?\d{1,18}$/.test(text)) return { kind: 'integer', value: BigInt(text), span };
      break;
    default:
      throw fail(`the column ${name} has a DEFAULT, which the type ${type} does not support`);
  }
  throw fail(`the DEFAULT of the column ${name} is ${JSON.stringify(text)}, expected a ${type}`);
}

/** Returns the text of a literal, without quotes. */
export function literalText(value: Expr): string {
  switch (value.kind) {
    case 'boolean':
    case 'integer':
    case 'number':
    case 'string':
      return String(value.value);
    default:
      throw fail('the value after DEFAULT must be a number, a string, TRUE or FALSE');
  }
}

/** Names of the DATETIME columns that are texts in the format of TIMESTAMP_FORMAT: strict validation converts them. */
export function formattedColumns({ fields, options }: StreamDefinition): string[] {
  if (!options.strictValidation || options.timestampFormat === null || fields === null) return [];
  return fields.filter(({ fieldType }) => fieldType.type === 'datetime').map(({ name }) => name);
}
