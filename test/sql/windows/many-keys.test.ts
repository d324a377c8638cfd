/** Keys that are many: what is kept for each is found while the table of keys grows, and shrinks, little by little. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const stream = (name: string) => `CREATE STREAM ${name} () WITH (TYPE="memory", DATASOURCE="${name}", TIMESTAMP="ts")`;
const keysOfStep = 10_000;
const long = 'a text that is longer than sixteen bytes ';

for (const [what, keyOf] of Object.entries({
  'short texts': (i: number) => `key ${i}`,
  'long texts': (i: number) => `${long}${i}`,
})) {
  test(`${what}: the value before is that of the same key, however many came since`, () => {
    const rule = openRule([stream('s')], 'SELECT n, lag(n) OVER (PARTITION BY k) AS l FROM s');
    const { inUse: empty } = rule.kernel.memory();
    const before = new Map<number, number>();
    let n = 0;
    for (let from = 0; from < 170_000; from += keysOfStep) {
      // New keys among some of all those before, near and far.
      const keys = Array.from({ length: keysOfStep + 2000 }, (_, i) =>
        i % 6 < 5 ? from + Math.floor(i / 6) * 5 + (i % 6) : Math.floor(((i * 7919) % 9973) * (from / 9973)),
      );
      const rows = keys.map((key) => ({ k: keyOf(key), n: ++n }));
      const expected = rows.map(({ n }, i) => {
        const l = before.get(keys[i]!);
        before.set(keys[i]!, n);
        return l === undefined ? { n } : { l, n };
      });
      rule.feed('s', rows);
      const found = rule.written();
      const wrong = expected.findIndex((row, i) => JSON.stringify([row]) !== found[i]);
      if (wrong >= 0) assert.is(found[wrong], JSON.stringify([expected[wrong]]));
      assert.is(found.length, rows.length);
    }
    assert.ok(rule.kernel.memory().inUse > empty);
    rule.close();
  });
}

for (const retain of [90_000, 1_000_000]) {
  test(`the newest ${retain} rows of a table are found while its index grows`, () => {
    const rule = openRule(
      [stream('s'), `CREATE TABLE t () WITH (TYPE="memory", DATASOURCE="t", RETAIN_SIZE="${retain}")`],
      'SELECT s.n AS n, t.v AS v FROM s INNER JOIN t ON s.k = t.k',
    );
    const { inUse: empty } = rule.kernel.memory();
    let made = 0;
    for (let step = 0; step < 16; step++) {
      rule.feed(
        't',
        Array.from({ length: 9000 }, (_, i) => ({ k: `key ${made + i}`, v: made + i })),
      );
      made += 9000;
      const asked = Array.from({ length: 150 }, (_, i) => Math.floor((made * ((i * 7919) % 9973)) / 9973));
      rule.feed(
        's',
        asked.map((key) => ({ k: `key ${key}`, n: key })),
      );
      const expected = asked.filter((key) => key >= made - retain).map((key) => [{ n: key, v: key }]);
      assert.equal(rule.taken(), expected, `step ${step}`);
    }
    assert.ok(rule.kernel.memory().inUse > empty);
    rule.close();
  });
}

test(
  'keys that time leaves behind are gone, and those beside them are found, while the table shrinks and grows ' +
    'again',
  () => {
    const stepMs = 100;
    const within = 20 * stepMs;
    const rule = openRule(
      [stream('s'), stream('r')],
      `SELECT s.n AS a, r.n AS b FROM s INNER JOIN r ON s.k = r.k AND r.ts BETWEEN s.ts AND s.ts + ${within}`,
      { options: { isEventTime: true, lateToleranceMs: 0, maxFutureSkewMs: 0 } },
    );
    let made = 0;
    let most = 0;
    let least = 0;
    const madeAt: number[] = [];
    for (let step = 0; step < 85; step++) {
      const ts = 1000 + step * stepMs;
      // Many come, none, and many again.
      const comes = step < 32 || step > 72;
      const rows = Array.from({ length: comes ? keysOfStep : 0 }, (_, i) => ({
        k: `key ${made + i}`,
        n: made + i,
        ts,
      }));
      for (const { n } of rows) madeAt[n] = ts;
      made += rows.length;
      const asked = Array.from({ length: 300 }, (_, i) => Math.floor((made * ((i * 7919) % 9973)) / 9973));
      rule.feed('s', [...rows, { n: -1, k: 'none', ts: ts + 1 }]);
      rule.feed('r', [
        ...asked.map((key) => ({ k: `key ${key}`, n: key, ts: ts + 1 })),
        { n: -1, k: 'nobody', ts: ts + 2 },
      ]);
      rule.feed('s', [{ n: -1, k: 'none', ts: ts + 3 }]);
      rule.feed('r', [{ n: -1, k: 'nobody', ts: ts + 3 }]);
      const expected = asked.filter((key) => ts + 1 - madeAt[key]! <= within).map((key) => [{ a: key, b: key }]);
      assert.equal(rule.taken(), expected, `step ${step}`);
      const { inUse } = rule.kernel.memory();
      if (step === 0) least = inUse;
      if (step === 32) most = inUse - least;
      if (step === 72) assert.ok(inUse - least < most / 4, `${inUse - least} of ${most} bytes are held without keys`);
    }
    rule.close();
  },
);

test.run();
