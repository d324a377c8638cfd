/** Rows that wait for delay(): what is saved and loaded, what the rule gives back when it ends. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const streams = ['CREATE STREAM s () WITH ()'];

test('rows that wait are saved with the time until which they do', () => {
  const sql = 'SELECT delay(ms, v) AS d, n FROM s';
  const first = openRule(streams, sql);
  first.feed('s', [{ ms: 100, v: 'a', n: 1 }], 1000);
  first.feed(
    's',
    [
      { ms: 500, v: ['b'], n: 2 },
      { ms: 'x', v: 1 },
    ],
    1010,
  );
  const saved = first.save();
  first.close();

  const second = openRule(streams, sql);
  assert.equal(second.load(saved).failed, []);
  assert.is(second.kernel.waiting(second.node('ask')).rows, 3);
  second.kernel.tick(1099);
  assert.equal(second.taken(), []);
  second.kernel.tick(1100);
  assert.equal(second.taken(), [[{ d: 'a', n: 1 }]]);
  second.kernel.tick(1510);
  const [row, error] = second.taken();
  assert.equal(row, [{ d: ['b'], n: 2 }]);
  assert.match(String(error), /cannot convert string\(x\) to int/);
  assert.is(second.kernel.waiting(second.node('ask')).rows, 0);
  second.close();
});

test('a window that waits is saved as a whole', () => {
  const sql = 'SELECT delay(100, count(*)) AS n FROM s GROUP BY COUNTWINDOW(2)';
  const first = openRule(streams, sql);
  first.feed('s', [{ v: 1 }, { v: 2 }, { v: 3 }], 1000);
  const saved = first.save();
  first.close();
  const second = openRule(streams, sql);
  second.load(saved);
  second.feed('s', [{ v: 4 }], 1050);
  second.kernel.tick(1100);
  assert.equal(second.taken(), [[{ n: 2 }]]);
  second.kernel.tick(1150);
  assert.equal(second.taken(), [[{ n: 2 }]]);
  second.close();
});

test('rows that wait for the end of their range are saved with what was given before', () => {
  const sql = 'SELECT dedup_trigger(s, e, n, 9999) AS r, v FROM s';
  const first = openRule(streams, sql);
  first.feed('s', [{ s: 100, e: 200, n: 200, v: 1 }], 1000);
  first.feed('s', [{ s: 150, e: 260, n: 210, v: 2 }], 1010);
  assert.equal(first.taken(), [[{ r: [{ start_key: '100', end_key: '200' }], v: 1 }]]);
  const saved = first.save();
  first.close();

  const second = openRule(streams, sql);
  assert.equal(second.load(saved).failed, []);
  second.kernel.tick(1059);
  assert.equal(second.taken(), []);
  second.kernel.tick(1060);
  assert.equal(second.taken(), [[{ r: [{ start_key: '200', end_key: '260' }], v: 2 }]]);
  second.close();
});

test('memory goes with the rule, whatever waits', () => {
  const open = openRule(streams, 'SELECT v FROM s');
  const { kernel } = open;
  const rows = Array.from({ length: 3000 }, (_, i) => ({ v: `value ${i}` }));
  const inUse = (): number => {
    const rule = openRule(streams, 'SELECT delay(60000, v) AS d, * FROM s', { kernel });
    rule.feed('s', rows);
    assert.is(rule.kernel.waiting(rule.node('ask')).rows, rows.length);
    rule.close();
    return kernel.memory().inUse;
  };
  // The first run makes what the kernel keeps for all.
  inUse();
  const once = inUse();
  for (let i = 0; i < 5; i++) assert.is(inUse(), once);
  open.close();
});

test.run();
