/**
 * Rules by event time in one piece and in three parts have the same rows whenever the input pauses, and at its end:
 * parts get the watermark itself, so what waits for time to go on comes when it comes in one piece.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine, RuleOptions } from '../../host/model/engine.js';
import { Divided, same } from '../support/engine/divided.js';
import { eventually } from '../support/harness.js';

const byTime: Partial<RuleOptions> = { isEventTime: true, lateToleranceMs: 200 };
const numRuns = Number(process.env.HAUMEA_PARALLEL_WATERMARK_RUNS ?? 12);
const begin = 1_700_000_000_000;

let rules: Divided;
let engine: Engine;
test.before.each(() => {
  rules = new Divided();
  engine = rules.engine;
  for (const name of ['a', 'b']) rules.stream(name);
});
test.after.each(() => engine.close(2000));

const within = 'b.ts BETWEEN a.ts - 300 AND a.ts + 500';
const statements: Record<string, string> = {
  'tumbling windows': `SELECT k, count(*) AS c, collect(v) AS vs, window_start() AS s, window_end() AS e FROM a
    WHERE v != 3 GROUP BY k, TUMBLINGWINDOW(ss, 1)`,
  'hopping windows': `SELECT k, sum(v) AS s, last_value(v, true) AS l, window_start() AS s0, window_end() AS e FROM a
    GROUP BY k, HOPPINGWINDOW(ms, 700, 300)`,
  'rows that look back': 'SELECT k, v, ts, lag(v) OVER (PARTITION BY k) AS l FROM a',
  'pairs by time': `SELECT a.k AS k, v, w, a.ts AS at, b.ts AS bt FROM a INNER JOIN b ON a.k = b.k AND ${within}`,
  'rows of both by time': `SELECT *, a.ts AS at, b.ts AS bt FROM a
    FULL JOIN b ON a.k = b.k AND a.v < b.w AND ${within}`,
  'newest rows': `SELECT a.k AS k, v, w, a.ts AS at, event_time() AS t FROM a
    ASOF LEFT JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k`,
  'rows before': `SELECT a.k AS k, v, w, a.ts AS at, b.ts AS bt FROM a
    ASOF JOIN b MATCH_CONDITION (a.ts > b.ts + 100 AND b.ts >= a.ts - 2000) ON a.k = b.k WHERE v != 3`,
  'groups of newest rows': `SELECT a.k AS k, count(*) AS n, collect(w) AS ws, window_start() AS s, window_end() AS e
    FROM a ASOF LEFT JOIN b MATCH_CONDITION (a.ts >= b.ts + 50) ON a.k = b.k GROUP BY a.k, TUMBLINGWINDOW(ss, 1)`,
  'rows of a stream and those after': `SELECT x.k AS k, x.v AS v, y.v AS w, x.ts AS at, y.ts AS bt FROM a AS x
    LEFT JOIN a AS y ON x.k = y.k AND y.ts > x.ts AND y.ts <= x.ts + 400`,
  'rows of a stream and those before': `SELECT a.k AS k, a.v AS v, y.v AS w, a.ts AS at FROM a
    ASOF LEFT JOIN a AS y MATCH_CONDITION (a.ts > y.ts) ON a.k = y.k`,
  'pairs of windows': `SELECT a.k AS k, v, w, window_start() AS s, window_end() AS e FROM a
    FULL JOIN b ON a.k = b.k GROUP BY HOPPINGWINDOW(ss, 2, 1)`,
  'groups of pairs of windows': `SELECT coalesce(a.k, b.k) AS k, count(*) AS c, sum(v) AS s, window_start() AS s0
    FROM a FULL JOIN b ON a.k = b.k AND v < w GROUP BY coalesce(a.k, b.k), TUMBLINGWINDOW(ss, 1)`,
};

const ids = Object.keys(statements).map((what, i) => [what, `whole${i}`, `divided${i}`] as const);

async function runAll(options: Partial<RuleOptions>): Promise<void> {
  for (const [i, sql] of Object.values(statements).entries()) {
    await rules.run(`whole${i}`, sql, options);
    await rules.run(`divided${i}`, sql, { ...options, parallelism: 3 });
  }
}

/** Compares all rows so far, once the rule in one piece has worked off what was sent. */
async function compare(sent: { a: number; b: number }): Promise<number> {
  let count = 0;
  for (const [what, whole, divided] of ids) {
    await eventually(`the input of ${what}`, async () => {
      const { metrics } = await engine.status(whole);
      const hasB = metrics.source_b_0_records_in_total !== undefined;
      return Number(metrics.sourceRecordsInTotal) >= (hasB ? sent.a + sent.b : sent.a);
    });
    const isThere = () => {
      const [own, other] = [rules.linesOf(whole), rules.linesOf(divided)];
      return own.length === other.length && own.sort().join() === other.sort().join();
    };
    await eventually(`the rows of ${what}`, isThere).catch(() => {
      same(rules.linesOf(divided), rules.linesOf(whole), what);
    });
    count += rules.linesOf(whole).length;
  }
  return count;
}

test('random rows, whenever the input pauses', async () => {
  await runAll(byTime);
  let now = begin;
  const sent = { a: 0, b: 0 };
  const row = fc.record({
    isLeft: fc.boolean(),
    key: fc.constantFrom(null, undefined, 0, 1, 2, 2.5, 3, 40),
    value: fc.nat(9),
    /** Time since the row before; several rows have the same, some are late. */
    step: fc.oneof(fc.constant(0), fc.integer({ min: -40, max: 400 }), fc.integer({ min: -900, max: 1500 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(row, { maxLength: 12 }), { minLength: 1, maxLength: 6 }), async (pieces) => {
      for (const rows of pieces) {
        for (const { isLeft, key, value, step } of rows) {
          now += step;
          if (isLeft) rules.add('a', [{ k: key, v: value, ts: now }]);
          else rules.add('b', [{ k: key, w: value, ts: now }]);
          sent[isLeft ? 'a' : 'b']++;
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await compare(sent);
    }),
    { numRuns, endOnFailure: true },
  );
});

test('a stream that is silent holds nobody back', async () => {
  await runAll({ ...byTime, idleTimeoutMs: 300 });
  // The watermark of these alone is before the first row of the other stream, whenever that comes.
  rules.add(
    'b',
    Array.from({ length: 20 }, (_, n) => ({ k: n % 5, w: n, ts: begin + n * 9 })),
  );
  const [, , joined] = ids.find(([what]) => what === 'pairs by time')!;
  await eventually(
    'the rows of one stream',
    async () => (await engine.status(joined)).metrics.source_b_0_records_in_total === 20,
  );
  rules.add(
    'a',
    Array.from({ length: 200 }, (_, n) => ({ k: n % 5, v: n, ts: begin + n * 37 })),
  );
  await eventually('rows behind those of the other stream', () =>
    ids.every(([, whole, divided]) => [whole, divided].every((id) => rules.linesOf(id).length > 20)),
  );
  assert.ok((await compare({ a: 200, b: 20 })) > 1000);
});

test('rows whose time several share, at the end of the input', async () => {
  for (const name of ['a', 'b']) rules.end(name);
  for (let n = 0; n < 300; n++) {
    const ts = begin + Math.floor(n / 3) * 30;
    rules.add('a', [{ k: n % 7, v: n % 5, ts }]);
    rules.add('b', [{ k: (n * 5) % 7, w: n % 3, ts }]);
  }
  for (const [i, [what, whole, divided]] of ids.entries()) {
    const sql = Object.values(statements)[i]!;
    await rules.run(whole, sql, byTime);
    await rules.run(divided, sql, { ...byTime, parallelism: 3 });
    await eventually(`the ends of ${what}`, () => [whole, divided].every((id) => engine.state(id) === 'stopped'));
    same(rules.linesOf(divided), rules.linesOf(whole), what);
    assert.ok(rules.linesOf(whole).length > 10, what);
  }
});

test.run();
