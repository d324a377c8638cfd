/** What fails in a window: SQL and rows in, messages out. Every window and every failure is sent, each at its place. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RuleOptions } from '../../host/run/api.js';
import { openRule } from './rule-kernel.js';

const untyped = 'CREATE STREAM demo () WITH (DATASOURCE="demo", FORMAT="json", TIMESTAMP="ts")';
const eventTime = { isEventTime: true, lateToleranceMs: 0 };

/** Messages of a rule: rows, or E for an error. */
function sent(sql: string, rows: readonly object[], options: Partial<RuleOptions> = {}): unknown[] {
  const rule = openRule([untyped], sql, { options });
  rule.feed('demo', rows);
  const messages = rule.taken();
  rule.close();
  return messages.map((message) => (typeof message === 'string' ? 'E' : message));
}

/** The values of the only column of messages of one row. */
function single(messages: readonly unknown[]): unknown[] {
  return messages.map((message) => (Array.isArray(message) ? Object.values(message[0] ?? {})[0] : message));
}

/** Rows `every` ms apart from 1 s on; their number is `id`. */
const rowsOf = (values: readonly unknown[], every: number): object[] =>
  values.map((a, i) => ({ ts: 1000 + i * every, id: i + 1, a }));

for (const [window, every] of [
  ['TUMBLINGWINDOW(ss, 1)', 1000],
  ['HOPPINGWINDOW(ss, 1, 1)', 1000],
  ['SESSIONWINDOW(ss, 10, 1)', 3000],
  ['SLIDINGWINDOW(ms, 500)', 1000],
  ['SLIDINGWINDOW(ms, 500, 100)', 1000],
] as const) {
  for (const group of ['', 'k, ']) {
    test(`a window whose WHERE fails takes no neighbour with it: GROUP BY ${group}${window}`, () => {
      const sql = `SELECT sum(id) AS s FROM demo WHERE a > 1 GROUP BY ${group}${window}`;
      const end = rowsOf([2, 'x', 'y', 2, 2, 'z', 2, 2], every);
      assert.equal(single(sent(sql, end, eventTime)).slice(0, 7), [1, 'E', 'E', 4, 5, 'E', 7]);
    });
  }
}

const bad = [2, 'x', 3, 4, 2, 1];
const aggregates: [string, unknown[]][] = [
  ['sum(a)', [2, 'E', 'E', 7, 6, 3]],
  ['avg(a)', [2, 'E', 'E', 3.5, 3, 1.5]],
  ['min(a)', [2, 'E', 'E', 3, 2, 1]],
  ['max(a)', [2, 'E', 'E', 4, 4, 2]],
  ['stddev(a)', [0, 'E', 'E', 0.5, 1, 0.5]],
  ['sum(a + 1)', [3, 'E', 'E', 9, 8, 5]],
  ['last_value(a + 1, true)', [3, 'E', 'E', 5, 3, 2]],
  ['count(a)', [1, 2, 2, 2, 2, 2]],
];

for (const [aggregate, results] of aggregates) {
  const sql = (window: string) => `SELECT ${aggregate} AS s FROM demo GROUP BY ${window}`;
  test(`${aggregate} fails as long as a bad value is in a sliding window`, () => {
    assert.equal(single(sent(sql('SLIDINGWINDOW(ss, 1)'), rowsOf(bad, 700), eventTime)), results);
  });

  test(`${aggregate} fails as long as a bad value is in a hopping window`, () => {
    const hops = sent(sql('HOPPINGWINDOW(ss, 2, 1)'), rowsOf([...bad, 0, 0], 1000), eventTime);
    assert.equal(single(hops).slice(0, 6), results);
  });

  test(`${aggregate} fails as long as a bad value is in a window of counted rows`, () => {
    assert.equal(single(sent(sql('COUNTWINDOW(2, 1)'), rowsOf(bad, 1000))), results.slice(1));
  });
}

test('values of two kinds fail together only', () => {
  const rows = rowsOf(['b', 'a', 3, 4, 'c'], 600);
  assert.equal(single(sent('SELECT min(a) AS s FROM demo GROUP BY SLIDINGWINDOW(ss, 1)', rows, eventTime)), [
    'b',
    'a',
    'E',
    3,
    'E',
  ]);
});

test('a sliding window whose WHERE failed for a row is right again when the row has left', () => {
  const rows = rowsOf([2, 2, 'x', 2, 2, 2, 'y', 2, 2, 2], 400);
  const sql = 'SELECT sum(id) AS s FROM demo WHERE a > 1 GROUP BY SLIDINGWINDOW(ss, 1)';
  assert.equal(single(sent(sql, rows, eventTime)), [1, 3, 'E', 'E', 'E', 15, 'E', 'E', 'E', 27]);
});

test('an error of a row keeps its place among the windows', () => {
  const rows = rowsOf([2, 'x', 3, 'y', 4], 100);
  const places = (window: string) =>
    sent(`SELECT a FROM demo GROUP BY ${window} FILTER (WHERE a > 1)`, rows).map((message) =>
      Array.isArray(message) ? message.map(({ a }) => a) : message,
    );
  assert.equal(places('COUNTWINDOW(1)'), [[2], 'E', [3], 'E', [4]]);
  assert.equal(places('COUNTWINDOW(2)'), ['E', [2, 3], 'E']);
  assert.equal(places('COUNTWINDOW(2, 1)'), ['E', [2, 3], 'E', [3, 4]]);
  assert.equal(places('STATEWINDOW(a > 2)'), ['E', 'E', [3]]);
  assert.equal(places('STATEWINDOW(a > 1, a > 2)'), ['E', [2, 3], 'E']);
});

test('a row that does not decode keeps its place before a window', () => {
  const typed = 'CREATE STREAM demo (a BIGINT) WITH (DATASOURCE="demo", FORMAT="json")';
  const rule = openRule([typed], 'SELECT sum(a) AS s FROM demo GROUP BY COUNTWINDOW(1)');
  rule.feed('demo', Buffer.from('{"a": 1}\n{"a": \n{"a": "x"}\n{"a": 2}\n'));
  const messages = rule.taken();
  rule.close();
  assert.equal(
    messages.map((message) => (typeof message === 'string' ? 'E' : message[0])),
    [{ s: 1 }, 'E', 'E', { s: 2 }],
  );
});

test('errors of FILTER keep their place among windows of event time', () => {
  const rows = [
    { ts: 1100, a: 2 },
    { ts: 1200, a: 'x' },
    { ts: 2200, a: 3 },
    { ts: 3300, a: 'y' },
    { ts: 3500, a: 4 },
    { ts: 5500, a: 5 },
  ];
  const sql = 'SELECT a FROM demo GROUP BY TUMBLINGWINDOW(ss, 1) FILTER (WHERE a > 1)';
  assert.equal(sent(sql, rows, eventTime), ['E', [{ a: 2 }], 'E', [{ a: 3 }], [{ a: 4 }], []]);
});

test('a group that HAVING removes reports no errors', () => {
  const rows = [
    { u: 1, a: 'x' },
    { u: 2, a: 1 },
    { u: 2, a: 1 },
    { u: 3, a: 2 },
  ];
  const of = (select: string, having: string) =>
    sent(`SELECT u, ${select} AS x FROM demo GROUP BY u, COUNTWINDOW(4) ${having}`, rows);
  for (const [select, x] of [
    ['sum(a)', 2],
    ['stddev(a)', 0],
    ['max(a) + 1', 2],
    ['sum(a + 1)', 4],
    ['percentile_cont(a, 0.5)', 1],
    ['min(a) FILTER (WHERE a > 0)', 1],
  ] as const) {
    assert.equal(of(select, 'HAVING count(*) > 1'), [[{ u: 2, x }]], select);
    assert.equal(of(select, 'HAVING count(*) > 1 ORDER BY u'), [[{ u: 2, x }]], select);
  }
  assert.equal(of('sum(a)', ''), ['E'], 'without HAVING the message fails');
  assert.equal(of('sum(a)', 'HAVING sum(a) > 1'), ['E'], 'HAVING itself fails');
});

test.run();
