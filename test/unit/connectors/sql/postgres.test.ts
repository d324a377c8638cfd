/** The sql connector at a real PostgreSQL: what is written, what a server that fails costs. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectorOf } from '../../../../host/connectors/index.js';
import { lookupContract, sinkContract, sourceContract } from '../../../support/connectors/contract.js';
import { sendSql } from '../../../support/connectors/sql.js';
import { openPlane, passRule } from '../../../support/engine/plane.js';
import { eventually, freePort } from '../../../support/harness.js';
import {
  needsPostgres,
  openPostgres,
  sharedPostgres,
  type TestDatabase,
  type TestPostgres,
} from '../../../support/servers/postgres.js';

if (!needsPostgres('the sql connector at PostgreSQL')) process.exit(0);

type Props = Record<string, unknown>;

let postgres: TestDatabase;
test.before(async () => {
  postgres = await sharedPostgres();
  await postgres.query('CREATE TABLE contract (id int, text text)');
  await postgres.query('CREATE TABLE polled (id int)');
});
test.after(() => postgres.close());

const badAddresses: [Props, RegExp][] = [
  [{}, /dburl is required/],
  [{ dburl: '123' }, /dburl has no scheme, expected postgres:/],
  [{ dburl: 'oracle://u:p@h/x' }, /dburl names an Oracle database, which is not supported/],
  [{ dburl: 'postgres:///x' }, /dburl must be an address such as postgres:\/\/host\/name/],
];

sinkContract(
  test,
  () => ({
    type: 'sql',
    props: { dburl: postgres.url, table: 'contract' },
    refused: [
      ...badAddresses,
      [{ dburl: postgres.url }, /table is required/],
      [{ dburl: postgres.url, table: 't', rowkindField: 'k' }, /keyField is required when rowkindField is set/],
    ],
  }),
  'sql',
);

sourceContract(
  test,
  () => ({
    type: 'sql',
    dataSource: 'polled',
    props: { dburl: postgres.url, interval: 1000, internalSqlQueryCfg: { table: 'polled' } },
    refused: [
      ...badAddresses.map(([props, reason]) => [{ interval: 1, ...props }, reason] as [Props, RegExp]),
      [{ dburl: postgres.url }, /interval is required/],
      [{ dburl: postgres.url, interval: 0 }, /interval must be at least 1/],
      [{ dburl: postgres.url, interval: 1 }, /either one of internalSqlQueryCfg and templateSqlQueryCfg/],
    ],
  }),
  'sql',
);

lookupContract(test, badAddresses, 'sql');

const send = (data: readonly unknown[], props: Props) => sendSql(postgres.url, data, props);

test('rows are inserted, with the types of the columns', async () => {
  await postgres.query(
    'CREATE TABLE types (id bigint, price numeric(10,2), name varchar(5), at timestamptz, ok bool, doc jsonb, ' +
      'list int[])',
  );
  const { sinkRecordsFailedTotal } = await send(
    [
      { id: 1, price: '1.005', name: "o'b", at: '2026-01-02T03:04:05.678Z', ok: true, doc: { a: [1] }, list: [1, 2] },
      { id: 2.6, name: null, doc: '{"b":2}' },
    ],
    { table: 'types' },
  );
  assert.is(sinkRecordsFailedTotal, 0);
  assert.equal(await postgres.query('SELECT * FROM types ORDER BY id'), [
    {
      id: '1',
      price: '1.01',
      name: "o'b",
      at: new Date('2026-01-02T03:04:05.678Z'),
      ok: true,
      doc: { a: [1] },
      list: [1, 2],
    },
    { id: '3', price: null, name: null, at: null, ok: null, doc: { b: 2 }, list: null },
  ]);
});

test('a row that the table refuses takes no other with it', async () => {
  await postgres.query('CREATE TABLE strict (id int PRIMARY KEY, n int CHECK (n > 0))');
  const data = Array.from({ length: 100 }, (_, id) => ({ id, n: id === 37 ? -1 : 1 }));
  const metrics = await send([...data, { id: 5, n: 1 }, { id: 'x' }, { other: 1 }, { id: 100 }], { table: 'strict' });
  assert.is(metrics.sinkRecordsFailedTotal, 4);
  assert.is(metrics.sinkRecordsOutTotal, 100);
  assert.match(String(metrics.sink_sql_0_0_last_exception), /the table "strict" has no column other/);
  assert.equal(await postgres.query('SELECT count(*)::int AS n FROM strict'), [{ n: 100 }]);
});

test('rows are changed by their kind, in their order', async () => {
  await postgres.query('CREATE TABLE changed (id int PRIMARY KEY, name text, n int)');
  const metrics = await send(
    [
      { id: 1, name: 'a', n: 1, action: 'insert' },
      { id: 2, name: 'b', n: 1 },
      { id: 1, name: 'c', action: 'update' },
      { id: 1, name: 'd', action: 'update' },
      { id: 2, action: 'delete' },
      { id: 3, name: 'e', action: 'upsert' },
      { id: 3, name: 'f', action: 'upsert' },
      { id: 4, action: 'drop' },
      { action: 'delete' },
    ],
    { table: 'changed', rowkindField: 'action', keyField: 'id' },
  );
  assert.equal(await postgres.query('SELECT * FROM changed ORDER BY id'), [
    { id: 1, name: 'd', n: 1 },
    { id: 3, name: 'f', n: null },
  ]);
  assert.is(metrics.sinkRecordsFailedTotal, 2);
});

test('names are quoted: none can change a statement', async () => {
  await postgres.query('CREATE TABLE "odd""; drop table changed; --" ("a""b" int, "select" int)');
  await send([{ 'a"b': 1, select: 2 }, { 'x" int); drop table changed; --': 1 }], {
    table: 'odd"; drop table changed; --',
  });
  assert.equal(await postgres.query('SELECT * FROM "odd""; drop table changed; --"'), [{ 'a"b': 1, select: 2 }]);
  assert.is((await postgres.query('SELECT * FROM changed')).length, 2);
  await postgres.query('CREATE TABLE public.Mixed (registerTime text)');
  await send([{ registerTime: 'a' }], { table: 'public.Mixed' });
  assert.equal(await postgres.query('SELECT * FROM mixed'), [{ registertime: 'a' }]);
});

test('a missing table is named, and each row counted', async () => {
  const metrics = await send([{ id: 1 }, { id: 2 }], { table: 'nowhere' });
  assert.is(metrics.sinkRecordsFailedTotal, 2);
  assert.match(String(metrics.sink_sql_0_0_last_exception), /relation "nowhere" does not exist/);
});

test('a connection can be tried out, and a wrong password is told without showing it', async () => {
  const { connection } = connectorOf('sql')!;
  await connection?.ping?.({ dburl: postgres.url });
  const reason = async (dburl: string) =>
    connection!.ping!({ dburl }).then(
      () => '',
      (error) => `${error.kind}: ${error.message}`,
    );
  assert.match(
    await reason(postgres.url.replace('s3cret!', 'wrong-horse')),
    /^connection: password authentication failed/,
  );
  assert.match(await reason(`postgres://u:p@127.0.0.1:${await freePort()}/x`), /^connection: .*ECONNREFUSED/);
});

/** A rule that sends rows slowly, of which none may be lost. */
async function slowly(server: TestPostgres, table: string, count = 60) {
  const opened = await openPlane(undefined, { flushTimeoutMs: 300 });
  const data = Array.from({ length: count }, (_, id) => ({ id }));
  const rule = passRule({ type: 'simulator', props: { interval: 10, loop: false, data } }, [
    { type: 'sql', props: { dburl: server.url, table, timeout: 2000 } },
  ]);
  await opened.plane.start(rule);
  const metrics = () => opened.plane.status(rule.run)!.metrics;
  return { ...opened, rule, metrics, status: () => metrics().sink_sql_0_0_connection_status };
}

test('a server that comes late, is killed and comes back gets all', async () => {
  const own = await openPostgres({ fsync: 'on' });
  await own.query('CREATE TABLE kept (id int)');
  await own.kill();
  const { plane, report, rule, metrics, status } = await slowly(own, 'kept', 800);
  await eventually('the failed attempt', () => status() === -1);
  await own.start();
  await eventually('some rows', () => Number(metrics().sinkRecordsOutTotal) > 3);
  await own.kill();
  await eventually('the loss', () => status() !== 1);
  await own.start();
  const ended = await report(rule.run, 'ended');
  assert.is(ended.metrics.sinkRecordsOutTotal, 800);
  assert.is(ended.metrics.sinkRecordsFailedTotal, 0);
  assert.equal(await own.query('SELECT count(DISTINCT id)::int AS n FROM kept'), [{ n: 800 }]);
  await plane.close();
  await own.close();
});

test('a server that hangs holds rows back, and does not hold up the end of the rule', async () => {
  const hung = await openPostgres();
  await hung.query('CREATE TABLE t (text text)');
  const { plane } = await openPlane(undefined, { flushTimeoutMs: 200 });
  const rule = passRule({ type: 'simulator', props: { interval: 0, data: [{ text: 'x'.repeat(1000) }] } }, [
    { type: 'sql', props: { dburl: hung.url, table: 't' } },
  ]);
  const metrics = () => plane.status(rule.run)!.metrics;
  await plane.start(rule);
  await eventually('rows', () => Number(metrics().sinkRecordsOutTotal) > 100);
  hung.pause();
  let last = -1;
  await eventually('the pause', async () => {
    const now = Number(metrics().sinkRecordsEnqueuedTotal);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const stands = now === last;
    last = now;
    return stands;
  });
  await plane.stop(rule.run);
  await plane.close();
  hung.resume();
  await hung.close();
});

test.run();
