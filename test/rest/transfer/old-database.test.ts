/** A database of eKuiper 1.x in the data folder: what is told, and the ways out of it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import initSqlJs from 'sql.js';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';

const sqlOf = (kind: string, name: string) => `CREATE ${kind} ${name} (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")`;

/** A data folder with a database of version 1: plain SQL for streams and tables, rules with `triggered`. */
async function oldFolder(): Promise<{ data: string; file: string; bytes: Buffer }> {
  const sql = await initSqlJs();
  const db = new sql.Database();
  for (const table of ['stream', 'rule']) db.run(`CREATE TABLE ${table} (key VARCHAR(255) PRIMARY KEY, val BLOB)`);
  db.run('INSERT INTO stream VALUES (?, ?), (?, ?), (?, ?)', [
    ...['olds', sqlOf('STREAM', 'olds')],
    ...['oldt', sqlOf('TABLE', 'oldt')],
    ...['good', JSON.stringify({ streamType: 0, streamKind: '', statement: sqlOf('STREAM', 'good') })],
  ]);
  const rule = (id: string, source: string, triggered: boolean) =>
    JSON.stringify({ triggered, id, sql: `SELECT * FROM ${source}`, actions: [{ nop: {} }] });
  db.run('INSERT INTO rule VALUES (?, ?), (?, ?)', [
    ...['stopped', rule('stopped', 'good', false)],
    ...['broken', rule('broken', 'olds', true)],
  ]);
  const data = temporaryFolder();
  const file = join(data, 'sqliteKV.db');
  const bytes = Buffer.from(db.export());
  writeFileSync(file, bytes);
  return { data, file, bytes };
}

test('records of streams and tables are refused by name, deleted and made again', async () => {
  const { data } = await oldFolder();
  const plane = await startControlPlane(data);
  for (const [path, name, kind] of [
    ['/streams', 'olds', 'STREAM'],
    ['/tables', 'oldt', 'TABLE'],
  ] as const) {
    const described = await plane.request('GET', `${path}/${name}`);
    assert.is(described.status, 400, described.text);
    assert.match(described.json.message, `error unmarshall ${name}, the data in db may be corrupted`);
    assert.ok((await plane.request('GET', path)).json.includes(name), 'listed, so that it is found');
    const deleted = await plane.request('DELETE', `${path}/${name}?force=true`);
    assert.is(deleted.status, 200, deleted.text);
    assert.is((await plane.request('POST', path, { sql: sqlOf(kind, name) })).status, 201);
    assert.is((await plane.request('GET', `${path}/${name}`)).json.Name, name);
  }
  assert.is((await plane.request('GET', '/streams/good')).json.Name, 'good');
  await plane.close();
});

test('rules are there as they were left, one without its stream says why it does not run', async () => {
  const { data } = await oldFolder();
  const plane = await startControlPlane(data);
  const states = (await plane.request('GET', '/rules')).json as { id: string; status: string }[];
  assert.equal(
    states.map(({ id }) => id),
    ['broken', 'stopped'],
  );
  assert.match(states[1]?.status ?? '', /^Stopped/);
  const { status, message } = (await plane.request('GET', '/rules/broken/status')).json;
  assert.match(`${status} ${message}`, /olds/);
  await plane.close();
});

test('an export holds what can be read, and an import of it replaces the rest', async () => {
  const { data } = await oldFolder();
  const plane = await startControlPlane(data);
  const exported = await plane.request('GET', '/data/export');
  assert.equal([Object.keys(exported.json.streams), Object.keys(exported.json.tables)], [['good'], []]);
  const document = { ...exported.json, rules: { stopped: exported.json.rules.stopped } };
  const taken = await plane.request('POST', '/data/import', { content: JSON.stringify(document) });
  assert.is(taken.status, 200, taken.text);
  assert.equal((await plane.request('GET', '/streams')).json, ['good']);
  assert.equal((await plane.request('GET', '/tables')).json, []);
  await plane.close();
});

test('another name in the store configuration leaves the old file untouched', async () => {
  const { data, file, bytes } = await oldFolder();
  const plane = await startControlPlane(data, { KUIPER__STORE__SQLITE__NAME: 'second.db' });
  assert.equal((await plane.request('GET', '/streams')).json, []);
  assert.is((await plane.request('POST', '/streams', { sql: sqlOf('STREAM', 'fresh') })).status, 201);
  await plane.close();
  assert.equal(readFileSync(file), bytes);
  const again = await startControlPlane(data, { KUIPER__STORE__SQLITE__NAME: 'second.db' });
  assert.equal((await again.request('GET', '/streams')).json, ['fresh']);
  await again.close();
  assert.equal(readFileSync(file), bytes);
});

test('an old file that was taken over is kept beside', async () => {
  const { data, file, bytes } = await oldFolder();
  const plane = await startControlPlane(data);
  await plane.request('DELETE', '/streams/olds?force=true');
  await plane.close();
  assert.equal(readFileSync(`${file}.before-haumea`), bytes);
});

test.run();
