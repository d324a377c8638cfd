/**
 * Looks through a row group before it is read: the library makes lists as long as the file says, and lists that are too
 * long end the whole process, even from a thread. It reads what is missing as a number that is none, too.
 */
import { type AsyncBuffer, type ColumnMetaData, parquetSchema, type RowGroup, type SchemaTree } from 'hyparquet';
import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getTreePath } from 'hyparquet/src/schema.js';
import { reasonOf } from '../../../../base/errors.js';
import { Page, PageHead, varint } from './page-head.js';
import { unpackers } from './unpackers.js';

/** Most values of a page, and of a column of a row group. */
const mostOfPage = 1 << 24;
const mostOfColumn = 1 << 26;
/** Bytes of the heap that the values of a row group take; the thread has more. */
const mostHeapBytes = 3 * 1024 ** 3;
/** Bytes of the heap that a value takes: in a list, as bytes of its own, and for each group that it is in. */
const heapOf = { value: 24, bytes: 128, group: 48 } as const;
/** Values by which the last run of packed bits may be longer than its list. */
const padding = 512;
/** Values of the largest block of differences; writers have 128. */
const mostOfBlock = 1 << 16;

const Encoding = {
  dictionary: 2,
  runs: 3,
  delta: 5,
  deltaLengths: 6,
  deltaBytes: 7,
  dictionary2: 8,
  split: 9,
} as const;
const ofRuns: readonly number[] = [Encoding.dictionary, Encoding.runs, Encoding.dictionary2];
const ofDeltas: readonly number[] = [Encoding.delta, Encoding.deltaLengths, Encoding.deltaBytes];
const isPlain = (encoding: number) => !ofRuns.includes(encoding) && !ofDeltas.includes(encoding) && encoding !== 9;

/** A column, as far as its pages are read by it. */
interface Column {
  readonly data: ColumnMetaData;
  readonly repetition: number;
  readonly definition: number;
  readonly path: readonly SchemaTree[];
}

/** What may be made of pages that are still to be looked through. */
interface Room {
  /** Bytes of pages and texts. */
  left: number;
  /** Bytes of the heap, about: a long list that has no room in it ends the process. */
  heap: number;
}

/** Throws the reason when the group is not to be read. @param mostBytes of all its pages, unpacked */
export async function checkGroup(
  file: AsyncBuffer,
  group: RowGroup,
  metadata: Parameters<typeof parquetSchema>[0],
  mostBytes: number,
): Promise<void> {
  if (!(Number(group.num_rows) >= 0 && Number(group.num_rows) <= mostOfColumn)) {
    throw new Error(`a row group says that it has ${group.num_rows} rows`);
  }
  const root = parquetSchema(metadata);
  const room = { left: mostBytes, heap: mostHeapBytes };
  for (const { meta_data: data } of group.columns) {
    if (data === undefined) continue;
    const from = Number(data.dictionary_page_offset || data.data_page_offset);
    const to = from + Number(data.total_compressed_size);
    if (!(from >= 0 && from <= to && to <= file.byteLength)) throw new Error('a column is outside of the file');
    const path = getTreePath(root, data.path_in_schema);
    const column = { data, path, repetition: getMaxRepetitionLevel(path), definition: getMaxDefinitionLevel(path) };
    try {
      checkColumn(Buffer.from(await file.slice(from, to)), column, room);
    } catch (error) {
      throw new Error(`column ${data.path_in_schema.join('.')}: ${reasonOf(error)}`, { cause: error });
    }
  }
}

function checkColumn(bytes: Buffer, column: Column, room: Room): void {
  let values = 0;
  // The library ends one byte earlier, too.
  for (let at = 0; at < bytes.length - 1; ) {
    const head = new PageHead(bytes, at);
    const end = head.end + head.packed;
    if (head.packed < 0 || head.unpacked < 0 || end > bytes.length) throw new Error('a page is cut off');
    take(room, head.unpacked);
    values += head.type === Page.dictionary ? 0 : head.values;
    if (!(head.values >= 0 && head.values <= mostOfPage) || values > mostOfColumn) {
      throw new Error(`a page says that it has ${head.values} values`);
    }
    room.heap -= head.values * heapBytesOf(head.encoding, column);
    if (room.heap < 0) throw new Error('the row group has too many values');
    const page = bytes.subarray(head.end, end);
    if (head.type === Page.data) checkPage(page, head, column, room);
    else if (head.type === Page.data2) checkPage2(page, head, column, room);
    at = end;
  }
}

function heapBytesOf(encoding: number, { data, path }: Column): number {
  const hasBytes = data.type.endsWith('BYTE_ARRAY') && !ofRuns.includes(encoding);
  // The root and the value itself are no groups around it.
  return heapOf.value + (hasBytes ? heapOf.bytes : 0) + (path.length - 2) * heapOf.group;
}

function take(room: Room, bytes: number): void {
  room.left -= bytes;
  if (room.left < 0) throw new Error('the row group has too many bytes');
}

function checkPage(packed: Buffer, head: PageHead, column: Column, room: Room): void {
  const { repetition, definition } = column;
  if (isPlain(head.encoding) && repetition === 0 && definition === 0) return;
  const page = unpackedOf(packed, head.unpacked, column);
  let at = 0;
  let values = head.values;
  if (repetition > 0) at = checkLevels(page, at, repetition, head.values);
  if (definition > 0) {
    const begin = at;
    at = checkLevels(page, begin, definition, head.values);
    if (!isPlain(head.encoding)) values = countOf(page, begin, definition, head.values);
  }
  checkValues(page.subarray(at), head.encoding, values, column, room, column.data.type === 'BOOLEAN');
}

/** Returns the place behind the levels. */
function checkLevels(page: Buffer, from: number, level: number, values: number): number {
  const begin = from + 4;
  checkRuns(page.subarray(begin), widthOf(level), values);
  return begin + page.readUInt32LE(from);
}

/** The levels of pages of the second version stand unpacked before the values. */
function checkPage2(page: Buffer, head: PageHead, column: Column, room: Room): void {
  const { repetition, definition } = column;
  const { repetitionBytes, definitionBytes } = head;
  const begin = repetitionBytes + definitionBytes;
  if (repetitionBytes < 0 || definitionBytes < 0 || begin > page.length) throw new Error('a page is damaged');
  if (definition === 0 && definitionBytes > 0) throw new Error('a page has levels that its column has not');
  if (!(head.nulls >= 0 && head.nulls <= head.values)) throw new Error('a page has more nulls than values');
  if (repetition > 0) checkRuns(page, widthOf(repetition), head.values);
  if (definition > 0) checkRuns(page.subarray(repetitionBytes), widthOf(definition), head.values);
  if (isPlain(head.encoding)) return;
  const packed = page.subarray(begin);
  const values = head.isPacked ? unpackedOf(packed, head.unpacked - begin, column) : packed;
  checkValues(values, head.encoding, head.values - head.nulls, column, room, head.encoding === Encoding.runs);
}

/** @param isTruth runs stand behind their length, and not behind their width */
function checkValues(
  page: Buffer,
  encoding: number,
  values: number,
  { path }: Column,
  room: Room,
  isTruth: boolean,
): void {
  if (page.length === 0) return;
  if (ofRuns.includes(encoding)) {
    if (isTruth) checkRuns(page.subarray(4), 1, values);
    else checkRuns(page.subarray(1), page[0]!, values);
  } else if (encoding === Encoding.split) {
    if (values * (path.at(-1)!.element.type_length ?? 1) > page.length) throw new Error('a page is cut off');
  } else if (ofDeltas.includes(encoding)) {
    checkDeltas(page, 0);
    if (encoding === Encoding.deltaBytes) checkPrefixes(page, values, room);
  }
}

/** No run has more values than there are: the library would write them all. */
function checkRuns(bytes: Buffer, width: number, values: number): void {
  let seen = 0;
  for (let at = 0; seen < values && at < bytes.length; ) {
    const [head, begin] = varint(bytes, at);
    const isPacked = (head & 1) === 1;
    const count = isPacked ? (head >> 1) << 3 : head >>> 1;
    if (count < 0 || count > values + (isPacked ? padding : 0)) throw new Error('a run is longer than its page');
    at = begin + (isPacked ? Math.ceil((count * width) / 8) : (width + 7) >> 3);
    seen += count;
  }
}

/** Blocks of differences have lengths with which the library comes to their end. */
function checkDeltas(bytes: Buffer, from: number): void {
  const [block, second] = varint(bytes, from);
  const [parts] = varint(bytes, second);
  if (!(block > 0 && block <= mostOfBlock && parts > 0 && block % parts === 0)) {
    throw new Error(`a page has differences in blocks of ${block} values in ${parts} parts`);
  }
}

/** Each text is copied with what it has of the one before it. */
function checkPrefixes(page: Buffer, values: number, room: Room): void {
  const reader = { view: new DataView(page.buffer, page.byteOffset, page.length), offset: 0 };
  const lengths = [new Int32Array(values), new Int32Array(values)] as const;
  for (const list of lengths) {
    checkDeltas(page, reader.offset);
    deltaBinaryUnpack(reader, values, list);
  }
  for (let i = 0; i < values; i++) {
    const prefix = lengths[0][i]!;
    const rest = lengths[1][i]!;
    if (prefix < 0 || rest < 0) throw new Error('a text has a length below 0');
    take(room, prefix === 0 ? 0 : prefix + rest);
  }
}

/** Number of values that are not null, by their levels. */
function countOf(page: Buffer, from: number, definition: number, values: number): number {
  const levels: number[] = new Array(values);
  const reader = { view: new DataView(page.buffer, page.byteOffset, page.length), offset: from };
  readRleBitPackedHybrid(reader, widthOf(definition), levels);
  let count = 0;
  for (const level of levels) if (level === definition) count++;
  return count;
}

function unpackedOf(packed: Buffer, size: number, { data: { codec } }: Column): Buffer {
  if (codec === 'UNCOMPRESSED') return packed;
  const unpack = unpackers[codec];
  if (unpack === undefined) throw new Error(`compression ${codec} is not supported`);
  const page = unpack(packed, size);
  return Buffer.from(page.buffer, page.byteOffset, page.length);
}

const widthOf = (level: number) => 32 - Math.clz32(level);
