/** Parquet files that are made to harm: each fails with its reason, within its time, and costs no other. */

import { writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { parquetMetadata } from 'hyparquet';
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ParquetThread } from '../../../../host/connectors/file/reading/parquet/thread.js';
import { temporaryFolder } from '../../../support/harness.js';

const folder = temporaryFolder();
const thread = new ParquetThread();
let count = 0;

test.after(() => thread.end());

const written = (columnData: ColumnSource[], options = {}) =>
  Buffer.from(parquetWriteBuffer({ columnData, codec: 'UNCOMPRESSED', ...options }));

async function read(bytes: Buffer, by = thread): Promise<number> {
  const path = join(folder, `${++count}.parquet`);
  writeFileSync(path, bytes);
  let file: FileHandle | undefined;
  let rows = 0;
  try {
    file = await open(path);
    for await (const part of by.rows(file.fd, bytes.length, 0, (event) => event)) for (const _ of part) rows++;
  } finally {
    await file?.close();
  }
  return rows;
}

async function failureOf(bytes: Buffer, by = thread): Promise<string> {
  try {
    return `no failure, ${await read(bytes, by)} rows`;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The first column's pages start here. */
const begin = 4;
const varint = (value: bigint): number[] => {
  const bytes: number[] = [];
  for (let left = value; ; left >>= 7n) {
    if (left < 128n) return [...bytes, Number(left)];
    bytes.push(Number(left & 127n) | 128);
  }
};
/** A field of 32 bits in a head. */
const field = (step: number, value: number) => [(step << 4) | 5, ...varint(BigInt(value) * 2n)];

/**
 * A file of one column with one page. The page stands in the place of the one of a good file, which has to have room
 * for it; what is left of that is a part of the page.
 */
function withPage(good: Buffer, head: (size: number) => number[], body: number[]): Buffer {
  const { row_groups } = parquetMetadata(
    good.buffer.slice(good.byteOffset, good.byteOffset + good.length) as ArrayBuffer,
  );
  const { total_compressed_size } = row_groups[0]!.columns[0]!.meta_data!;
  const room = Number(total_compressed_size);
  let size = room;
  while (head(size).length + size > room) size--;
  const bytes = Buffer.from(good);
  bytes.fill(0, begin, begin + room);
  bytes.set([...head(size), ...body], begin);
  return bytes;
}

/** Head of a data page of the second version. */
const head2 =
  (values: number, encoding: number, levels: number[] = field(1, 0).concat(field(1, 0))) =>
  (size: number) => [
    ...field(1, 3),
    ...field(1, size),
    ...field(1, size),
    0x5c,
    ...field(1, values),
    ...field(1, 0),
    ...field(1, values),
    ...field(1, encoding),
    ...levels,
    0,
    0,
  ];
/** Head of a data page of the first version. */
const head1 = (values: number, encoding: number) => (size: number) => [
  ...field(1, 0),
  ...field(1, size),
  ...field(1, size),
  0x2c,
  ...field(1, values),
  ...field(1, encoding),
  ...field(1, 3),
  ...field(1, 3),
  0,
  0,
];

const most = 2 ** 31 - 1;
const plain: ColumnSource = { name: 'n', data: Int32Array.from({ length: 1000 }, (_, i) => i), nullable: false };
const good = written([plain]);
const texts = written([
  {
    name: 's',
    data: Array.from({ length: 1000 }, (_, i) => `${i}`),
    type: 'BYTE_ARRAY',
    nullable: false,
    encoding: 'PLAIN',
  },
]);
const rle = (length: number) => varint(BigInt(length) * 2n);

for (const [what, bytes, reason] of [
  ['a page of very many values', withPage(good, head1(most, 0), []), /says that it has 2147483647 values/],
  ['a page of the second version', withPage(good, head2(most, 0), []), /says that it has 2147483647 values/],
  ['a run of very many values', withPage(good, head1(1000, 8), [1, ...rle(most), 1]), /a run is longer/],
  ['one of packed bits', withPage(good, head1(1000, 8), [1, ...varint(0xfffffffdn), 1]), /a run is longer/],
  ['a run of values without a width', withPage(good, head2(1000, 8), [0, ...rle(most)]), /a run is longer/],
  ['packed bits without a width', withPage(good, head2(1000, 8), [0, ...varint(0xfffffffdn)]), /a run is longer/],
  ['levels without a length', withPage(good, head2(1000, 0, []), []), /the head of a page is damaged/],
  ['differences in blocks below 0', withPage(good, head1(1000, 5), [...varint(0xffffff80n), 1]), /blocks of -128/],
  ['differences in no parts', withPage(good, head1(1000, 5), [0x80, 1, 0]), /values in 0 parts/],
  ['fewer values than rows', withPage(good, head1(10, 0), []), /column n has fewer rows/],
] as const) {
  test(`${what}: the file fails with the reason`, async () => {
    const found = await failureOf(bytes);
    assert.match(found, /^rows 0 to 999 can't be read: /);
    assert.match(found, reason);
    assert.is(await read(good), 1000);
  });
}

test('columns of many values that take few bytes', async () => {
  const columnData = Array.from({ length: 20 }, (_, i) => ({ ...plain, name: `n${i}` }));
  const bytes = written(columnData);
  const { row_groups } = parquetMetadata(
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer,
  );
  const values = 1 << 24;
  for (const { meta_data } of row_groups[0]!.columns) {
    const at = Number(meta_data!.data_page_offset);
    const room = Number(meta_data!.total_compressed_size);
    const size = room - head1(values, 8)(room).length;
    bytes.set([...head1(values, 8)(size), 1, ...rle(values), 1], at);
  }
  assert.match(await failureOf(bytes), /the row group has too many values/);
  assert.is(await read(good), 1000);
});

test('texts that grow by what they have of those before', async () => {
  // A block of one part: each prefix is the one before and 2^20 more.
  const deltas = (first: bigint, step: bigint) => [
    ...[0x80, 8, 1, ...varint(1000n), ...varint(first * 2n)],
    ...[...varint(step * 2n), 0],
  ];
  const found = await failureOf(withPage(texts, head1(1000, 7), [...deltas(0n, 1n << 20n), ...deltas(1n, 0n)]));
  assert.match(found, /the row group has too many bytes/);
});

/** A file with nothing but a footer. */
function ofFooter(footer: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([Buffer.from('PAR1'), footer, length, Buffer.from('PAR1')]);
}

test('lists in lists of the footer, each of many items', async () => {
  const list = [0xf9, ...varint(33_000_000n)];
  const footer = Buffer.from([0x19, ...Array.from({ length: 30 }, () => list).flat()]);
  assert.match(await failureOf(ofFooter(footer)), /cut off or damaged: it has a list of 33000000 items/);
  assert.is(await read(good), 1000);
});

test('reading that does not come to its end fails within its time', async () => {
  // A number of millions of digits in the footer, each of which costs more than the one before.
  const footer = Buffer.alloc(8_000_000, 0xff);
  footer[0] = 0x16;
  footer.set([1, 0], footer.length - 2);
  const slow = ofFooter(footer);
  const hasty = new ParquetThread(1500);
  const from = performance.now();
  const found = await failureOf(slow, hasty);
  await hasty.end();
  assert.is(found, 'reading took more than 1500 ms');
  assert.ok(performance.now() - from < 15_000);
  const calm = new ParquetThread();
  assert.is(await read(good, calm), 1000);
  await calm.end();
});

test('reading stops at once when no more rows are wanted', async () => {
  const file = await open(join(folder, '1.parquet'));
  const own = new ParquetThread();
  for await (const _ of own.rows(file.fd, 4, 0, () => Promise.resolve())) assert.unreachable();
  await file.close();
});

for (const codec of ['SNAPPY', 'UNCOMPRESSED'] as const) {
  test(`good pages of all kinds, ${codec}`, async () => {
    const numbers = Array.from({ length: 3000 }, (_, i) => i * 7);
    const longs = numbers.map(BigInt);
    const names = numbers.map((i) => (i % 3 === 0 ? null : `name ${i}`));
    const few = numbers.map((i) => `v${i % 5}`);
    const columnData: ColumnSource[] = [
      { name: 'i', data: Int32Array.from(numbers), encoding: 'DELTA_BINARY_PACKED' },
      { name: 'l', data: longs, type: 'INT64', encoding: 'DELTA_BINARY_PACKED' },
      { name: 's', data: names, type: 'STRING', encoding: 'DELTA_BYTE_ARRAY' },
      { name: 't', data: names, type: 'STRING', encoding: 'DELTA_LENGTH_BYTE_ARRAY' },
      { name: 'd', data: numbers, type: 'DOUBLE', encoding: 'BYTE_STREAM_SPLIT' },
      { name: 'few', data: few, type: 'STRING', encoding: 'RLE_DICTIONARY' },
      { name: 'same', data: numbers.map(() => 'x'), type: 'STRING' },
      { name: 'b', data: numbers.map((i) => i % 2 === 0), type: 'BOOLEAN', encoding: 'RLE' },
      { name: 'none', data: numbers.map(() => null), type: 'INT32' },
      { name: 'j', data: numbers.map((i) => ({ i })), type: 'JSON' },
    ];
    assert.is(await read(written(columnData, { codec, rowGroupSize: 1100 })), 3000);
  });
}

/** Made by Arrow: rows 1 and "a", null and null, 3 and "bc", with dictionaries and statistics. */
const ofArrow = {
  'the first version':
    'UEFSMRUEFRAVFEwVBBUAEgAACBwBAAAAAwAAABUAFRIVFiwVBhUQFQYVBhwYBAMAAAAYBAEAAAAWAigEAwAAABgEAQAAABERAAAA' +
    'CSACAAAAAwUBAwIVBBUWFRpMFQQVABIAAAsoAQAAAGECAAAAYmMVABUSFRYsFQYVEBUGFQYcNgIoAmJjGAFhEREAAAAJIAIAAAAD' +
    'BQEDAhUEGTw1ABgGc2NoZW1hFQQAFQIlAhgBbgAVDCUCGAFzJQBMHAAAABYGGRwZLCYAHBUCGTUABhAZGAFuFQIWBhacARakASY4' +
    'JggcGAQDAAAAGAQBAAAAFgIoBAMAAAAYBAEAAAAREQAZLBUEFQAVAgAVABUQFQIAPCkGGSYCBAAAACYAHBUMGTUABhAZGAFzFQIW' +
    'BhaAARaIASbiASasARw2AigCYmMYAWEREQAZLBUEFQAVAgAVABUQFQIAPBYGGQYZJgIEAAAAFpwCFgYmCBasAgAoIHBhcnF1ZXQt' +
    'Y3BwLWFycm93IHZlcnNpb24gMjYuMC4xGSwcAAAcAAAA/gAAAFBBUjE=',
  'the second version':
    'UEFSMRUEFRAVFEwVBBUAEgAACBwBAAAAAwAAABUGFQoVClwVBhUCFQYVEBUEFQASHBgEAwAAABgEAQAAABYCKAQDAAAAGAQBAAAA' +
    'EREAAAADBQEDAhUEFRYVGkwVBBUAEgAACygBAAAAYQIAAABiYxUGFQoVClwVBhUCFQYVEBUEFQASHDYCKAJiYxgBYRERAAAAAwUB' +
    'AwIVBBk8NQAYBnNjaGVtYRUEABUCJQIYAW4AFQwlAhgBcyUATBwAAAAWBhkcGSwmABwVAhk1AAYQGRgBbhUCFgYWngEWogEmOCYI' +
    'HBgEAwAAABgEAQAAABYCKAQDAAAAGAQBAAAAEREAGSwVBBUAFQIAFQAVEBUCADwpBhkmAgQAAAAmABwVDBk1AAYQGRgBcxUCFgYW' +
    'ggEWhgEm4AEmqgEcNgIoAmJjGAFhEREAGSwVBBUAFQIAFQAVEBUCADwWBhkGGSYCBAAAABagAhYGJggWqAIAKCBwYXJxdWV0LWNw' +
    'cC1hcnJvdyB2ZXJzaW9uIDI2LjAuMRksHAAAHAAAAP4AAABQQVIx',
};
for (const [version, text] of Object.entries(ofArrow)) {
  test(`pages of ${version} by another writer, with statistics`, async () => {
    assert.is(await read(Buffer.from(text, 'base64')), 3);
  });
}

test.run();
