/** Interval joins beside a naive model: rows in any order, late ones, equal times, nulls, and moves to another kernel. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from './rule-kernel.js';

interface Row {
  side: 'l' | 'r';
  k: number | null;
  ts: number;
}

const row = fc.record<Row>({
  side: fc.constantFrom('l', 'r'),
  k: fc.option(fc.integer({ min: 0, max: 2 }), { nil: null }),
  ts: fc.integer({ min: 1, max: 400 }).map((n) => n * 10),
});
/** Rows that are mostly in order, so that not all of them are late. */
const arrivals = fc.tuple(fc.array(row, { maxLength: 60 }), fc.integer({ min: 0, max: 8 })).map(([rows, disorder]) => {
  const sorted = [...rows].sort((a, b) => a.ts - b.ts);
  for (let i = 0; i + disorder < sorted.length; i += disorder + 1) {
    sorted.splice(i, disorder, ...sorted.slice(i, i + disorder).reverse());
  }
  return sorted.map((one, id) => ({ ...one, id }));
});
type Arrival = Row & { id: number };

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

type Kind = 'INNER' | 'LEFT' | 'RIGHT';

function joined(rows: readonly Arrival[], before: number, after: number, kind: Kind): string[] {
  const lefts = rows.filter(({ side }) => side === 'l');
  const rights = rows.filter(({ side }) => side === 'r');
  const isPair = (l: Arrival, r: Arrival): boolean =>
    r.k === l.k && r.k !== null && r.ts >= l.ts - before && r.ts <= l.ts + after;
  const pairs = lefts.flatMap((l) => rights.filter((r) => isPair(l, r)).map((r) => `${l.id}/${r.id}`));
  const alone = (side: readonly Arrival[], has: (one: Arrival) => boolean): number[] =>
    side.filter((one) => !has(one)).map(({ id }) => id);
  if (kind === 'LEFT') pairs.push(...alone(lefts, (l) => rights.some((r) => isPair(l, r))).map((id) => `${id}/-`));
  if (kind === 'RIGHT') pairs.push(...alone(rights, (r) => lefts.some((l) => isPair(l, r))).map((id) => `-/${id}`));
  return pairs.sort();
}

test('pairs are those of the model', () => {
  const span = fc.integer({ min: -30, max: 60 }).map((n) => n * 10);
  fc.assert(
    fc.property(
      arrivals,
      span,
      span,
      fc.constantFrom<Kind[]>('INNER', 'LEFT', 'RIGHT'),
      fc.constantFrom(0, 50, 500),
      fc.nat(60),
      (rows, before, after, kind, tolerance, move) => {
        const sql =
          `SELECT l.id AS l, r.id AS r FROM l ${kind} JOIN r ` +
          `ON l.k = r.k AND r.ts BETWEEN l.ts - ${before} AND l.ts + ${after}`;
        const open = () => openRule(streams, sql, { options: { isEventTime: true, lateToleranceMs: tolerance } });
        let rule = open();
        const messages: (object[] | string)[] = [];
        const feed = (side: string, id: number, k: number | null, ts: number) => rule.feed(side, [{ id, k, ts }]);
        rows.forEach(({ side, id, k, ts }, i) => {
          if (i === move) {
            messages.push(...rule.taken());
            const state = rule.save();
            rule.close();
            rule = open();
            rule.load(state);
          }
          feed(side, id, k, ts);
        });
        // Time goes on until all is sent.
        feed('l', -1, null, end);
        feed('r', -2, null, end);
        feed('l', -3, null, 3 * end);
        feed('r', -4, null, 3 * end);
        messages.push(...rule.taken());
        rule.close();
        const got = messages.flatMap((message) => {
          assert.ok(Array.isArray(message), String(message));
          return (message as { l?: number; r?: number }[]).map(({ l, r }) => ({ l, r }));
        });
        const pairs = got
          .filter(({ l, r }) => (l ?? 0) >= 0 && (r ?? 0) >= 0)
          .map(({ l, r }) => `${l ?? '-'}/${r ?? '-'}`);
        assert.equal(pairs.sort(), joined(accepted(rows, tolerance), before, after, kind));
      },
    ),
    { numRuns: 80 },
  );
});

test.run();
