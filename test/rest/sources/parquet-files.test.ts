/** Parquet both ways: types keep their meaning, integers all digits, files are whole when they are complete. */
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let count = 0;

test.before(async () => {
  server = await startServer();
});
test.after(async () => void (await server.stop()));

const nextFolder = () => {
  const folder = join(server.data, `p${++count}`);
  mkdirSync(folder);
  return folder;
};

/** A rule from files to files; returns its id. */
async function rule(source: object, dataSource: string, sink: object, select = '*', columns = ''): Promise<string> {
  const id = `r${++count}`;
  assert.is((await server.request('PUT', `/metadata/sources/file/confKeys/${id}`, source)).status, 200);
  const sql = `CREATE STREAM ${id} (${columns}) WITH (TYPE="file", DATASOURCE="${dataSource}", CONF_KEY="${id}")`;
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const actions = [{ file: sink }];
  const made = await server.request('POST', '/rules', { id, sql: `SELECT ${select} FROM ${id}`, actions });
  assert.is(made.status, 201, made.text);
  return id;
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;
const ended = (id: string) => eventually('the end', async () => /^stopped/i.test((await status(id)).status));

/** The lines that rows of a file become. */
async function linesOf(folder: string, name: string): Promise<string[]> {
  const out = join(folder, 'lines');
  await ended(await rule({ fileType: 'parquet', path: folder }, name, { path: out, sendSingle: true }));
  return readFileSync(out, 'utf8').split('\n').slice(0, -1);
}

test('columns of every type become values of the type', async () => {
  const folder = nextFolder();
  const columnData: ColumnSource[] = [
    { name: 'b', data: [true, null], type: 'BOOLEAN' },
    { name: 'i', data: [7, null], type: 'INT32' },
    { name: 'l', data: [9007199254740993n, -9223372036854775808n], type: 'INT64' },
    { name: 'd', data: [7, 0.5], type: 'DOUBLE' },
    { name: 's', data: ['ä"', null], type: 'STRING' },
    { name: 'y', data: [Uint8Array.of(1, 255), null], type: 'BYTE_ARRAY' },
    { name: 't', data: [new Date('2024-02-03T04:05:06.789Z'), null], type: 'TIMESTAMP' },
    { name: 'j', data: [{ a: [1, { b: null }] }, null], type: 'JSON' },
  ];
  writeFileSync(join(folder, 'in.parquet'), Buffer.from(parquetWriteBuffer({ columnData })));
  const [first, second] = await linesOf(folder, 'in.parquet');
  assert.is(
    first,
    '{"b":true,"d":7,"i":7,"j":{"a":[1,{"b":null}]},"l":9007199254740993,"s":"ä\\"","t":"2024-02-03T04:05:06.789Z",' +
      '"y":"Af8="}',
  );
  assert.is(second, '{"b":null,"d":0.5,"i":null,"j":null,"l":-9223372036854775808,"s":null,"t":null,"y":null}');
});

test('lists and groups keep their integers', async () => {
  const folder = nextFolder();
  const schema = [
    { name: 'root', num_children: 1 },
    { name: 'g', repetition_type: 'OPTIONAL' as const, num_children: 2 },
    { name: 'n', type: 'INT32' as const, repetition_type: 'OPTIONAL' as const },
    { name: 'xs', repetition_type: 'OPTIONAL' as const, converted_type: 'LIST' as const, num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED' as const, num_children: 1 },
    { name: 'element', type: 'INT32' as const, repetition_type: 'OPTIONAL' as const },
  ];
  const columnData = [
    {
      name: 'g',
      data: [
        { n: 3, xs: [1, 2] },
        { n: null, xs: [] },
      ],
    },
  ];
  writeFileSync(join(folder, 'in'), Buffer.from(parquetWriteBuffer({ columnData, schema })));
  const id = await rule(
    { fileType: 'parquet', path: folder },
    'in',
    { path: join(folder, 'lines'), sendSingle: true },
    'g->n / 2 AS half, g->xs AS xs',
  );
  await ended(id);
  assert.equal(readFileSync(join(folder, 'lines'), 'utf8').split('\n'), ['{"half":1,"xs":[1,2]}', '{"xs":[]}', '']);
});

test('maps are objects, enumerations are texts', async () => {
  const folder = nextFolder();
  const optional = 'OPTIONAL' as const;
  const schema = [
    { name: 'root', num_children: 2 },
    { name: 'm', repetition_type: optional, converted_type: 'MAP' as const, num_children: 1 },
    { name: 'key_value', repetition_type: 'REPEATED' as const, num_children: 2 },
    { name: 'key', type: 'BYTE_ARRAY' as const, converted_type: 'UTF8' as const, repetition_type: 'REQUIRED' as const },
    { name: 'value', type: 'INT32' as const, repetition_type: optional },
    { name: 'e', type: 'BYTE_ARRAY' as const, converted_type: 'ENUM' as const, repetition_type: optional },
  ];
  const columnData = [
    { name: 'm', data: [{ ä: 1, b: 2 }] },
    { name: 'e', data: [Buffer.from('RED')] },
  ];
  writeFileSync(join(folder, 'in'), Buffer.from(parquetWriteBuffer({ columnData, schema })));
  assert.equal(await linesOf(folder, 'in'), ['{"e":"RED","m":{"b":2,"ä":1}}']);
});

for (const codec of ['SNAPPY', 'GZIP', 'ZSTD', 'UNCOMPRESSED'] as const) {
  test(`row groups one after the other, ${codec}`, async () => {
    const folder = nextFolder();
    const { compressions } = await import('../../../host/base/bytes/compression.js');
    const data = BigInt64Array.from({ length: 5000 }, (_, i) => BigInt(i));
    const own = { GZIP: compressions.gzip.compress, ZSTD: compressions.zstd.compress };
    const options = { columnData: [{ name: 'id', data }], rowGroupSize: 700, codec, compressors: own };
    writeFileSync(join(folder, 'in'), Buffer.from(parquetWriteBuffer(options)));
    const lines = await linesOf(folder, 'in');
    assert.equal(
      lines,
      Array.from(data, (id) => `{"id":${id}}`),
    );
  });
}

test('a file that is cut off is told, with its reason', async () => {
  const folder = nextFolder();
  const columnData = [{ name: 'id', data: Int32Array.from({ length: 1000 }, (_, i) => i) }];
  writeFileSync(join(folder, 'in'), Buffer.from(parquetWriteBuffer({ columnData })));
  truncateSync(join(folder, 'in'), 2000);
  writeFileSync(join(folder, 'text'), 'no Parquet');
  for (const [name, reason] of [
    ['in', /in: the Parquet file is cut off or damaged/],
    ['text', /text: it is no Parquet file/],
  ] as const) {
    const id = await rule({ fileType: 'parquet', path: folder }, name, { path: join(folder, 'lines') });
    await ended(id);
    const found = await status(id);
    assert.is(found[`source_${id}_0_exceptions_total`], 1);
    assert.match(found[`source_${id}_0_last_exception`], reason);
  }
});

/** Rows through a rule into files of Parquet. */
async function written(rows: readonly string[], sink: object = {}, columns = ''): Promise<string> {
  const folder = nextFolder();
  writeFileSync(join(server.data, 'rows.in'), rows.map((row) => `${row}\n`).join(''));
  const out = join(folder, 'out.parquet');
  const source = { fileType: 'lines', path: server.data };
  await ended(await rule(source, 'rows.in', { path: out, fileType: 'parquet', ...sink }, '*', columns));
  return folder;
}

async function objectsIn(path: string): Promise<Record<string, unknown>[]> {
  const bytes = readFileSync(path);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
  return parquetReadObjects({ file, compressors });
}

test('rows are written with the types of their values, and read again', async () => {
  const rows = ['{"id":9007199254740993,"x":0.5,"s":"ä","ok":true}', '{"id":2,"s":null,"n":{"a":[1,"b"]}}'];
  const folder = await written(rows, {}, 'id BIGINT, x FLOAT, s STRING, ok BOOLEAN, n STRUCT(a ARRAY(STRING))');
  const [first] = await objectsIn(join(folder, 'out.parquet'));
  assert.is(first!.id, 9007199254740993n);
  assert.is(first!.x, 0.5);
  const lines = await linesOf(folder, 'out.parquet');
  assert.match(lines[0]!, /"id":9007199254740993/);
  assert.match(lines[1]!, /"n":\{"a":\["1","b"\]\}/);
});

test('a row with other columns begins a new file, which has those before as well', async () => {
  const rows = ['{"a":1}', '{"a":2}', '{"b":"x"}', '{"a":3}', '{"a":"y"}', '{"b":null}'];
  const folder = await written(rows, { rollingNamePattern: 'prefix', rollingCount: 1 });
  const files = readdirSync(folder).sort();
  assert.is(files.length, rows.length);
  const last = await objectsIn(join(folder, files.at(-1)!));
  assert.equal(Object.keys(last[0]!).sort(), ['a', 'b']);
});

test('packed otherwise, and by count', async () => {
  const rows = Array.from({ length: 25 }, (_, i) => `{"id":${i},"name":"row ${i}"}`);
  for (const compression of ['gzip', 'zstd']) {
    const folder = await written(rows, { compression, rollingCount: 10, rollingNamePattern: 'suffix' });
    const all: unknown[] = [];
    for (const name of readdirSync(folder).sort()) all.push(...(await objectsIn(join(folder, name))));
    assert.equal(
      all,
      rows.map((row) => JSON.parse(row)),
    );
  }
});

test.run();
