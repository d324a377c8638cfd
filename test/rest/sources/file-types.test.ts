/** Files of every type become rows: what a user sees of csv, raw and packed files, and of folders that are watched. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compressions } from '../../../host/base/bytes/compression.js';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let count = 0;

test.before(async () => {
  server = await startServer();
});
test.after(async () => void (await server.stop()));

interface Reading {
  readonly folder: string;
  /** Waits until these rows have come, and no others. */
  came(...rows: unknown[]): Promise<unknown>;
}

interface Given {
  /** Properties of the source. */
  readonly conf: object;
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Columns of the stream. */
  readonly columns?: string;
  /** Further options of the stream. */
  readonly options?: string;
  readonly select?: string;
  /** What is joined to the stream. */
  readonly join?: string;
  /** File that is read instead of the folder. */
  readonly file?: string;
}

/** A rule over a folder of files, or one file of it. */
async function reading({
  conf,
  files,
  columns = '',
  options = '',
  select = 'SELECT *',
  join: joined = '',
  file = '',
}: Given) {
  const id = `f${++count}`;
  const folder = join(server.data, id);
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const key = await server.request('PUT', `/metadata/sources/file/confKeys/${id}`, { path: folder, ...conf });
  assert.is(key.status, 200, key.text);
  const sql = `CREATE STREAM ${id} (${columns}) WITH (TYPE="file", DATASOURCE="${file}", CONF_KEY="${id}" ${options})`;
  const stream = await server.request('POST', '/streams', { sql });
  assert.is(stream.status, 201, stream.text);
  const made = await server.request('POST', '/rules', {
    id,
    sql: `${select} FROM ${id} ${joined.replaceAll('STREAM', id)}`,
    actions: [{ memory: { topic: id } }, { file: { path: `${folder}.out`, sendSingle: true } }],
    options: { sendError: true },
  });
  assert.is(made.status, 201, made.text);
  const read: Reading = {
    folder,
    came: (...rows) =>
      eventually('the rows', () => {
        const lines = existsSync(`${folder}.out`) ? readFileSync(`${folder}.out`, 'utf8').split('\n').slice(0, -1) : [];
        if (lines.length < rows.length) return false;
        assert.equal(
          lines.map((line) => (line.startsWith('{') ? JSON.parse(line) : line)),
          rows,
        );
        return true;
      }),
  };
  return read;
}

test('csv: names of a header, types of declared columns, empty values', async () => {
  const files = { 'a.csv': 'id,name,at\n1,"x,y",2.5\n9007199254740993,,\n' };
  const columns = 'id BIGINT, name STRING, at FLOAT';
  const read = await reading({ conf: { fileType: 'csv', hasHeader: true }, files, columns, file: 'a.csv' });
  const text = '{"id":9007199254740993}';
  await read.came({ id: 1, name: 'x,y', at: 2.5 }, { id: JSON.parse(text).id, name: '', at: null });
});

test('csv: without names and types', async () => {
  const read = await reading({ conf: { fileType: 'csv' }, files: { 'a.csv': '1,x\n' }, file: 'a.csv' });
  await read.came({ cols0: '1', cols1: 'x' });
});

test('csv: the delimiter is that of the properties, or DELIMITER', async () => {
  const files = { 'a.csv': '1;x\n' };
  const conf = { fileType: 'csv', columns: ['id', 'name'] };
  const one = await reading({ conf: { ...conf, delimiter: ';' }, files, file: 'a.csv' });
  await one.came({ id: '1', name: 'x' });
  const options = ', FORMAT="delimited", DELIMITER=";"';
  const other = await reading({ conf, files, options, file: 'a.csv' });
  await other.came({ id: '1', name: 'x' });
});

test('csv: a value that is not of its type costs its row alone', async () => {
  const files = { 'a.csv': 'x\n2\n' };
  const conf = { fileType: 'csv', columns: ['id'] };
  const read = await reading({ conf, files, columns: 'id BIGINT', file: 'a.csv' });
  await read.came('id has wrong type:string, expect:bigint', { id: 2 });
});

test('raw: a file is the payload, in the format of the stream; its name is in the metadata', async () => {
  const given = { conf: { fileType: 'raw' }, files: { a: Uint8Array.of(0xff, 0xd8, 0) }, file: 'a' };
  const read = await reading({ ...given, options: ', FORMAT="binary"', select: 'SELECT self, meta(file) AS f' });
  await read.came({ self: '/9gA', f: join(read.folder, 'a') });
});

test('lines: those at begin and end are left out; packed files are unpacked', async () => {
  const text = 'head\n{"a":1}\n{"a":2}\nfoot\n';
  const conf = { fileType: 'lines', ignoreStartLines: 1, ignoreEndLines: 1 };
  const plain = await reading({ conf, files: { a: text }, file: 'a' });
  await plain.came({ a: 1 }, { a: 2 });
  const zipped = await reading({ conf: { ...conf, decompression: 'gzip' }, files: { a: gzipSync(text) }, file: 'a' });
  await zipped.came({ a: 1 }, { a: 2 });
  const zstd = compressions.zstd.compress(Buffer.from(text));
  const packed = await reading({ conf: { ...conf, decompression: 'zstd' }, files: { a: zstd }, file: 'a' });
  await packed.came({ a: 1 }, { a: 2 });
});

test('a folder is watched: files that come later are read', async () => {
  const read = await reading({ conf: { fileType: 'csv' }, files: { 'a.csv': '1\n' } });
  await read.came({ cols0: '1' });
  writeFileSync(join(read.folder, 'b.csv'), '2\n');
  await read.came({ cols0: '1' }, { cols0: '2' });
});

test('a table of a watched folder does not keep its rule waiting', async () => {
  const folder = join(server.data, 'tables');
  mkdirSync(folder);
  writeFileSync(join(folder, 'a.csv'), 'id,name\n1,one\n');
  const conf = { path: folder, fileType: 'csv', hasHeader: true };
  assert.is((await server.request('PUT', '/metadata/sources/file/confKeys/tables', conf)).status, 200);
  const sql = 'CREATE TABLE t (id BIGINT, name STRING) WITH (TYPE="file", DATASOURCE="", CONF_KEY="tables")';
  const table = await server.request('POST', '/tables', { sql });
  assert.is(table.status, 201, table.text);
  const began = performance.now();
  const read = await reading({
    conf: { fileType: 'lines' },
    files: { a: '{"id":1}\n' },
    file: 'a',
    select: 'SELECT name',
    join: 'INNER JOIN t ON STREAM.id = t.id',
  });
  await read.came({ name: 'one' });
  assert.ok(performance.now() - began < 4000);
});

test.run();
