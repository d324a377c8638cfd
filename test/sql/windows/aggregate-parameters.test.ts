/** The parameter of an aggregate lasts as long as its window, whatever comes after its row. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")';

test('a parameter of another kind is named as the first row had it', () => {
  const rule = openRule([stream], 'SELECT percentile_cont(a, p) AS x FROM s GROUP BY COUNTWINDOW(2)');
  rule.feed('s', [{ a: 1, p: 'of the first' }]);
  rule.feed('s', [{ a: 2, p: 'of another row' }]);
  assert.equal(rule.taken(), [
    'call func percentile_cont error: the second parameter requires float64 but found string(of the first)',
  ]);
  rule.close();
});

test('a parameter that is an object is saved as the first row had it', () => {
  const sql = 'SELECT percentile_cont(a, p) AS x FROM s WHERE a > 0 GROUP BY TUMBLINGWINDOW(ss, 10)';
  const rule = openRule([stream], sql);
  rule.kernel.tick(1);
  rule.feed('s', [{ a: 1, p: { key: 'of the first', list: ['one', 'two', { three: 3 }] } }], 1);
  const state = Buffer.from(rule.save());
  const others = Array.from({ length: 200 }, (_, i) => ({
    a: -1,
    p: [i, 'x'.repeat(i), { y: -0.5 - i }, [[], [null]]],
  }));
  rule.feed('s', others, 2);
  assert.ok(state.includes('of the first'));
  const after = Buffer.from(rule.save());
  assert.ok(after.includes('of the first'));
  rule.close();
});

test.run();
