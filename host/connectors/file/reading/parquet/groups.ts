/** Reads a Parquet file row group by row group, each as rows in the engine's own form. */
import { read } from 'node:fs';
import { promisify } from 'node:util';
import {
  type AsyncBuffer,
  type DecodedArray,
  type FileMetaData,
  type ParquetParsers,
  parquetMetadataAsync,
  parquetRead,
  parquetSchema,
  type SchemaTree,
} from 'hyparquet';
import { RowWriter } from '../../../../../kernels/values/row-writer.js';
import { Instant } from '../../../../../kernels/values/value.js';
import { reasonOf } from '../../../../base/errors.js';
import { readExactJson } from '../../../../base/text/exact-json.js';
import { checkGroup } from './check.js';
import { checkFooter } from './footer.js';
import { unpackers } from './unpackers.js';

/** Largest row group, unpacked: it is in memory as a whole. */
const mostGroupBytes = 512 * 1024 * 1024;
const leastBytes = 12;
const dayNanos = 86_400_000_000_000n;
const utf8 = new TextDecoder();
/** Annotations of texts. */
const texts = ['UTF8', 'STRING', 'ENUM'];

/** Rows from a number on; the bytes of each are valid until the next one. @param fd of the open file */
export async function* parquetGroups(fd: number, size: number, from: number): AsyncGenerator<Iterable<Uint8Array>> {
  const file = bufferOf(fd, size);
  const metadata = await metadataOf(file);
  const columns = parquetSchema(metadata).children;
  // Texts go on as their bytes, unless they are names of members.
  const hasMaps = metadata.schema.some(({ converted_type }) => /^MAP/.test(converted_type ?? ''));
  const own = hasMaps ? {} : { stringFromBytes: (bytes: Uint8Array) => bytes };
  let begin = 0;
  for (const group of metadata.row_groups) {
    const end = begin + Number(group.num_rows);
    const first = Math.max(begin, from);
    if (first < end) {
      if (Number(group.total_byte_size) > mostGroupBytes) {
        throw new Error(`a row group of ${group.total_byte_size} bytes has more than ${mostGroupBytes}`);
      }
      const parts: Parts = new Map(columns.map(({ element }) => [element.name, []]));
      try {
        await checkGroup(file, group, metadata, mostGroupBytes);
        await parquetRead({
          file,
          metadata,
          compressors: unpackers,
          parsers: { ...parsers, ...own },
          utf8: false,
          rowStart: begin,
          rowEnd: end,
          onChunk: ({ columnName, columnData, rowStart }) =>
            void parts.get(columnName)?.push({ data: columnData, at: rowStart }),
        });
        checkLengths(parts, end);
      } catch (error) {
        throw new Error(`rows ${begin} to ${end - 1} can't be read: ${reasonOf(error)}`, { cause: error });
      }
      yield rowsOf(columns, parts, first, end);
    }
    begin = end;
  }
}

type Parts = Map<string, { readonly data: DecodedArray; readonly at: number }[]>;

/** No row is made of what is missing. */
function checkLengths(parts: Parts, end: number): void {
  for (const [name, of] of parts) {
    if (!of.some(({ data, at }) => at + data.length >= end)) throw new Error(`column ${name} has fewer rows`);
  }
}

async function metadataOf(file: AsyncBuffer): Promise<FileMetaData> {
  const magic = Buffer.from(await file.slice(0, Math.min(4, file.byteLength))).toString('latin1');
  if (magic !== 'PAR1') throw new Error('it is no Parquet file');
  try {
    if (file.byteLength < leastBytes) throw new Error('it has no footer');
    const [length = 0] = new Uint32Array(await file.slice(file.byteLength - 8, file.byteLength - 4));
    const begin = file.byteLength - 8 - length;
    if (begin < 0) throw new Error(`it says that its footer has ${length} bytes`);
    checkFooter(new Uint8Array(await file.slice(begin, file.byteLength)));
    return await parquetMetadataAsync(file);
  } catch (error) {
    throw new Error(`the Parquet file is cut off or damaged: ${reasonOf(error)}`, { cause: error });
  }
}

const readFrom = promisify(read);

function bufferOf(fd: number, size: number): AsyncBuffer {
  return {
    byteLength: size,
    slice: async (start, end = size) => {
      const bytes = new Uint8Array(end - start);
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await readFrom(fd, bytes, at, bytes.length - at, start + at);
        if (bytesRead === 0) throw new Error(`it ends at ${start + at} of ${size} bytes`);
        at += bytesRead;
      }
      return bytes.buffer;
    },
  };
}

const parsers: ParquetParsers = {
  timestampFromMilliseconds: (millis) => new Instant(millis * 1_000_000n),
  timestampFromMicroseconds: (micros) => new Instant(micros * 1000n),
  timestampFromNanoseconds: (nanos) => new Instant(nanos),
  dateFromDays: (days) => new Instant(BigInt(days) * dayNanos),
  stringFromBytes: (bytes) => bytes && utf8.decode(bytes),
  jsonFromBytes: (bytes) => bytes && readExactJson(utf8.decode(bytes)),
  geometryFromBytes: (bytes) => bytes,
  geographyFromBytes: (bytes) => bytes,
  uuidFromBytes: (bytes) => bytes && uuidOf(Buffer.from(bytes).toString('hex')),
};

function uuidOf(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

function* rowsOf(columns: readonly SchemaTree[], parts: Parts, from: number, end: number): Generator<Uint8Array> {
  const writer = new RowWriter();
  const cursors = columns.map((node) => new Cursor(node, parts.get(node.element.name) ?? []));
  for (let row = from; row < end; row++) {
    writer.clear();
    writer.object(cursors.length);
    for (const cursor of cursors) {
      writer.name(cursor.name);
      write(writer, cursor.at(row), cursor.node);
    }
    yield writer.bytes;
  }
}

/** The values of a column, which come in parts. */
class Cursor {
  readonly name: Buffer;
  readonly #parts: { readonly data: DecodedArray; readonly at: number }[];
  #part = 0;

  constructor(
    readonly node: SchemaTree,
    parts: readonly { readonly data: DecodedArray; readonly at: number }[],
  ) {
    this.name = Buffer.from(node.element.name);
    this.#parts = [...parts].sort((a, b) => a.at - b.at);
  }

  at(row: number): unknown {
    for (;;) {
      const part = this.#parts[this.#part];
      if (part === undefined) return null;
      if (row < part.at + part.data.length) return part.data[row - part.at];
      this.#part++;
    }
  }
}

/** Writes a value of the schema's node; numbers alone do not say whether they are integers. */
function write(writer: RowWriter, value: unknown, node: SchemaTree | undefined): void {
  if (typeof value === 'number') {
    if (isInteger(node)) writer.integer(value);
    else writer.float(value);
  } else if (value instanceof Uint8Array) {
    const { converted_type, logical_type } = node?.element ?? {};
    if (logical_type?.type === 'JSON') writer.value(readExactJson(utf8.decode(value)));
    else if (texts.includes(converted_type ?? logical_type?.type ?? '')) writer.encoded(value);
    else writer.binary(value);
  } else if (Array.isArray(value)) {
    writer.list(value.length);
    const of = itemOf(node);
    for (const item of value) write(writer, item, of);
  } else if (isGroup(value)) {
    const members = Object.entries(value);
    writer.object(members.length);
    for (const [name, member] of members) {
      writer.name(Buffer.from(name));
      write(writer, member, memberOf(node, name));
    }
  } else writer.value(value);
}

function isGroup(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return !(value instanceof Uint8Array) && !(value instanceof Instant);
}

function isInteger(node: SchemaTree | undefined): boolean {
  return node?.element.type === 'INT32' && node.element.converted_type !== 'DECIMAL';
}

/** Node of the values in a list: below the repeated group, or that group itself. */
function itemOf(node: SchemaTree | undefined): SchemaTree | undefined {
  const repeated = node?.children[0];
  if (repeated === undefined) return node;
  return repeated.children.length === 1 ? repeated.children[0] : repeated;
}

/** Node of a member, or of the values of a map. */
function memberOf(node: SchemaTree | undefined, name: string): SchemaTree | undefined {
  const own = node?.children.find(({ element }) => element.name === name);
  return own ?? node?.children[0]?.children[1];
}
