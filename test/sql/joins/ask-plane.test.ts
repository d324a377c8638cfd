/**
 * Rules that look up in tables outside, through a whole data plane: sources, kernel, questions, answers, sinks. Answers
 * come late, in any order, fail, are none. `HAUMEA_ASK_PLANE_RUNS` sets how many cases are tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { LookupRequest } from '../../../host/connectors/running.js';
import type { LookupAnswer } from '../../../kernels/api.js';
import type { WaitingPlan } from '../../../kernels/plan/ir.js';
import type { Value } from '../../../kernels/values/value.js';
import { type PlaneWishes, type Row, startRule } from '../../support/engine/rule-plane.js';
import { eventually } from '../../support/harness.js';

const numRuns = Number(process.env.HAUMEA_ASK_PLANE_RUNS ?? 12);

const table = 'CREATE TABLE t () WITH (TYPE="simulator", DATASOURCE="t", KIND="lookup", KEY="id")';
const other = 'CREATE TABLE u () WITH (TYPE="simulator", DATASOURCE="u", KIND="lookup", KEY="id")';

/** Never settles. */
const never = (): Promise<LookupAnswer> => new Promise(() => {});

/** One row for each key but those above 6: `x` is the name of the table and the key. */
function answered({ keys: [ids = []] }: LookupRequest, name: string): LookupAnswer {
  const of: number[] = [];
  ids.forEach((id, i) => {
    if (Number(id) <= 6) of.push(i);
  });
  const found = of.map((i) => ids[i]!);
  return { of, columns: { id: found, x: found.map((id) => `${name}${id}`) } };
}

const later = <T>(value: T, ms: number): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(value), ms));

/** What the rule writes to the end of its streams. */
async function run(sql: string, wishes: PlaneWishes): Promise<(Row[] | string)[]> {
  const rule = await startRule(sql, wishes);
  await rule.notice('ended');
  const written = rule.written();
  await rule.close();
  return written;
}

type Fate = 'now' | 'late' | 'fails' | 'throws' | 'fails for some' | 'never' | 'is nothing';

/** The fates of questions, one after the other. */
const fates = fc.array(
  fc.record({
    fate: fc.constantFrom<Fate>('now', 'late', 'late', 'fails', 'throws', 'fails for some', 'never', 'is nothing'),
    ms: fc.nat(15),
  }),
  { minLength: 1, maxLength: 6 },
);

const caches: fc.Arbitrary<WaitingPlan['cache']> = fc.constantFrom<WaitingPlan['cache']>(
  null,
  { rows: 100, ttlMs: 0, hasMisses: true },
  { rows: 3, ttlMs: 2, hasMisses: false },
);

test('each row goes on once, in its place, with what was found for it or with the reason why nothing was', async () => {
  const given = fc.record({
    ids: fc.array(fc.oneof(fc.nat(9), fc.constant(null)), { minLength: 1, maxLength: 12 }),
    repeats: fc.constantFrom(1, 40, 400),
    fates,
    cache: caches,
    batches: fc.constantFrom(1, 3, 16),
    pauses: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(given, async ({ ids, repeats, fates, cache, batches, pauses }) => {
      const count = pauses ? ids.length : ids.length * repeats;
      const s = Array.from({ length: count }, (_, n) => ({ n, id: ids[n % ids.length]! }));
      let asked = 0;
      const ask: PlaneWishes['ask'] = (request, _signal, name) => {
        const [keys = []] = request.keys;
        assert.is(new Set(keys.map(String)).size, request.count, 'equal values are asked for once');
        const { fate, ms } = fates[asked++ % fates.length]!;
        switch (fate) {
          case 'now':
            return Promise.resolve(answered(request, name));
          case 'late':
            return later(answered(request, name), ms);
          case 'fails':
            return later(null, ms).then(() => Promise.reject(new Error('it failed')));
          case 'throws':
            throw new Error('it threw');
          case 'fails for some':
            return later({ ...answered(request, name), failed: new Map([[0, 'the first failed']]) }, ms);
          case 'never':
            return never();
          case 'is nothing':
            return Promise.resolve(undefined as never);
        }
      };
      const sql = 'SELECT s.n AS n, t.x AS x, u.x AS y FROM s LEFT JOIN t ON s.id = t.id LEFT JOIN u ON s.id = u.id';
      const written = await run(sql, {
        rows: { s },
        tables: [table, other],
        ask,
        waiting: { timeoutMs: 60, batches, cache },
        pauseMs: pauses ? 1 : 0,
      });
      assert.is(written.length, count);
      written.forEach((message, n) => {
        const { id } = s[n]!;
        if (typeof message === 'string') {
          assert.match(message, /it failed|it threw|the first failed|no answer within 60 ms|gave no answer/);
          assert.is.not(id, null, 'nothing is asked for null');
          return;
        }
        const found = id !== null && id <= 6 ? { x: `t${id}`, y: `u${id}` } : {};
        assert.equal(message, [{ n, ...found }]);
      });
    }),
    { numRuns },
  );
});

const seconds = (n: number): number => Date.UTC(2024, 0, 1) + n * 1000;

/** Statements with lookups among other things. */
const statements: readonly string[] = [
  'SELECT s.n, t.x, u.x AS y FROM s INNER JOIN t ON s.id = t.id LEFT JOIN u ON s.n = u.id',
  'SELECT count(*) AS c, collect(t.x) AS xs FROM s LEFT JOIN t ON s.id = t.id GROUP BY COUNTWINDOW(7)',
  'SELECT s.n, t.x, lag(t.x) AS before FROM s LEFT JOIN t ON s.id = t.id',
  'SELECT s.n, t.x, k_table.z FROM s INNER JOIN t ON s.id = t.id INNER JOIN k_table ON s.id = k_table.id',
  'SELECT s.n, r.m, t.x FROM s INNER JOIN r ON s.id = r.id INNER JOIN t ON s.id = t.id GROUP BY TUMBLINGWINDOW(ss, 10)',
  'SELECT t.x, sum(s.n) AS total FROM s INNER JOIN t ON s.id = t.id GROUP BY t.x, TUMBLINGWINDOW(ss, 20) ORDER BY t.x',
];

for (const sql of statements) {
  test(`late answers change nothing: ${sql}`, async () => {
    const isTimed = /TUMBLING/.test(sql);
    const stamp = isTimed ? ', TIMESTAMP="ts"' : '';
    const s = Array.from({ length: 300 }, (_, n) => ({ n, id: (n * 5) % 9, ts: seconds(n) }));
    const r = Array.from({ length: 100 }, (_, m) => ({ m, id: (m * 2) % 9, ts: seconds(m * 3) }));
    const k = Array.from({ length: 9 }, (_, id) => ({ id, z: `k${id}` }));
    const rows = { s, ...(/\br\./.test(sql) ? { r } : {}), ...(/k_table/.test(sql) ? { k_table: k } : {}) };
    const wishes = { rows, tables: [table, other], streamOptions: stamp, options: { isEventTime: isTimed } };
    const wanted = await run(sql, { ...wishes, ask: async (request, _signal, name) => answered(request, name) });
    assert.ok(wanted.length > 3, `${wanted.length} messages`);
    let n = 0;
    const late: PlaneWishes['ask'] = (request, _signal, name) => later(answered(request, name), (n++ * 7) % 20);
    for (const batches of [1, 16]) {
      assert.equal(await run(sql, { ...wishes, ask: late, waiting: { batches } }), wanted);
    }
  });
}

test('a table that does not answer stops the source at the bound; when it does, nothing is missing', async () => {
  const count = 200_000;
  let answer = (): void => {};
  const mayAnswer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const rule = await startRule('SELECT s.n, t.x FROM s LEFT JOIN t ON s.id = t.id', {
    rows: { s: Array.from({ length: count }, (_, n) => ({ n, id: n })) },
    tables: [table],
    ask: async (request, _signal, name) => {
      await mayAnswer;
      return answered(request, name);
    },
    waiting: { batches: 2, timeoutMs: 120_000 },
  });
  const { plane, start } = rule;
  await eventually('the source has to wait', () =>
    plane
      .status(start.run)
      ?.troubles.some((text) => /batches of rows wait for answers of the lookup table t/.test(text)),
  );
  const { sourceRecordsInTotal } = plane.status(start.run)!.metrics;
  assert.ok(Number(sourceRecordsInTotal) < count / 2, `${sourceRecordsInTotal} rows were read`);
  answer();
  await rule.notice('ended');
  assert.equal(
    rule.written().map((message) => (message as Row[])[0]!.n),
    Array.from({ length: count }, (_, n) => n),
  );
  await rule.close();
});

test('answers that are none are errors of their rows, the next ones are taken', async () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const wrong: unknown[] = [
    undefined,
    'text',
    { of: [0] },
    { of: [0], columns: { x: ['a', 'b'] } },
    { of: [7], columns: { x: ['a'] } },
    { of: [Number.NaN], columns: { x: ['a'] } },
    { of: [0], columns: { x: 'a' } },
    { of: [0], columns: { x: [cyclic] } },
    { of: [0], columns: { x: [Symbol('s')] } },
    { of: [0], columns: { x: [() => 1] } },
    { of: [0], columns: { x: [10n ** 30n] } },
    { of: [0], columns: { x: ['a'] }, failed: 'yes' },
    { of: [0], columns: { x: ['a'] }, failed: new Map([[0, 5]]) },
    { of: { length: 2 ** 40 }, columns: {} },
  ];
  for (const answer of wrong) {
    const written = await run('SELECT s.n, t.x FROM s LEFT JOIN t ON s.id = t.id', {
      rows: { s: [1, 2].map((n) => ({ n, id: n })) },
      tables: [table],
      ask: async (request, _signal, name) => {
        if (request.keys[0]?.[0] === 1) return answer as LookupAnswer;
        return answered(request, name);
      },
      pauseMs: 20,
    });
    assert.is(written.length, 2, String(written));
    assert.type(written[0], 'string', `${JSON.stringify(written[0])} for answer ${wrong.indexOf(answer)}`);
    assert.equal(written[1], [{ n: 2, x: 't2' }]);
  }
});

test(
  'rows that wait for answers at the end of their rule are counted as lost, logged, and told to who stops ' + 'it',
  async () => {
    let asked = 0;
    let given: AbortSignal | undefined;
    let answer: (found: LookupAnswer) => void = () => {};
    const rule = await startRule('SELECT s.id, t.x FROM s INNER JOIN t ON s.id = t.id', {
      rows: { s: [{ id: 1 }, { id: 2 }, { id: 1 }] },
      tables: [table],
      ask: (request, signal) => {
        asked += request.count;
        given = signal;
        return new Promise((resolve) => {
          answer = resolve;
        });
      },
    });
    await eventually('the rows wait', () => asked === 2);
    await rule.plane.stop(rule.start.run);
    const { metrics, losses } = await rule.notice('stopped');
    assert.ok(given?.aborted);
    answer({ of: [0], columns: { id: [1 as Value], x: ['late' as Value] } });
    const loss = 'the rule ends while 3 rows wait for answers of the lookup table t: they are lost';
    assert.equal(losses, [loss]);
    assert.ok(rule.warnings.includes(loss), rule.warnings.join('\n'));
    assert.is(metrics.exceptionsTotal, 3);
    assert.is(metrics.op_t_0_exceptions_total, 3);
    assert.match(
      String(metrics.op_t_0_last_exception),
      /the rule ended while rows waited for answers of the lookup table t/,
    );
    assert.equal(rule.written(), []);
    await rule.close();
  },
);

test.run();
