/**
 * Work that takes long is done piece by piece: others have their turns in between, and what comes out is one result as
 * ever.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import type { Kernel } from '../../../kernels/api.js';
import { createKernel } from '../../../kernels/index.js';
import { deferredWork, finishWork, hasDeferred, isAtWork, workOn } from '../../../kernels/state/deferred.js';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';
import { startRule } from '../../support/engine/rule-plane.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';

const stream = (name: string) => `CREATE STREAM ${name} () WITH (TYPE="memory", DATASOURCE="${name}")`;
const numbers = (count: number) => Array.from({ length: count }, (_, i) => ({ n: i }));

/** A kernel that works on 100 rows at once, and what its rules send, by rule in the order of their making. */
function kernelOf(
  rules: { sql: string; streams: string[]; props?: Record<string, unknown> }[],
  limits: { longRows?: number } = { longRows: 100 },
) {
  const sent = new Map<number, string[]>();
  const kernel: Kernel = createKernel(
    {
      onOutput: ({ node, bytes }) => {
        sent.set(node, [...(sent.get(node) ?? []), ...Buffer.from(bytes).toString().trimEnd().split('\n')]);
      },
      onPacket: () => {},
      onAcknowledge: () => {},
      call: callHost,
    },
    kernelUnderTest,
    limits,
  );
  const open: KernelRule[] = rules.map(({ sql, streams, props = {} }) =>
    openRule(streams.map(stream), sql, { kernel, props }),
  );
  const texts = (i: number) => sent.get(open[i]!.nodes.at(-1)!) ?? [];
  const messages = (i: number): object[][] => texts(i).map((message) => JSON.parse(message));
  return { kernel, open, messages, texts };
}

/** Does the smallest pieces until nothing is left; returns how many these were. */
function pieces(kernel: Kernel, between = () => {}): number {
  let count = 0;
  for (; hasDeferred(kernel); count++) {
    workOn(kernel, 0);
    between();
  }
  return count;
}

test('a rule beside a large window gets its rows between the pieces, and the window is one message', () => {
  const { kernel, open, messages } = kernelOf([
    { sql: 'SELECT n FROM s GROUP BY TUMBLINGWINDOW(ss, 1)', streams: ['s'] },
    { sql: 'SELECT n FROM r', streams: ['r'] },
  ]);
  const [large, light] = open as [KernelRule, KernelRule];
  kernel.tick(1000);
  large.feed('s', numbers(20_000), 1100);
  kernel.tick(2000);
  assert.equal(messages(0), []);
  assert.is(deferredWork(kernel)[0]?.results, 1);
  assert.ok(isAtWork(kernel, 1));
  let rows = 0;
  const count = pieces(kernel, () => {
    light.feed('r', [{ n: rows }], 2100);
    assert.is(messages(1).length, ++rows);
  });
  assert.ok(count > 10);
  assert.equal(messages(0), [numbers(20_000)]);
  for (const rule of open) rule.close();
});

test('rows that come while a window is being sent are in the next one, and results keep their order', () => {
  const { kernel, open, messages } = kernelOf([{ sql: 'SELECT n FROM s GROUP BY COUNTWINDOW(2000)', streams: ['s'] }]);
  open[0]!.feed('s', numbers(5000), 1000);
  assert.is(deferredWork(kernel)[0]?.results, 2);
  workOn(kernel, 0);
  open[0]!.feed('s', numbers(1000), 1001);
  pieces(kernel);
  const all = [...numbers(5000), ...numbers(1000)];
  assert.equal(messages(0), [all.slice(0, 2000), all.slice(2000, 4000), all.slice(4000)]);
  open[0]!.close();
});

test('rows that leave a window while it is being sent are in what is sent, and rows that come then are not', () => {
  const { kernel, open, messages } = kernelOf([
    { sql: 'SELECT n FROM s GROUP BY HOPPINGWINDOW(ss, 3, 1)', streams: ['s'] },
    { sql: 'SELECT n FROM r GROUP BY COUNTWINDOW(2000, 500)', streams: ['r'] },
  ]);
  const [hopping, counting] = open as [KernelRule, KernelRule];
  kernel.tick(0);
  hopping.feed('s', numbers(2000), 500);
  counting.feed('r', numbers(2000), 500);
  for (let second = 1; second < 6; second++) {
    kernel.tick(second * 1000);
    workOn(kernel, 0);
    hopping.feed('s', [{ n: -second }], second * 1000 + 500);
    counting.feed('r', numbers(500), second * 1000 + 500);
  }
  pieces(kernel);
  const first = numbers(2000);
  assert.equal(messages(0), [
    first,
    [...first, { n: -1 }],
    [...first, { n: -1 }, { n: -2 }],
    [{ n: -1 }, { n: -2 }, { n: -3 }],
    [{ n: -2 }, { n: -3 }, { n: -4 }],
  ]);
  const all = [first, ...Array.from({ length: 5 }, () => numbers(500))].flat();
  assert.equal(
    messages(1),
    Array.from({ length: 6 }, (_, i) => all.slice(i * 500, i * 500 + 2000)),
  );
  for (const rule of open) rule.close();
});

test(
  'sliding and counting windows whose groups are joined from two stacks are sent in pieces, while rows come and ' +
    'leave',
  () => {
    for (const window of [
      'SLIDINGWINDOW(ss, 4)',
      'SLIDINGWINDOW(ss, 4) OVER (WHEN v = 0)',
      'SLIDINGWINDOW(ss, 4, 1)',
      'COUNTWINDOW(1500, 7)',
    ]) {
      const sql = `SELECT k, t, sum(v) AS s, max(t) AS m, count(*) AS c FROM s WHERE v < 40 GROUP BY k, ${window}`;
      const { kernel, open, messages } = kernelOf([{ sql, streams: ['s'] }]);
      const whole = openRule([stream('s')], sql);
      const atOnce: unknown[] = [];
      let most = 0;
      for (const rule of [open[0]!, whole]) {
        for (let second = 0; second < 24; second++) {
          // Texts stand in the memory of the groups: those that have left must be there until their window is sent.
          const rows = Array.from({ length: /WHEN|COUNT/.test(window) ? 700 : 30 }, (_, i) => ({
            k: `key ${(i * 31) % (second % 5 === 4 ? 3 : 400)}`,
            t: `a text of more than sixteen bytes ${second}/${i}`,
            v: i % 300 === 299 ? 0 : (i % 41) + 0.1,
          }));
          const at = 1000 * (second + 5 * Math.floor(second / 11));
          for (let from = 0; from < rows.length; from += 100) rule.feed('s', rows.slice(from, from + 100), at);
          if (rule === whole) {
            rule.kernel.tick(at + 500);
            atOnce.push(...rule.taken());
            continue;
          }
          rule.kernel.tick(at + 500);
          for (let i = 0; i < 4; i++) workOn(kernel, 0);
          most = Math.max(most, deferredWork(kernel)[0]?.results ?? 0);
        }
      }
      assert.ok(most > 3, `${window}: ${most} windows waited`);
      pieces(kernel);
      assert.equal(messages(0), atOnce, window);
      assert.ok(atOnce.length > 10);
      open[0]!.close();
      whole.close();
    }
  },
);

test('hopping windows whose groups are joined from parts are sent in pieces, while further parts come', () => {
  const sql = 'SELECT n, count(*) AS c, sum(n) AS s FROM s GROUP BY n, HOPPINGWINDOW(ss, 20, 1) HAVING count(*) > 1';
  const { kernel, open, messages } = kernelOf([{ sql, streams: ['s'] }]);
  const whole = openRule([stream('s')], sql);
  const atOnce: unknown[] = [];
  let most = 0;
  for (const rule of [open[0]!, whole]) {
    rule.kernel.tick(0);
    for (let second = 0; second < 50; second++) {
      rule.feed('s', numbers(second % 7 === 0 ? 3000 : 30 * (second % 4)), second * 1000 + 500);
      rule.kernel.tick((second + 1) * 1000);
      if (rule === whole) atOnce.push(...rule.taken());
      else {
        for (let i = 0; i < 2; i++) workOn(kernel, 0);
        most = Math.max(most, deferredWork(kernel)[0]?.results ?? 0);
      }
    }
  }
  assert.ok(most > 3);
  pieces(kernel);
  assert.equal(messages(0), atOnce);
  open[0]!.close();
  whole.close();
});

for (const [name, sql] of Object.entries({
  'a window of many groups': 'SELECT n, count(*) AS c FROM s GROUP BY n, COUNTWINDOW(3000)',
  'a window in another order': 'SELECT n FROM s GROUP BY COUNTWINDOW(3000) ORDER BY n % 7, n DESC',
  'a window whose rows stay': 'SELECT n FROM s GROUP BY COUNTWINDOW(3000, 1000)',
  'a window of many groups whose rows stay': 'SELECT n, median(n) AS m FROM s GROUP BY n, COUNTWINDOW(3000, 1000)',
  'a window whose rows stay, in another order':
    'SELECT n FROM s GROUP BY COUNTWINDOW(3000, 500) ORDER BY n % 7, n DESC',
  'a sliding window': 'SELECT n FROM s WHERE n > 3 GROUP BY SLIDINGWINDOW(ss, 10) OVER (WHEN n = 2999)',
  'a join of rows that stay':
    'SELECT s.n AS n, r.n AS m FROM s INNER JOIN r ON s.n + r.n < 40 GROUP BY COUNTWINDOW(600, 300)',
  'a join of all rows with all':
    'SELECT s.n AS n, r.n AS m FROM s INNER JOIN r ON s.n + r.n < 40 GROUP BY COUNTWINDOW(600)',
  'a join by keys that many rows share':
    'SELECT s.n AS n, r.n AS m FROM s LEFT JOIN r ON s.n % 3 = r.n % 3 AND s.n < r.n GROUP BY COUNTWINDOW(600)',
})) {
  test(`${name} is done in pieces, with the result of one that is done at once`, () => {
    const streams = sql.includes('JOIN') ? ['s', 'r'] : ['s'];
    const { kernel, open, messages } = kernelOf([{ sql, streams }]);
    const at = openRule(streams.map(stream), sql);
    for (const rule of [open[0]!, at]) {
      for (const one of streams) rule.feed(one, numbers(3000 / (streams.length === 1 ? 1 : 10)), 1000);
    }
    const whole = at.taken();
    assert.is(whole.length, 1);
    assert.ok(pieces(kernel) > 2);
    assert.equal(messages(0), whole);
    open[0]!.close();
    at.close();
  });
}

test('what is under way is done before state is saved, and goes with its rule', () => {
  const { kernel, open, messages } = kernelOf([
    { sql: 'SELECT n FROM s GROUP BY COUNTWINDOW(2000)', streams: ['s'] },
    { sql: 'SELECT n FROM r GROUP BY COUNTWINDOW(2000)', streams: ['r'] },
  ]);
  open[0]!.feed('s', numbers(2001), 1000);
  open[1]!.feed('r', numbers(2001), 1000);
  workOn(kernel, 0);
  open[0]!.save();
  assert.equal(messages(0), [numbers(2000)]);
  assert.is(deferredWork(kernel).length, 1);
  open[1]!.close();
  assert.not(hasDeferred(kernel));
  finishWork(kernel, open[0]!.nodes);
  open[0]!.close();
});

test('a rule whose input is at its end ends when its windows are sent', async () => {
  const rows = numbers(4000);
  const running = await startRule('SELECT n FROM s GROUP BY COUNTWINDOW(2000)', {
    rows: { s: rows },
    tables: [],
    ask: () => Promise.reject(new Error('nobody asks')),
    limits: { longRows: 100 },
  });
  await running.notice('ended');
  assert.equal(running.written(), [rows.slice(0, 2000), rows.slice(2000)]);
  await running.close();
});

/** Streams of event time. */
const timed = (name: string) => `CREATE STREAM ${name} () WITH (TYPE="memory", DATASOURCE="${name}", TIMESTAMP="ts")`;
const waiting = { options: { isEventTime: true, lateToleranceMs: 100_000, maxFutureSkewMs: 0 } };

/**
 * What comes of the same rows where all is done at once, and in pieces with rows in between; and in how many pieces.
 */
function bothWays(sql: string, feeds: readonly (readonly [name: string, rows: readonly object[]])[]) {
  const streams = sql.includes('JOIN') ? ['s', 'r'] : ['s'];
  const run = (longRows?: number) => {
    const rule = openRule(streams.map(timed), sql, { ...waiting, limits: longRows === undefined ? {} : { longRows } });
    let count = 0;
    let most = 0;
    for (const [name, rows] of feeds) {
      rule.feed(name, rows, 1000);
      if (!hasDeferred(rule.kernel)) continue;
      most = Math.max(most, deferredWork(rule.kernel)[0]?.results ?? 0);
      workOn(rule.kernel, 0);
      count++;
    }
    count += pieces(rule.kernel);
    const written = rule.written();
    rule.close();
    assert.not(hasDeferred(rule.kernel));
    return { written, count, most };
  };
  const atOnce = run();
  const inPieces = run(100);
  assert.is(atOnce.count, 0);
  assert.equal(inPieces.written, atOnce.written);
  return inPieces;
}

const at = (ts: number, count: number) => numbers(count).map(({ n }) => ({ n, k: n % 5, ts: ts + n }));
const last = { n: -1, k: 0, ts: 300_000 };

test('rows that a watermark releases go on in pieces, and those that come meanwhile keep their place', () => {
  const { written, count, most } = bothWays('SELECT n, ts FROM s', [
    ['s', at(0, 6000)],
    ['s', [last]],
    ['s', [{ n: -2, ts: 200_000 }, { n: -3, ts: 150_000 }, { n: -4 }, { n: -5, ts: 200_000 }]],
    ['s', [{ ...last, ts: 300_001 }]],
    ['s', [{ ...last, ts: 1_000_000 }]],
  ]);
  assert.ok(count > 5);
  assert.ok(most > 0, 'sources of the rule pause when too much waits');
  assert.is(written.length, 6000 + 5);
  assert.match(written[6001]!, 'cannot find timestamp field');
});

test('few rows among many that wait go on at once, in whatever order they came', () => {
  const rule = openRule([timed('s')], 'SELECT n FROM s', { ...waiting, limits: { longRows: 100 } });
  const shuffled = Array.from({ length: 3000 }, (_, i) => ({ n: i, ts: (i * 7919) % 3001 }));
  rule.feed('s', shuffled, 1000);
  rule.feed('s', [{ n: -1, ts: 100_050 }], 1000);
  assert.not(hasDeferred(rule.kernel));
  assert.is(rule.taken().length, shuffled.filter(({ ts }) => ts <= 50).length);
  rule.feed('s', [{ n: -1, ts: 100_300 }], 1000);
  assert.ok(hasDeferred(rule.kernel));
  pieces(rule.kernel);
  assert.is(rule.taken().length, shuffled.filter(({ ts }) => ts > 50 && ts <= 300).length);
  rule.close();
});

test('windows of rows that a watermark releases in pieces are those of a release at once', () => {
  for (const window of ['TUMBLINGWINDOW(ms, 700)', 'HOPPINGWINDOW(ms, 900, 300)', 'SESSIONWINDOW(ms, 900, 20)']) {
    const { count } = bothWays(`SELECT k, count(*) AS c, sum(n) AS x, window_end() AS e FROM s GROUP BY k, ${window}`, [
      ['s', at(0, 3000)],
      ['s', at(500, 3000).toReversed()],
      ['s', [last]],
      ['s', at(200_000, 500)],
      ['s', [{ ...last, ts: 900_000 }]],
    ]);
    assert.ok(count > 2);
  }
});

test('a rule beside rows that a watermark releases gets its rows between the pieces', () => {
  const { kernel, open, texts, messages } = kernelOf([{ sql: 'SELECT n FROM r', streams: ['r'] }]);
  const timedRule = openRule([timed('s')], 'SELECT n FROM s', { ...waiting, kernel });
  timedRule.feed('s', at(0, 5000), 1000);
  timedRule.feed('s', [last], 1000);
  let rows = 0;
  const count = pieces(kernel, () => {
    open[0]!.feed('r', [{ n: rows }], 2100);
    assert.is(messages(0).length, ++rows);
  });
  assert.ok(count > 4);
  assert.is(texts(0).length, rows);
  for (const rule of [...open, timedRule]) rule.close();
});

for (const [what, sql] of Object.entries({
  'with very many partners': 'SELECT s.n AS a, r.n AS b FROM s INNER JOIN r ON s.ts BETWEEN r.ts - 50000 AND r.ts',
  'with partners of its key':
    'SELECT s.n AS a, r.n AS b FROM s INNER JOIN r ON s.k = r.k AND s.ts BETWEEN r.ts - 50000 AND r.ts AND s.n > r.n',
  'of which many go on alone':
    'SELECT s.n AS a, r.n AS b FROM s FULL JOIN r ON s.k = r.k AND s.ts BETWEEN r.ts - 50000 AND r.ts',
})) {
  test(`a row of a join within an interval of time ${what} meets them in pieces`, () => {
    const { count } = bothWays(sql, [
      ['s', at(0, 3000)],
      [
        'r',
        [
          { n: 7, k: 1, ts: 4000 },
          { n: 8, k: 2, ts: 4000 },
          { n: 9, k: [1], ts: 4000 },
          { n: 10, k: 3, ts: 5000 },
        ],
      ],
      ['s', [last]],
      ['r', [last]],
      ['s', at(200_500, 3000)],
      ['r', at(200_300, 30)],
      ['s', [{ ...last, ts: 900_000 }]],
      ['r', [{ ...last, ts: 900_000 }]],
    ]);
    assert.ok(count > 20);
  });
}

test('state that is saved in the middle of a release, or of a row with many partners, holds what was done', () => {
  const sql = 'SELECT s.n AS a, r.n AS b FROM s INNER JOIN r ON s.ts BETWEEN r.ts - 50000 AND r.ts';
  const rows = [
    ['s', at(0, 3000)],
    ['r', [{ n: 7, ts: 4000 }, last]],
    ['s', [last]],
  ] as const;
  for (const some of [0, 1, 5, 30]) {
    const whole = openRule(['s', 'r'].map(timed), sql, waiting);
    for (const [name, given] of rows) whole.feed(name, given, 1000);
    const all = whole.written();
    const first = openRule(['s', 'r'].map(timed), sql, { ...waiting, limits: { longRows: 100 } });
    for (const [name, given] of rows) first.feed(name, given, 1000);
    for (let i = 0; i < some; i++) workOn(first.kernel, 0);
    assert.ok(hasDeferred(first.kernel));
    const second = openRule(['s', 'r'].map(timed), sql, waiting);
    assert.equal(second.load(first.save()).failed, []);
    assert.equal(first.written(), all);
    for (const name of ['r', 's'])
      for (const rule of [second, whole]) rule.feed(name, [{ ...last, ts: 900_000 }], 1000);
    assert.equal(second.written(), whole.written());
    for (const rule of [first, second, whole]) rule.close();
  }
});

/** Rows of which one has a list where the others have a number. */
const withOneBad = (count: number, bad: number) =>
  numbers(count).map(({ n }) => (n === bad ? { n, k: [n], t: [n] } : { n, k: n, t: `${n}` }));

for (const [what, length] of [
  ['one batch', 600],
  ['several batches', 3000],
] as const) {
  for (const [how, limits] of [
    ['at once', {}],
    ['in pieces', { longRows: 100 }],
  ] as const) {
    const open = (sql: string) => {
      const { kernel, open, texts } = kernelOf([{ sql, streams: ['s'] }], limits);
      const [rule] = open as [KernelRule];
      const feed = (rows: object[]) => {
        rule.feed('s', rows, 1000);
        pieces(kernel);
      };
      return { feed, texts, close: () => rule.close() };
    };

    test(`of a window of ${what}, sent ${how}, whose WHERE fails in its middle no row is remembered`, () => {
      const { feed, texts, close } = open(
        `SELECT n, changed_cols("c_", false, t) FROM s WHERE t != "x" GROUP BY COUNTWINDOW(${length})`,
      );
      const good = numbers(length).map(({ n }) => ({ n, t: 'seven' }));
      feed(good);
      feed(withOneBad(length, length - 2));
      feed(good);
      const [first, failed, last] = texts(0);
      assert.equal(JSON.parse(first!)[0], { c_t: 'seven', n: 0 });
      assert.match(failed!, '!= is an invalid operation');
      assert.equal(JSON.parse(last!)[0], { n: 0 }, 'the last value is that of the window before the one that failed');
      close();
    });

    test(`of a window of ${what}, sent ${how}, in which a function fails the other rows are remembered`, () => {
      const { feed, texts, close } = open(
        'SELECT n, changed_cols("c_", false, n), changed_cols("d_", false, k + 1) FROM s GROUP BY ' +
          `COUNTWINDOW(${length})`,
      );
      feed(withOneBad(length, 3));
      feed([{ n: length - 1, k: 1 }, ...numbers(length - 1)]);
      const [failed, last] = texts(0);
      assert.match(failed!, 'invalid op');
      assert.equal(JSON.parse(last!)[0], { d_: 2, n: length - 1 }, 'n is what it was last in the window that failed');
      close();
    });
  }
}

test.run();
