/** Groups of many keys: the table in which they are looked for grows while keys come again, and each keeps its group. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from './rule-kernel.js';

const count = 140_000;

for (const [name, sql] of Object.entries({
  'text keys': 'SELECT k, count(*) AS c FROM s GROUP BY k, TUMBLINGWINDOW(ss, 10)',
  'long keys and numbers': 'SELECT t, n, count(*) AS c FROM s GROUP BY t, n, TUMBLINGWINDOW(ss, 10)',
  'keys of parts of a window': 'SELECT k, count(*) AS c FROM s GROUP BY k, HOPPINGWINDOW(ss, 10, 5)',
})) {
  test(`${name}: each of many groups is one, whatever came since`, () => {
    const rule = openRule(['CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")'], sql);
    rule.kernel.tick(5_000);
    const expected = new Map<string, number>();
    const row = (i: number) => ({ k: `key ${i}`, t: `a text that is longer than sixteen bytes ${i}`, n: i });
    for (let from = 0; from < count; from += 10_000) {
      // New keys among some of all those before, near and far.
      const keys = Array.from({ length: 15_000 }, (_, i) =>
        i < 10_000 ? from + i : Math.floor(((i * 7919) % 9973) * ((from + 1) / 9973)),
      );
      const rows = keys.map(row);
      for (const key of keys) expected.set(`key ${key}`, (expected.get(`key ${key}`) ?? 0) + 1);
      rule.feed('s', rows, 5_001 + from / 10_000);
    }
    rule.kernel.tick(10_000);
    const [message] = rule.taken() as [{ k?: string; n?: number; c: number }[]];
    const found = new Map(message.map(({ k, n, c }) => [k ?? `key ${n}`, c]));
    assert.is(message.length, expected.size);
    for (const [key, c] of expected) if (found.get(key) !== c) assert.is(`${key}: ${found.get(key)}`, `${key}: ${c}`);
    const held = rule.kernel.memory().inUse;
    rule.close();
    assert.ok(rule.kernel.memory().inUse < held);
  });
}

test.run();
