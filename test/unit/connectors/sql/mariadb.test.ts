/** The sql connector at a real MariaDB. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { askedPart, connectorOf } from '../../../../host/connectors/index.js';
import type { LookupContext } from '../../../../host/connectors/running.js';
import { readSql, sendSql, sharing } from '../../../support/connectors/sql.js';
import { openPlane, passRule } from '../../../support/engine/plane.js';
import { eventually } from '../../../support/harness.js';
import { type MariadbDatabase, needsMariadb, openMariadb, sharedMariadb } from '../../../support/servers/mariadb.js';

if (!needsMariadb('the sql connector at MariaDB')) process.exit(0);

let db: MariadbDatabase;
test.before(async () => {
  db = await sharedMariadb();
});
test.after(() => db.close());

test('values of all types become those of rows', async () => {
  await db.query(
    'CREATE TABLE types (i BIGINT, d DECIMAL(10,2), f DOUBLE, ok TINYINT(1), t VARCHAR(9), at DATETIME(3), day DATE, ' +
      'b BLOB, n INT)',
  );
  await db.query(
    `INSERT INTO types VALUES (9007199254740993, 12.50, 2, true, 'ä"b', '2026-01-02 03:04:05.678', '2026-01-02', ` +
      "'abc', NULL)",
  );
  const limited = { internalSqlQueryCfg: { table: 'types', limit: 1 } };
  const { source, texts } = await readSql(db.url, limited);
  await source.close();
  const row = '{"i":9007199254740993,"d":12.50,"f":2.0,"ok":1,"t":"ä\\"b","at":';
  assert.is(texts()[0], `${row}"2026-01-02 03:04:05.678","day":"2026-01-02","b":"YWJj","n":null}`);
  const parsed = await readSql(`${db.url}?parseTime=true`, { internalSqlQueryCfg: { table: 'types' } });
  await parsed.source.close();
  assert.is(parsed.texts()[0], `${row}"2026-01-02T03:04:05.678Z","day":"2026-01-02T00:00:00Z","b":"YWJj","n":null}`);
});

test('a source goes on behind the last value, also after a restart', async () => {
  await db.query('CREATE TABLE log (id BIGINT, at DATETIME(6))');
  await db.query("INSERT INTO log VALUES (1, '2026-01-01'), (2, '2026-01-02'), (9007199254740993, '2026-01-03')");
  const props = { internalSqlQueryCfg: { limit: 1, indexField: 'id', indexValue: 0 } };
  const { source, texts } = await readSql(db.url, props, { dataSource: 'log' });
  await eventually('all rows', () => texts().length === 3);
  const from = source.position?.();
  await source.close();
  await db.query("INSERT INTO log VALUES (9007199254740992, '2026-01-04'), (9007199254740994, '2026-01-05')");
  const again = await readSql(db.url, props, { dataSource: 'log', from });
  await eventually('the new row', () => again.texts().length === 1);
  await again.source.close();
  assert.match(again.texts()[0]!, /"id":9007199254740994/);
  const template = {
    templateSqlQueryCfg: {
      templateSql: "select id from log where at > '{{.at}}' and id < {{.id}} order by at",
      indexFields: [
        { indexField: 'at', indexValue: '2026-01-01 12:00:00', indexFieldType: 'DATETIME' },
        { indexField: 'id', indexValue: 100 },
      ],
    },
  };
  const templated = await readSql(db.url, template);
  await templated.source.close();
  assert.equal(templated.texts(), ['{"id":2}']);
});

test('a table of many rows is read in pieces', async () => {
  await db.query('CREATE TABLE many AS SELECT seq AS id FROM seq_1_to_2500');
  const { source, texts, written } = await readSql(db.url, { internalSqlQueryCfg: { table: 'many' } });
  await source.close();
  assert.is(texts().length, 2500);
  assert.is(written.length, 3);
});

test('rows are written by their kind; one that is refused takes no other with it', async () => {
  await db.query('CREATE TABLE `odd``name` (id INT PRIMARY KEY, name VARCHAR(5), doc JSON, ok BOOL, big BIGINT)');
  const rows = [
    { id: 1, name: 'a', doc: { a: [1] }, ok: true, big: 9007199254740000 },
    { id: 2, name: "b'" },
    { id: 2, name: 'twice' },
    { id: 3, name: 'too long' },
    { id: 1, name: 'c', kind: 'update' },
    { id: 4, name: 'd', kind: 'upsert' },
    { id: 4, name: 'e', kind: 'upsert' },
    { id: 2, kind: 'delete' },
    { id: 5, other: 1 },
  ];
  const metrics = await sendSql(db.url, rows, { table: 'odd`name', rowkindField: 'kind', keyField: 'id' });
  assert.equal(await db.query('SELECT id, name, doc, ok, big FROM `odd``name` ORDER BY id'), [
    { id: 1, name: 'c', doc: { a: [1] }, ok: 1, big: 9007199254740000 },
    { id: 4, name: 'e', doc: null, ok: null, big: null },
  ]);
  assert.is(metrics.sinkRecordsFailedTotal, 3);
  assert.match(String(metrics.sink_sql_0_0_last_exception), /has no column other/);
  const missing = await sendSql(db.url, [{ id: 1 }], { table: 'nowhere' });
  assert.match(String(missing.sink_sql_0_0_last_exception), /Table '\w+\.nowhere' doesn't exist/);
});

test('thousands of rows at once', async () => {
  await db.query('CREATE TABLE thousands (id INT PRIMARY KEY, text TEXT)');
  const rows = Array.from({ length: 5000 }, (_, id) => ({ id, text: `row ${id}` }));
  const metrics = await sendSql(db.url, [...rows, { id: 7 }], { table: 'thousands' });
  assert.is(metrics.sinkRecordsFailedTotal, 1);
  assert.is(Number((await db.query('SELECT COUNT(*) AS n FROM thousands'))[0]?.n), 5000);
});

test('keys are asked for together, also where the database compares more loosely', async () => {
  await db.query('CREATE TABLE names (word VARCHAR(9), n INT)');
  await db.query("INSERT INTO names VALUES ('a', 1), ('B', 2), ('b', 3)");
  const part = askedPart('sql');
  await part.load();
  const context = { dataSource: 'names', shared: sharing() } as unknown as LookupContext;
  const table = part.create({ dburl: db.url }, context);
  const ask = (keys: string[]) =>
    table.ask({ names: ['word'], keys: [keys], count: keys.length, fields: ['n'] }, new AbortController().signal);
  const { of, columns } = await ask(['a', 'b', 'c']);
  assert.equal([of, columns], [[0, 1, 1], { n: [1n, 2n, 3n] }]);
  await table.close();
});

test('a server that is killed and comes back gets all', async () => {
  const own = await openMariadb();
  await own.query('CREATE TABLE kept (id INT)');
  const { plane, report } = await openPlane(undefined, { flushTimeoutMs: 300 });
  const data = Array.from({ length: 600 }, (_, id) => ({ id }));
  const rule = passRule({ type: 'simulator', props: { interval: 10, loop: false, data } }, [
    { type: 'sql', props: { dburl: own.url, table: 'kept', timeout: 2000 } },
  ]);
  await plane.start(rule);
  const metrics = () => plane.status(rule.run)!.metrics;
  await eventually('some rows', () => Number(metrics().sinkRecordsOutTotal) > 3);
  await own.kill();
  await eventually('the loss', () => metrics().sink_sql_0_0_connection_status !== 1);
  await own.start();
  const ended = await report(rule.run, 'ended');
  assert.is(ended.metrics.sinkRecordsFailedTotal, 0);
  assert.is(Number((await own.query('SELECT COUNT(DISTINCT id) AS n FROM kept'))[0]?.n), 600);
  await plane.close();
  await own.close();
});

test('a wrong password is told without showing it', async () => {
  const { connection } = connectorOf('sql')!;
  const error = await connection!.ping!({ dburl: db.url.replace('s3cret!', 'wrong-horse') }).catch((reason) => reason);
  assert.match(error.message, /Access denied for user 'owner'/);
  assert.not.match(error.message, /wrong-horse/);
});

test.run();
