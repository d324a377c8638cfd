/**
 * Functions that look back against a naive model: random calls, rows and pieces in which they come. What they keep is
 * saved and loaded into another kernel in between. `HAUMEA_ANALYTIC_RUNS` sets how many cases are tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';
import { type Call, type Condition, type Row, run, textOfCall } from '../../support/sql/naive-analytic.js';

const numRuns = Number(process.env.HAUMEA_ANALYTIC_RUNS ?? 60);

const demo = ['CREATE STREAM demo () WITH (DATASOURCE="demo", TYPE="memory")'];

const row: fc.Arbitrary<Row> = fc.record(
  {
    a: fc.oneof(fc.integer({ min: -3, max: 5 }), fc.constantFrom<unknown>(null, 1.5, -0.25)),
    n: fc.integer({ min: 0, max: 5 }),
    b: fc.constantFrom<unknown>(
      '',
      'x',
      'y',
      'a text that is longer than sixteen bytes',
      'é'.repeat(200),
      null,
      5,
      '5',
      true,
    ),
    o: fc.constantFrom<unknown>({ x: 1 }, { x: [1, { y: 'deep' }], z: null }, [], ['u', 2], null, 'x'),
    k: fc.constantFrom<unknown>('device-1', 'device-2', 'device-3', 7, null),
  },
  { requiredKeys: ['n'] },
);

const condition: fc.Arbitrary<Condition> = fc.record({
  column: fc.constantFrom('a', 'n'),
  above: fc.integer({ min: -1, max: 3 }),
});

const fns = [
  'lag',
  'latest',
  'had_changed',
  'changed_col',
  'acc_sum',
  'acc_count',
  'acc_min',
  'acc_max',
  'acc_avg',
  'acc_max_by',
  'acc_collect',
  'acc_distinct_collect',
  'acc_map_agg',
] as const;

function call(depth: number): fc.Arbitrary<Call> {
  const column = fc.constantFrom('a', 'a', 'n', 'b', 'o');
  return fc.record({
    fn: fc.constantFrom(...fns),
    arg: depth === 0 ? column : fc.oneof({ weight: 2, arbitrary: column }, { weight: 1, arbitrary: call(depth - 1) }),
    other: fc.constantFrom('a', 'n', 'n'),
    offset: fc.constantFrom(1, 1, 1, 2, 3, 0),
    otherwise: fc.constantFrom(null, null, 7),
    ignoresNull: fc.boolean(),
    begin: fc.option(condition),
    reset: fc.option(condition),
    partition: fc.constantFrom([], [], ['k'], ['b'], ['k', 'n'], ['a']),
    when: fc.option(condition),
  });
}

/** Functions that take numbers alone; of what is said to be none the rule is refused. */
const ofNumbers: ReadonlySet<string> = new Set(['acc_sum', 'acc_min', 'acc_max', 'acc_avg', 'acc_max_by']);
const ofOtherTypes: ReadonlySet<string> = new Set([
  'had_changed',
  'acc_collect',
  'acc_distinct_collect',
  'acc_map_agg',
]);
const passingOn: ReadonlySet<string> = new Set(['lag', 'latest', 'changed_col']);

/** The function that a call's result comes from, by way of those that pass values on. */
function origin({ fn, arg }: Call): string {
  return passingOn.has(fn) && typeof arg === 'object' ? origin(arg) : fn;
}

/** No function of numbers in the call is over what is never one. */
function mayWork({ fn, arg }: Call): boolean {
  if (typeof arg !== 'object') return true;
  return mayWork(arg) && !(ofNumbers.has(fn) && ofOtherTypes.has(origin(arg)));
}

interface Case {
  calls: Call[];
  rows: Row[];
  /** Rows of each piece; the state goes to another kernel behind some. */
  pieces: { rows: number; moves: boolean }[];
}

const cases: fc.Arbitrary<Case> = fc.record({
  calls: fc.array(call(2).filter(mayWork), { minLength: 1, maxLength: 5 }),
  rows: fc.array(row, { minLength: 1, maxLength: 60, size: 'max' }),
  pieces: fc.array(fc.record({ rows: fc.integer({ min: 1, max: 20 }), moves: fc.boolean() }), { maxLength: 8 }),
});

/** What comes out of the kernel for each row; a row that failed is null. */
function fed({ calls, rows, pieces }: Case, moves: boolean): (Row | null)[] {
  const items = calls.map((one, i) => `${textOfCall(one)} AS x${i}`);
  const sql = `SELECT ${items.join(', ')} FROM demo`;
  const open = (): KernelRule => openRule(demo, sql, { options: { sendNilField: true } });
  let rule = open();
  const out: (Row | null)[] = [];
  let left = rows;
  for (const piece of [...pieces, { rows: rows.length, moves: false }]) {
    rule.feed('demo', left.slice(0, piece.rows));
    left = left.slice(piece.rows);
    out.push(...rule.taken().map((message) => (typeof message === 'string' ? null : (message[0] as Row))));
    if (!piece.moves || !moves) continue;
    const state = rule.save();
    rule.close();
    rule = open();
    const { loaded, failed } = rule.load(state);
    assert.ok(loaded > 0);
    assert.equal(failed, []);
  }
  rule.close();
  return out;
}

test('functions that look back give what a naive model gives, in whatever pieces the rows come', () => {
  fc.assert(
    fc.property(cases, (given) => {
      const expected = run(given.calls, given.rows).map((values) =>
        values === null
          ? null
          : Object.fromEntries(given.calls.map((one, i) => [`x${i}`, values.get(textOfCall(one)) ?? null])),
      );
      // What is nowhere in JSON is compared as JSON has it.
      assert.equal(fed(given, false), JSON.parse(JSON.stringify(expected)));
      assert.equal(fed(given, true), JSON.parse(JSON.stringify(expected)));
    }),
    { numRuns },
  );
});

test('columns that changed of rows with any members, in whatever pieces the rows come', () => {
  const rule = openRule(demo, 'SELECT changed_cols("c_", true, *) FROM demo');
  const pieces = fc.array(fc.array(row, { maxLength: 5 }), { minLength: 1, maxLength: 30, size: 'max' });
  const kept = new Map<string, string>();
  fc.assert(
    fc.property(pieces, (given) => {
      for (const rows of given) {
        rule.feed('demo', rows);
        const expected = rows.map((one) => {
          const changed = Object.entries(one).filter(
            ([name, value]) => value !== null && kept.get(name) !== JSON.stringify(value),
          );
          for (const [name, value] of changed) kept.set(name, JSON.stringify(value));
          return [Object.fromEntries(changed.map(([name, value]) => [`c_${name}`, value]))];
        });
        assert.equal(rule.taken(), JSON.parse(JSON.stringify(expected)));
      }
    }),
    { numRuns },
  );
  rule.close();
});

test('partitions are forgotten when nothing comes for them, each by itself', () => {
  const sql = 'SELECT k, acc_count(n) OVER (PARTITION BY k) AS c, lag(b) OVER (PARTITION BY k) AS p FROM demo';
  const open = (): KernelRule => openRule(demo, sql, { options: { stateTtlMs: 1000 } });
  let rule = open();
  const seen = new Map<unknown, { at: number; count: number; b: string }>();
  let now = 0;
  let forgotten = 0;
  const step = fc.record({
    k: fc.integer({ min: 0, max: 60 }),
    waitMs: fc.constantFrom(0, 0, 0, 1, 40, 300, 1000, 5000),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }), fc.boolean(), (steps, moves) => {
      for (const { k, waitMs } of steps) {
        now += waitMs;
        rule.kernel.tick(now);
        for (const [key, { at }] of seen) {
          if (at + 1000 > now) continue;
          seen.delete(key);
          forgotten++;
        }
        const key = k === 0 ? null : k;
        const before = seen.get(key);
        const b = `value ${now} of a device`;
        rule.feed('demo', [{ k: key, n: 1, b }], now);
        const count = (before?.count ?? 0) + 1;
        assert.equal(rule.taken(), [[{ c: count, k: key, ...(before === undefined ? {} : { p: before.b }) }]]);
        seen.set(key, { at: now, count, b });
        assert.equal(rule.kernel.partitions(rule.node('analytic')), { kept: seen.size, forgotten });
      }
      if (!moves) return;
      const state = rule.save();
      rule.close();
      rule = open();
      assert.equal(rule.load(state).failed, []);
      forgotten = 0;
    }),
    { numRuns },
  );
  rule.kernel.tick(now + 10_000);
  assert.is(rule.kernel.partitions(rule.node('analytic')).kept, 0);
  rule.close();
});

test('10,000 partitions keep their values, and give their memory back', () => {
  const rule = openRule(demo, 'SELECT lag(b) OVER (PARTITION BY k) AS p FROM demo');
  const bytes = (): number => rule.kernel.memory().inUse - rule.kernel.memory().workspace;
  const rows = Array.from({ length: 10_000 }, (_, i) => ({ k: `device-${i}`, b: `value of device ${i}` }));
  rule.feed('demo', rows);
  rule.written();
  const before = bytes();
  rule.feed('demo', rows);
  const second = rule.taken() as Row[][];
  assert.equal(
    second.map(([one]) => one?.p),
    rows.map(({ b }) => b),
  );
  assert.is(bytes(), before);
  const full = rule.kernel.memory().inUse;
  rule.close();
  assert.ok(rule.kernel.memory().inUse < full - 10_000 * 64);
});

test.run();
