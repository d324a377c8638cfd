/**
 * Answers of the REST interface about a stream or table: the describe object, the schema object and the describe text.
 */
import type { CreateSource, FieldDef, FieldType } from './ast.js';
import { literalText } from './source-def.js';

/** Numbers of the column types in the describe object. */
const typeNumbers: Readonly<Record<FieldType['type'], number>> = {
  bigint: 1,
  float: 2,
  string: 3,
  bytea: 4,
  datetime: 5,
  boolean: 6,
  array: 7,
  struct: 8,
};

export interface DescribedType {
  Type: number;
  ElementType?: DescribedType;
  Fields?: DescribedField[];
}

export interface DescribedField {
  Name: string;
  FieldType: DescribedType;
  /** Text of the default value, only when declared. */
  DefaultClause?: string;
}

export interface DescribedSource {
  Name: string;
  Options: Record<string, string | number | boolean>;
  Statement: null;
  StreamFields: DescribedField[] | null;
  /** 0 stream, 1 table. */
  StreamType: 0 | 1;
}

export interface SchemaEntry {
  type: string;
  /** Text of the default value, only when declared. */
  default?: string;
  items?: SchemaEntry;
  properties?: Record<string, SchemaEntry>;
  /** Position of the column among its neighbours, from 0. */
  index: number;
}

interface DescribedOption {
  option: string;
  /** Name in the describe object. */
  key: string;
  kind?: 'boolean' | 'number' | 'lowerCase';
}

/** Options in the order of the describe text. */
const describedOptions: readonly DescribedOption[] = [
  { option: 'CONF_KEY', key: 'confKey' },
  { option: 'DATASOURCE', key: 'datasource' },
  { option: 'FORMAT', key: 'format' },
  { option: 'SCHEMAID', key: 'schemaid' },
  { option: 'KEY', key: 'key' },
  { option: 'RETAIN_SIZE', key: 'retainSize', kind: 'number' },
  { option: 'SHARED', key: 'shared', kind: 'boolean' },
  { option: 'STRICT_VALIDATION', key: 'strictValidation', kind: 'boolean' },
  { option: 'TIMESTAMP', key: 'timestamp' },
  { option: 'TIMESTAMP_FORMAT', key: 'timestampFormat' },
  { option: 'TYPE', key: 'type' },
  { option: 'VERSION', key: 'version', kind: 'lowerCase' },
  { option: 'EXTRA', key: 'extra' },
  { option: 'TEMP', key: 'temp', kind: 'boolean' },
  { option: 'KIND', key: 'kind', kind: 'lowerCase' },
  { option: 'DELIMITER', key: 'delimiter' },
  { option: 'BUFFER_FULL_POLICY', key: 'bufferFullPolicy' },
];

/** Builds the describe object of a statement already checked by `defineSource`. */
export function describeSource(create: CreateSource): DescribedSource {
  const options: DescribedSource['Options'] = {};
  for (const described of describedOptions) {
    const value = optionValue(described, create.options);
    if (value !== null) options[described.key] = value;
  }
  return {
    Name: create.name,
    Options: options,
    Statement: null,
    StreamFields: hasFields(create) ? create.fields.map(describeField) : null,
    StreamType: create.target === 'table' ? 1 : 0,
  };
}

/** Builds the schema object: columns by name; null without declared columns. */
export function describeSchema(fields: readonly FieldDef[] | null): Record<string, SchemaEntry> | null {
  return fields === null || fields.length === 0 ? null : schemaOf(fields);
}

/** Builds the text that DESCRIBE STREAM and DESCRIBE TABLE answer. */
export function describeText(create: CreateSource): string {
  const lines = ['Fields', '-'.repeat(80)];
  for (const field of create.fields ?? []) {
    const value = field.default === null ? '' : `\tDEFAULT\t${literalText(field.default)}`;
    lines.push(`${field.name}\t${typeText(field.fieldType)}${value}`);
  }
  lines.push('');
  for (const described of describedOptions) {
    const value = optionValue(described, create.options);
    if (value !== null) lines.push(`${described.option}: ${value}`);
  }
  return `${lines.join('\n')}\n`;
}

function hasFields(create: CreateSource): create is CreateSource & { fields: FieldDef[] } {
  return create.fields !== null && create.fields.length > 0;
}

/** Returns an option's value as DESCRIBE shows it, or null when it is absent or says nothing (empty, FALSE, 0). */
function optionValue(
  { option, kind }: DescribedOption,
  options: Record<string, string>,
): string | number | boolean | null {
  const text = options[option];
  if (!text) return null;
  switch (kind) {
    case 'boolean':
      return text.toUpperCase() === 'TRUE' ? true : null;
    case 'number':
      return Number(text) || null;
    case 'lowerCase':
      return text.toLowerCase();
    default:
      return text;
  }
}

function describeField(field: FieldDef): DescribedField {
  const described: DescribedField = { FieldType: describeType(field.fieldType), Name: field.name };
  if (field.default !== null) described.DefaultClause = literalText(field.default);
  return described;
}

function describeType(fieldType: FieldType): DescribedType {
  const described: DescribedType = { Type: typeNumbers[fieldType.type] };
  if (fieldType.type === 'array') described.ElementType = describeType(fieldType.element);
  if (fieldType.type === 'struct') described.Fields = fieldType.fields.map(describeField);
  return described;
}

function schemaOf(fields: readonly FieldDef[]): Record<string, SchemaEntry> {
  return Object.fromEntries(
    fields.map((field, index) => {
      const entry = schemaEntry(field.fieldType, index);
      if (field.default !== null) entry.default = literalText(field.default);
      return [field.name, entry];
    }),
  );
}

function schemaEntry(fieldType: FieldType, index: number): SchemaEntry {
  switch (fieldType.type) {
    case 'array':
      return { type: 'array', items: schemaEntry(fieldType.element, 0), index };
    case 'struct':
      return { type: 'struct', properties: schemaOf(fieldType.fields), index };
    default:
      return { type: fieldType.type, index };
  }
}

function typeText(fieldType: FieldType): string {
  switch (fieldType.type) {
    case 'array':
      return `array(${typeText(fieldType.element)})`;
    case 'struct':
      return `struct(${fieldType.fields.map((field) => `${field.name} ${typeText(field.fieldType)}`).join(', ')})`;
    default:
      return fieldType.type;
  }
}
