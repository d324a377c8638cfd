/**
 * Texts of all lengths, in batches of texts alone and in mixed ones: functions that look back, and joins in windows by
 * text keys.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const test = suite('columns of texts');

/** Lengths around those that are compared, hashed and copied as one block. */
const lengths = [0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 70];
const texts = lengths.flatMap((n) => ['a', 'b'].map((c) => (n === 0 ? '' : 'x'.repeat(n - 1) + c)));

/** Deterministic pseudo-random whole numbers below `n`. */
function randomBelow(): (n: number) => number {
  let state = 99;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

for (const mixed of [false, true]) {
  const kind = mixed ? 'with numbers among them' : 'alone';
  test(`had_changed and lag by texts, ${kind}`, () => {
    const random = randomBelow();
    const value = () => (mixed && random(5) === 0 ? random(3) : texts[random(texts.length)]!);
    const rule = openRule(
      ['CREATE STREAM demo () WITH ()'],
      'SELECT k, v, lag(v) OVER (PARTITION BY k) AS was, lag(n) OVER (PARTITION BY k) AS n FROM demo ' +
        'WHERE had_changed(true, v) OVER (PARTITION BY k)',
      { props: { sendSingle: true } },
    );
    // What is looked back at are all rows, whatever WHERE says of them.
    const newest = new Map<string, { v: unknown; n: number }>();
    for (let turn = 0; turn < 6; turn++) {
      const rows = Array.from({ length: 700 }, (_, i) => ({
        k: texts[random(texts.length)]!,
        v: value(),
        n: turn * 1000 + i,
      }));
      const wanted: object[] = [];
      for (const { k, v, n } of rows) {
        const before = newest.get(k);
        newest.set(k, { v, n });
        if (before === undefined) wanted.push({ k, v });
        else if (before.v !== v) wanted.push({ k, n: before.n, v, was: before.v });
      }
      rule.feed('demo', rows);
      assert.equal(
        rule.written().map((line) => JSON.parse(line)),
        wanted,
      );
    }
    rule.close();
  });

  test(`a window join by texts, ${kind}`, () => {
    const random = randomBelow();
    const key = () => (mixed && random(5) === 0 ? null : texts[random(texts.length)]!);
    const rule = openRule(
      ['CREATE STREAM a () WITH ()', 'CREATE STREAM b () WITH ()'],
      'SELECT a.k AS k, a.n AS n, b.n AS m FROM a INNER JOIN b ON a.k = b.k GROUP BY TUMBLINGWINDOW(ss,10)',
    );
    let now = 1_700_000_000_000;
    rule.kernel.tick(now);
    // Windows of more and of fewer rows than a batch has, and of some that are sent one by one.
    for (const [ofA, ofB] of [
      [40, 500],
      [1100, 30],
      [3, 5],
      [300, 1100],
    ] as const) {
      const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ k: key(), n }));
      const a = rows(ofA);
      const b = rows(ofB);
      rule.feed('a', a.slice(0, ofA >> 1), now + 1);
      rule.feed('b', b, now + 1);
      rule.feed('a', a.slice(ofA >> 1), now + 1);
      now += 10_000;
      rule.kernel.tick(now);
      const wanted = a.flatMap(({ k, n }) =>
        b.filter((other) => k !== null && other.k === k).map((other) => ({ k, m: other.n, n })),
      );
      assert.equal(rule.taken().flat(), wanted);
    }
    rule.close();
  });
}

test.run();
