/**
 * As-of joins beside a naive model: rows in any order, late ones, equal times, nulls, idle keys, and moves to another
 * kernel.
 */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

interface Row {
  side: 'l' | 'r';
  k: number | string | null;
  ts: number;
}
type Arrival = Row & { id: number };

const row = fc.record<Row>({
  side: fc.constantFrom('l', 'r'),
  k: fc.constantFrom<(number | string | null)[]>(null, 1, 2, 2.5, '1', 'a key of more than sixteen bytes'),
  ts: fc.integer({ min: 1, max: 300 }).map((n) => n * 10),
});
/** Rows that are mostly in order, so that not all of them are late. */
const arrivals = fc.tuple(fc.array(row, { maxLength: 80 }), fc.integer({ min: 0, max: 8 })).map(([rows, disorder]) => {
  const sorted = [...rows].sort((a, b) => a.ts - b.ts);
  for (let i = 0; i + disorder < sorted.length; i += disorder + 1) {
    sorted.splice(i, disorder, ...sorted.slice(i, i + disorder).reverse());
  }
  return sorted.map((one, id): Arrival => ({ ...one, id }));
});

const streams = ['l', 'r'].map((name) => `CREATE STREAM ${name} () WITH (FORMAT="json", TIMESTAMP="ts")`);
const end = 1_000_000;

/** Runs of rows of one side, cut at random: what comes in one piece. */
function pieces(rows: readonly Arrival[], most: number): Arrival[][] {
  const found: Arrival[][] = [];
  for (const one of rows) {
    const last = found.at(-1);
    if (last !== undefined && last[0]?.side === one.side && last.length < most) last.push(one);
    else found.push([one]);
  }
  return found;
}

/** Rows that are no older than the watermark when they come; those of the right count as if they were `shift` later. */
function accepted(rows: readonly Arrival[], tolerance: number, shift: number): Arrival[] {
  const newest = { l: -Infinity, r: -Infinity };
  let watermark = -Infinity;
  return rows.flatMap((one) => {
    const ts = one.side === 'r' ? one.ts + shift : one.ts;
    if (ts < watermark) return [];
    newest[one.side] = Math.max(newest[one.side], ts);
    watermark = Math.max(watermark, Math.min(newest.l, newest.r) - tolerance);
    return [{ ...one, ts }];
  });
}

/** What the model joins: pairs of ids in the order of the left times. */
function joined(rows: readonly Arrival[], within: number, isLeft: boolean, hasKeys: boolean): string[] {
  const lefts = rows.filter(({ side }) => side === 'l').sort((a, b) => a.ts - b.ts);
  return lefts.flatMap((l) => {
    const partners = rows.filter(
      ({ side, k, ts }) => side === 'r' && ts <= l.ts && (!hasKeys || (k !== null && k === l.k)),
    );
    const newest = partners.sort((a, b) => a.ts - b.ts).at(-1);
    if (newest !== undefined && l.ts - newest.ts <= within) return [`${l.id}/${newest.id}`];
    return isLeft ? [`${l.id}/-`] : [];
  });
}

/** The pairs of a message for each row. */
function pairsOf(messages: readonly (object[] | string)[]): string[] {
  return messages.map((message) => {
    assert.ok(Array.isArray(message) && message.length === 1, `a message of one row: ${JSON.stringify(message)}`);
    const [{ l, r }] = message as [{ l: number; r?: number }];
    return `${l}/${r ?? '-'}`;
  });
}

const shape = fc.record({
  /** How far the right row must be behind, and how far it may be. */
  shift: fc.constantFrom(0, 0, 1, 70),
  within: fc.constantFrom(Infinity, Infinity, 0, 150),
  isLeft: fc.boolean(),
  hasKeys: fc.constantFrom(true, true, true, false),
  tolerance: fc.constantFrom(0, 50, 500),
});

test('in event time rows meet those of the model', () => {
  fc.assert(
    fc.property(
      arrivals,
      shape,
      fc.nat(60),
      fc.integer({ min: 1, max: 8 }),
      (rows, { shift, within, isLeft, hasKeys, tolerance }, move, most) => {
        const newest = shift === 1 ? 'l.ts > r.ts' : `l.ts - ${shift} >= r.ts`;
        const bound = within === Infinity ? '' : ` AND r.ts >= l.ts - ${within + shift}`;
        const on = hasKeys ? ' ON l.k = r.k' : '';
        const sql =
          `SELECT l.id AS l, r.id AS r FROM l ASOF ${isLeft ? 'LEFT ' : ''}JOIN r MATCH_CONDITION ` +
          `(${newest}${bound})${on}`;
        const open = () => openRule(streams, sql, { options: { isEventTime: true, lateToleranceMs: tolerance } });
        let rule = open();
        const messages: (object[] | string)[] = [];
        pieces(rows, most).forEach((piece, i) => {
          if (i === move) {
            messages.push(...rule.taken());
            const state = rule.save();
            rule.close();
            rule = open();
            rule.load(state);
            assert.equal(rule.save(), state);
          }
          rule.feed(piece[0]!.side, piece);
        });
        // Time goes on until all is sent.
        rule.feed('l', [{ id: -1, k: null, ts: end }]);
        rule.feed('r', [{ id: -2, k: null, ts: end }]);
        messages.push(...rule.taken());
        rule.close();
        const pairs = pairsOf(messages).filter((pair) => !pair.startsWith('-1'));
        assert.equal(pairs, joined(accepted(rows, tolerance, shift), within, isLeft, hasKeys));
      },
    ),
    { numRuns: 120 },
  );
});

test('in processing time rows meet what has come before them', () => {
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 60 }),
      fc.boolean(),
      fc.nat(50),
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom(0, 40),
      (rows, isLeft, move, most, ttl) => {
        const sql =
          `SELECT l.id AS l, r.id AS r, r.text AS text FROM l ` + `ASOF ${isLeft ? 'LEFT ' : ''}JOIN r ON l.k = r.k`;
        const open = () => openRule(streams, sql, { options: { stateTtlMs: ttl } });
        let rule = open();
        const messages: (object[] | string)[] = [];
        const known = new Map<unknown, { id: number; at: number }>();
        const wanted: string[] = [];
        let now = 0;
        pieces(
          rows.map((one, id) => ({ ...one, id })),
          most,
        ).forEach((piece, i) => {
          now += 10;
          if (i === move) {
            messages.push(...rule.taken());
            const state = rule.save();
            rule.close();
            rule = open();
            rule.load(state);
          }
          for (const { side, k, id } of piece) {
            const partner = known.get(k);
            const isThere = partner !== undefined && k !== null && (ttl === 0 || partner.at + ttl > now);
            if (side === 'r') known.set(k, { id, at: now });
            else if (isThere) wanted.push(`${id}/${partner.id}`);
            else if (isLeft) wanted.push(`${id}/-`);
          }
          rule.feed(
            piece[0]!.side,
            piece.map(({ id, k }) => ({ id, k, text: `row ${id}`.repeat(id % 5) })),
            now,
          );
        });
        messages.push(...rule.taken());
        rule.close();
        assert.equal(pairsOf(messages), wanted);
        for (const [{ r, text }] of messages as [{ r?: number; text?: string }][]) {
          if (r !== undefined) assert.is(text, `row ${r}`.repeat(r % 5));
        }
      },
    ),
    { numRuns: 120 },
  );
});

test.run();
