/** Event time: a row of a clock that runs far ahead is an error, and does not make the rows that follow late. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s", FORMAT="json", TIMESTAMP="t")';
const sql = 'SELECT count(*) AS n FROM s GROUP BY TUMBLINGWINDOW(ss, 10)';
const now = Date.parse('2026-06-01T12:00:00Z');
const year2100 = Date.parse('2100-01-01T00:00:00Z');
const options = { isEventTime: true, lateToleranceMs: 0 };
/** Rows that were too late, and too far ahead. */
function refusedBy(rule: KernelRule): { late: number; ahead: number } {
  const { late, ahead } = rule.kernel.timeliness(rule.node('eventTime'));
  return { late, ahead };
}

const times = (...list: number[]) => list.map((t) => ({ t }));

test('a row of the year 2100 is an error row; windows go on with the others', () => {
  const rule = openRule([stream], sql, { options });
  rule.feed('s', times(now, now + 1000, year2100, now + 2000, now + 11_000), now);
  const [error, window] = rule.taken();
  assert.is(
    error,
    `the timestamp ${year2100} lies ${(year2100 - now) / 1000} s ahead of the server's clock, more than ` +
      'maxFutureSkew (2592000 s)',
  );
  assert.equal(window, [{ n: 3 }]);
  assert.equal(refusedBy(rule), { late: 0, ahead: 1 });
  rule.close();
});

test('a row that failed is counted once, where it failed, though the error passes on', () => {
  const rule = openRule([stream], sql, { options });
  const counted = (kind: 'eventTime' | 'window') => rule.kernel.counters(rule.node(kind)).exceptions;
  rule.feed('s', times(now, year2100), now);
  assert.equal([counted('eventTime'), counted('window')], [1, 0]);
  // The source counts what it cannot read.
  rule.feed('s', Buffer.from('not JSON\n'), now);
  assert.equal([counted('eventTime'), counted('window')], [1, 0]);
  assert.is(rule.taken().length, 2);
  rule.close();
});

test('the bound is that of the option, to the millisecond', () => {
  const rule = openRule([stream], sql, { options: { ...options, maxFutureSkewMs: 60_000 } });
  rule.feed('s', times(now + 60_000, now + 60_001), now);
  assert.match(String(rule.taken()[0]), /lies 60 s ahead of the server's clock, more than maxFutureSkew \(60 s\)/);
  assert.equal(refusedBy(rule), { late: 0, ahead: 1 });
  rule.feed('s', times(now + 1000), now);
  assert.equal(refusedBy(rule), { late: 1, ahead: 1 });
  rule.close();
});

test('maxFutureSkew 0 sets no bound: later rows are late, and counted', () => {
  const rule = openRule([stream], sql, { options: { ...options, maxFutureSkewMs: 0 } });
  rule.feed('s', times(now, year2100, now + 1000, now + 2000), now);
  assert.equal(refusedBy(rule), { late: 2, ahead: 0 });
  rule.close();
});

test('a clock that was never set says nothing about time stamps', () => {
  const rule = openRule([stream], sql, { options });
  rule.feed('s', times(now, now + 11_000), 5000);
  assert.equal(rule.taken(), [[{ n: 1 }]]);
  rule.close();
});

test('rows of several streams are looked at alike', () => {
  const other = 'CREATE STREAM r () WITH (TYPE="memory", DATASOURCE="r", FORMAT="json", TIMESTAMP="t")';
  const joined = 'SELECT s.t AS a, r.t AS b FROM s INNER JOIN r ON s.t = r.t GROUP BY TUMBLINGWINDOW(ss, 10)';
  const rule = openRule([stream, other], joined, { options });
  rule.feed('s', times(now, year2100), now);
  rule.feed('r', times(now, year2100), now);
  for (const name of ['s', 'r']) rule.feed(name, times(now + 11_000), now);
  const taken = rule.taken();
  assert.is(taken.filter((message) => typeof message === 'string').length, 2);
  assert.equal(taken.at(-1), [{ a: now, b: now }]);
  rule.close();
});

test.run();
