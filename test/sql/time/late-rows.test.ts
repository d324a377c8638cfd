/** Rows that come too late for event time go to sinks of their own. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const options = { isEventTime: true, lateToleranceMs: 1000, maxFutureSkewMs: 0 };
const declared = 'CREATE STREAM s (k STRING, v BIGINT, ts BIGINT) WITH (TIMESTAMP="ts")';
const window = 'SELECT count(*) AS n FROM s GROUP BY TUMBLINGWINDOW(ss, 10)';

test('late rows go as they came, with the stream, their time and how late they were', () => {
  const rule = openRule([declared], window, { options, lateProps: {} });
  rule.feed('s', [
    { k: 'a', v: 1, ts: 10_000 },
    { k: 'b', v: 2, ts: 5000 },
    { k: 'c', v: 3, ts: 20_000 },
    { ts: 18_999, v: 4, unknown: 1 },
    { k: 'e', v: 5, ts: 19_000 },
  ]);
  assert.equal(rule.takenLate(), [
    [{ k: 'b', v: 2, ts: 5000, __late: { stream: 's', time: 5000, lateBy: 4000 } }],
    [{ v: 4, ts: 18_999, __late: { stream: 's', time: 18_999, lateBy: 1 } }],
  ]);
  rule.feed('s', [{ k: 'z', v: 0, ts: 41_000 }]);
  assert.equal(rule.taken().slice(0, 2), [[{ n: 2 }], [{ n: 1 }]]);
  assert.is(rule.kernel.timeliness(rule.node('eventTime')).late, 2);
  const { recordsIn, recordsOut } = rule.kernel.counters(rule.node('late'));
  assert.equal([recordsIn, recordsOut], [2, 2]);
  rule.close();
});

test('of a stream without columns whole rows go', () => {
  const rule = openRule(
    ['CREATE STREAM s () WITH (TIMESTAMP="at")'],
    'SELECT avg(v) AS v FROM s GROUP BY SLIDINGWINDOW(ss, 10)',
    { options, lateProps: { sendSingle: true, excludeFields: ['__late'] } },
  );
  const late = { at: '1970-01-01T00:00:03.500Z', v: 2, more: { list: [1, 'x', null] } };
  rule.feed('s', [{ at: 9000, v: 1 }, late, { at: 9000, v: 3 }]);
  assert.equal(rule.takenLate(), [late]);
  rule.close();
});

test('of a join the late rows of each stream go, each with the name of its stream', () => {
  const rule = openRule(
    ['a', 'b'].map((name) => `CREATE STREAM ${name} (id BIGINT, ${name}x STRING, ts BIGINT) WITH (TIMESTAMP="ts")`),
    'SELECT a.id FROM a INNER JOIN b ON a.id = b.id GROUP BY TUMBLINGWINDOW(ss, 10)',
    { options, lateProps: { sendSingle: true } },
  );
  rule.feed('a', [{ id: 1, ts: 15_000 }]);
  rule.feed('b', [{ id: 1, ts: 17_000 }]);
  rule.feed('a', [{ id: 2, ax: 'left', ts: 13_999 }]);
  rule.feed('b', [
    { id: 3, ts: 14_000 },
    { id: 4, bx: 'right', ts: 13_000 },
  ]);
  assert.equal(rule.takenLate(), [
    { id: 2, ax: 'left', ts: 13_999, __late: { stream: 'a', time: 13_999, lateBy: 1 } },
    { id: 4, bx: 'right', ts: 13_000, __late: { stream: 'b', time: 13_000, lateBy: 1000 } },
  ]);
  rule.feed('a', [{ id: 9, ts: 31_000 }]);
  rule.feed('b', [{ id: 9, ts: 31_000 }]);
  assert.equal(rule.taken(), [[{ id: 1 }]]);
  rule.close();
});

test('streams joined by the time between their rows, and those of UNION ALL, give theirs', () => {
  const streams = ['a', 'b'].map((name) => `CREATE STREAM ${name} (id BIGINT, ts BIGINT) WITH (TIMESTAMP="ts")`);
  const late = (stream: string, by: number) => ({ id: 2, ts: 1, __late: { stream, time: 1, lateBy: by } });
  const statements = {
    'SELECT a.id FROM a INNER JOIN b ON a.id = b.id AND b.ts BETWEEN a.ts - 10 AND a.ts + 10': [
      ['a', 'b'],
      [98, 98],
    ],
    'SELECT id FROM a UNION ALL SELECT id FROM b': [
      ['a', 'b'],
      [98, 98],
    ],
    'SELECT count(*) FROM (SELECT id FROM a) AS t GROUP BY TUMBLINGWINDOW(ss, 1)': [['a'], [98]],
  } as const;
  for (const [sql, [names, by]] of Object.entries(statements)) {
    const tolerance = { ...options, lateToleranceMs: 1 };
    const rule = openRule(streams, sql, { options: tolerance, lateProps: { sendSingle: true } });
    for (const name of names) rule.feed(name, [{ id: 1, ts: 100 }]);
    for (const name of names) rule.feed(name, [{ id: 2, ts: 1 }]);
    assert.equal(
      rule.takenLate(),
      names.map((name, i) => late(name, by[i]!)),
      sql,
    );
    rule.close();
  }
});

test('late rows between rows that fail keep their order', () => {
  const rule = openRule([declared], 'SELECT k FROM s', { options, lateProps: {} });
  rule.feed('s', [
    { k: 'a', ts: 10_000 },
    { k: 'b', ts: 1 },
    { k: 'c' },
    { k: 'd', ts: 2 },
    { k: 'e', ts: 9000 },
    { k: 'f', ts: 3 },
  ]);
  assert.equal(
    rule.takenLate().map((rows) => (rows as { k: string }[]).map(({ k }) => k)),
    [['b'], ['d'], ['f']],
  );
  const taken = rule.taken();
  assert.equal(taken.slice(1), [[{ k: 'e' }]]);
  assert.match(taken[0] as string, 'cannot find timestamp field');
  rule.close();
});

test('a rule moves to another kernel: what was late stays counted, what is late goes on', () => {
  const first = openRule([declared], window, { options, lateProps: {} });
  first.feed('s', [
    { k: 'a', ts: 10_000 },
    { k: 'b', ts: 1 },
  ]);
  const second = openRule([declared], window, { options, lateProps: {} });
  second.load(first.save());
  second.feed('s', [{ k: 'c', ts: 2 }]);
  assert.equal(second.takenLate(), [[{ k: 'c', ts: 2, __late: { stream: 's', time: 2, lateBy: 8998 } }]]);
  assert.is(second.kernel.timeliness(second.node('eventTime')).late, 2);
  first.close();
  second.close();
});

test.run();
