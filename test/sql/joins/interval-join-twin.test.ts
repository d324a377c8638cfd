/**
 * Interval joins beside a naive model: rows in any order, late ones, equal times, nulls, and moves to another kernel.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type KernelRule, openRule } from '../../support/engine/rule-kernel.js';

type Side = 'l' | 'r';

interface Row {
  side: Side;
  k: unknown;
  j: number;
  ts: number;
}

interface Arrival extends Row {
  id: number;
}

const row = fc.record<Row>({
  side: fc.constantFrom('l', 'r'),
  k: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom<unknown>(0, 1, 'a', 'a text that is longer than sixteen bytes') },
    { weight: 1, arbitrary: fc.constantFrom<unknown>(null, '1', true, [1]) },
  ),
  j: fc.constantFrom(0, 0, 0, 1),
  ts: fc.integer({ min: 1, max: 400 }).map((n) => n * 10),
});

/** Rows that are mostly in order, so that not all of them are late. */
const arrivals = fc
  .tuple(fc.array(row, { maxLength: 60, size: 'max' }), fc.integer({ min: 0, max: 8 }))
  .map(([rows, disorder]) => {
    const sorted = [...rows].sort((a, b) => a.ts - b.ts);
    for (let i = 0; i + disorder < sorted.length; i += disorder + 1) {
      sorted.splice(i, disorder, ...sorted.slice(i, i + disorder).reverse());
    }
    return sorted.map((one, id): Arrival => ({ ...one, id }));
  });

const streams = ['l', 'r'].map((name) => `CREATE STREAM ${name} () WITH (FORMAT="json", TIMESTAMP="ts")`);
const end = 1_000_000;

/** Rows that are no older than the watermark when they come. */
function accepted(rows: readonly Arrival[], tolerance: number): Arrival[] {
  const newest = { l: -Infinity, r: -Infinity };
  let watermark = -Infinity;
  return rows.filter(({ side, ts }) => {
    if (ts < watermark) return false;
    newest[side] = Math.max(newest[side], ts);
    watermark = Math.max(watermark, Math.min(newest.l, newest.r) - tolerance);
    return true;
  });
}

const kinds = ['INNER', 'LEFT', 'RIGHT', 'FULL'] as const;
type Kind = (typeof kinds)[number];

/** What ON says besides the times, and what that means. */
const conditions: readonly { on: string; holds: (l: Arrival, r: Arrival) => boolean }[] = [
  { on: '', holds: () => true },
  { on: 'l.k = r.k AND', holds: (l, r) => isEqual(l.k, r.k) },
  { on: 'r.j = l.j AND l.k = r.k AND', holds: (l, r) => isEqual(l.k, r.k) && l.j === r.j },
  { on: 'l.k = r.k AND (l.id + r.id) % 3 != 0 AND', holds: (l, r) => isEqual(l.k, r.k) && (l.id + r.id) % 3 !== 0 },
  { on: 'l.id < r.id AND l.j + 1 = r.j + 1 AND', holds: (l, r) => l.id < r.id && l.j === r.j },
];

const isEqual = (a: unknown, b: unknown): boolean => a !== null && typeof a !== 'object' && a === b;

/** What each row of the result is of, in the order of the times. */
function joined(
  rows: readonly Arrival[],
  { before, after, kind, condition }: { before: number; after: number; kind: Kind; condition: number },
): string[] {
  const [lefts, rights] = (['l', 'r'] as const).map((side) => rows.filter((one) => one.side === side)) as [
    Arrival[],
    Arrival[],
  ];
  const { holds } = conditions[condition]!;
  const isPair = (l: Arrival, r: Arrival): boolean => r.ts >= l.ts - before && r.ts <= l.ts + after && holds(l, r);
  const found = lefts.flatMap((l) =>
    rights.filter((r) => isPair(l, r)).map((r) => ({ text: `${l.id}/${r.id}`, at: Math.max(l.ts, r.ts) })),
  );
  if (kind === 'LEFT' || kind === 'FULL') {
    for (const l of lefts) {
      if (!rights.some((r) => isPair(l, r))) found.push({ text: `${l.id}/-`, at: l.ts + Math.max(after, 0) });
    }
  }
  if (kind === 'RIGHT' || kind === 'FULL') {
    for (const r of rights) {
      if (!lefts.some((l) => isPair(l, r))) found.push({ text: `-/${r.id}`, at: r.ts + Math.max(before, 0) });
    }
  }
  return found.map(({ text, at }) => `${at} ${text}`);
}

/** Rows that were sent, as the model names them; their times never go back. */
function sent(messages: readonly (object[] | string)[]): string[] {
  let last = 0;
  return messages.flatMap((message) => {
    assert.ok(Array.isArray(message), String(message));
    return (message as { l?: number; r?: number; at: number }[]).flatMap(({ l, r, at }) => {
      assert.ok(at >= last, `${at} behind ${last}`);
      last = at;
      return (l ?? 0) < 0 || (r ?? 0) < 0 ? [] : [`${at} ${l ?? '-'}/${r ?? '-'}`];
    });
  });
}

test('rows are those of the model', () => {
  const span = fc.integer({ min: -30, max: 60 }).map((n) => n * 10);
  const bounds = fc.tuple(span, span).map(([a, b]): [number, number] => (-a <= b ? [a, b] : [-b, -a]));
  fc.assert(
    fc.property(
      arrivals,
      bounds,
      fc.constantFrom(...kinds),
      fc.nat(conditions.length - 1),
      fc.constantFrom(0, 50, 500),
      fc.array(fc.nat(60), { maxLength: 3 }),
      fc.constantFrom(1, 3, 100),
      (rows, [before, after], kind, condition, tolerance, moves, pieceRows) => {
        const sql =
          `SELECT l.id AS l, r.id AS r, event_time() AS at FROM l ${kind} JOIN r ` +
          `ON ${conditions[condition]!.on} r.ts BETWEEN l.ts - ${before} AND l.ts + ${after}`;
        const open = () => openRule(streams, sql, { options: { isEventTime: true, lateToleranceMs: tolerance } });
        let rule: KernelRule = open();
        const messages: (object[] | string)[] = [];
        for (let from = 0; from < rows.length; ) {
          const { side } = rows[from]!;
          let to = from + 1;
          while (to < rows.length && to - from < pieceRows && rows[to]!.side === side) to++;
          rule.feed(side, rows.slice(from, to));
          if (moves.some((move) => move >= from && move < to)) {
            messages.push(...rule.taken());
            const state = rule.save();
            rule.close();
            rule = open();
            const { failed, unclaimed } = rule.load(state);
            assert.equal({ failed, unclaimed }, { failed: [], unclaimed: 0 });
            assert.is(Buffer.compare(rule.save(), state), 0);
          }
          from = to;
        }
        // Time goes on until all is sent.
        for (const ts of [end, 3 * end]) {
          rule.feed('l', [{ id: -1, k: 'l', j: -1, ts }]);
          rule.feed('r', [{ id: -2, k: 'r', j: -2, ts }]);
        }
        messages.push(...rule.taken());
        rule.close();
        const expected = joined(accepted(rows, tolerance), { before, after, kind, condition });
        assert.equal(sent(messages).sort(), expected.sort());
      },
    ),
    { numRuns: 80 },
  );
});

test('a stream that brings nothing any more holds no row back for longer than idleTimeout', () => {
  const sql =
    'SELECT l.id AS l, r.id AS r FROM l FULL JOIN r ON l.k = r.k ' +
    "AND r.ts BETWEEN l.ts AND l.ts + INTERVAL '1' SECOND";
  const rule = openRule(streams, sql, {
    options: { isEventTime: true, lateToleranceMs: 0, idleTimeoutMs: 5000 },
    props: { sendSingle: true },
  });
  rule.feed('l', [{ id: 1, k: 1, ts: 1000 }], 10_000);
  rule.feed('r', [{ id: 2, k: 1, ts: 1500 }], 10_000);
  rule.feed('l', [{ id: 3, k: 3, ts: 2000 }], 12_000);
  assert.equal(rule.written(), ['{"l":1,"r":2}']);
  rule.feed('l', [{ id: 4, k: 4, ts: 9000 }], 14_000);
  rule.kernel.tick(15_000);
  assert.equal(rule.written(), ['{"l":3}']);
  rule.close();
});

test('what is kept does not grow with what has gone by', () => {
  const sql =
    'SELECT l.id AS l, r.id AS r FROM l INNER JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - 1000 AND l.ts + 1000';
  const rule = openRule(streams, sql, { options: { isEventTime: true, lateToleranceMs: 0 } });
  const memory: number[] = [];
  for (let round = 0; round < 60; round++) {
    for (const side of ['l', 'r'] as const) {
      const rows = Array.from({ length: 500 }, (_, i) => {
        const n = round * 500 + i;
        return { id: n, k: `the key of number ${n} which nobody else has`, ts: n * 10 };
      });
      rule.feed(side, rows);
    }
    if (round >= 10) memory.push(rule.kernel.counters(rule.node('interval')).memoryBytes);
  }
  assert.is(rule.taken().length, 30_000);
  assert.ok(Math.max(...memory) < 1.5 * memory[0]!, memory.join(', '));
  rule.close();
});

test.run();
