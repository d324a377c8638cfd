/**
 * Long work in pieces: whatever the statement, the rows and the moments, a kernel that does all work that can wait in
 * the smallest pieces, with input in between and state that moves to another kernel, sends to the byte what one does
 * that works at once. `HAUMEA_STATE_RUNS` sets how many cases are tried, `HAUMEA_STATE_SEED` which.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import type { Kernel } from '../../../kernels/api.js';
import { createKernel } from '../../../kernels/index.js';
import { hasDeferred, workOn } from '../../../kernels/state/deferred.js';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';
import { beginOfCases, longCases, type StateCase, stateCases } from '../../support/sql/state-cases.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 150);
const { HAUMEA_STATE_SEED: wantedSeed } = process.env;
const params = wantedSeed === undefined ? {} : { seed: Number(wantedSeed) };
const afterwards = [1000, 4000, 20_000, 60_000];

let output: string[] = [];
let pieces = 0;

/** Kernels that are empty are used again, by the rows that they work on at once. */
const idle = new Map<number | undefined, Kernel[]>();

function kernelOf(longRows: number | undefined): Kernel {
  return (
    idle.get(longRows)?.pop() ??
    createKernel(
      {
        onOutput: ({ bytes }) => output.push(Buffer.from(bytes).toString()),
        onPacket: () => {},
        onAcknowledge: () => {},
        call: callHost,
      },
      kernelUnderTest,
      longRows === undefined ? {} : { longRows },
    )
  );
}

function bytesOf(kernel: Kernel): number {
  const { inUse, workspace } = kernel.memory();
  return inUse - workspace;
}

function leave(rule: KernelRule, longRows: number | undefined): void {
  rule.close();
  assert.not(hasDeferred(rule.kernel));
  idle.set(longRows, [rule.kernel, ...(idle.get(longRows) ?? [])]);
}

/** Does some pieces, or all that are left. */
function turns(kernel: Kernel, most = Number.POSITIVE_INFINITY): void {
  for (let i = 0; i < most && hasDeferred(kernel); i++) {
    workOn(kernel, 0);
    pieces++;
  }
}

/** What comes out; with `longRows` in pieces, of which some are done after each arrival. */
function run(given: StateCase, longRows?: number, some = 0): string {
  output = [];
  let kernel = kernelOf(longRows);
  const empty = bytesOf(kernel);
  // How long results are gathered is a matter of the clock as well, and failures do not wait for them.
  const { lingerInterval: _, ...props } = given.wishes.props ?? {};
  const open = () => openRule(given.statements, given.sql, { ...given.wishes, props, kernel });
  let rule = open();
  let now = beginOfCases;
  for (const { name, bytes, waitMs, moves } of given.arrivals) {
    // What rows below a window see of the clock, or of a lookup table, is what it is when they come there.
    if (waitMs > 0 || name >= 'v') turns(kernel);
    now += waitMs;
    kernel.tick(now);
    turns(kernel, name >= 'v' ? Number.POSITIVE_INFINITY : some);
    rule.feed(name, bytes, now);
    turns(kernel, some);
    if (!moves || longRows === undefined) continue;
    const state = rule.save();
    assert.not(hasDeferred(kernel));
    leave(rule, longRows);
    kernel = kernelOf(longRows);
    rule = open();
    assert.equal(rule.load(state, given.portion).failed, []);
  }
  for (const waitMs of afterwards) {
    turns(kernel);
    now += waitMs;
    kernel.tick(now);
  }
  for (const name of new Set(given.arrivals.map((arrival) => arrival.name))) rule.end(name);
  turns(kernel);
  leave(rule, longRows);
  assert.is(bytesOf(kernel), empty);
  return output.join('');
}

test('work in pieces sends to the byte what work at once does, with input and moves of the state in between', () => {
  fc.assert(
    fc.property(stateCases, fc.constantFrom(0, 1, 3), fc.integer({ min: 0, max: 4 }), (given, longRows, some) => {
      assert.is(run(given, longRows, some), run(given));
    }),
    { ...params, numRuns },
  );
  assert.ok(pieces > numRuns);
});

test('so do long windows with groups: what waits keeps its rows, its stacks and its panes as they were', () => {
  fc.assert(
    fc.property(longCases, fc.constantFrom(0, 2, 20), fc.integer({ min: 0, max: 9 }), (given, longRows, some) => {
      assert.is(run(given, longRows, some), run(given));
    }),
    { ...params, numRuns: Math.ceil(numRuns / 3) },
  );
});

interface Row {
  at: number;
  [column: string]: unknown;
}

const sessions = 'SELECT k, b, count(*) AS n, max(a) AS a FROM s GROUP BY k, b, SESSIONWINDOW(ss, 6, 1)';

const patternOf = (pattern: string, defined: string) =>
  'SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k MEASURES FIRST(A.a) AS f, count(*) AS c ' +
  `AFTER MATCH SKIP PAST LAST ROW PATTERN (${pattern}) DEFINE ${defined}) AS p`;

/** What random cases have found: a statement, its rows at so many seconds, and what comes out. */
const found: Record<string, [sql: string, isEventTime: boolean, rows: Row[], wanted: string[]]> = {
  'a window that is due at the same time as the one above it gets the rows of that one before': [
    `SELECT sum(n) AS x FROM (${sessions} OVER (PARTITION BY b)) AS d GROUP BY SESSIONWINDOW(ss, 4, 1)`,
    false,
    [{ at: 0 }, { at: 1.5 }],
    ['[{"x":2}]'],
  ],
  'a session whose deadline was an earlier one is not over before windows above it that are due first': [
    'SELECT n FROM (SELECT count(*) AS n FROM s GROUP BY SLIDINGWINDOW(ss, 1, 1)) AS d ' +
      'GROUP BY SESSIONWINDOW(ss, 3, 1)',
    false,
    [{ at: 0 }, { at: 1 }, { at: 8 }],
    ['[{"n":1}]', '[{"n":2},{"n":1}]'],
  ],
  'a watermark that ends windows of many keys comes behind all of them': [
    `SELECT b, n FROM (${sessions} OVER (PARTITION BY b)) AS d GROUP BY SLIDINGWINDOW(ss, 1, 1)`,
    true,
    [{ at: 0, b: 'x' }, { at: 0, b: 'y' }, { at: 20 }],
    ['[{"b":"x","n":1},{"b":"y","n":1}]', '[{"b":"x","n":1},{"b":"y","n":1}]'],
  ],
  'matches that time ends come before those of rows that come later, whatever their key': [
    patternOf("A NOT B WITHIN INTERVAL '2' SECOND", 'B AS a > PREV(a)'),
    false,
    [
      { at: 0, k: 2, a: 1 },
      { at: 0, k: 2, a: 1 },
      { at: 0, k: 2, a: 1 },
      { at: 0, k: 1, a: 4 },
      { at: 7, k: 1, a: 4 },
    ],
    [2, 2, 2, 1, 1].map((k) => `[{"c":1,"f":${k === 2 ? 1 : 4},"k":${k}}]`),
  ],
  'a row is told once that a condition fails, however many searches take it': [
    patternOf('A B*? C', 'B AS a < 4 AND b != FIRST(A.b), C AS C.n <= 2'),
    true,
    [
      { at: 0, b: '' },
      { at: 0, a: 0, b: 'x' },
      { at: 0, a: 0, b: ['z'] },
    ],
    ['!= is an invalid operation for []interface {}'],
  ],
};

for (const [what, [sql, isEventTime, rows, wanted]] of Object.entries(found)) {
  test(what, () => {
    let before = 0;
    const arrivals = rows.map(({ at, ...row }) => {
      const waitMs = isEventTime ? 0 : (at - before) * 1000;
      before = at;
      const bytes = Buffer.from(`${JSON.stringify({ k: 1, ...row, ts: beginOfCases + at * 1000 })}\n`);
      return { name: 's', bytes, waitMs, moves: false };
    });
    const options = { isEventTime, lateToleranceMs: 1000, maxFutureSkewMs: 0 };
    const statements = ['CREATE STREAM s () WITH (DATASOURCE="s", TYPE="memory", TIMESTAMP="ts")'];
    const given = { statements, sql, wishes: { options }, arrivals, movesAtLast: false, portion: 1 };
    assert.equal(run(given).trim().split('\n'), wanted);
    assert.equal(run(given, 0).trim().split('\n'), wanted);
  });
}

test.run();
