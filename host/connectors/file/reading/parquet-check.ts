/**
 * Looks through a row group before it is read: the library makes lists as long as the file says, and lists that are too
 * long end the whole process.
 */
import { type AsyncBuffer, type ColumnMetaData, parquetSchema, type RowGroup, type SchemaTree } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { PageHead, varint } from './parquet-head.js';

/** Most values of a page, and of a column of a row group. */
const mostOfPage = 1 << 24;
const mostOfColumn = 1 << 26;
/** Values by which the last run of packed bits may be longer than its list. */
const padding = 512;

const Page = { data: 0, dictionary: 2, data2: 3 } as const;
/** Encodings whose values are runs: PLAIN_DICTIONARY, RLE, RLE_DICTIONARY. */
const ofRuns = [2, 3, 8];

interface Levels {
  readonly repetition: number;
  readonly definition: number;
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
  let left = mostBytes;
  for (const { meta_data: column } of group.columns) {
    if (column === undefined) continue;
    const from = Number(column.dictionary_page_offset || column.data_page_offset);
    const to = from + Number(column.total_compressed_size);
    if (!(from >= 0 && from <= to && to <= file.byteLength)) throw new Error('a column is outside of the file');
    const bytes = Buffer.from(await file.slice(from, to));
    left -= checkColumn(bytes, column, levelsOf(root, column.path_in_schema), left);
  }
}

/** Returns the bytes of the pages, unpacked. */
function checkColumn(bytes: Buffer, column: ColumnMetaData, levels: Levels, mostBytes: number): number {
  let values = 0;
  let unpacked = 0;
  // The library ends one byte earlier, too.
  for (let at = 0; at < bytes.length - 1; ) {
    const head = new PageHead(bytes, at);
    const end = head.end + head.packed;
    if (head.packed < 0 || head.unpacked < 0 || end > bytes.length) throw new Error('a page is cut off');
    unpacked += head.unpacked;
    if (unpacked > mostBytes) throw new Error('the pages of a row group have too many bytes');
    values += head.type === Page.dictionary ? 0 : head.values;
    if (!(head.values >= 0 && head.values <= mostOfPage) || values > mostOfColumn) {
      throw new Error(`a page says that it has ${head.values} values`);
    }
    const page = bytes.subarray(head.end, end);
    if (head.type === Page.data) checkPage(page, head, column, levels);
    else if (head.type === Page.data2) checkPage2(page, head, column, levels);
    at = end;
  }
  return unpacked;
}

function checkPage(packed: Buffer, head: PageHead, column: ColumnMetaData, { repetition, definition }: Levels): void {
  const hasRuns = ofRuns.includes(head.encoding);
  if (!hasRuns && repetition === 0 && definition === 0) return;
  const page = unpackedOf(packed, head.unpacked, column);
  let at = 0;
  for (const level of [repetition, definition]) {
    if (level === 0) continue;
    const end = at + 4 + page.readUInt32LE(at);
    checkRuns(page.subarray(at + 4), widthOf(level), head.values);
    at = end;
  }
  if (hasRuns) checkValues(page, at, column, head.values);
}

/** The levels of pages of the second version stand unpacked before the values. */
function checkPage2(page: Buffer, head: PageHead, column: ColumnMetaData, { repetition, definition }: Levels): void {
  const { repetitionBytes, definitionBytes } = head;
  const begin = repetitionBytes + definitionBytes;
  if (repetitionBytes < 0 || definitionBytes < 0 || begin > page.length) throw new Error('a page is damaged');
  if (!(head.nulls >= 0 && head.nulls <= head.values)) throw new Error('a page has more nulls than values');
  if (repetition > 0) checkRuns(page, widthOf(repetition), head.values);
  if (definition > 0) checkRuns(page.subarray(repetitionBytes), widthOf(definition), head.values);
  if (!ofRuns.includes(head.encoding)) return;
  const packed = page.subarray(begin);
  const values = head.isPacked ? unpackedOf(packed, head.unpacked - begin, column) : packed;
  checkValues(values, 0, column, head.values);
}

function checkValues(page: Buffer, at: number, { type }: ColumnMetaData, values: number): void {
  if (at >= page.length) return;
  // Truth values stand behind their length, others behind their width.
  if (type === 'BOOLEAN') checkRuns(page.subarray(at + 4), 1, values);
  else checkRuns(page.subarray(at + 1), page[at]!, values);
}

/** No run has more values than there are: the library would write them all. */
function checkRuns(bytes: Buffer, width: number, values: number): void {
  if (width === 0) return;
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

function unpackedOf(packed: Buffer, size: number, { codec }: ColumnMetaData): Buffer {
  if (codec === 'UNCOMPRESSED') return packed;
  const unpack = compressors[codec];
  // The library says so itself.
  if (unpack === undefined) return Buffer.alloc(0);
  const page = unpack(packed, size);
  return Buffer.from(page.buffer, page.byteOffset, page.length);
}

const widthOf = (level: number) => 32 - Math.clz32(level);

function levelsOf(root: SchemaTree, path: readonly string[]): Levels {
  let node: SchemaTree | undefined = root;
  let repetition = 0;
  let definition = 0;
  for (const name of path) {
    node = node.children.find(({ element }) => element.name === name);
    if (node === undefined) throw new Error(`the schema has no column ${path.join('.')}`);
    const { repetition_type: kind } = node.element;
    if (kind === 'REPEATED') repetition++;
    if (kind !== 'REQUIRED') definition++;
  }
  return { repetition, definition };
}
