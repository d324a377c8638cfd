/** Databases through REST: rows are looked up there, polled, and written once though the engine is killed. */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import { needsPostgres, sharedPostgres, type TestDatabase } from '../../support/servers/postgres.js';

if (!needsPostgres('databases through REST')) process.exit(0);

let server: TestServer;
let postgres: TestDatabase;
const data = temporaryFolder();

test.before(async () => {
  postgres = await sharedPostgres();
  server = await startServer({ data });
  await accepted('PUT', '/metadata/sources/file/confKeys/here', { path: data, fileType: 'lines' });
  await accepted('PUT', '/metadata/sources/sql/confKeys/own', { dburl: postgres.url, interval: 50 });
});
test.after(async () => {
  await server.stop();
  await postgres.close();
});

async function accepted(method: string, path: string, body?: unknown): Promise<string> {
  const { status, text } = await server.request(method, path, body);
  assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
  return text;
}

/** Creates a stream of the rows. */
async function stream(name: string, rows: readonly unknown[], key = 'here'): Promise<void> {
  writeFileSync(join(data, `${name}.in`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const options = `DATASOURCE="${name}.in", TYPE="file", CONF_KEY="${key}", FORMAT="json"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
}

const ended = (id: string) =>
  eventually(`the end of ${id}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return /^stopped/i.test(json.status) ? json : undefined;
  });

test('rows get what the database has for their key, and are written with their exact numbers', async () => {
  await postgres.query('CREATE TABLE names (id int, name text, big bigint)');
  await postgres.query("INSERT INTO names VALUES (1, 'one', 9007199254740993), (2, 'two', NULL), (2, 'zwei', 7)");
  await postgres.query('CREATE TABLE found (id int, name text, big bigint)');
  const options = 'TYPE="sql", DATASOURCE="names", KIND="lookup", CONF_KEY="own"';
  await accepted('POST', '/tables', { sql: `CREATE TABLE names () WITH (${options})` });
  await stream('asks', [{ id: 1 }, { id: 2 }, { id: 3 }]);
  const sql = 'SELECT asks.id, name, big FROM asks LEFT JOIN names ON asks.id = names.id';
  const actions = [{ sql: { dburl: postgres.url, table: 'found', fields: ['id', 'name', 'big'], sendSingle: true } }];
  await accepted('POST', '/rules', { id: 'names', sql, actions });
  const status = await ended('names');
  assert.is(status.op_names_0_exceptions_total, 0, status.op_names_0_last_exception);
  assert.equal(await postgres.query('SELECT * FROM found ORDER BY id, name'), [
    { id: 1, name: 'one', big: '9007199254740993' },
    { id: 2, name: 'two', big: null },
    { id: 2, name: 'zwei', big: '7' },
    { id: 3, name: null, big: null },
  ]);
});

test('a table is polled: integers stay integers', async () => {
  await postgres.query('CREATE TABLE log (id bigint, half float8)');
  await postgres.query('INSERT INTO log VALUES (3, 3), (9007199254740993, 1)');
  await postgres.query('CREATE TABLE halves (id bigint, a text, b float8)');
  const extra = JSON.stringify({ internalSqlQueryCfg: { limit: 1, indexField: 'id', indexValue: 0 } });
  const options = `TYPE="sql", DATASOURCE="log", CONF_KEY="own", EXTRA="${extra.replaceAll('"', '\\"')}"`;
  await accepted('POST', '/streams', { sql: `CREATE STREAM log () WITH (${options})` });
  const sql = 'SELECT id, id / 2 AS a, half / 2 AS b FROM log';
  const actions = [{ sql: { dburl: postgres.url, table: 'halves' } }];
  await accepted('POST', '/rules', { id: 'halves', sql, actions });
  const rows = await eventually('both rows', async () => {
    const found = await postgres.query('SELECT * FROM halves ORDER BY id');
    return found.length === 2 ? found : undefined;
  });
  assert.equal(rows, [
    { id: '3', a: '1', b: 1.5 },
    { id: '9007199254740993', a: '4503599627370496', b: 0.5 },
  ]);
  await accepted('DELETE', '/rules/halves');
});

test('with qos 2 each row is written once, though the engine is killed', async () => {
  await postgres.query('CREATE TABLE once (id int)');
  await accepted('PUT', '/metadata/sources/file/confKeys/growing', {
    path: data,
    fileType: 'lines',
    interval: '50ms',
    follow: true,
  });
  await stream('growing', [], 'growing');
  const file = join(data, 'growing.in');
  await accepted('POST', '/rules', {
    id: 'once',
    sql: 'SELECT id FROM growing',
    actions: [{ sql: { dburl: postgres.url, table: 'once' } }],
    options: { qos: 2, checkpointInterval: '300ms' },
  });
  assert.match(await accepted('GET', '/rules/once/explain'), /"guarantee":"exactly once"/);
  let next = 0;
  const write = (count: number) => {
    const lines = Array.from({ length: count }, () => `{"id":${next++}}\n`);
    appendFileSync(file, lines.join(''));
  };
  const count = async () => Number((await postgres.query('SELECT count(*) AS n FROM once'))[0]?.n);
  for (let kill = 0; kill < 3; kill++) {
    const before = await count();
    for (let i = 0; i < 20; i++) {
      write(100);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await eventually('rows', async () => (await count()) > before);
    await server.stop('SIGKILL');
    server = await startServer({ data });
  }
  write(10);
  await eventually('all rows', async () => (await count()) >= next);
  const [all] = await postgres.query('SELECT count(*)::int AS n, count(DISTINCT id)::int AS d FROM once');
  assert.equal(all, { n: next, d: next });
  await accepted('DELETE', '/rules/once');
  await eventually(
    'no rows that wait',
    async () => (await postgres.query('SELECT sink FROM haumea_output')).length === 0,
  );
});

test('the connection is checked, and its password is masked', async () => {
  for (const part of ['sinks', 'sources', 'lookups']) {
    const props = { dburl: postgres.url, interval: 1000, table: 't' };
    const check = await server.request('POST', `/metadata/${part}/connection/sql`, props);
    assert.equal([check.status, check.text], [200, '']);
  }
  await accepted('POST', '/connections', { id: 'cellar', typ: 'sql', props: { dburl: postgres.url } });
  const shown = await accepted('GET', '/connections/cellar');
  assert.not.match(shown, /s3cret/);
  const wrong = { dburl: postgres.url.replace('s3cret!', 'wrong-horse'), interval: 1000 };
  const refused = await server.request('POST', '/metadata/sources/connection/sql', wrong);
  assert.match(refused.text, /password authentication failed/);
  assert.not.match(refused.text, /wrong-horse/);
  const oracle = await server.request('POST', '/metadata/sources/connection/sql', {
    dburl: 'oracle://u:p@h/x',
    interval: 1,
  });
  assert.match(oracle.text, /Oracle database, which is not supported/);
});

test('files outside of the allowed folders are refused', async () => {
  const actions = [{ sql: { dburl: 'sqlite:/etc/secret.db', table: 't' } }];
  const strict = await startServer({
    env: { KUIPER__BASIC__ALLOWEXTERNALFILEACCESS: 'false', KUIPER__BASIC__ALLOWEDPATHS: '' },
  });
  await strict.request('POST', '/streams', { sql: 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="a")' });
  const { status, text } = await strict.request('POST', '/rules', { id: 'r', sql: 'SELECT * FROM s', actions });
  await strict.stop();
  assert.ok(status >= 400, text);
  assert.match(text, /dburl.*\/etc\/secret\.db/);
});

test.run();
