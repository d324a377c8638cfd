/**
 * Windows with OVER (PARTITION BY …): each value gets, message by message, what a window of its own sends that sees the
 * rows of that value alone. `HAUMEA_STATE_RUNS` sets how many cases are tried.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasDeferred, workOn } from '../../../kernels/state/deferred.js';
import { openRule } from '../../support/engine/rule-kernel.js';

const numRuns = Number(process.env.HAUMEA_STATE_RUNS ?? 150);
const begin = 1_700_000_000_000;
const keys = ['one', 'two', 'a third one, whose name is long', ''];

interface Given {
  readonly row: object;
  readonly waitMs: number;
}

const rows = fc.array(
  fc
    .record({
      k: fc.constantFrom(...keys, null),
      a: fc.option(fc.integer({ min: -3, max: 9 }), { nil: null }),
      n: fc.integer({ min: 0, max: 5 }),
      waitMs: fc.constantFrom(0, 0, 0, 1, 300, 700, 1500, 4000),
      behindMs: fc.constantFrom(0, 0, 0, 400, 1300),
    })
    .map(({ waitMs, behindMs, ...row }) => ({ row, waitMs, behindMs })),
  { minLength: 30, maxLength: 120, size: 'max' },
);

const times = [
  'SESSIONWINDOW(ss, 60, 1)',
  'SESSIONWINDOW(ms, 1500, 1200)',
  'SESSIONWINDOW(ss, 2, 4)',
  'SLIDINGWINDOW(ss, 2)',
  'SLIDINGWINDOW(mi, 1)',
  'SLIDINGWINDOW(ss, 3, 1)',
  'SLIDINGWINDOW(ms, 0, 900)',
];
const counts = ['COUNTWINDOW(3)', 'COUNTWINDOW(4, 2)', 'COUNTWINDOW(30, 1)'];
const states = ['STATEWINDOW(a > 2, a < 0)', 'STATEWINDOW(n = 1)'];

const statement = fc.record({
  isEventTime: fc.boolean(),
  late: fc.constantFrom(0, 1000),
  what: fc.constantFrom(
    'count(*) AS c, sum(a) AS s, min(n) AS m, collect(n) AS l, window_start() AS ws, window_end() AS we',
    'count(a) AS c, max(a) AS m, window_end() AS we',
    'a, n',
    'n, lag(n) OVER (PARTITION BY k) AS before',
  ),
  window: fc.constantFrom(...times, ...counts, ...states),
  when: fc.constantFrom('', '', 'WHEN n > 2'),
  filter: fc.constantFrom('', '', 'n != 3'),
  where: fc.constantFrom('', '', 'WHERE a > 0'),
  having: fc.constantFrom('', '', 'HAVING count(*) > 1'),
  order: fc.constantFrom('', 'ORDER BY n DESC, a'),
});

interface Run {
  readonly sql: string;
  readonly isEventTime: boolean;
  readonly late: number;
  readonly longRows?: number;
}

/** Messages by the value that they are of. */
function messagesOf({ sql, isEventTime, late, longRows }: Run, given: readonly Given[]): Map<string, unknown[]> {
  const rule = openRule(
    ['CREATE STREAM s (k STRING, a BIGINT, n BIGINT, ts BIGINT) WITH (TYPE="memory", DATASOURCE="s", TIMESTAMP="ts")'],
    sql,
    {
      options: { isEventTime, lateToleranceMs: late, maxFutureSkewMs: 0 },
      ...(longRows === undefined ? {} : { limits: { longRows } }),
    },
  );
  const work = (most: number): void => {
    for (let i = 0; i < most && hasDeferred(rule.kernel); i++) workOn(rule.kernel, 0);
  };
  let now = begin;
  given.forEach(({ row, waitMs }, i) => {
    now += waitMs;
    while (rule.kernel.nextDeadline() <= now) rule.kernel.tick(now);
    rule.feed('s', [row], now);
    work(i % 3);
  });
  for (const waitMs of [5000, 60_000, 120_000]) {
    now += waitMs;
    // All time has passed: what waits for it ends.
    if (isEventTime) rule.feed('s', [{ k: null, n: 3, ts: now }], now);
    for (let moment = now; rule.kernel.nextDeadline() <= moment; moment++) rule.kernel.tick(moment);
    work(Number.POSITIVE_INFINITY);
  }
  const found = new Map<string, unknown[]>();
  for (const message of rule.taken()) {
    assert.is.not(typeof message, 'string', `${sql}: ${message}`);
    const { k } = (message as { k?: string }[])[0]!;
    // What rows without a key make is no matter: they also tell the time.
    if (k != null) found.set(k, [...(found.get(k) ?? []), message]);
  }
  const open = rule.kernel.memory();
  rule.close();
  assert.ok(rule.kernel.memory().inUse < open.inUse);
  return found;
}

test('each value has the windows that its rows would have if they were alone', () => {
  let sent = 0;
  fc.assert(
    fc.property(statement, rows, (chosen, coming) => {
      const { what, window, when, filter, where, having, order, late } = chosen;
      const isEventTime = chosen.isEventTime && !window.startsWith('COUNT');
      let newest = begin;
      const given = coming.map(({ row, waitMs, behindMs }) => {
        newest += waitMs;
        return { row: { ...row, ts: newest - behindMs }, waitMs };
      });
      const groups = /count\(/.test(what) ? 'k, ' : '';
      const condition = window.startsWith('SLIDING') ? when : '';
      const sqlOf = (only: string, over: string): string => {
        const filters = [filter, only].filter((one) => one !== '').join(' AND ');
        const clause = filters === '' ? '' : `FILTER (WHERE ${filters})`;
        return `SELECT k, ${what} FROM s ${where} GROUP BY ${groups}${window} ${clause} ${over} ${having} ${order}`;
      };
      const shared = { isEventTime, late };
      const all = messagesOf({ sql: sqlOf('', `OVER (PARTITION BY k ${condition})`), ...shared }, given);
      for (const key of keys) {
        const alone = condition === '' ? '' : `OVER (${condition})`;
        const own = messagesOf({ sql: sqlOf(`k = "${key}"`, alone), ...shared }, given).get(key) ?? [];
        assert.equal(all.get(key) ?? [], own, `${window} of ${key}`);
        sent += own.length;
      }
      const inPieces = messagesOf(
        { sql: sqlOf('', `OVER (PARTITION BY k ${condition})`), ...shared, longRows: 1 },
        given,
      );
      assert.equal(inPieces, all, `${window} in pieces`);
    }),
    { numRuns },
  );
  assert.ok(sent > numRuns * 5, `${sent} messages`);
});

test.run();
