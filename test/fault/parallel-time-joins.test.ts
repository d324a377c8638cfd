/**
 * Joins by the time of rows, and of streams with themselves, that are divided among two data planes: they give the rows
 * that they give in one piece, those of a key in the same order.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine, RuleOptions } from '../../host/model/engine.js';
import { Divided, same } from '../support/engine/divided.js';
import { ruleOf } from '../support/engine/engine-harness.js';
import { eventually } from '../support/harness.js';

const byTime: Partial<RuleOptions> = { isEventTime: true, lateToleranceMs: 200 };
const numRuns = Number(process.env.HAUMEA_PARALLEL_TIME_RUNS ?? 15);
const begin = 1_700_000_000_000;

let rules: Divided;
let engine: Engine;
test.before.each(() => {
  rules = new Divided();
  engine = rules.engine;
  for (const name of ['a', 'b', 'c']) rules.stream(name);
  const data = [1, 2, 2, 4].map((id) => ({ id, name: `place ${id}` }));
  rules.define('CREATE TABLE t () WITH (TYPE="simulator", CONF_KEY="t", KIND="lookup", KEY="id")', { data });
});
test.after.each(() => engine.close(2000));

const within = 'b.ts BETWEEN a.ts - 300 AND a.ts + 500';
const statements: Record<string, string> = {
  pairs: `SELECT a.k AS k, v, w, a.ts AS at, b.ts AS bt FROM a INNER JOIN b ON a.k = b.k AND ${within} WHERE v != 3`,
  'rows of the left': `SELECT a.*, w, b.ts AS bt FROM a LEFT JOIN b ON b.k = a.k AND a.v < b.w AND ${within}`,
  'rows of the right': `SELECT y.k AS k, v, y.* FROM a AS x RIGHT JOIN b AS y
    ON x.k = y.k AND y.ts >= x.ts AND y.ts < x.ts + INTERVAL '1' SECOND`,
  'rows of both': `SELECT *, a.ts AS at, b.ts AS bt FROM a FULL JOIN b ON a.k = b.k AND ${within}`,
  'rows of both with a table': `SELECT a.k AS k, v, w, name, a.ts AS at, b.ts AS bt FROM a
    FULL JOIN b ON a.k = b.k AND ${within} LEFT JOIN t ON t.id = b.k`,
  'newest rows': `SELECT a.k AS k, v, w, a.ts AS at, event_time() AS t FROM a
    ASOF LEFT JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k`,
  'rows before': `SELECT a.k AS k, v, w, a.ts AS at, b.ts AS bt FROM a
    ASOF JOIN b MATCH_CONDITION (a.ts > b.ts + 100 AND b.ts >= a.ts - 2000) ON a.k = b.k WHERE v != 3`,
  'newest of two': `SELECT a.k AS k, v, w, z, a.ts AS at FROM a ASOF LEFT JOIN b MATCH_CONDITION (a.ts >= b.ts)
    ON a.k = b.k ASOF LEFT JOIN c MATCH_CONDITION (a.ts > c.ts) ON c.id = a.k`,
  'groups of newest rows': `SELECT a.k AS k, count(*) AS n, collect(w) AS ws, window_end() AS at FROM a
    ASOF LEFT JOIN b MATCH_CONDITION (a.ts >= b.ts + 50) ON a.k = b.k GROUP BY a.k, TUMBLINGWINDOW(ss, 1)`,
};
const ofOne: Record<string, string> = {
  'pairs of a stream': `SELECT x.k AS k, x.v AS v, y.v AS w, x.ts AS at, y.ts AS bt FROM a AS x
    LEFT JOIN a AS y ON x.k = y.k AND y.ts > x.ts AND y.ts <= x.ts + 400`,
  'rows and those before': `SELECT a.k AS k, a.v AS v, y.v AS w, a.ts AS at FROM a
    ASOF LEFT JOIN a AS y MATCH_CONDITION (a.ts > y.ts) ON a.k = y.k`,
  'rows of a window': `SELECT x.k AS k, x.v AS v, y.v AS w, x.ts AS at, window_end() AS e FROM a AS x
    FULL JOIN a AS y ON x.k = y.k AND x.v < y.v GROUP BY TUMBLINGWINDOW(ss, 1)`,
  'rows by other columns': `SELECT x.k AS k, x.v AS v, y.k AS other, y.ts AS at, window_end() AS e FROM a AS x
    INNER JOIN a AS y ON x.k = y.v GROUP BY HOPPINGWINDOW(ss, 2, 1)`,
};

/** Keys among which all parts have one. */
const ends = Array.from({ length: 12 }, (_, i) => 1000 + i);

/** Rows behind which all others are worked off: those of the last keys are in all results. */
function finish(time: number): void {
  const late = [0, 200, 400, 600].map((ms) => ({ ts: time + 20_000 + ms }));
  const of = (ms: number, more: object) => ends.map((k) => ({ k, id: k, ts: time + ms, ...more }));
  rules.add('b', [...of(5000, { w: 9 }), ...of(5300, { w: 9 }), ...late]);
  rules.add('c', [...of(5000, { z: 1 }), ...late]);
  rules.add('a', [...of(5500, { v: 1 }), ...ends.map((k) => ({ k, v: k, ts: time + 5600 })), ...late]);
}

const timeOf = (line: string) =>
  Math.min(...[.../"(?:at|bt|ts|e)":(\d+)/g[Symbol.matchAll](line)].map(([, t]) => Number(t)));

/** Compares rows of times between two. */
async function compare(all: Record<string, string>, from: number, to: number): Promise<number> {
  let count = 0;
  for (const [i, what] of Object.keys(all).entries()) {
    const [whole, divided] = await eventually(`the last rows of ${what}`, () => {
      const both = [`whole${i}`, `divided${i}`].map((id) => rules.linesOf(id).filter((line) => timeOf(line) >= from));
      const isThere = (lines: string[]) =>
        ends.every((k) => lines.some((line) => new RegExp(`"k":${k}[,}]`).test(line) && timeOf(line) > to));
      return both.every(isThere) ? both.map((lines) => lines.filter((line) => timeOf(line) <= to)) : undefined;
    });
    same(divided!, whole!, what);
    for (const key of [1, 2, 4.5]) {
      const ofKey = (lines: readonly string[]) => lines.filter((line) => line.includes(`"k":${key},`));
      assert.equal(ofKey(divided!), ofKey(whole!), `${what}: the order of ${key}`);
    }
    count += whole!.length;
  }
  return count;
}

for (const [what, all] of [
  ['joins by time', statements],
  ['a stream joined with itself', ofOne],
] as const) {
  test(`${what}, of rows out of order, late, without a key and without a partner`, async () => {
    await rules.runAll(all, byTime);
    const keys = [1, 2, null, 3, 4.5, undefined, 5];
    for (let n = 0; n < 300; n++) {
      const ts = begin + n * 20 + ((n * 7919) % 300);
      rules.add('a', [{ k: keys[n % 7], v: n % 11, ts }]);
      if (n % 3 > 0) rules.add('b', [{ k: keys[(n * 5 + 1) % 7], w: n % 13, ts: ts + 30 }]);
      if (n % 2 > 0) rules.add('c', [{ id: keys[(n * 3 + 1) % 7], z: n % 3, ts: ts - 20 }]);
    }
    const most = all === statements ? 500 : 300;
    await eventually(
      'the input',
      async () => Number((await engine.status('whole0')).metrics.sourceRecordsInTotal) >= most,
    );
    for (const name of ['a', 'b'])
      rules.add(
        name,
        [begin, begin + 4000].map((ts) => ({ k: 1, v: 1, w: 1, ts })),
      );
    finish(begin + 10_000);
    const count = await compare(all, 0, begin + 10_000);
    assert.ok(count > 500, `${count}`);
    const { metrics } = await engine.status('whole0');
    assert.ok(Number(metrics.op_3_watermark_0_records_late_total) > 0, JSON.stringify(metrics));
  });
}

test('random rows', async () => {
  const all = { ...statements, ...ofOne };
  await rules.runAll(all, byTime);
  let now = begin;
  const row = fc.record({
    at: fc.nat(4),
    key: fc.constantFrom(null, undefined, 0, 1, 2, 2.5, 3, 40),
    value: fc.nat(9),
    /** Time since the row before; the watermark is 200 ms behind the slowest stream. */
    step: fc.oneof(fc.integer({ min: -40, max: 400 }), fc.integer({ min: -900, max: 1500 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(row, { maxLength: 12 }), { minLength: 1, maxLength: 6 }), async (pieces) => {
      const from = now;
      for (const rows of pieces) {
        for (const { at, key, value, step } of rows) {
          now = Math.max(from, now + step);
          const [name, k, v] = [
            ['a', 'k', 'v'],
            ['b', 'k', 'w'],
            ['c', 'id', 'z'],
          ][Math.floor(at / 2)]!;
          rules.add(name!, [{ [k!]: key, [v!]: value, ts: now }]);
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      finish(now);
      await compare(all, from, now);
      now += 60_000;
    }),
    { numRuns },
  );
});

test('what can not be divided is refused with the reason', () => {
  const refused = rules.refused.bind(rules);
  const between = 'b.ts BETWEEN a.ts AND a.ts + 5';
  const noLink = /ON has to link all streams by one key/;
  refused(`SELECT v FROM a INNER JOIN b ON ${between}`, noLink, byTime);
  refused('SELECT v FROM a ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts)', noLink, byTime);
  refused('SELECT v FROM a ASOF JOIN b ON a.k = b.k', /by the clock streams are joined in the order in which/);
  const windows = 'FROM a ASOF JOIN b ON a.k = b.k GROUP BY a.k, TUMBLINGWINDOW(ss, 1)';
  refused(`SELECT a.k, window_start() AS s ${windows}`, /first row of all keys with a partner/, byTime);
  const pairs = `FROM a INNER JOIN b ON a.k = b.k AND ${between}`;
  refused(`SELECT count(*) AS c ${pairs}`, /count is over rows of all keys: GROUP BY needs/, byTime);
  refused(`SELECT a.k ${pairs} GROUP BY a.k`, /GROUP BY without a window groups single messages/, byTime);
  refused(`SELECT lag(v) OVER (PARTITION BY a.k) AS l ${pairs}`, /lag looks back at groups of all keys/, byTime);
  const clock = 'SELECT x.k FROM a AS x INNER JOIN a AS y ON x.k = y.v GROUP BY TUMBLINGWINDOW(ss, 1)';
  refused(clock, /stream a is joined with itself by other columns: by the clock a row would be in two parts/);
});

test('a stream joined with itself in windows of the clock', async () => {
  const sql = `SELECT x.v AS v, y.v AS w, window_end() AS e FROM a AS x LEFT JOIN a AS y ON x.k = y.k AND x.v < y.v
    GROUP BY HOPPINGWINDOW(ss, 3600, 1)`;
  await rules.run('r', sql, { parallelism: 3 });
  const rows = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((v) => ({ k: v % 4 === 0 ? null : v % 4, v }));
  rules.add('a', rows);
  const expected = rows.flatMap(({ k, v }) => {
    const found = rows.filter((other) => k !== null && other.k === k && v < other.v);
    return found.length === 0 ? [`${v}:`] : found.map((other) => `${v}:${other.v}`);
  });
  await eventually('its rows', () => {
    const windows = new Map<number, string[]>();
    for (const line of rules.linesOf('r')) {
      const { e, v, w = '' } = JSON.parse(line) as { e: number; v: number; w?: number };
      windows.set(e, [...(windows.get(e) ?? []), `${v}:${w}`]);
    }
    return [...windows.values()].some((some) => some.sort().join() === expected.sort().join());
  });
  assert.is((await engine.status('r')).metrics.sourceRecordsInTotal, rows.length);
});

test('a position that is reset holds for all parts, behind the rows before it', async () => {
  await rules.run('r', 'SELECT k, acc_count(v) OVER (PARTITION BY k) AS n FROM a', { parallelism: 3 });
  const keys = [1, 2, 3, 4, 5, 6, 7];
  rules.add(
    'a',
    keys.map((k) => ({ k, v: k, ts: begin })),
  );
  const expected = [1, 2].flatMap((n) => keys.map((k) => `{"k":${k},"n":${n}}`));
  await eventually('the rows', () => rules.linesOf('r').length === keys.length);
  assert.is(await engine.resetSource('r', 'a', { bytes: 0 }), undefined);
  await eventually('the rows again', () => rules.linesOf('r').length === expected.length);
  assert.equal(rules.linesOf('r').sort(), expected.sort());
  assert.match(String(await engine.resetSource('r', 'a', { bytes: 'x' })), /\w/);
});

test('EXPLAIN says how parts hear of the time', async () => {
  const rule = ruleOf('r', statements.pairs!, [['nop', {}]], { ...byTime, parallelism: 2 });
  const note = JSON.parse((await engine.explain(rule)).split('\n').at(-1)!);
  assert.is(note.because[1], 'all parts get the watermark of the whole, between their rows');
});

test.run();
