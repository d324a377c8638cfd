/** Windows over streams that fall silent: what is sent, and what is late, beside a naive model of the watermark. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';

const names = ['a', 'b', 'c'];
const idleMs = 5000;
const toleranceMs = 700;

interface Row {
  id: number;
  ts: number;
}

/** The watermark as the documentation has it, a row at a time. */
class Model {
  readonly newest = names.map(() => Number.NEGATIVE_INFINITY);
  readonly heard: (number | null)[] = names.map(() => null);
  readonly silent = names.map(() => false);
  watermark = Number.NEGATIVE_INFINITY;
  late = 0;
  readonly #open = new Map<number, number[]>();

  push(stream: number, rows: readonly Row[], now: number): void {
    names.forEach((_name, i) => {
      if (i === stream || this.heard[i] === null) this.heard[i] = now;
    });
    this.silent[stream] = false;
    for (const { id, ts } of rows) {
      if (ts < this.watermark) {
        this.late++;
        continue;
      }
      this.newest[stream] = Math.max(this.newest[stream]!, ts);
      this.#advance();
      const end = Math.floor(ts / 1000) * 1000 + 1000;
      this.#open.set(end, [...(this.#open.get(end) ?? []), id]);
    }
  }

  tick(now: number): void {
    names.forEach((_name, i) => {
      const heard = this.heard[i] ?? now;
      if (now - heard >= idleMs) this.silent[i] = true;
    });
    this.#advance();
  }

  #advance(): void {
    const counted = this.newest.filter((_newest, i) => !this.silent[i]);
    const reached = counted.length === 0 ? Math.max(...this.newest) : Math.min(...counted);
    this.watermark = Math.max(this.watermark, reached - toleranceMs);
  }

  /** Ids of the windows that have ended since the last call. */
  taken(): number[][] {
    const ended = [...this.#open].filter(([end]) => end <= this.watermark).sort(([a], [b]) => a - b);
    for (const [end] of ended) this.#open.delete(end);
    return ended.map(([, ids]) => ids.sort((a, b) => a - b));
  }
}

function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function open() {
  const streams = names.map((name) => `CREATE STREAM ${name} (id BIGINT, ts BIGINT) WITH (TIMESTAMP="ts")`);
  const sql = `SELECT a.id AS a, b.id AS b, c.id AS c FROM a FULL JOIN b ON a.id = b.id FULL JOIN c ON a.id = c.id
    GROUP BY TUMBLINGWINDOW(ss, 1)`;
  const options = { isEventTime: true, lateToleranceMs: toleranceMs, maxFutureSkewMs: 0, idleTimeoutMs: idleMs };
  return openRule(streams, sql, { options });
}

const idsOf = (messages: readonly unknown[]): number[][] =>
  (messages as Record<string, number>[][]).map((rows) => rows.map(({ a, b, c }) => a ?? b ?? c!).sort((x, y) => x - y));

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`windows end, and rows are late, as the model says (${seed})`, () => {
    const random = numbers(seed);
    const rule = open();
    const model = new Model();
    let now = 1_700_000_000_000;
    let id = 0;
    for (let step = 0; step < 400; step++) {
      now += random(10) === 0 ? 3000 + random(9000) : random(400);
      rule.kernel.tick(now);
      model.tick(now);
      assert.equal(idsOf(rule.taken()), model.taken(), `tick of step ${step}`);
      // Each stream has phases without rows.
      const stream = random(names.length);
      if ((Math.floor(step / 60) + stream) % 3 === 0) continue;
      const rows = Array.from({ length: 1 + random(4) }, () => ({ id: ++id, ts: now - random(2500) }));
      rule.feed(names[stream]!, rows, now);
      model.push(stream, rows, now);
      assert.equal(idsOf(rule.taken()), model.taken(), `rows of step ${step}`);
    }
    assert.is(rule.kernel.timeliness(rule.node('eventTime')).late, model.late);
    assert.ok(model.late > 10, 'rows came late');
    rule.close();
  });
}

test('after a start from saved state silent streams have their time again', () => {
  const rule = open();
  const now = 1_700_000_000_000;
  rule.feed('a', [{ id: 1, ts: now }], now);
  rule.feed('a', [{ id: 2, ts: now + 3000 }], now + 10);
  const saved = rule.save();
  rule.close();
  const next = open();
  next.load(saved);
  next.kernel.tick(now + 100_000);
  assert.equal(next.taken(), []);
  next.kernel.tick(now + 100_000 + idleMs);
  assert.equal(idsOf(next.taken()), [[1]]);
  next.close();
});

/**
 * Queries in which each of two streams has a watermark of its own, and which send `{"id":…}` of rows of `a` in the
 * order of their time.
 */
const separate: Readonly<Record<string, string>> = {
  'a union':
    'SELECT id FROM (SELECT id FROM a UNION ALL SELECT id + 1000 AS id FROM b) AS u GROUP BY TUMBLINGWINDOW(ss, 1)',
  'a union of windows':
    'SELECT id FROM (SELECT max(id) AS id FROM a GROUP BY TUMBLINGWINDOW(ms, 10) HAVING count(*) > 0 ' +
    'UNION ALL SELECT id FROM b) AS u GROUP BY TUMBLINGWINDOW(ss, 1)',
  'a derived table in a window join':
    'SELECT d.id AS id FROM (SELECT id FROM a) AS d LEFT JOIN b ON d.id = b.id GROUP BY TUMBLINGWINDOW(ss, 1)',
  'a derived table in a join by time':
    'SELECT d.id AS id FROM (SELECT id, ts FROM a) AS d LEFT JOIN b ON d.id = b.id AND b.ts BETWEEN d.ts AND d.ts + 10',
  'a union in a union':
    'WITH ab AS (SELECT id FROM a UNION ALL SELECT id + 1000 AS id FROM b) ' +
    'SELECT id FROM (SELECT id FROM (SELECT id FROM ab) AS d UNION ALL SELECT id FROM c) AS u GROUP BY ' +
    'TUMBLINGWINDOW(ss, 1)',
};

for (const [name, sql] of Object.entries(separate)) {
  const openSeparate = () =>
    openRule(
      names.map((stream) => `CREATE STREAM ${stream} () WITH (FORMAT="json", TIMESTAMP="ts")`),
      sql,
      { options: { isEventTime: true, lateToleranceMs: 0, maxFutureSkewMs: 0, idleTimeoutMs: idleMs } },
    );
  const sent = (rule: KernelRule) =>
    rule
      .taken()
      .flat()
      .flatMap((row) => (row as { id?: number }).id ?? []);
  const now = 1_700_000_000_000;

  test(`${name}: a stream that never brings anything is waited for idleTimeout`, () => {
    const rule = openSeparate();
    rule.kernel.tick(now);
    rule.feed(
      'a',
      [1, 2, 3].map((id) => ({ id, ts: now + id * 1500 })),
      now + 100,
    );
    rule.kernel.tick(now + idleMs - 1);
    assert.equal(sent(rule), []);
    rule.kernel.tick(now + idleMs);
    assert.equal(sent(rule).slice(0, 2), [1, 2]);
    rule.close();
  });

  test(`${name}: one that brings rows again is waited for again`, () => {
    const rule = openSeparate();
    rule.kernel.tick(now);
    rule.feed('b', [{ id: 500, ts: now }], now);
    rule.feed(
      'a',
      [1, 2].map((id) => ({ id, ts: now + id * 1500 })),
      now + 100,
    );
    assert.equal(
      sent(rule).filter((id) => id < 500),
      [],
    );
    // Rows of a, so that b alone is idle.
    rule.kernel.tick(now + idleMs - 1);
    rule.feed('a', [{ id: 3, ts: now + 4500 }], now + idleMs - 1);
    rule.kernel.tick(now + 2 * idleMs - 2);
    assert.equal(
      sent(rule).filter((id) => id < 500),
      [1, 2],
    );
    rule.feed('b', [{ id: 501, ts: now + 1000 }], now + 2 * idleMs - 1);
    rule.feed('a', [{ id: 4, ts: now + 9000 }], now + 2 * idleMs - 1);
    assert.equal(
      sent(rule).filter((id) => id < 500),
      [],
    );
    rule.feed('b', [{ id: 502, ts: now + 12_000 }], now + 2 * idleMs);
    assert.equal(
      sent(rule).filter((id) => id < 500),
      [3],
    );
    rule.close();
  });
}

test.run();
