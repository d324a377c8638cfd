/**
 * percentile_approx is within the accuracy that its documentation states, whichever way its sketches were put together.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const stream = 'CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s", TIMESTAMP="t", FORMAT="json")';
const fractions = [0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1];
const columns = fractions.map((p, i) => `percentile_approx(a, ${p}) AS p${i}`).join(', ');
const accuracy = 0.0101;

/** Numbers of a fixed row, each from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const shapes: Record<string, (next: () => number) => number> = {
  uniform: (next) => next() * 1000,
  'of many decades': (next) => Math.exp(next() * 30 - 15),
  'of both signs': (next) => (next() - 0.4) * 50,
  'with many zeros': (next) => (next() < 0.5 ? 0 : next()),
  whole: (next) => Math.round(next() * 20),
};

/** The value at the rank of the fraction. */
function exact(sorted: readonly number[], p: number): number {
  return sorted[Math.floor(p * (sorted.length - 1))] as number;
}

function assertNear(got: Record<string, number>, values: readonly number[], title: string): void {
  const sorted = values.toSorted((a, b) => a - b);
  fractions.forEach((p, i) => {
    const [value, wanted] = [got[`p${i}`] as number, exact(sorted, p)];
    assert.ok(Math.abs(value - wanted) <= accuracy * Math.abs(wanted), `${title}: ${value} at ${p}, not ${wanted}`);
  });
}

for (const [shape, draw] of Object.entries(shapes)) {
  test(`percentiles of values ${shape} are within 1 % of those of all values`, () => {
    const next = numbers(7);
    const values = Array.from({ length: 5000 }, () => draw(next));
    const rule = openRule([stream], `SELECT ${columns} FROM s GROUP BY COUNTWINDOW(5000)`);
    rule.feed(
      's',
      values.map((a) => ({ a, t: 0 })),
    );
    const [[row] = []] = rule.taken() as Record<string, number>[][];
    assertNear(row ?? {}, values, shape);
    rule.close();
  });
}

test('hopping windows join the sketches of their hops, a condition leaves rows out, groups are apart', () => {
  const next = numbers(11);
  const rows = Array.from({ length: 4000 }, (_, i) => ({ a: (next() - 0.3) * 10 ** (i / 800), t: i, g: i % 3 }));
  const rule = openRule(
    [stream],
    `SELECT g, window_end() AS e, ${columns} FROM s WHERE g < 2 GROUP BY g, HOPPINGWINDOW(ms, 1000, 250)`,
    { options: { isEventTime: true, lateToleranceMs: 0 } },
  );
  rule.feed('s', [...rows, { a: 0, t: 100_000, g: 0 }]);
  let seen = 0;
  for (const row of (rule.taken() as Record<string, number>[][]).flat()) {
    const end = row.e as number;
    const values = rows.filter(({ t, g }) => t >= end - 1000 && t < end && g === row.g).map(({ a }) => a);
    if (values.length === 0) continue;
    assertNear(row, values, `group ${row.g} to ${end}`);
    seen++;
  }
  assert.ok(seen > 20, `${seen} groups`);
  rule.close();
});

test('sliding windows take the rows that are in them', () => {
  const rows = Array.from({ length: 300 }, (_, i) => ({ a: (i % 40) - 10, t: i * 10 }));
  const rule = openRule([stream], `SELECT window_end() AS e, ${columns} FROM s GROUP BY SLIDINGWINDOW(ms, 500)`, {
    options: { isEventTime: true, lateToleranceMs: 0 },
  });
  rule.feed('s', [...rows, { a: 0, t: 100_000 }]);
  const messages = (rule.taken() as Record<string, number>[][]).map(([row]) => row as Record<string, number>);
  assert.ok(messages.length >= 300);
  for (const row of messages.slice(0, 300)) {
    const end = row.e as number;
    assertNear(
      row,
      rows.filter(({ t }) => t >= end - 500 && t <= end).map(({ a }) => a),
      `window to ${end}`,
    );
  }
  rule.close();
});

test('the state of a group stays small whatever it holds', () => {
  const rule = openRule([stream], `SELECT percentile_approx(a, 0.5) AS p FROM s GROUP BY COUNTWINDOW(1000000)`);
  const next = numbers(3);
  const before = rule.save().length;
  for (let i = 0; i < 20; i++) {
    rule.feed(
      's',
      Array.from({ length: 1000 }, () => ({ a: (next() - 0.5) * 10 ** (next() * 600 - 300), t: 0 })),
    );
  }
  assert.ok(rule.save().length - before < 40_000, `${rule.save().length} bytes`);
  rule.close();
});

test('what is no number and fractions out of range are errors', () => {
  const of = (a: unknown, p: string) => {
    const rule = openRule([stream], `SELECT percentile_approx(a, ${p}) AS p FROM s GROUP BY COUNTWINDOW(2)`);
    rule.feed('s', [
      { a, t: 0, f: true },
      { a: null, t: 0, f: true },
    ]);
    const taken = rule.taken();
    rule.close();
    return taken;
  };
  assert.match(String(of('x', '0.5')), /percentile_approx error: requires float64 slice but found string\(x\)/);
  assert.match(String(of(1, '1.5')), /percentile_approx error: percentile exec with error: Input is outside of range/);
  assert.match(String(of(1, 'f')), /percentile_approx error: the second parameter requires float64/);
  assert.equal(of(null, '0.5'), [[{}]]);
  assert.equal(of(7, '0.5'), [[{ p: 7 }]]);
});

test.run();
