/** Windows that send their rows, and windows without rows: SQL and rows in, messages out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleOptions } from '../../host/run/api.js';
import { openRule } from './rule-kernel.js';

const typed = 'CREATE STREAM demo (ts BIGINT, a BIGINT) WITH (DATASOURCE="demo", FORMAT="json", TIMESTAMP="ts")';
const untyped = 'CREATE STREAM demo () WITH (DATASOURCE="demo", FORMAT="json", TIMESTAMP="ts")';
const eventTime = { isEventTime: true, lateToleranceMs: 0 };

function sent(sql: string, rows: readonly object[], options: Partial<RuleOptions> = {}, ddl = untyped): unknown[] {
  const rule = openRule([ddl], sql, { options });
  rule.feed('demo', rows);
  const messages = rule.taken();
  rule.close();
  return messages.map((message) => (typeof message === 'string' ? 'E' : message));
}

/** The values of column a of each message. */
function columns(messages: readonly unknown[]): unknown[] {
  return messages.map((message) => (Array.isArray(message) ? message.map(({ a }) => a) : message));
}

const counted = [1, 2, 3, 4, 5, 6].map((a) => ({ a }));
const timed = [1000, 1200, 2500, 3500, 3600, 5600, 5700, 9900].map((ts, i) => ({ ts, a: i + 1 }));

test('an aggregate in HAVING alone decides on the window, all of whose rows are sent', () => {
  const having = (condition: string, window = 'COUNTWINDOW(2)') =>
    columns(sent(`SELECT a FROM demo GROUP BY ${window} HAVING ${condition}`, counted));
  assert.equal(having('count(*) > 1'), [
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  assert.equal(having('sum(a) > 3'), [
    [3, 4],
    [5, 6],
  ]);
  assert.equal(having('sum(a) > 3 AND max(a) < 6'), [[3, 4]]);
  assert.equal(having('sum(a) > 9', 'COUNTWINDOW(3, 1)'), [
    [3, 4, 5],
    [4, 5, 6],
  ]);
  assert.equal(having('count(a) > 2', 'STATEWINDOW(a = 1, a = 3)'), [[1, 2, 3]]);
  assert.equal(having('count(a) > 9'), []);
});

test('so it is in windows of event time', () => {
  const having = (window: string) =>
    columns(sent(`SELECT a FROM demo GROUP BY ${window} HAVING count(a) > 1`, timed, eventTime));
  assert.equal(having('TUMBLINGWINDOW(ss, 1)'), [
    [1, 2],
    [4, 5],
    [6, 7],
  ]);
  assert.equal(having('HOPPINGWINDOW(ss, 2, 1)'), [
    [1, 2],
    [1, 2, 3],
    [3, 4, 5],
    [4, 5],
    [6, 7],
    [6, 7],
  ]);
  assert.equal(having('SLIDINGWINDOW(ss, 1)'), [
    [1, 2],
    [3, 4],
    [4, 5],
    [6, 7],
  ]);
  assert.equal(having('SESSIONWINDOW(ss, 10, 1)'), [
    [1, 2],
    [3, 4, 5],
    [6, 7],
  ]);
});

test('HAVING counts the rows that WHERE leaves, sees errors, and comes before what is selected', () => {
  const bad = [{ a: 1 }, { a: 'x' }, { a: 3 }, { a: 4 }];
  assert.equal(columns(sent('SELECT a FROM demo WHERE a > 1 GROUP BY COUNTWINDOW(2) HAVING count(*) > 1', counted)), [
    [3, 4],
    [5, 6],
  ]);
  assert.equal(columns(sent('SELECT a FROM demo GROUP BY COUNTWINDOW(2) HAVING sum(a) > 3', bad)), ['E', [3, 4]]);
  assert.equal(sent('SELECT a + 1 AS a FROM demo GROUP BY COUNTWINDOW(2) HAVING min(b) > 3', bad), []);
  assert.equal(sent('SELECT a + "x" AS a FROM demo GROUP BY COUNTWINDOW(2) HAVING count(*) > 5', bad), []);
});

test('an aggregate in ORDER BY alone leaves rows, which it does not order', () => {
  const by = (keys: string) => columns(sent(`SELECT a FROM demo GROUP BY COUNTWINDOW(3) ORDER BY ${keys}`, counted));
  assert.equal(by('count(*)'), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
  assert.equal(by('count(*), a DESC'), [
    [3, 2, 1],
    [6, 5, 4],
  ]);
  assert.equal(columns(sent('SELECT a FROM demo GROUP BY COUNTWINDOW(3) HAVING sum(a) > 6 ORDER BY a DESC', counted)), [
    [6, 5, 4],
  ]);
});

test('all columns of a window that HAVING passes, typed or not', () => {
  const sql = 'SELECT * FROM demo GROUP BY COUNTWINDOW(2) HAVING count(*) > 1';
  const rows = [{ a: 1, ts: 2 }, { a: 2 }];
  assert.equal(sent(sql, rows), [rows]);
  assert.equal(sent(sql, rows, {}, typed), [rows]);
});

test('with groups HAVING decides on each, as before', () => {
  const rows = [{ a: 1 }, { a: 1 }, { a: 2 }];
  assert.equal(sent('SELECT a FROM demo GROUP BY a, COUNTWINDOW(3) HAVING count(*) > 1', rows), [[{ a: 1 }]]);
});

test('a join whose HAVING has an aggregate sends all pairs', () => {
  const streams = ['l', 'r'].map(
    (name) => `CREATE STREAM ${name} () WITH (DATASOURCE="${name}", FORMAT="json", TIMESTAMP="ts")`,
  );
  const rule = openRule(
    streams,
    'SELECT l.n, r.m FROM l INNER JOIN r ON l.a = r.a GROUP BY TUMBLINGWINDOW(ss, 1) HAVING count(*) > 1',
    { options: eventTime },
  );
  rule.feed('l', [
    { ts: 1100, a: 1, n: 1 },
    { ts: 1200, a: 1, n: 2 },
    { ts: 2200, a: 1, n: 3 },
    { ts: 5000, a: 9 },
  ]);
  rule.feed('r', [
    { ts: 1100, a: 1, m: 7 },
    { ts: 2200, a: 1, m: 8 },
    { ts: 5000, a: 9 },
  ]);
  const messages = rule.taken();
  rule.close();
  assert.equal(messages, [
    [
      { m: 7, n: 1 },
      { m: 7, n: 2 },
    ],
  ]);
});

test('WHERE keeps rows out of state windows of processing time, and fails for single rows', () => {
  const rows = [
    [1, 1],
    [1, 2],
    ['x', 2],
    [3, 1],
    ['y', 1],
    [1, 4],
    [0, 1],
    [3, 1],
  ].map(([a, n]) => ({ a, n }));
  const lists = sent('SELECT collect(n) AS x FROM demo WHERE a > 0 GROUP BY STATEWINDOW(n = 1)', rows);
  assert.equal(lists, ['E', [{ x: [1, 2] }], 'E', [{ x: [1, 4] }]]);
});

test('WHERE rejects single rows of time windows of processing time', () => {
  const rule = openRule([untyped], 'SELECT collect(a) AS x FROM demo WHERE a > 1 GROUP BY TUMBLINGWINDOW(ss, 1)');
  rule.kernel.tick(1000);
  rule.feed('demo', [{ a: 1 }, { a: 2 }, { a: 'x' }, { a: 3 }], 1500);
  rule.kernel.tick(2000);
  rule.feed('demo', [{ a: 1 }], 2500);
  rule.kernel.tick(3000);
  assert.equal(
    rule
      .taken()
      .slice(-3)
      .map((message) => (typeof message === 'string' ? 'E' : message)),
    ['E', [{ x: [2, 3] }], [{ x: null }]],
  );
  rule.close();
});

/** Messages of a window of a second without rows, after one with a row. */
function empty(select: string, options: Partial<RuleOptions> = {}): unknown[] {
  const rows = [
    { ts: 1100, a: 2 },
    { ts: 3200, a: 3 },
  ];
  return sent(select, rows, { ...eventTime, ...options }).slice(1);
}

test('an empty window sends one row without aggregates, also without count, as recorded', () => {
  const of = (list: string) => `SELECT ${list} FROM demo GROUP BY TUMBLINGWINDOW(ss, 1)`;
  for (const aggregate of ['count(*)', 'count(a)', 'sum(a)', 'max(a)', 'stddev(a)', 'merge_agg(*)']) {
    assert.equal(empty(of(`${aggregate} AS x`)), [[{}]], aggregate);
    assert.equal(empty(of(`${aggregate} AS x`), { sendNilField: true }), [[{ x: null }]], aggregate);
    assert.equal(empty(of(aggregate), { sendNilField: true }), [[{}]], aggregate);
  }
  assert.equal(empty(of('collect(a) AS x')), [[{ x: null }]]);
  assert.equal(empty(of('count(*) + 1 AS x, coalesce(sum(a), 0) AS y, window_end() AS z')), [[{ y: 0, z: 3000 }]]);
  assert.equal(empty(of('a')), [[]], 'rows: none');
});

test('an empty window sends nothing with keys, behind WHERE or when HAVING does not hold', () => {
  assert.equal(empty('SELECT count(*) AS x FROM demo GROUP BY a, TUMBLINGWINDOW(ss, 1)'), []);
  assert.equal(empty('SELECT count(*) AS x FROM demo WHERE a > 0 GROUP BY TUMBLINGWINDOW(ss, 1)'), []);
  assert.equal(empty('SELECT count(*) AS x FROM demo GROUP BY TUMBLINGWINDOW(ss, 1) HAVING count(*) > 0'), []);
  assert.equal(empty('SELECT count(*) AS x FROM demo GROUP BY TUMBLINGWINDOW(ss, 1) HAVING count(*) = 0'), []);
  assert.equal(empty('SELECT a FROM demo GROUP BY TUMBLINGWINDOW(ss, 1) HAVING count(*) > 0'), []);
});

test.run();
