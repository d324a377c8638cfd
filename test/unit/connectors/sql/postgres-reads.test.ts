/** The sql connector reads a real PostgreSQL: sources go on behind what they have, keys are asked for together. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { askedPart } from '../../../../host/connectors/index.js';
import type { LookupContext } from '../../../../host/connectors/running.js';
import type { Value } from '../../../../kernels/values/value.js';
import { readSql, sharing } from '../../../support/connectors/sql.js';
import { eventually } from '../../../support/harness.js';
import { needsPostgres, sharedPostgres, type TestDatabase } from '../../../support/servers/postgres.js';

if (!needsPostgres('the sql connector reads PostgreSQL')) process.exit(0);

let postgres: TestDatabase;
test.before(async () => {
  postgres = await sharedPostgres();
});
test.after(() => postgres.close());

test('values of all types become those of rows', async () => {
  await postgres.query(
    'CREATE TABLE types (i bigint, d numeric, f float8, ok bool, t text, at timestamp, z timestamptz, day date, ' +
      'b bytea, j jsonb, n int)',
  );
  await postgres.query(
    "INSERT INTO types VALUES (9007199254740993, 12.50, 2, true, 'a\"b', '2026-01-02 03:04:05.678', " +
      "'2026-01-02 03:04:05+00', '2026-01-02', '\\x616263', '{\"a\": 9007199254740993}', NULL)",
  );
  const { source, texts } = await readSql(postgres.url, { internalSqlQueryCfg: { table: 'types', limit: 1 } });
  await source.close();
  assert.is(
    texts()[0],
    '{"i":9007199254740993,"d":12.50,"f":2.0,"ok":true,"t":"a\\"b","at":"2026-01-02T03:04:05.678Z",' +
      '"z":"2026-01-02T03:04:05Z","day":"2026-01-02T00:00:00Z","b":"YWJj","j":{"a": 9007199254740993},"n":null}',
  );
  const all = await readSql(postgres.url, { internalSqlQueryCfg: { table: 'types' } });
  assert.equal(all.texts()[0], texts()[0]);
  await all.source.close();
});

test('a source goes on behind the last value, also after a restart', async () => {
  await postgres.query('CREATE TABLE log (id bigint, "At" timestamp(6))');
  await postgres.query(
    "INSERT INTO log SELECT i, timestamp '2026-01-01' + i * interval '1 microsecond' FROM generate_series(1, 5) i",
  );
  const props = { internalSqlQueryCfg: { limit: 2, indexField: 'id', indexValue: 1, indexFieldType: 'INT' } };
  const { source, texts } = await readSql(postgres.url, props, { dataSource: 'log' });
  await eventually('four rows', () => texts().length === 4);
  const position = source.position?.();
  await source.close();
  await postgres.query("INSERT INTO log VALUES (9007199254740993, '2026-01-02')");
  const again = await readSql(postgres.url, props, { dataSource: 'log', from: position });
  await eventually('the new row', () => again.texts().length === 1);
  assert.match(again.texts()[0]!, /9007199254740993/);
  await again.source.close();
  const times = await readSql(postgres.url, {
    internalSqlQueryCfg: {
      table: 'log',
      limit: 1,
      indexFields: [{ indexField: 'at', indexValue: '2026-01-01 00:00:00.000002', indexFieldType: 'DATETIME' }],
    },
  });
  await eventually('rows by time', () => times.texts().length === 4);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(
    times.texts().map((text) => JSON.parse(text).id),
    [3, 4, 5, 9007199254740992],
  );
  await times.source.close();
});

test('a template gets values as parameters', async () => {
  await postgres.query('CREATE TABLE words (word text)');
  await postgres.query("INSERT INTO words VALUES ('a'), ('b''; drop table words; --'), ('c')");
  const { source, texts } = await readSql(postgres.url, {
    templateSqlQueryCfg: {
      templateSql: "select word from words where word > '{{.word}}' order by word limit 1",
      indexField: 'word',
      indexValue: '',
    },
  });
  await eventually('all words', () => texts().length === 2 || texts().length === 3);
  await source.close();
  assert.is((await postgres.query('SELECT * FROM words')).length, 3);
});

test('a table of many rows is read in pieces', async () => {
  await postgres.query('CREATE TABLE many AS SELECT generate_series(1, 2500) AS id');
  const { source, texts, written } = await readSql(postgres.url, {
    interval: 60_000,
    internalSqlQueryCfg: { table: 'many' },
  });
  await source.close();
  assert.is(texts().length, 2500);
  assert.is(written.length, 3);
});

test('keys are asked for together, whatever their types', async () => {
  await postgres.query('CREATE TABLE names (id bigint, "Kind" text, name text)');
  await postgres.query("INSERT INTO names VALUES (1, 'a', 'one'), (1, 'b', 'uno'), (9007199254740993, 'a', 'big')");
  const part = askedPart('sql');
  await part.load();
  const table = part.create({ dburl: postgres.url }, {
    dataSource: 'names',
    shared: sharing(),
  } as unknown as LookupContext);
  const ask = (names: string[], keys: Value[][], fields: string[] | null) =>
    table.ask({ names, keys, count: keys[0]!.length, fields }, new AbortController().signal);
  assert.equal(await ask(['id'], [[1, 2, 9007199254740993n]], ['name']), {
    of: [0, 0, 2],
    columns: { name: ['one', 'uno', 'big'] },
  });
  const both = await ask(
    ['id', 'kind'],
    [
      [1, 1],
      ['b', 'c'],
    ],
    ['id', 'kind', 'name'],
  );
  assert.equal(both, { of: [0], columns: { id: [1n], kind: ['b'], name: ['uno'] } });
  const { of, failed } = await ask(['id'], [['x', 1]], null);
  assert.equal(of, [1, 1]);
  assert.match(failed?.get(0) ?? '', /invalid input syntax/);
  await table.close();
});

test.run();
