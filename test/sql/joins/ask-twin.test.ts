/**
 * Rows that wait for answers, beside a naive model: answers come in any order, late, not at all, for some lists only.
 * Whatever happens, each row goes on once, in its place. `HAUMEA_ASK_RUNS` sets how many cases are tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { WaitingPlan } from '../../../kernels/plan/ir.js';
import type { Value } from '../../../kernels/values/value.js';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';

const numRuns = Number(process.env.HAUMEA_ASK_RUNS ?? 200);

type Row = Record<string, Value>;

interface Request {
  node: number;
  request: number;
  keys: readonly (readonly Value[])[];
  count: number;
}

const statements = [
  'CREATE STREAM s () WITH ()',
  'CREATE TABLE t () WITH (TYPE="simulator", KIND="lookup", KEY="id")',
  'CREATE TABLE m () WITH (TYPE="simulator", KIND="lookup")',
];

const timeoutMs = 1000;

/** What the table holds: for each key so many rows, or a failure. */
const rowsOf = (key: Value): number => (typeof key === 'number' ? key % 3 : 1);
const fails = (key: Value): boolean => key === 7;

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      rows: fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constant(null)), { maxLength: 8 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ answers: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ passesMs: fc.constantFrom(10, 400, 1500) }) },
  { weight: 1, arbitrary: fc.constant({ moves: true }) },
);

const given = fc.record({
  table: fc.constantFrom('t', 'm'),
  type: fc.constantFrom('INNER', 'LEFT'),
  window: fc.constantFrom('', ' GROUP BY COUNTWINDOW(3)'),
  cache: fc.constantFrom<WaitingPlan['cache']>(
    null,
    { rows: 100, ttlMs: 0, hasMisses: true },
    { rows: 3, ttlMs: 300, hasMisses: false },
  ),
  steps: fc.array(step, { minLength: 3, maxLength: 25 }),
});

function bytesOf({ kernel }: KernelRule): number {
  const { inUse, workspace } = kernel.memory();
  return inUse - workspace;
}

const unused = openRule(statements, 'SELECT s.n AS n FROM s INNER JOIN t ON s.id = t.id');
unused.close();
/** Bytes of a kernel in which nothing is left. */
const emptyBytes = bytesOf(unused);

/**
 * What came out is what was wanted, in its order: null stands for an answer that failed, undefined for nothing. Any
 * message may have failed for want of an answer in time instead.
 */
function fits(wanted: readonly (Row[] | null | undefined)[], output: readonly (Row[] | string)[]): boolean {
  let places = new Set([0]);
  for (const message of wanted) {
    const next = new Set<number>();
    for (const at of places) {
      const found = output[at];
      const isLate = typeof found === 'string' && /no answer within 1000 ms/.test(found);
      if (isLate) next.add(at + 1);
      if (message === undefined) next.add(at);
      else if (
        message === null
          ? typeof found === 'string' && /no answer for 7/.test(found)
          : JSON.stringify(found) === JSON.stringify(message)
      )
        next.add(at + 1);
    }
    places = next;
  }
  return places.has(output.length);
}

test('each row goes on once and in its place, whatever becomes of the answers', () => {
  fc.assert(
    fc.property(given, ({ table, type, window, cache, steps }) => {
      let open: Request[] = [];
      const sql = `SELECT s.n AS n, ${table}.x AS x FROM s ${type} JOIN ${table} ON s.id = ${table}.id${window}`;
      const make = (): KernelRule =>
        openRule(statements, sql, {
          waiting: { timeoutMs, batches: 4, cache },
          onAsk: (node, request, keys, count) => void open.push({ node, request, keys, count }),
        });
      let rule = make();
      const isSingle = table === 't';
      let now = 0;
      let n = 0;
      /** Rows of messages that are complete, in their order. */
      const sent: { n: number; id: Value }[][] = [];
      let gathered: { n: number; id: Value }[] = [];
      const output: (Row[] | string)[] = [];
      const take = (): void => void output.push(...(rule.taken() as (Row[] | string)[]));
      const answer = (at: number): void => {
        const [asked] = open.splice(at % open.length, 1);
        if (asked === undefined) return;
        const { node, request, keys, count } = asked;
        const [ids = []] = keys;
        assert.is(new Set(ids.map(String)).size, count, 'equal values are asked for once');
        const of: number[] = [];
        const found: Row[] = [];
        const failed = new Map<number, string>();
        ids.forEach((id, i) => {
          if (fails(id)) failed.set(i, `no answer for ${id}`);
          for (let r = 0; r < (isSingle ? Math.min(1, rowsOf(id)) : rowsOf(id)); r++) {
            of.push(i);
            found.push({ id, x: `${id}.${r}` });
          }
        });
        rule.kernel.answer(
          node,
          request,
          { of, columns: { id: found.map((row) => row.id), x: found.map((row) => row.x) }, failed },
          now,
        );
        take();
      };
      for (const one of steps) {
        if ('rows' in one) {
          const rows = one.rows.map((id) => ({ id, n: n++ }));
          rule.feed('s', rows, now);
          for (const row of rows) {
            gathered.push(row);
            if (window === '' || gathered.length === 3) {
              sent.push(gathered);
              gathered = [];
            }
          }
          take();
        } else if ('answers' in one) {
          if (open.length > 0) answer(one.answers);
        } else if ('passesMs' in one) {
          now += one.passesMs;
          rule.kernel.tick(now);
          take();
        } else if (window === '') {
          // What waits goes to another kernel, which asks again.
          const state = rule.save();
          open = [];
          rule.close();
          assert.is(bytesOf(rule), emptyBytes, 'memory is left over of what waited');
          rule = make();
          assert.equal(rule.load(state).failed, []);
        }
      }
      while (open.length > 0) answer(0);
      now += 10 * timeoutMs;
      rule.kernel.tick(now);
      take();
      const wanted = sent.map((message): Row[] | null | undefined => {
        if (message.some(({ id }) => id !== null && fails(id))) return null;
        const rows = message.flatMap(({ n: number, id }): Row[] => {
          const count = id === null ? 0 : isSingle ? Math.min(1, rowsOf(id)) : rowsOf(id);
          if (count === 0) return type === 'LEFT' ? [{ n: number }] : [];
          return Array.from({ length: count }, (_, r) => ({ n: number, x: `${id}.${r}` }));
        });
        return rows.length > 0 ? rows : undefined;
      });
      assert.ok(fits(wanted, output), `${JSON.stringify(output)} is not made of ${JSON.stringify(wanted)}`);
      const { first, batches, rows } = rule.kernel.waiting(rule.node('ask'));
      assert.equal({ first, batches, rows }, { first: 0, batches: 0, rows: 0 });
      rule.close();
      assert.is(bytesOf(rule), emptyBytes, 'memory is left over');
    }),
    { numRuns },
  );
});

test.run();
