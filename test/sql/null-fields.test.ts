/** What is sent for columns and values that are null or missing, with and without `sendNilField`. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleOptions } from '../../host/run/api.js';
import { openRule } from './rule-kernel.js';

const untyped = 'CREATE STREAM demo () WITH (DATASOURCE="demo", FORMAT="json")';
const typed =
  'CREATE STREAM demo (a BIGINT, n BIGINT, o STRUCT(x BIGINT), k ARRAY(BIGINT), m BIGINT) WITH (DATASOURCE="demo", FORMAT="json")';
const rows = [{ a: 1, o: { x: 1 }, k: [1] }, { a: 2 }, { k: [null], m: null }];
const nil = { sendNilField: true };

/** Rows that the statement sends for `rows`. */
function sent(
  ddl: string,
  sql: string,
  options: Partial<RuleOptions> = nil,
  input: readonly object[] = rows,
): unknown[] {
  const rule = openRule([ddl], sql, { options });
  rule.feed('demo', input);
  const messages = rule.taken();
  rule.close();
  return messages.flat();
}

test('`*` sends what a row has: columns that it lacks are not made null', () => {
  for (const ddl of [typed, untyped]) {
    assert.equal(sent(ddl, 'SELECT * FROM demo'), rows);
    assert.equal(sent(ddl, 'SELECT * FROM demo', {}), rows);
    assert.equal(sent(ddl, 'SELECT * FROM demo GROUP BY COUNTWINDOW(1)'), rows);
    assert.equal(sent(ddl, 'SELECT * EXCEPT(k, o) FROM demo'), [{ a: 1 }, { a: 2 }, { m: null }]);
  }
});

test('beside `*` computed values with an alias are null, those without are left out', () => {
  const sql = 'SELECT * EXCEPT(k, o), m AS b, n + 1 AS c, n + 2, abs(n) FROM demo';
  const nulls = { b: null, c: null };
  for (const ddl of [typed, untyped]) {
    assert.equal(sent(ddl, sql), [
      { a: 1, ...nulls },
      { a: 2, ...nulls },
      { m: null, ...nulls },
    ]);
    assert.equal(sent(ddl, sql, {}), [{ a: 1 }, { a: 2 }, { m: null }]);
    assert.equal(sent(ddl, 'SELECT * EXCEPT(k, o) REPLACE(n + 1 AS a) FROM demo'), [
      { a: null },
      { a: null },
      { a: null, m: null },
    ]);
  }
});

test('named columns and aliases are null, values without an alias are left out', () => {
  const sql = `SELECT m, n + 1, n + 1 AS s, o->x, o->x AS y, k[0], abs(m), abs(m) AS z, upper(p), coalesce(m, n),
    CASE WHEN a = 2 THEN 1 END, CASE WHEN a = 2 THEN 1 END AS q FROM demo`;
  const nulls = { m: null, q: null, s: null, z: null };
  assert.equal(sent(untyped, sql), [
    { ...nulls, kuiper_field_1: 1, kuiper_field_2: 1, y: 1 },
    { ...nulls, kuiper_field_3: 1, q: 1, y: null },
    { ...nulls, y: null },
  ]);
  assert.equal(sent(untyped, sql, {}), [
    { kuiper_field_1: 1, kuiper_field_2: 1, y: 1 },
    { kuiper_field_3: 1, q: 1 },
    { m: null },
  ]);
});

test('aggregates without an alias are left out where they have no value', () => {
  const sql =
    'SELECT a, sum(m), sum(m) AS s, avg(m) + 1, count(m), collect(m), last_value(m, true) FROM demo GROUP BY COUNTWINDOW(3)';
  const always = { a: 1, collect: [null, null, null], count: 0 };
  assert.equal(sent(untyped, sql), [{ ...always, s: null }]);
  assert.equal(sent(untyped, sql, {}), [always]);
});

/** Rows that a left join of `l` and `r` sends. */
function joined(select: string, columns: readonly string[], options: Partial<RuleOptions>): unknown[] {
  const streams = ['l', 'r'].map(
    (name, i) => `CREATE STREAM ${name} (${columns[i]}) WITH (DATASOURCE="${name}", FORMAT="json", TIMESTAMP="ts")`,
  );
  const rule = openRule(streams, `SELECT ${select} FROM l LEFT JOIN r ON l.a = r.a GROUP BY TUMBLINGWINDOW(ss, 10)`, {
    options: { isEventTime: true, lateToleranceMs: 0, ...options },
  });
  rule.feed('l', [
    { ts: 1000, a: 1, c: null },
    { ts: 1200, a: 2, c: 1 },
    { ts: 1300, a: 3 },
    { ts: 20_000, a: 4 },
  ]);
  rule.feed('r', [
    { ts: 1100, a: 1, b: 7 },
    { ts: 1300, a: 3, b: null, d: 5 },
    { ts: 20_000, a: 4 },
  ]);
  const messages = rule.taken();
  rule.close();
  return messages.flat();
}

const declared = ['ts BIGINT, a BIGINT, c BIGINT, d BIGINT', 'ts BIGINT, a BIGINT, b BIGINT, d BIGINT'];
const all = [
  { a: 1, b: 7, c: null, ts: 1000 },
  { a: 2, c: 1, ts: 1200 },
  { a: 3, b: null, d: 5, ts: 1300 },
];

test('a joined row has no column that none of its rows has', () => {
  for (const columns of [declared, ['', '']]) {
    assert.equal(joined('*', columns, {}), all);
    assert.equal(joined('*', columns, nil), all);
  }
});

test('a column of a joined row by its name alone: a null that was sent stays', () => {
  assert.equal(joined('l.a, c, d', ['', ''], {}), [
    { a: 1, c: null },
    { a: 2, c: 1 },
    { a: 3, d: 5 },
  ]);
  assert.equal(joined('l.a, c, d', ['', ''], nil), [
    { a: 1, c: null, d: null },
    { a: 2, c: 1, d: null },
    { a: 3, c: null, d: 5 },
  ]);
});

test.run();
