/**
 * Groups of many keys: the table in which they are looked for grows while keys come again, and each keeps its group.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';

const mb = 1 << 20;

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

test('a table that has room for more groups serves them although there is no memory for the next one', () => {
  // 65,536 groups have room; the next table, 4 MiB, is asked for from 49,152 on.
  const open = (maxMemoryBytes?: number) =>
    openRule(
      ['CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory")'],
      'SELECT k, count(*) AS c FROM s GROUP BY k, TUMBLINGWINDOW(ss, 10) HAVING count(*) > 1',
      maxMemoryBytes === undefined ? {} : { limits: { maxMemoryBytes } },
    );
  const fill = (rule: KernelRule, from: number, to: number) => {
    for (; from < to; from += 1000) {
      const end = Math.min(from + 1000, to);
      rule.feed(
        's',
        Array.from({ length: end - from }, (_, i) => ({ k: `key ${from + i}` })),
        1,
      );
    }
  };
  const wide = open();
  fill(wide, 0, 49_000);
  const { inUse } = wide.kernel.memory();
  wide.close();
  // A sixteenth is for the work under way.
  const rule = open(Math.ceil(((inUse + 3.5 * mb) * 16) / 15));
  fill(rule, 0, 65_000);
  const node = rule.nodes[0]!;
  assert.is(rule.kernel.counters(node).exceptions, 0);
  const twice = Array.from({ length: 65 }, (_, i) => `key ${i * 1000 + 999}`);
  rule.feed(
    's',
    twice.map((k) => ({ k })),
    1,
  );
  rule.kernel.tick(10_000);
  assert.equal(rule.taken(), [twice.map((k) => ({ k, c: 2 }))]);
  // Here there is none left.
  fill(rule, 100_000, 170_000);
  assert.ok(rule.kernel.counters(node).exceptions > 0);
  rule.close();
});

test.run();
