/** The sql connector at SQLite files, also beside a native program (Python) that uses them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../../host/base/files/allowed-paths.js';
import { dialects } from '../../../../host/clients/sql/dialect.js';
import { askedPart } from '../../../../host/connectors/index.js';
import type { LookupContext } from '../../../../host/connectors/running.js';
import { TemplateQuery } from '../../../../host/connectors/sql/template-query.js';
import { readSql, sendSql, sharing } from '../../../support/connectors/sql.js';
import { openPlane, passRule } from '../../../support/engine/plane.js';
import { eventually, temporaryFolder } from '../../../support/harness.js';
import { needsPython, openSqlite, python } from '../../../support/servers/sqlite.js';

if (!needsPython('the sql connector at SQLite')) process.exit(0);

test('values of all types become those of rows', async () => {
  const db = openSqlite();
  await db.query('CREATE TABLE types (i INTEGER, f REAL, ok BOOLEAN, t TEXT, at DATETIME, b BLOB, n INT)');
  await db.query(`INSERT INTO types VALUES (9007199254740993, 2, true, 'ä"b', '2026-01-02 03:04:05', x'616263', NULL)`);
  await db.query("INSERT INTO types VALUES (2, 'word', 0, 7, 7, 'text', 1.5)");
  const { source, texts } = await readSql(db.url, { internalSqlQueryCfg: { table: 'types' } });
  await source.close();
  assert.equal(texts(), [
    '{"i":9007199254740993,"f":2.0,"ok":true,"t":"ä\\"b","at":"2026-01-02T03:04:05Z","b":"YWJj","n":null}',
    '{"i":2,"f":"word","ok":false,"t":"7","at":7,"b":"text","n":1.5}',
  ]);
});

test('a source reads what a native program writes meanwhile', async () => {
  const db = openSqlite();
  await db.query('CREATE TABLE log (id INTEGER)');
  const props = { interval: 10, internalSqlQueryCfg: { limit: 50, indexField: 'id', indexValue: 0 } };
  // On a busy machine the writer may have the file for longer than a read waits: the engine opens the source again.
  const disconnected = async (reason: string): Promise<void> => {
    assert.match(reason, /keeps the file locked|change the file all the time/);
    await source.open().catch((error: Error) => disconnected(error.message));
  };
  const { source, texts, warnings } = await readSql(db.url, props, { dataSource: 'log', disconnected });
  const writer = python(`
import sqlite3, time
db = sqlite3.connect(${JSON.stringify(db.path)})
for i in range(1, 301):
    db.execute('INSERT INTO log VALUES (?)', (i,))
    db.commit()
`);
  await once(writer, 'exit');
  await eventually('all rows', () => texts().length >= 300);
  assert.equal(
    texts().map((text) => JSON.parse(text).id),
    Array.from({ length: 300 }, (_, i) => i + 1),
  );
  assert.equal(warnings, []);
  await source.close();
  assert.not.ok(existsSync(`${db.path}.lock`));
});

test('rows are written by their kind; one that is refused takes no other with it', async () => {
  const db = openSqlite();
  await db.query(
    'CREATE TABLE "odd""name" (id INTEGER PRIMARY KEY, name TEXT CHECK (length(name) < 6), doc, ok, "a""b")',
  );
  const rows = [
    { id: 1, name: 'a', doc: { a: [1] }, ok: true, 'a"b': 5 },
    { id: 2, name: "b'" },
    { id: 2, name: 'twice' },
    { id: 3, name: 'too long' },
    { id: 1, name: 'c', kind: 'update' },
    { id: 4, name: 'd', kind: 'upsert' },
    { id: 4, name: 'e', kind: 'upsert' },
    { id: 2, kind: 'delete' },
    { id: 5, other: 1 },
  ];
  const metrics = await sendSql(db.url, rows, { table: 'odd"name', rowkindField: 'kind', keyField: 'id' });
  assert.equal(await db.query('SELECT * FROM "odd""name"'), [
    { id: 1, name: 'c', doc: '{"a":[1]}', ok: 1, 'a"b': 5 },
    { id: 4, name: 'e', doc: null, ok: null, 'a"b': null },
  ]);
  assert.is(metrics.sinkRecordsFailedTotal, 3);
  assert.match(String(metrics.sink_sql_0_0_last_exception), /has no column other/);
  const missing = await sendSql(db.url, [{ id: 1 }], { table: 'nowhere' });
  assert.match(String(missing.sink_sql_0_0_last_exception), /no such table: "nowhere"/);
});

/** A rule that writes rows with the ids 0 to 399 into the file, again and again if it loops. */
async function writing(url: string, loop: boolean) {
  const opened = await openPlane(undefined, { flushTimeoutMs: 60_000 });
  const data = Array.from({ length: 400 }, (_, id) => ({ id }));
  const rule = passRule({ type: 'simulator', props: { interval: 5, loop, data } }, [
    { type: 'sql', props: { dburl: url, table: 'kept' } },
  ]);
  await opened.plane.start(rule);
  return { ...opened, rule, metrics: () => opened.plane.status(rule.run)!.metrics };
}

test('a sink writes nothing while another program has the file open, and says which', async () => {
  const db = openSqlite();
  await db.query('CREATE TABLE kept (id INTEGER)');
  const other = python(`
import sqlite3, sys
db = sqlite3.connect(${JSON.stringify(db.path)})
db.execute('BEGIN IMMEDIATE')
db.execute('INSERT INTO kept VALUES (-1)')
print('ready', flush=True)
sys.stdin.readline()
db.commit()
`);
  await once(other.stdout!, 'data');
  const { plane, report, rule, metrics } = await writing(db.url, false);
  const reason = await eventually('the refusal', () => {
    const text = String(metrics().sink_sql_0_0_last_exception);
    return /needs the file|keeps the file/.test(text) ? text : undefined;
  });
  assert.match(reason, new RegExp(`process ${other.pid} \\(python`));
  assert.is(metrics().sinkRecordsOutTotal, 0);
  other.stdin!.end('\n');
  await once(other, 'exit');
  const ended = await report(rule.run, 'ended');
  assert.is(ended.metrics.sinkRecordsFailedTotal, 0);
  assert.equal(await db.query('SELECT count(*) AS n, count(DISTINCT id) AS d FROM kept'), [{ n: 401, d: 401 }]);
  await plane.close();
});

test('a sink tells that another program has changed the file between', async () => {
  const db = openSqlite();
  await db.query('CREATE TABLE kept (id INTEGER)');
  const { plane, report, rule, metrics } = await writing(db.url, true);
  await eventually('rows', () => Number(metrics().sinkRecordsOutTotal) > 3);
  await eventually('the reason', async () => {
    await db.query('INSERT INTO kept VALUES (-1)').catch(() => {});
    return /another program has changed it|has it open|has locked it/.test(
      String(metrics().sink_sql_0_0_last_exception),
    );
  });
  await eventually('each row once', async () => {
    const [row] = (await db.query('SELECT count(DISTINCT id) AS d FROM kept WHERE id >= 0').catch(() => [])) as {
      d: number;
    }[];
    return row?.d === 400;
  });
  await plane.stop(rule.run);
  assert.is((await report(rule.run, 'stopped')).metrics.sinkRecordsFailedTotal, 0);
  await plane.close();
});

test('what a killed program has left is recognised: its lock, and half a transaction', async () => {
  const db = openSqlite();
  await db.query('CREATE TABLE kept (id INTEGER, text TEXT)');
  await db.query("INSERT INTO kept VALUES (0, 'safe')");
  const script = `
    const { Database } = require('node-sqlite3-wasm');
    const db = new Database(${JSON.stringify(db.path)});
    db.exec('PRAGMA cache_size = 2');
    db.exec('BEGIN IMMEDIATE');
    for (let i = 1; i < 500; i++) db.run('INSERT INTO kept VALUES (?, ?)', [i, 'x'.repeat(1000)]);
    process.kill(process.pid, 'SIGKILL');
  `;
  const killed = spawn(process.execPath, ['-e', script], { cwd: process.cwd(), stdio: 'inherit' });
  await once(killed, 'exit');
  assert.ok(existsSync(`${db.path}.lock`));
  assert.ok(existsSync(`${db.path}-journal`));
  const metrics = await sendSql(db.url, [{ id: 1, text: 'new' }], { table: 'kept' });
  assert.is(metrics.sinkRecordsFailedTotal, 0);
  assert.equal(await db.query('SELECT id FROM kept'), [{ id: 0 }, { id: 1 }]);
  assert.equal(await db.query('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
  assert.not.ok(existsSync(`${db.path}.lock`));
});

test('a file in WAL mode is refused with the reason', async () => {
  const db = openSqlite();
  await db.query('PRAGMA journal_mode = WAL');
  await db.query('CREATE TABLE t (id INTEGER)');
  await readSql(db.url, { internalSqlQueryCfg: { table: 't' } }).then(
    () => assert.unreachable(),
    (error) => assert.match(error.message, /the file is in WAL mode, which is not supported/),
  );
});

test('a file that is missing or not allowed is named; templates are queries', async () => {
  const folder = temporaryFolder();
  const reason = (url: string, props = {}) =>
    readSql(url, { internalSqlQueryCfg: { table: 't' }, ...props }).then(
      () => '',
      (error) => `${error.kind}: ${error.message}`,
    );
  assert.match(await reason(`sqlite:${join(folder, 'none.db')}`), /connection: there is no file .*none\.db/);
  writeFileSync(join(folder, 'text.db'), 'x'.repeat(5000));
  assert.match(await reason(`sqlite:${join(folder, 'text.db')}`), /file is not a database/);
  const attach = { templateSqlQueryCfg: { templateSql: "ATTACH '/tmp/x.db' AS x" } };
  assert.match(await reason(`sqlite:${join(folder, 'text.db')}`, attach), /config: templateSql must be a query/);
  const part = askedPart('sql');
  await part.load();
  mkdirSync(join(folder, 'base'));
  const paths = new AllowedPaths({ base: join(folder, 'base'), folders: [], own: [], isOpen: false });
  const context = { dataSource: 't', shared: sharing(), paths } as unknown as LookupContext;
  assert.throws(() => part.create({ dburl: `sqlite:${join(folder, 'text.db')}` }, context), /text\.db/);
});

test('a query that writes is refused, and changes nothing', async () => {
  const db = openSqlite();
  await db.query('CREATE TABLE t (id INTEGER)');
  const templateSql = 'WITH n AS (SELECT 7 AS id) INSERT INTO t SELECT id FROM n RETURNING id';
  const reasons: string[] = [];
  const props = { interval: 20, templateSqlQueryCfg: { templateSql } };
  const { source, texts } = await readSql(db.url, props, { failed: (reason) => reasons.push(reason) });
  await eventually('the reason', () => reasons.length > 1);
  await source.close();
  assert.match(reasons[0]!, /the query writes, and may only read/);
  assert.equal(texts(), []);
  assert.equal(await db.query('SELECT count(*) AS n FROM t'), [{ n: 0 }]);
});

test('values in templates change no meaning', () => {
  const filled = (template: string, value: string) => {
    const { text, params } = new TemplateQuery(template, dialects.sqlite).with(new Map([['v', value]]));
    return params.length === 0 ? text : `${text} with ${params.join(', ')}`;
  };
  const hostile = ['a UNION SELECT secret FROM users', 'a --', 'a;', "a'", 'a/**/b', '1 OR 1'];
  for (const value of hostile) {
    assert.is(filled('SELECT * FROM t WHERE a = {{.v}}', value), `SELECT * FROM t WHERE a = ? with ${value}`);
    for (const template of ['SELECT * FROM t_{{.v}} WHERE b', 'SELECT * FROM t ORDER BY {{.v}} DESC']) {
      assert.throws(() => filled(template, value), /the value of v has letters/, value);
    }
  }
  assert.is(filled('SELECT * FROM t_{{.v}}', 'x-1.5'), 'SELECT * FROM t_x-1.5');
  const time = "SELECT * FROM t WHERE at > date('{{.v}} UTC')";
  assert.is(filled(time, '2026-01-02 03:04:05'), "SELECT * FROM t WHERE at > date('2026-01-02 03:04:05 UTC')");
  assert.is(filled("SELECT * FROM t WHERE a LIKE '%{{.v}}%'", 'x y'), "SELECT * FROM t WHERE a LIKE '%x y%'");
  assert.throws(() => filled("SELECT * FROM t WHERE a LIKE '%{{.v}}%'", "x'y"), /the value of v has letters/);
});

test('a rule reads and writes the same file', async () => {
  const db = openSqlite();
  await db.query('CREATE TABLE many (id INTEGER, text TEXT)');
  await db.query('CREATE TABLE kept (id INTEGER, text TEXT)');
  await db.query(
    'INSERT INTO many WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) ' +
      "SELECT i, printf('%.200c', 'x') FROM n",
  );
  const opened = await openPlane();
  const props = { dburl: db.url, interval: 60_000, internalSqlQueryCfg: { table: 'many' } };
  const rule = passRule({ type: 'sql', dataSource: 'many', props }, [
    { type: 'sql', props: { dburl: db.url, table: 'kept' } },
  ]);
  await opened.plane.start({ ...rule, sinkLimitBytes: 1 << 16 });
  const metrics = () => opened.plane.status(rule.run)!.metrics;
  await eventually('all rows', () => Number(metrics().sinkRecordsOutTotal) === 20_000);
  await opened.plane.close();
  assert.equal(await db.query('SELECT count(*) AS n, count(DISTINCT id) AS d FROM kept'), [{ n: 20_000, d: 20_000 }]);
});

test('keys are asked for together', async () => {
  const db = openSqlite();
  await db.query('CREATE TABLE names (id INTEGER, kind TEXT, name TEXT)');
  await db.query("INSERT INTO names VALUES (1, 'a', 'one'), (1, 'b', 'uno'), (2, 'a', 'two')");
  const part = askedPart('sql');
  await part.load();
  const context = { dataSource: 'names', shared: sharing(), paths: AllowedPaths.any() } as unknown as LookupContext;
  const table = part.create({ dburl: db.url }, context);
  const signal = new AbortController().signal;
  assert.equal(await table.ask({ names: ['id'], keys: [[1, 3, 2]], count: 3, fields: ['name'] }, signal), {
    of: [0, 0, 2],
    columns: { name: ['one', 'uno', 'two'] },
  });
  await table.close();
});

test.run();
