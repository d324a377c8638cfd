/** Joins that are divided by their keys among two data planes give the rows that they give as one. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine, RuleOptions } from '../../host/model/engine.js';
import { Divided, same, streamOf } from '../support/engine/divided.js';
import { ruleOf } from '../support/engine/engine-harness.js';
import { eventually } from '../support/harness.js';

const byTime: Partial<RuleOptions> = { isEventTime: true, lateToleranceMs: 200 };

const numRuns = Number(process.env.HAUMEA_PARALLEL_JOIN_RUNS ?? 25);

let rules: Divided;
let engine: Engine;
test.before.each(() => {
  rules = new Divided();
  engine = rules.engine;
});
test.after.each(() => engine.close(2000));

const begin = 1_700_000_000_000;
/** Keys among which all parts have one. */
const ends = Array.from({ length: 12 }, (_, i) => 1_000_000 + i);

/** Rows that end all windows before a time, and those in which each part has a key of its own. */
function finishing(time: number): { readonly ts: number }[] {
  return [
    { ts: time + 5000 },
    // `v` and `w` meet the conditions of all statements.
    ...ends.map((k) => ({ k, id: k, v: 1, w: 6, z: 1, ts: time + 10_000 + (k % 10) })),
    // The last row that is passed on has the time of the watermark, which ends no window without a row.
    ...[0, 100, 200].map((ms) => ({ ts: time + 20_000 + ms })),
  ];
}

function finish(names: readonly string[], time: number): void {
  // The watermark of all streams is that of the slowest: none has late rows here.
  const rows = finishing(time);
  for (const name of names) rules.add(name, rows.slice(0, -3));
  for (const name of names) rules.add(name, rows.slice(-3));
}

const endOf = (line: string) => Number(/"e":(\d+)/.exec(line)?.[1]);

/** All lines of windows from a time on, when the rules have those of the last ones. */
async function allOf(ids: readonly string[], from: number, last: number): Promise<string[][]> {
  return eventually(`the last rows of ${ids.join()}`, () => {
    const all = ids.map((id) => rules.linesOf(id).filter((line) => endOf(line) >= from));
    const isThere = (lines: string[]) =>
      ends.every((k) => lines.some((line) => new RegExp(`:${k}[,}]`).test(line) && endOf(line) > last));
    return all.every(isThere) ? all : undefined;
  });
}

/** Statements of all kinds of joins; all have the key and the end of the window in their rows. */
const statements: Record<string, string> = {
  'groups of pairs': `SELECT a.k AS k, count(*) AS c, sum(v) AS s, collect(w) AS ws, window_start() AS b,
      window_end() AS e FROM a INNER JOIN b ON a.k = b.k WHERE v % 5 != 0 OR w > 900
    GROUP BY k, TUMBLINGWINDOW(ss, 1) HAVING count(*) > 0`,
  'rows of a left join': `SELECT a.*, w, window_end() AS e FROM a LEFT JOIN b ON b.k = a.k AND a.v < b.w
    GROUP BY TUMBLINGWINDOW(ms, 700)`,
  'groups of a right join': `SELECT y.k AS k, count(*) AS c, collect(*) AS rows, collect(w) AS ws, window_end() AS e
    FROM a AS x RIGHT JOIN b AS y ON x.k = y.k WHERE isnull(v) OR v != 3 GROUP BY y.k, HOPPINGWINDOW(ss, 2, 1)`,
  'all columns of a full join':
    'SELECT *, window_end() AS e FROM a FULL JOIN b ON a.k = b.k GROUP BY TUMBLINGWINDOW(ss, 1)',
  'groups of a full join': `SELECT coalesce(a.k, b.k) AS k, count(*) AS c, collect(v) AS vs, window_end() AS e
    FROM a FULL JOIN b ON a.k = b.k GROUP BY coalesce(a.k, b.k), HOPPINGWINDOW(ss, 3, 1)`,
  'groups by a name of both': `SELECT k, count(*) AS c, sum(v) AS s, sum(w) AS t, window_end() AS e
    FROM a FULL JOIN b ON a.k = b.k GROUP BY k, TUMBLINGWINDOW(ss, 2)`,
};
const ofThree: Record<string, string> = {
  'rows of three': `SELECT a.k AS k, v, w, z, window_end() AS e FROM a LEFT JOIN b ON a.k = b.k
      INNER JOIN c ON c.id = a.k AND c.z > 0 GROUP BY TUMBLINGWINDOW(ss, 1)`,
  'groups of three': `SELECT c.id AS k, count(*) AS n, collect(v) AS vs, window_end() AS e
      FROM a FULL JOIN b ON a.k = b.k RIGHT JOIN c ON b.k = c.id AND b.w > c.z GROUP BY c.id, HOPPINGWINDOW(ss, 2, 1)`,
};

/** Compares what the rules have given for rows from a time on; those of `finish` begin at another. */
async function compare(all: Record<string, string>, from: number, last: number): Promise<number> {
  let count = 0;
  for (const [i, what] of Object.keys(all).entries()) {
    const [whole, divided] = await allOf([`whole${i}`, `divided${i}`], from, last);
    same(divided!, whole!, what);
    count += whole!.length;
  }
  return count;
}

test('joins of all kinds by event time, of rows out of order, late, without a key and without a partner', async () => {
  rules.stream('a');
  rules.stream('b');
  rules.stream('c');
  await rules.runAll({ ...statements, ...ofThree }, byTime);
  const keys = [1, 2, null, 3, 4.5, undefined, 5];
  for (let n = 0; n < 300; n++) {
    const ts = begin + n * 20 + ((n * 7919) % 300);
    rules.add('a', [{ k: keys[n % 7], v: n % 11, ts }]);
    if (n % 3 > 0) rules.add('b', [{ k: keys[(n * 5 + 1) % 7], w: n % 13, ts: ts + 30 }]);
    if (n % 2 > 0) rules.add('c', [{ id: keys[(n * 3 + 1) % 7], z: n % 3, ts: ts - 20 }]);
  }
  // Behind those of both streams others are late for all.
  await eventually('the input', async () => (await engine.status('whole0')).metrics.sourceRecordsInTotal === 500);
  for (const name of ['a', 'b'])
    rules.add(
      name,
      [begin, begin + 4000].map((ts) => ({ k: 1, v: 1, w: 1, ts })),
    );
  finish(['a', 'b', 'c'], begin + 10_000);
  const count = await compare({ ...statements, ...ofThree }, 0, begin + 15_000);
  assert.ok(count > 4000, `${count}`);
  const { metrics: ofWhole } = await engine.status('whole0');
  assert.ok(Number(ofWhole.op_3_watermark_0_records_late_total) >= 4);
  const { metrics, dataPlaneBecause } = await engine.status('divided0');
  assert.match(String(dataPlaneBecause), /divided by key among 2 parts, in data planes 0, 1/);
  assert.is(metrics.sourceRecordsInTotal, 504 + 2 * 16);
  assert.is(metrics.source_b_0_records_in_total, 202 + 16);
});

test('random rows of two streams', async () => {
  rules.stream('a');
  rules.stream('b');
  await rules.runAll(statements, byTime);
  let now = begin;
  const row = fc.record({
    isLeft: fc.boolean(),
    key: fc.constantFrom(null, undefined, 0, 1, 2, 2.5, 3, 40),
    value: fc.nat(9),
    /** Time since the row before; the watermark is 200 ms behind the slower stream. */
    step: fc.oneof(fc.integer({ min: -40, max: 400 }), fc.integer({ min: -900, max: 1500 })),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(row, { maxLength: 12 }), { minLength: 1, maxLength: 6 }), async (pieces) => {
      const from = now;
      for (const rows of pieces) {
        for (const { isLeft, key, value, step } of rows) {
          now = Math.max(from, now + step);
          rules.add(isLeft ? 'a' : 'b', [{ k: key, [isLeft ? 'v' : 'w']: value, ts: now }]);
        }
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      finish(['a', 'b'], now + 2000);
      await compare(statements, from, now + 7000);
      now += 60_000;
    }),
    { numRuns },
  );
});

test('declared columns, times as texts, and keys of different types of numbers', async () => {
  rules.stream('a', 'k BIGINT, v BIGINT, ts STRING');
  rules.stream('b', 'k FLOAT, w STRING, ts DATETIME', ', TIMESTAMP_FORMAT="yyyy-MM-dd HH:mm:ss.SSS"');
  const all = {
    rows: 'SELECT *, window_end() AS e FROM a FULL JOIN b ON a.k = b.k GROUP BY TUMBLINGWINDOW(ss, 1)',
    groups: `SELECT a.k AS k, collect(a.ts) AS ats, collect(b.ts) AS bts, window_end() AS e FROM a LEFT JOIN b
      ON a.k = b.k GROUP BY a.k, TUMBLINGWINDOW(ss, 1)`,
  };
  await rules.runAll(all, { ...byTime, sendNilField: true });
  const textOf = (time: number) => new Date(time).toISOString();
  const addTo = (name: string, rows: readonly { ts: number }[]) => {
    const text = (ts: number) => (name === 'a' ? textOf(ts) : textOf(ts).replace('T', ' ').replace('Z', ''));
    rules.add(
      name,
      rows.map((row) => ({ ...row, ts: text(row.ts) })),
    );
  };
  for (let n = 0; n < 60; n++) {
    addTo('a', [{ k: 2 ** 53 + 2 * (n % 5), v: n, ts: begin + n * 90 } as { ts: number }]);
    addTo('b', [{ k: 2 ** 53 + 2 * (n % 7), w: `${n}`, ts: begin + n * 95 } as { ts: number }]);
  }
  for (const name of ['a', 'b']) addTo(name, finishing(begin + 10_000));
  assert.ok((await compare(all, 0, begin + 15_000)) > 100);
});

test('windows of the clock', async () => {
  rules.stream('a');
  rules.stream('b');
  const left = [{ k: 'x', v: 1 }, { k: 'x', v: 2 }, { k: 'y', v: 3 }, { k: null, v: 4 }, { v: 5 }, { k: 'z', v: 6 }];
  const right = [
    { k: 'x', w: 1 },
    { k: 'y', w: 2 },
    { k: 'y', w: 3 },
    { k: null, w: 4 },
    { k: 'u', w: 5 },
  ];
  const pairs = left.flatMap(({ k, v }) => right.flatMap((row) => (k && k === row.k ? [{ v, w: row.w }] : [])));
  const lefts: object[] = [{ v: 4 }, { v: 5 }, { v: 6 }];
  const rights: object[] = [{ w: 4 }, { w: 5 }];
  const expected: Record<string, readonly object[]> = {
    INNER: pairs,
    LEFT: [...pairs, ...lefts],
    RIGHT: [...pairs, ...rights],
    FULL: [...pairs, ...lefts, ...rights],
  };
  // Each second sends all rows of the hour.
  const sqlOf = (kind: string) => `SELECT v, w, window_end() AS e FROM a ${kind} JOIN b ON a.k = b.k
    WHERE isnull(v) OR v != 2 GROUP BY HOPPINGWINDOW(ss, 3600, 1)`;
  for (const kind of Object.keys(expected)) await rules.run(kind, sqlOf(kind), { parallelism: 3 });
  rules.add('a', left);
  rules.add('b', right);
  for (const [kind, rows] of Object.entries(expected)) {
    const wanted = rows
      .filter((row) => !('v' in row && row.v === 2))
      .map((row) => JSON.stringify(row))
      .sort();
    await eventually(`the rows of ${kind}`, () => {
      const windows = new Map<number, string[]>();
      for (const line of rules.linesOf(kind)) {
        const { e, v, w } = JSON.parse(line) as { e: number; v?: number; w?: number };
        windows.set(e, [...(windows.get(e) ?? []), JSON.stringify({ v: v ?? undefined, w: w ?? undefined })]);
      }
      return [...windows.values()].some((some) => some.sort().join() === wanted.join());
    });
    const { metrics } = await engine.status(kind);
    assert.is(metrics.sourceRecordsInTotal, left.length + right.length);
    assert.is(metrics.source_b_0_records_in_total, right.length);
    const [traffic] = ((await engine.traffic?.()) ?? []).filter(({ id }) => id === kind);
    assert.is(traffic?.traffic[0], left.length + right.length);
  }
});

test('at the end of all of its input a rule ends, and names its streams', async () => {
  for (const options of [{}, byTime]) {
    const id = `r${Object.keys(options).length}`;
    for (const name of ['a', 'b']) {
      rules.stream(name);
      rules.add(name, [{ k: 1, ts: begin }]);
      rules.end(name);
    }
    engine.define(ruleOf(id, statements['rows of a left join']!, [['nop', {}]], { ...options, parallelism: 2 }));
    engine.start(id);
    await eventually('its end', () => engine.state(id) === 'stopped');
    assert.is((await engine.status(id)).ended, 'all of its input was read: a, b');
  }
});

test('a window that is still worked on at the end of the input is in the result', async () => {
  const count = 12_000;
  for (const name of ['a', 'b']) {
    rules.stream(name);
    rules.add(name, [
      ...Array.from({ length: count }, (_, n) => ({ k: n % 3, v: 1, w: 1, ts: begin })),
      { ts: begin + 5000 },
    ]);
    rules.end(name);
  }
  const sql = `SELECT a.k AS k, sum(v * w) AS s FROM a INNER JOIN b ON a.k = b.k
    GROUP BY a.k, TUMBLINGWINDOW(ss, 1)`;
  await rules.run('r', sql, { ...byTime, lateToleranceMs: 0, parallelism: 2 });
  await eventually('its end', () => engine.state('r') === 'stopped');
  const expected = [0, 1, 2].map((k) => JSON.stringify({ k, s: (count / 3) ** 2 }));
  assert.equal(rules.linesOf('r').sort(), expected);
});

test('a join that can not be divided is refused with the reason', () => {
  for (const name of ['a', 'b', 'c']) rules.stream(name);
  rules.stream('d', 'k DATETIME, ts BIGINT');
  rules.define(streamOf('s').replace('SHARED="true", ', ''));
  const refused = rules.refused.bind(rules);
  const windowed = (what: string, group = '') =>
    `SELECT ${what.startsWith('SELECT') ? what.slice(7) : `v, w FROM ${what}`} GROUP BY ${group}TUMBLINGWINDOW(ss, 1)`;
  const byKey = 'a INNER JOIN b ON a.k = b.k';
  const noLink = /ON has to link all streams by one key/;
  refused(windowed('a CROSS JOIN b'), noLink);
  refused(windowed('a INNER JOIN b ON a.k = b.k OR a.v = b.w'), noLink);
  refused(windowed('a INNER JOIN b ON a.k = b.k + 1'), noLink);
  refused(windowed('a INNER JOIN b ON k = b.k'), noLink);
  refused(windowed('a INNER JOIN b ON a.k = b.k INNER JOIN c ON a.v = c.v'), noLink);
  // Rows of a and b meet by v, whatever the ON of c asks of them.
  refused(windowed('a INNER JOIN b ON a.v = b.v INNER JOIN c ON a.k = b.k AND c.k = a.k'), noLink);
  refused(windowed('a INNER JOIN d ON a.k = d.k'), /d\.k is a datetime, which equals texts and numbers/);
  refused(windowed('a INNER JOIN s ON a.k = s.k'), /stream s needs SHARED/);
  refused(windowed('a INNER JOIN (SELECT k FROM b) AS c ON a.k = c.k'), /has to read streams themselves/);
  refused(windowed('a INNER JOIN b ON a.k = b.k AND rand() < 0.5'), /rand in ON gives another value in each part/);
  refused('SELECT v FROM a INNER JOIN b ON a.k = b.k GROUP BY a.k, COUNTWINDOW(3)', /a count window counts/);
  refused(windowed(`SELECT count(*) AS c FROM ${byKey}`), /count is over rows of all keys: GROUP BY needs a key/);
  refused(
    windowed(`SELECT v FROM ${byKey}`, 'v, '),
    /GROUP BY needs a key of the join beside the window \(a\.k, b\.k\)/,
  );
  refused(windowed(`SELECT lag(v) AS l FROM ${byKey}`, 'a.k, '), /lag looks back at groups of all keys/);
  // Rows without a partner have no key of the other stream: their group would be of all keys.
  refused(windowed('SELECT count(*) AS c FROM a LEFT JOIN b ON a.k = b.k', 'b.k, '), /one that each joined row has/);
  refused(windowed('SELECT count(*) AS c FROM a RIGHT JOIN b ON a.k = b.k', 'a.k, '), /one that each joined row has/);
  refused(windowed('SELECT count(*) AS c FROM a FULL JOIN b ON a.k = b.k', 'a.k, '), /one that each joined row has/);
  refused(windowed('SELECT count(*) AS c FROM a FULL JOIN b ON a.k = b.v', 'k, '), /one that each joined row has/);
  refused(windowed(`SELECT b.v AS k FROM ${byKey}`, 'k, '), /GROUP BY needs a key/);
  assert.is(engine.state('r'), undefined);
});

test('state that was divided by other keys is of no use', () => {
  rules.stream('a');
  rules.stream('b');
  const define = (sql: string) => engine.define(ruleOf('r', sql, [['nop', {}]], { qos: 1, parallelism: 2 }));
  const sql = 'SELECT v FROM a AS x INNER JOIN b ON x.k = b.id GROUP BY TUMBLINGWINDOW(ss, 1)';
  define(sql);
  define(sql.replace('INNER', 'LEFT').replaceAll('x', 'y'));
  assert.throws(
    () => define(sql.replace('x.k', 'x.j')),
    /by hash_bucket\(a.k, 2\) and hash_bucket\(b.id, 2\), and would be by hash_bucket\(a.j, 2\) and/,
  );
});

test('EXPLAIN names the keys', async () => {
  rules.stream('a');
  rules.stream('b');
  const sql = 'SELECT v FROM a AS x INNER JOIN b ON x.k = b.id GROUP BY TUMBLINGWINDOW(ss, 1)';
  const lines = await engine.explain(ruleOf('r', sql, [['nop', {}]], { ...byTime, parallelism: 2 }));
  const note = JSON.parse(lines.split('\n').at(-1)!);
  assert.is(note.by, 'a.k, b.id');
  assert.is(note.because[0], 'rows go to parts by a.k and b.id: rows are joined that have equal ones');
});

test.run();
