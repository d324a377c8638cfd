/**
 * Sliding windows whose aggregates are taken in column by column, beside the same windows with one aggregate more,
 * which is taken in row by row: over numbers alone, and over rows among which others come; saved and loaded between any
 * two feeds.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

type Row = Record<string, unknown>;

/** Pseudo-random numbers in [0, 1). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Rows of times that go on; `odd`: the part of rows in which a value is no number, or an integer among doubles. */
function rowsOf(random: () => number, count: number, odd: number): Row[] {
  let ts = 1_700_000_000_000;
  return Array.from({ length: count }, (_, i) => {
    if (random() < 0.8) ts += Math.floor(random() * 40);
    if (random() < 0.01) ts += 5000;
    const row: Row = {
      ts,
      i,
      x: Math.floor(random() * 1e6) / 1000 + 0.0005,
      n: Math.floor(random() * 1e9),
      s: `text ${i}`,
    };
    if (random() >= odd) return row;
    const which = Math.floor(random() * 4);
    if (which === 0) row.x = null;
    else if (which === 1) delete row.n;
    else if (which === 2) row.s = null;
    else row.x = Math.floor(random() * 100);
    return row;
  });
}

const columns =
  's, i, count(*) AS c, count(s) AS cs, sum(x) AS sx, avg(x) AS ax, min(x) AS lx, max(x) AS hx, sum(n) AS sn, ' +
  'avg(n) AS an, min(n) AS ln, max(n) AS hn, window_start() AS ws, window_end() AS we';

interface Way {
  window: string;
  end?: string;
  lateToleranceMs?: number;
  props?: Row;
}

/**
 * What a statement sends, fed in pieces of random length; `saves`: after each piece another kernel goes on with what
 * was saved.
 */
function sent(more: string, rows: readonly Row[], way: Way, seed: number, saves: boolean): string[] {
  const random = randomOf(seed);
  const open = () =>
    openRule(
      ['CREATE STREAM demo (ts BIGINT, i BIGINT, x FLOAT, n BIGINT, s STRING) WITH (TIMESTAMP="ts")'],
      `SELECT ${columns}${more} FROM demo GROUP BY ${way.window} ${way.end ?? ''}`,
      { options: { isEventTime: true, lateToleranceMs: way.lateToleranceMs ?? 0 }, props: way.props ?? {} },
    );
  let rule = open();
  const messages: string[] = [];
  for (let at = 0; at < rows.length; ) {
    const part = 1 + Math.floor(random() * (random() < 0.5 ? 4 : 120));
    rule.feed('demo', rows.slice(at, at + part));
    at += part;
    messages.push(...rule.written());
    if (!saves) continue;
    const saved = rule.save();
    rule.close();
    rule = open();
    rule.load(saved);
  }
  rule.close();
  return messages;
}

/** The messages without what the one aggregate more gives. */
const without = (messages: string[]): string[] => messages.map((text) => text.replaceAll(/"extra":[^,}]*,/g, ''));

/** Compares message by message: all at once would be reported letter by letter. */
function same(messages: string[], expected: string[]): void {
  for (const [at, message] of expected.entries()) assert.is(messages[at], message, `message ${at}`);
  assert.is(messages.length, expected.length);
}

const ways: Way[] = [
  { window: 'SLIDINGWINDOW(ms, 100)' },
  { window: 'SLIDINGWINDOW(ms, 3000)' },
  { window: 'SLIDINGWINDOW(ms, 1)' },
  { window: 'SLIDINGWINDOW(ms, 1500)', lateToleranceMs: 100 },
  { window: 'SLIDINGWINDOW(ms, 2000)', end: 'HAVING count(*) > 20' },
  { window: 'SLIDINGWINDOW(ms, 2000)', end: 'HAVING avg(x) / (count(*) - 30) > 0' },
  { window: 'SLIDINGWINDOW(ms, 700)', end: 'ORDER BY i LIMIT 3' },
  { window: 'SLIDINGWINDOW(ms, 700)', props: { sendSingle: true } },
  { window: 'SLIDINGWINDOW(ms, 700)', props: { batchSize: 4 } },
  { window: 'SLIDINGWINDOW(ms, 700)', props: { fields: ['c', 'hx'] } },
];

for (const [k, way] of ways.entries()) {
  const name = `${way.window} ${way.end ?? ''} ${JSON.stringify(way.props ?? {})} ${way.lateToleranceMs ?? ''}`;
  for (const odd of [0, 0.01]) {
    test(`${name}: ${odd * 1000} of 1,000 rows are odd`, () => {
      const rows = rowsOf(randomOf(k * 10 + odd * 1000), 300, odd);
      // A deviation has no column of its own: all are taken in row by row beside it.
      const expected = without(sent(', stddev(n) AS extra', rows, way, k, false));
      assert.ok(expected.length > 20, `only ${expected.length} messages`);
      same(sent('', rows, way, k, false), expected);
      same(sent('', rows, way, k, true), expected);
    });
  }
}

test.run();
