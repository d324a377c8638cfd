/**
 * Rows of joins by time: the same, whichever of the streams comes first, whose rows then wait for those of the other.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const streams = ['l', 'r'].map(
  (name) => `CREATE STREAM ${name} () WITH (FORMAT="json", TYPE="memory", TIMESTAMP="ts")`,
);
const options = { isEventTime: true, lateToleranceMs: 0 };
const asof =
  'SELECT l.x AS x, l.ts AS ts, r.y AS y, l.k AS k FROM l ASOF JOIN r MATCH_CONDITION (l.ts >= r.ts) ON l.k = r.k';
const interval =
  'SELECT l.x AS x, l.ts AS ts, r.y AS y, l.k AS k FROM l INNER JOIN r ON l.k = r.k AND r.ts BETWEEN l.ts - 1000 ' +
  'AND l.ts';
const last = Buffer.from('{"ts":1800000000000}\n');

/** What is written when the pieces come in that order. */
function written(sql: string, pieces: readonly (readonly [string, string])[]): string[] {
  const rule = openRule(streams, sql, { options, props: { sendSingle: true } });
  for (const [stream, lines] of pieces) rule.feed(stream, Buffer.from(lines));
  rule.feed('l', last);
  rule.feed('r', last);
  const messages = rule.written();
  rule.close();
  return messages;
}

for (const [name, sql] of [
  ['as-of', asof],
  ['interval', interval],
] as const) {
  test(`numbers of an ${name} join are printed alike, whether their rows wait or not`, () => {
    const lefts = [
      '{"k":"a","x":1.50,"ts":1700000000001}',
      '{"k":"a","x":1e3,"ts":1700000000003}',
      '{"k":"a","x":-0.0,"ts":1700000000005}',
      '{"k":"a","x":100000000000000,"ts":1700000000007}',
      '{"k":"a","ts":1700000000009}',
      '{"k":"a","x":null,"ts":1700000000011}',
      '{"k":"a","x":"1.50","ts":1700000000013}',
      '{"k":"a","x":9007199254740993,"ts":1700000000015}',
    ];
    const ys = ['0.10', '12.125', '1E2', 'true', '"t"', '123456789012345', '0.1', '7'];
    const rights = ys.map((y, i) => `{"k":"${i % 3 === 2 ? 'b' : 'a'}","y":${y},"ts":${1_700_000_000_000 + 2 * i}}`);
    const both = (first: string, second: string) =>
      written(sql, [
        [first, (first === 'l' ? lefts : rights).map((line) => `${line}\n`).join('')],
        [second, (second === 'l' ? lefts : rights).map((line) => `${line}\n`).join('')],
      ]);
    const rows = both('r', 'l');
    assert.equal(both('l', 'r'), rows);
    const single = [...lefts.map((line) => ['l', line] as const), ...rights.map((line) => ['r', line] as const)]
      .sort(([, a], [, b]) => JSON.parse(a).ts - JSON.parse(b).ts)
      .map(([stream, line]) => [stream, `${line}\n`] as const);
    assert.equal(written(sql, single), rows);
    assert.equal(rows[0], '{"k":"a","ts":1700000000001,"x":1.5,"y":0.1}');
    assert.is(
      rows.some((row) => row.includes('"x":1000,')),
      true,
    );
    assert.is(
      rows.some((row) => row.includes('"x":100000000000000,')),
      true,
    );
    assert.is(
      rows.some((row) => row.includes('"x":9007199254740992,')),
      true,
    );
  });
}

for (const [name, sql] of [
  ['as-of', asof],
  ['interval', interval],
] as const) {
  test(`rows of an ${name} join meet those of their time that come behind them, with a key that nobody knew`, () => {
    const lefts = ['a', 'b', 'c'].map((k, i) => `{"k":"${k}","x":${i},"ts":1000}\n`).join('');
    const rights = ['c', 'a'].map((k, i) => `{"k":"${k}","y":${i},"ts":1000}\n`).join('');
    assert.equal(
      written(sql, [
        ['l', lefts],
        ['r', rights],
      ]).sort(),
      ['{"k":"a","ts":1000,"x":0,"y":1}', '{"k":"c","ts":1000,"x":2,"y":0}'],
    );
  });
}

test('keys whose rows have all gone by are met again in the same piece', () => {
  const line = (k: string, n: number, ts: number, name: string) => `{"k":"${k}","${name}":${n},"ts":${ts}}\n`;
  const rights: string[] = [];
  const lefts: string[] = [];
  const wanted: string[] = [];
  // Each round the time goes on so far that nothing of the round before is left.
  for (let round = 0; round < 50; round++) {
    const at = 1_000_000 + round * 5000;
    for (let i = 0; i < 3; i++) rights.push(line('a', round * 3 + i, at + i, 'y'));
    if (round % 7 === 0) rights.push(line('b', round, at + 3, 'y'));
    lefts.push(line('a', round, at + 1000 + (round % 4), 'x'), line('b', round, at + 1003, 'x'));
    for (let i = round % 4; i < 3; i++) {
      wanted.push(`{"k":"a","ts":${at + 1000 + (round % 4)},"x":${round},"y":${round * 3 + i}}`);
    }
    if (round % 7 === 0) wanted.push(`{"k":"b","ts":${at + 1003},"x":${round},"y":${round}}`);
  }
  assert.equal(
    written(interval, [
      ['r', rights.join('')],
      ['l', lefts.join('')],
    ]),
    wanted,
  );
  assert.equal(
    written(interval, [
      ['l', lefts.join('')],
      ['r', rights.join('')],
    ]),
    wanted,
  );
});

// Rows of which each has one partner go on as the batch that they came in; a further condition makes rows of all pairs.
for (const [name, bounds, shiftOf] of [
  ['earlier', 'r.ts BETWEEN l.ts - 20 AND l.ts', () => 7],
  ['later', 'r.ts BETWEEN l.ts AND l.ts + 20', () => -7],
  ['earlier or later', 'r.ts BETWEEN l.ts - 10 AND l.ts + 10', (i: number) => (i % 2 ? 5 : -5)],
] as const) {
  test(
    `rows of an interval join with ${name} ones are the same to whatever stands above it, one by one and as a ` +
      'batch',
    () => {
      const keyOf = (i: number) => `${'key of a row'.slice(0, 4 + (i % 9))}${i % 40}`;
      const pieces: [string, string][] = [];
      for (let from = 1000; from < 5000; from += 500) {
        for (const [side, column, shift] of [
          ['r', 'y', shiftOf],
          ['l', 'x', () => 0],
        ] as const) {
          const rows = Array.from({ length: 500 }, (_, n) => {
            const i = from + n;
            return `{"k":"${keyOf(i + shift(i))}","${column}":${[i, i / 4, `"text ${i}"`, null][i % 4]},"ts":${i}}\n`;
          });
          pieces.push([side, rows.join('')]);
        }
      }
      const join = (more: string) => `FROM l INNER JOIN r ON l.k = r.k AND ${bounds}${more}`;
      const ofPairs = ' AND (l.ts = r.ts OR l.ts != r.ts)';
      const statements = [
        (more: string) => `SELECT l.x AS x, l.ts AS ts, r.y AS y, l.k AS k, event_time() AS at ${join(more)}`,
        (more: string) =>
          `SELECT concat(upper(r.k), "-", l.k) AS k, r.ts - l.ts AS d, x, y ${join(more)} WHERE l.ts % 3 = 0`,
        (more: string) =>
          `SELECT lag(y) OVER (PARTITION BY k) AS was, x FROM (SELECT l.k AS k, x, y ${join(more)}) AS d`,
        (more: string) =>
          'SELECT k, count(*) AS n, collect(y) AS ys, max(at) AS t FROM (SELECT l.k AS k, y, event_time() AS at ' +
          `${join(more)}) AS d GROUP BY k, TUMBLINGWINDOW(ss, 1)`,
      ];
      for (const statement of statements) {
        const rows = written(statement(''), pieces);
        assert.ok(rows.length > 10, `${rows.length} rows`);
        assert.equal(rows, written(statement(ofPairs), pieces), statement(''));
      }
    },
  );
}

test.run();
