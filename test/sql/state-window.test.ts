/** STATEWINDOW with partitions: SQL and rows in, messages out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { streams } from './function-cases.js';
import { openRule } from './rule-kernel.js';

const rows = [
  { v: 1, k: 1, j: 'x' },
  { v: 1, k: '1', j: 'x' },
  { v: 5, k: 1, j: 'x' },
  { v: 1, k: null, j: 'y' },
  { v: 5, j: 'y' },
  { v: 1, k: 'a,b', j: 'c' },
  { v: 1, k: 'a', j: 'b,c' },
  { v: 5, k: 'a', j: 'b,c' },
];

/** Lists of each message of a rule whose windows are partitioned. */
function lists(window: string): unknown[] {
  const rule = openRule(streams, `SELECT collect(k) AS ks, collect(v) AS vs FROM demo GROUP BY ${window}`);
  rule.feed('demo', rows);
  const messages = rule.taken();
  rule.close();
  return messages.map((message) => (typeof message === 'string' ? message : message[0]));
}

test('each value has windows of its own; values that print alike are one, null and missing too', () => {
  assert.equal(lists('STATEWINDOW(v = 1, v > 4) OVER (PARTITION BY k)'), [
    { ks: [1, '1', 1], vs: [1, 1, 5] },
    { ks: [null, null], vs: [1, 5] },
    { ks: ['a', 'a'], vs: [1, 5] },
  ]);
});

test('several values are one partition only when all are the same', () => {
  assert.equal(lists('STATEWINDOW(v = 1, v > 4) OVER (PARTITION BY k, j)'), [
    { ks: [1, '1', 1], vs: [1, 1, 5] },
    { ks: [null, null], vs: [1, 5] },
    { ks: ['a', 'a'], vs: [1, 5] },
  ]);
});

test('with one condition the next window of a partition begins where the last one ends', () => {
  assert.equal(lists('STATEWINDOW(v = 1) OVER (PARTITION BY v > 4)'), [
    { ks: [1], vs: [1] },
    { ks: ['1'], vs: [1] },
    { ks: [null], vs: [1] },
    { ks: ['a,b'], vs: [1] },
  ]);
});

test('rows whose value fails are one partition', () => {
  assert.equal(lists('STATEWINDOW(v = 1, v > 4) OVER (PARTITION BY k * 2)').at(-1), {
    ks: ['1', 'a,b', 'a', 'a'],
    vs: [1, 1, 1, 5],
  });
});

test.run();
