/**
 * Conditions of WHERE on one stream of a window join, which go below the window, beside conditions that mean the same but also
 * name the other stream, which stay above the join: messages are equal to the byte.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from './rule-kernel.js';

const streams = ['l', 'r', 'm'].map((name) => `CREATE STREAM ${name} () WITH (FORMAT="json")`);
const joins = ['INNER', 'LEFT', 'RIGHT', 'FULL'] as const;
const conditions = [
  'l.v > 2',
  'r.v > 2',
  'm.v != 3',
  'l.v > 1 AND r.v > 1',
  'r.v > l.v',
  'isNull(r.v)',
  'l.k = "a"',
  'm.v < 4 AND l.v < 4',
];
const windows = ['TUMBLINGWINDOW(ss, 2)', 'HOPPINGWINDOW(ss, 3, 1)', 'COUNTWINDOW(4)', 'SLIDINGWINDOW(ss, 1)'];
const selects = ['l.v AS a, r.v AS b, m.v AS c', 'count(*) AS n, sum(l.v) AS s', '*'];

const step = fc.record({
  stream: fc.constantFrom('l', 'r', 'm'),
  rows: fc.array(fc.record({ k: fc.constantFrom('a', 'b', null), v: fc.integer({ min: 0, max: 5 }) }), {
    minLength: 1,
    maxLength: 4,
  }),
  later: fc.integer({ min: 0, max: 900 }),
});

/** Messages of the statement, by when they came. */
function run(sql: string, steps: readonly { stream: string; rows: object[]; later: number }[]): [number, unknown][] {
  const rule = openRule(streams, sql);
  const seen: [number, unknown][] = [];
  let now = 1_000_000;
  const take = () => {
    for (const message of rule.taken()) seen.push([now, message]);
  };
  for (const { stream, rows, later } of steps) {
    now += later;
    rule.kernel.tick(now);
    take();
    rule.feed(stream, rows, now);
    take();
  }
  now += 10_000;
  rule.kernel.tick(now);
  take();
  rule.close();
  return seen;
}

test('what comes out is the same wherever the filter stands', () => {
  let found = 0;
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 5, maxLength: 25 }),
      fc.constantFrom(...joins),
      fc.constantFrom(...joins),
      fc.constantFrom(...conditions),
      fc.constantFrom(...windows),
      fc.constantFrom(...selects),
      (steps, first, second, where, window, items) => {
        const of = (condition: string) =>
          `SELECT ${items} FROM l ${first} JOIN r ON l.k = r.k ${second} JOIN m ON l.k = m.k WHERE ${condition} GROUP BY ${window}`;
        // Names all three streams, so that it can be computed above the join alone.
        const above = `CASE WHEN l.v = 99 AND r.v = 99 AND m.v = 99 THEN FALSE ELSE ${where} END`;
        const messages = run(of(where), steps);
        found += messages.length;
        assert.equal(messages, run(of(above), steps));
      },
    ),
    { numRuns: 80 },
  );
  assert.ok(found > 20, `${found} messages`);
});

test.run();
