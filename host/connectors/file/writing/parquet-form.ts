/**
 * Files in the form Parquet: each piece is a row group, and the footer makes the file whole. Columns have the types of
 * their values; when a row has other columns, or values of another type, a new file begins, whose columns have both.
 */
import type { CompressionCodec, SchemaElement } from 'hyparquet';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { eachRow, RowCursor, valueAt } from '../../../../kernels/values/rows.js';
import { Instant, type Value, ValueError } from '../../../../kernels/values/value.js';
import { compressions } from '../../../base/bytes/compression.js';
import { writeExactJson } from '../../../base/text/exact-json.js';
import type { Text } from './form.js';

/** Types of columns; `json` takes every value. */
type ColumnType = 'bool' | 'int' | 'float' | 'text' | 'bytes' | 'time' | 'json';

interface Table {
  readonly rows: number;
  readonly columns: ReadonlyMap<string, Value[]>;
}

const lengthBytes = 4;
const utf8 = new TextEncoder();

/** Columns of the files so far: those of later files have all that earlier ones had. */
export class ParquetSchema {
  readonly #types = new Map<string, ColumnType | undefined>();

  /** Takes the values up; false when they have no place in the columns so far. */
  widen({ columns }: Table): boolean {
    let isSame = true;
    for (const [name, values] of columns) {
      const before = this.#types.get(name);
      const type = values.reduce<ColumnType | undefined>((known, value) => joined(known, typeOf(value)), before);
      if (this.#types.has(name) && type === before) continue;
      isSame = false;
      this.#types.set(name, type);
    }
    return isSame;
  }

  get types(): ReadonlyMap<string, ColumnType> {
    return new Map([...this.#types].map(([name, type]) => [name, type ?? 'text']));
  }
}

export class ParquetForm {
  readonly #bytes = new ByteWriter(64 * 1024);
  #writer: ParquetWriter | undefined;
  #types: ReadonlyMap<string, ColumnType> = new Map();
  /** Rows of the text that was looked at last. */
  #read: { readonly text: Text; readonly table: Table } | undefined;
  readonly header = undefined;

  constructor(
    private readonly schema: ParquetSchema,
    private readonly compression: '' | 'gzip' | 'zstd',
  ) {}

  /** Whether the rows have a place in the file; the schema has one from now on. */
  fits(text: Text): boolean {
    const isSame = this.schema.widen(this.#tableOf(text));
    return isSame || this.#writer === undefined;
  }

  encode(text: Text): Buffer {
    const { columns, rows } = this.#tableOf(text);
    this.#read = undefined;
    const writer = this.#writer ?? this.#begin();
    const columnData = [...this.#types].map(([name, type]) => ({ name, data: dataOf(columns.get(name), type, rows) }));
    if (rows > 0 && columnData.length > 0) writer.write({ columnData, rowGroupSize: rows });
    return this.#taken();
  }

  footer(): Buffer {
    if (this.#writer === undefined) return Buffer.alloc(0);
    this.#writer.finish();
    return this.#taken();
  }

  encodeLater(): undefined {
    return undefined;
  }

  #begin(): ParquetWriter {
    this.#types = this.schema.types;
    const schema: SchemaElement[] = [{ name: 'root', num_children: this.#types.size }];
    for (const [name, type] of this.#types) schema.push({ name, repetition_type: 'OPTIONAL', ...elements[type] });
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema,
      codec: codecs[this.compression],
      compressors: { GZIP: compressions.gzip.compress, ZSTD: compressions.zstd.compress },
      createdBy: 'haumea',
    });
    return this.#writer;
  }

  /** What was made since the last call. */
  #taken(): Buffer {
    const bytes = Buffer.from(this.#bytes.getBytes());
    this.#bytes.index = 0;
    return bytes;
  }

  #tableOf(text: Text): Table {
    if (this.#read?.text !== text) this.#read = { text, table: tableOf(text.raw) };
    return this.#read.table;
  }
}

const codecs: Readonly<Record<'' | 'gzip' | 'zstd', CompressionCodec>> = {
  '': 'SNAPPY',
  gzip: 'GZIP',
  zstd: 'ZSTD',
};

const elements: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  bool: { type: 'BOOLEAN' },
  int: { type: 'INT64' },
  float: { type: 'DOUBLE' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  bytes: { type: 'BYTE_ARRAY' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
  json: { type: 'BYTE_ARRAY', logical_type: { type: 'JSON' } },
};

/** The rows of messages, each behind its length, by column. */
function tableOf(raw: Buffer): Table {
  const columns = new Map<string, Value[]>();
  const members = new RowCursor();
  let rows = 0;
  for (let at = 0; at < raw.length; ) {
    const end = at + lengthBytes + raw.readUInt32LE(at);
    const message = raw.subarray(at + lengthBytes, end);
    eachRow(message, (place) => {
      members.open(message, place);
      while (members.next()) {
        const name = message.toString('utf8', members.keyFrom, members.keyTo);
        const values = columns.get(name) ?? [];
        if (values.length === 0) columns.set(name, values);
        while (values.length < rows) values.push(null);
        values.push(valueAt(message, members.at));
      }
      rows++;
    });
    at = end;
  }
  return { rows, columns };
}

function typeOf(value: Value): ColumnType | undefined {
  if (value === null || value === undefined) return undefined;
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'float';
    case 'string':
      return 'text';
    default:
      if (value instanceof Uint8Array) return 'bytes';
      if (value instanceof Instant) return 'time';
      return value instanceof ValueError ? 'text' : 'json';
  }
}

/** The type that has room for both. */
function joined(one: ColumnType | undefined, other: ColumnType | undefined): ColumnType | undefined {
  if (one === other || other === undefined) return one;
  if (one === undefined) return other;
  const both = [one, other];
  return both.includes('int') && both.includes('float') ? 'float' : 'json';
}

function dataOf(values: readonly Value[] | undefined, type: ColumnType, rows: number): unknown[] {
  return Array.from({ length: rows }, (_, row) => {
    const value = values?.[row];
    return value === null || value === undefined ? null : stored(value, type);
  });
}

function stored(value: Value, type: ColumnType): unknown {
  switch (type) {
    case 'float':
      return Number(value);
    case 'time':
      return floorMicros((value as Instant).nanos);
    case 'text':
      return value instanceof ValueError ? value.message : value;
    case 'json':
      return utf8.encode(writeExactJson(plain(value)));
    default:
      return value;
  }
}

function floorMicros(nanos: bigint): bigint {
  const micros = nanos / 1000n;
  return nanos < 0n && micros * 1000n !== nanos ? micros - 1n : micros;
}

/** The value as JSON has it: bytes in base64, times as texts. */
function plain(value: Value): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Instant) return new Date(Number(value.nanos / 1_000_000n)).toISOString();
  if (value instanceof ValueError) return value.message;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}
