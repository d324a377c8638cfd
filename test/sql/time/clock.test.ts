/**
 * The clock is set back or forth while windows are open: a rule whose clock is set back by an hour sends what it would
 * send if the hour had not been, at the same steps, beside the same rule whose clock runs on.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { stateReader } from '../../../host/run/plane/state/checkpoint/state-copy.js';
import { type KernelRule, openRule, type RuleWishes } from '../../support/engine/rule-kernel.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const start = Date.UTC(2026, 5, 2, 12, 7, 11, 400);

const streams = ['s', 'u'].map((name) => `CREATE STREAM ${name} (k STRING, v BIGINT, ts BIGINT) WITH (TIMESTAMP="ts")`);

const statements: Record<string, [sql: string, wishes?: RuleWishes]> = {
  tumbling: ['SELECT k, count(*) AS n, sum(v) AS v FROM s GROUP BY k, TUMBLINGWINDOW(ss, 10)'],
  'tumbling with rows': ['SELECT v FROM s GROUP BY TUMBLINGWINDOW(ms, 500)'],
  'tumbling, empty ones too': ['SELECT count(*) AS n FROM s GROUP BY TUMBLINGWINDOW(ss, 2)'],
  'hopping with panes': ['SELECT k, sum(v) AS v FROM s GROUP BY k, HOPPINGWINDOW(ss, 10, 2)'],
  'hopping with many panes': ['SELECT sum(v) AS v FROM s GROUP BY HOPPINGWINDOW(ss, 30, 1)'],
  'hopping, no multiple of the hop': ['SELECT count(*) AS n FROM s GROUP BY HOPPINGWINDOW(ss, 10, 4)'],
  'hopping with rows': ['SELECT v FROM s GROUP BY HOPPINGWINDOW(ss, 6, 2)'],
  sliding: ['SELECT k, max(v) AS v FROM s GROUP BY k, SLIDINGWINDOW(ss, 5)'],
  'sliding with rows': ['SELECT v FROM s GROUP BY SLIDINGWINDOW(ss, 3) OVER (WHEN v > 50)'],
  'sliding with delay': ['SELECT sum(v) AS v FROM s GROUP BY SLIDINGWINDOW(ss, 5, 2)'],
  session: ['SELECT collect(v) AS list FROM s GROUP BY SESSIONWINDOW(ss, 20, 2)'],
  counting: ['SELECT sum(v) AS v FROM s GROUP BY COUNTWINDOW(5, 2)'],
  state: ['SELECT collect(v) AS list FROM s GROUP BY STATEWINDOW(v > 70, v < 30)'],
  'state of partitions': ['SELECT k, count(*) AS n FROM s GROUP BY STATEWINDOW(v > 70, v < 30) OVER (PARTITION BY k)'],
  'session of partitions': [
    'SELECT k, collect(v) AS list FROM s GROUP BY SESSIONWINDOW(ss, 20, 2) OVER (PARTITION BY k)',
  ],
  'sliding with delay, of partitions': [
    'SELECT k, sum(v) AS v FROM s GROUP BY SLIDINGWINDOW(ss, 5, 2) OVER (PARTITION BY k)',
  ],
  'counting of partitions, idle ones too': [
    'SELECT k, collect(v) AS list FROM s GROUP BY COUNTWINDOW(3) OVER (PARTITION BY k)',
    { options: { stateTtlMs: 3000 } },
  ],
  'idle state of partitions in event time': [
    'SELECT k, collect(v) AS list FROM s GROUP BY STATEWINDOW(v > 50, v < 50) OVER (PARTITION BY k)',
    { options: { stateTtlMs: 3000, isEventTime: true, lateToleranceMs: 500, maxFutureSkewMs: 0 } },
  ],
  'idle partitions': [
    'SELECT k, lag(v) OVER (PARTITION BY k) AS before FROM s WHERE v > 90',
    { options: { stateTtlMs: 3000 } },
  ],
  'a window of a window': [
    'SELECT max(n) AS most FROM (SELECT count(*) AS n FROM s GROUP BY TUMBLINGWINDOW(ss, 1)) AS c GROUP BY ' +
      'TUMBLINGWINDOW(ss, 10)',
  ],
  'a join': ['SELECT s.v, u.v AS w FROM s INNER JOIN u ON s.k = u.k GROUP BY TUMBLINGWINDOW(ss, 5)'],
  'delayed rows': ['SELECT v, delay(1500, v) AS later FROM s'],
  'gathered rows': ['SELECT v FROM s', { props: { batchSize: 100, lingerInterval: '3s' } }],
  'silent streams of event time': [
    'SELECT s.v, u.v AS w FROM s FULL JOIN u ON s.k = u.k GROUP BY TUMBLINGWINDOW(ss, 5)',
    { options: { isEventTime: true, lateToleranceMs: 500, maxFutureSkewMs: 0, idleTimeoutMs: 4000 } },
  ],
};

function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/**
 * What each of the steps sends; the clock is set back by an hour at some of them. With `moves` what the rule keeps goes
 * to a kernel whose clock is behind instead, as from a checkpoint.
 */
function run(
  sql: string,
  wishes: RuleWishes | undefined,
  seed: number,
  backAt: ReadonlySet<number>,
  moves = false,
): unknown[] {
  const random = numbers(seed);
  let rule = openRule(streams, sql, wishes);
  const sent: unknown[] = [];
  let now = start;
  let elapsed = start;
  for (let step = 0; step < 250; step++) {
    const ms = random(12) === 0 ? 2500 + random(9000) : random(500);
    now += ms;
    elapsed += ms;
    rule.kernel.tick(now);
    const before: unknown[] = [];
    if (backAt.has(step)) {
      if (moves) {
        before.push(...rule.taken());
        rule = moved(rule, openRule(streams, sql, wishes), now);
      } else rule.kernel.setClockBack(hourMs, now);
      now -= hourMs;
    }
    const rows = Array.from({ length: random(4) }, () => ({
      k: `k${random(3)}`,
      v: random(100),
      ts: elapsed - random(800),
    }));
    const stream = random(3) === 0 && / u | u\./.test(sql) && step % 80 < 50 ? 'u' : 's';
    rule.feed(stream, rows, now);
    sent.push([...before, ...rule.taken()]);
  }
  rule.close();
  return sent;
}

/** Puts what the first rule keeps into the other one, whose clock is behind by an hour. */
function moved(from: KernelRule, to: KernelRule, now: number): KernelRule {
  const slices: Buffer[] = [];
  from.kernel.saveNode(from.nodes, (bytes) => slices.push(Buffer.from(bytes)));
  from.close();
  const { failed, unclaimed } = to.kernel.loadNode(to.nodes, stateReader(slices));
  assert.equal([failed, unclaimed], [[], 0]);
  to.kernel.setLoadedBack(to.nodes, hourMs, now);
  return to;
}

for (const [name, [sql, wishes]] of Object.entries(statements)) {
  test(`set back by an hour: ${name}`, () => {
    for (const seed of [1, 2, 3]) {
      const expected = run(sql, wishes, seed, new Set());
      assert.ok(expected.flat().length > 10, 'something is sent');
      assert.equal(run(sql, wishes, seed, new Set([60, 61, 150])), expected, `seed ${seed}`);
      // How long streams have been silent is counted anew where nobody listened.
      if (wishes?.options?.idleTimeoutMs !== undefined) continue;
      assert.equal(run(sql, wishes, seed, new Set([40, 120]), true), expected, `seed ${seed}, from a checkpoint`);
    }
  });
}

test('windows tell the new time, and stay aligned to it', () => {
  const sql = 'SELECT count(*) AS n, window_start() AS b, window_end() AS e FROM s GROUP BY TUMBLINGWINDOW(mi, 1)';
  const rule = openRule(streams, sql);
  const noon = Date.UTC(2026, 5, 2, 12);
  rule.kernel.tick(noon + 1000);
  rule.feed('s', [{ v: 1 }, { v: 2 }], noon + 50_000);
  // From 12:00:55 to 11:37:42.
  rule.kernel.setClockBack(23 * minuteMs + 13_000, noon + 55_000);
  rule.feed('s', [{ v: 3 }], noon - 22 * minuteMs - 10_000);
  assert.equal(rule.taken(), []);
  const end = noon - 22 * minuteMs;
  assert.is(rule.kernel.nextDeadline(), end);
  rule.kernel.tick(end);
  assert.equal(rule.taken(), [[{ n: 3, b: end - minuteMs, e: end }]]);
  rule.feed('s', [{ v: 4 }], end + 1);
  rule.kernel.tick(end + minuteMs);
  assert.equal(rule.taken(), [[{ n: 1, b: end, e: end + minuteMs }]]);
  rule.close();
});

test('windows of days follow the clock of the zone after it was set back', () => {
  const sql = 'SELECT count(*) AS n, window_start() AS b, window_end() AS e FROM s GROUP BY TUMBLINGWINDOW(dd, 1)';
  const rule = openRule(streams, sql, { options: { timezone: 'Asia/Tokyo' } });
  const midnight = Date.UTC(2026, 5, 2, 15);
  rule.kernel.tick(midnight + 1000);
  rule.feed('s', [{ v: 1 }], midnight + 2000);
  rule.kernel.setClockBack(3 * hourMs, midnight + 3000);
  assert.is(rule.kernel.nextDeadline(), midnight);
  rule.kernel.tick(midnight);
  assert.equal(rule.taken(), [[{ n: 1, b: midnight - 24 * hourMs, e: midnight }]]);
  rule.close();
});

test('rows wait for answers, and answers are remembered, no longer than before', () => {
  const requests: { node: number; request: number; keys: readonly unknown[] }[] = [];
  const waiting = { timeoutMs: 10_000, batches: 16, cache: { rows: 100, ttlMs: 60_000, hasMisses: true } };
  const table = 'CREATE TABLE t () WITH (TYPE="simulator", KIND="lookup", KEY="id")';
  const rule = openRule([...streams, table], 'SELECT s.v, t.name FROM s LEFT JOIN t ON s.v = t.id', {
    waiting,
    onAsk: (node, request, keys) => requests.push({ node, request, keys: [...keys[0]!] }),
  });
  const answer = (now: number): void => {
    const { node, request } = requests.pop()!;
    rule.kernel.answer(node, request, { of: [0], columns: { name: ['one'] } }, now);
  };
  rule.feed('s', [{ v: 1 }], start);
  rule.kernel.setClockBack(hourMs, start + 9000);
  rule.kernel.tick(start - hourMs + 9999);
  answer(start - hourMs + 9999);
  assert.equal(rule.taken(), [[{ name: 'one', v: 1 }]]);
  // Asked for again a minute later, whatever the clock.
  rule.kernel.setClockBack(hourMs, start - hourMs + 20_000);
  rule.feed('s', [{ v: 1 }], start - 2 * hourMs + 69_000);
  assert.equal(rule.taken(), [[{ name: 'one', v: 1 }]]);
  rule.feed('s', [{ v: 1 }], start - 2 * hourMs + 71_000);
  assert.is(requests.length, 1);
  rule.kernel.setClockBack(hourMs, start - 2 * hourMs + 75_000);
  rule.kernel.tick(start - 3 * hourMs + 81_001);
  assert.match(rule.taken()[0] as string, 'no answer within 10000 ms');
  rule.close();
});

test('set forth by a day: what is due ends at once, and no more than a thousand empty windows', () => {
  const dayMs = 24 * hourMs;
  for (const [sql, least, most] of [
    ['SELECT count(*) AS n FROM s GROUP BY TUMBLINGWINDOW(ms, 1)', 2, 1001],
    ['SELECT count(*) AS n FROM s GROUP BY HOPPINGWINDOW(ms, 10, 1)', 11, 1011],
    ['SELECT k, count(*) AS n FROM s GROUP BY k, TUMBLINGWINDOW(ms, 1)', 1, 1],
    ['SELECT v FROM s GROUP BY HOPPINGWINDOW(ms, 10, 1)', 10, 1010],
    ['SELECT count(*) AS n FROM s GROUP BY SESSIONWINDOW(ss, 100, 1)', 1, 1],
    ['SELECT count(*) AS n FROM s GROUP BY SLIDINGWINDOW(ss, 1, 1)', 1, 1],
  ] as const) {
    const rule = openRule(streams, sql);
    rule.kernel.tick(start);
    rule.feed('s', [{ k: 'a', v: 1 }], start);
    rule.kernel.tick(start + dayMs);
    const first = rule.taken().length;
    assert.ok(first >= least && first <= most, `${sql}: ${first} messages`);
    rule.feed('s', [{ k: 'b', v: 2 }], start + dayMs + 5);
    rule.kernel.tick(start + dayMs + 2100);
    assert.match(JSON.stringify(rule.taken()), /"(n|v)":[12]/, sql);
    rule.close();
  }
});

test.run();
