/**
 * Windows of many rows joined by keys alone, beside nested loops: keys of texts and numbers that many rows share, that
 * are null or of the other kind of number, one key and two, all types of joins, rows of streams as they stand and
 * computed.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

interface Left {
  k: string | null;
  n: number;
  x: number;
}

interface Right {
  k: string | null;
  n: number;
  place: string;
  y: number;
}

function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = randomOf(7);
const keyOf = (keys: number) => (random() < 0.02 ? null : `key ${Math.floor(random() * keys)}`);

function sides(rows: number, keys: number): [Left[], Right[]] {
  const lefts = Array.from({ length: rows }, (_, i) => ({ k: keyOf(keys), n: i % 5, x: Math.floor(i / 7) + 0.25 }));
  const rights = Array.from({ length: rows }, (_, i) => ({
    k: keyOf(keys),
    n: i % 4,
    place: `hall "${i % 40}" of the works`,
    y: i / 8,
  }));
  return [lefts, rights];
}

const conditions: Record<string, (l: Left, r: Right) => boolean> = {
  'a.k = b.k': (l, r) => l.k !== null && l.k === r.k,
  'a.k = b.k AND a.n = b.n': (l, r) => l.k !== null && l.k === r.k && l.n === r.n,
  'a.n = b.n AND a.k = b.k': (l, r) => l.k !== null && l.k === r.k && l.n === r.n,
  'a.k = b.k AND a.x > b.y': (l, r) => l.k !== null && l.k === r.k && l.x > r.y,
  'upper(a.k) = upper(b.k)': (l, r) => l.k !== null && l.k === r.k,
};

const types: Record<string, (lefts: Left[], rights: Right[], on: (l: Left, r: Right) => boolean) => [Left?, Right?][]> =
  {
    INNER: (lefts, rights, on) =>
      lefts.flatMap((l) => rights.filter((r) => on(l, r)).map((r): [Left, Right] => [l, r])),
    LEFT: (lefts, rights, on) =>
      lefts.flatMap((l): [Left?, Right?][] => {
        const matches = rights.filter((r) => on(l, r));
        return matches.length === 0 ? [[l, undefined]] : matches.map((r) => [l, r]);
      }),
    RIGHT: (lefts, rights, on) =>
      rights.flatMap((r): [Left?, Right?][] => {
        const matches = lefts.filter((l) => on(l, r));
        return matches.length === 0 ? [[undefined, r]] : matches.map((l) => [l, r]);
      }),
  };

for (const [type, join] of Object.entries(types)) {
  for (const [condition, on] of Object.entries(conditions)) {
    test(`${type} JOIN ON ${condition}`, () => {
      const rule = openRule(
        [
          'CREATE STREAM a (k STRING, n BIGINT, x FLOAT) WITH ()',
          'CREATE STREAM b (k STRING, n FLOAT, place STRING, y FLOAT) WITH ()',
        ],
        `SELECT a.k AS ak, a.x AS x, b.k AS bk, b.place AS place, b.y AS y FROM a ${type} JOIN b ON ${condition} ` +
          'GROUP BY TUMBLINGWINDOW(ss, 10)',
      );
      rule.kernel.tick(0);
      for (const [w, [rows, keys]] of [
        [700, 60],
        [3, 2],
        [1100, 700],
        [40, 1],
      ].entries()) {
        const [lefts, rights] = sides(rows!, keys!);
        rule.feed('a', lefts, w * 10_000 + 1);
        rule.feed('b', rights, w * 10_000 + 2);
        rule.kernel.tick((w + 1) * 10_000);
        const text = ([l, r]: [Left?, Right?]) =>
          JSON.stringify([l?.k ?? null, l?.x ?? null, r?.k ?? null, r?.place ?? null, r?.y ?? null]);
        const expected = join(lefts, rights, on).map(text);
        const sent = rule
          .taken()
          .flatMap((message) =>
            (message as { ak: unknown; x: unknown; bk: unknown; place: unknown; y: unknown }[]).map(
              ({ ak, x, bk, place, y }) =>
                JSON.stringify([ak ?? null, x ?? null, bk ?? null, place ?? null, y ?? null]),
            ),
          );
        for (const [i, row] of expected.entries()) assert.is(sent[i], row, `window ${w}, row ${i}`);
        assert.is(sent.length, expected.length, `window ${w}`);
      }
      rule.close();
    });
  }
}

test.run();
