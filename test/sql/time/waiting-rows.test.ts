/** Rows that wait: what they hold of the memory follows how many there are, not how many there were. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const start = Date.UTC(2024, 0, 1);
const stream =
  'CREATE STREAM s (id BIGINT, name STRING, ts BIGINT) WITH (DATASOURCE="s", TYPE="memory", TIMESTAMP="ts")';
const eventTime = { options: { isEventTime: true, lateTolerance: 0 } };

function rows(from: number, count: number, stepMs: number): object[] {
  return Array.from({ length: count }, (_, i) => ({
    id: from + i,
    name: `device ${from + i}`,
    ts: start + (from + i) * stepMs,
  }));
}

test('a sliding window of a few rows holds little memory, however many rows have passed', () => {
  const rule = openRule([stream], 'SELECT name, count(*) AS n FROM s GROUP BY name, SLIDINGWINDOW(ss, 1)', eventTime);
  for (let from = 0; from < 5000; from += 500) rule.feed('s', rows(from, 500, 100));
  const held = rule.kernel.counters(rule.node('window')).memoryBytes;
  assert.ok(held < 10 * 1024, `${held} bytes for 11 rows`);
  rule.close();
});

test('a table holds little more than the values of its rows', () => {
  const table = 'CREATE TABLE t () WITH (DATASOURCE="t", TYPE="memory", RETAIN_SIZE="10000")';
  const rule = openRule([stream, table], 'SELECT s.id, t.name FROM s INNER JOIN t ON s.id = t.id');
  for (let from = 0; from < 30_000; from += 1000) rule.feed('t', rows(from, 1000, 1));
  const held = rule.kernel.counters(rule.node('join')).memoryBytes;
  // Two values of 9 bytes and up to 12 letters.
  assert.ok(held / 10_000 < 60, `${held / 10_000} bytes for a row`);
  rule.close();
});

test('a table takes the newest rows of what comes at once, and drops the oldest of those it has', () => {
  const table = 'CREATE TABLE t () WITH (DATASOURCE="t", TYPE="memory", RETAIN_SIZE="3")';
  const rule = openRule([stream, table], 'SELECT t.id AS id FROM s INNER JOIN t ON s.id = 1');
  const ids = (): unknown[] => {
    rule.feed('s', [{ id: 1, name: '', ts: start }]);
    return rule
      .taken()
      .flat()
      .map((row) => (row as { id: number }).id);
  };
  rule.feed('t', rows(0, 10, 1));
  assert.equal(ids(), [7, 8, 9]);
  rule.feed('t', rows(10, 1, 1));
  assert.equal(ids(), [8, 9, 10]);
  rule.feed('t', rows(11, 2, 1));
  assert.equal(ids(), [10, 11, 12]);
  rule.close();
});

test.run();
