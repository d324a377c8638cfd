/**
 * Conditions of WHERE on one stream of a window join, which go below the window, beside conditions that mean the same
 * but also name the other stream, which stay above the join: messages are equal to the byte.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const streams = [
  ...['l', 'r', 'm', 'n'].map((name) => `CREATE STREAM ${name} () WITH (FORMAT="json")`),
  'CREATE TABLE t () WITH (TYPE="memory", DATASOURCE="t", KIND="lookup", KEY="k")',
];
/** What the first stream of the join may be, with what stands before the statement. */
const froms: readonly (readonly [before: string, from: string])[] = [
  ['', 'l'],
  ['', '(SELECT k, v + 0 AS v FROM l) AS l'],
  ['', '(SELECT k, v FROM l UNION ALL SELECT k, v * 1 AS v FROM n) AS l'],
  ['', '(SELECT l.k AS k, t.w + l.v AS v FROM l INNER JOIN t ON l.k = t.k WHERE l.v < 5) AS l'],
  ['WITH c AS (SELECT k, max(v) AS v FROM l GROUP BY k, TUMBLINGWINDOW(ss, 1))', 'c AS l'],
];
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
  stream: fc.constantFrom('l', 'r', 'm', 'n'),
  rows: fc.array(fc.record({ k: fc.constantFrom('a', 'b', null), v: fc.integer({ min: 0, max: 5 }) }), {
    minLength: 1,
    maxLength: 4,
  }),
  later: fc.integer({ min: 0, max: 900 }),
});

/** Messages of the statement, by when they came. */
function run(sql: string, steps: readonly { stream: string; rows: object[]; later: number }[]): [number, unknown][] {
  const rule = openRule(streams, sql);
  if (sql.includes(' t ')) rule.feed('t', [{ k: 'a', w: 0 }]);
  const seen: [number, unknown][] = [];
  let now = 1_000_000;
  const take = () => {
    for (const message of rule.taken()) seen.push([now, message]);
  };
  for (const { stream, rows, later } of steps) {
    now += later;
    rule.kernel.tick(now);
    take();
    if (stream !== 'n' || sql.includes(' n)')) rule.feed(stream, rows, now);
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
      fc.constantFrom(...froms),
      (steps, first, second, where, window, items, [before, from]) => {
        const of = (condition: string) =>
          `${before} SELECT ${items} FROM ${from} ${first} JOIN r ON l.k = r.k ${second} JOIN m ON l.k = m.k ` +
          `WHERE ${condition} GROUP BY ${window}`;
        // Names all three streams, so that it can be computed above the join alone.
        const above = `CASE WHEN l.v = 99 AND r.v = 99 AND m.v = 99 THEN FALSE ELSE ${where} END`;
        const messages = run(of(where), steps);
        found += messages.length;
        assert.equal(messages, run(of(above), steps));
      },
    ),
    { numRuns: 200 },
  );
  assert.ok(found > 20, `${found} messages`);
});

test(
  'a condition that fails is an error of its row where it stands below the join, of the window where it stands ' +
    'above',
  () => {
    const of = (where: string) =>
      `SELECT l.v AS a, r.v AS b FROM l INNER JOIN r ON l.k = r.k WHERE ${where} GROUP BY TUMBLINGWINDOW(ss, 1)`;
    const messagesOf = (sql: string): unknown[] => {
      const rule = openRule(streams, sql);
      rule.kernel.tick(1_000_000);
      rule.feed('r', [{ k: 1, v: 7 }], 1_000_000);
      rule.feed(
        'l',
        [
          { k: 1, v: 3 },
          { k: 1, v: 'text' },
          { k: 1, v: 4 },
          { k: 2, v: 'of no partner' },
        ],
        1_000_100,
      );
      const messages: unknown[] = [...rule.taken(), 'the end of the window'];
      rule.kernel.tick(1_001_000);
      messages.push(...rule.taken());
      rule.close();
      return messages;
    };
    const rows = [
      { a: 3, b: 7 },
      { a: 4, b: 7 },
    ];
    const ofText = 'invalid operation string(text) > int64(2)';
    const ofOther = 'invalid operation string(of no partner) > int64(2)';
    assert.equal(messagesOf(of('l.v > 2')), [ofText, ofOther, 'the end of the window', rows]);
    // What stands behind a condition that cannot move does not move either, nor does what looks at rows of both.
    assert.equal(messagesOf(of('r.v > l.v AND l.v > 2')), [
      'the end of the window',
      'invalid operation float64(7) > string(text)',
    ]);
    assert.equal(messagesOf(of('CASE WHEN r.v = 0 THEN FALSE ELSE l.v > 2 END')), ['the end of the window', ofText]);
  },
);

test.run();
