/**
 * Functions over batches in which every row has a text and a number, beside the same rows among others that have none:
 * whole columns are computed in other ways, which must give the same.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from '../../support/engine/rule-kernel.js';

const parts = [
  '',
  'a',
  '-',
  'ab-cd',
  'Straße',
  '日本語',
  'x'.repeat(15),
  'y-'.repeat(8),
  'z'.repeat(17),
  ' \t',
  '"\\',
  'ÄÖÜ'.repeat(20),
];

function texts(count: number): string[] {
  let state = 99;
  const random = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: random(5) }, () => parts[random(parts.length)]).join(''),
  );
}

const numbers = [
  0, 1, -1, 0.5, -0.25, 45.1, 1e-5, 1e-6, -1e-7, 123456, 1234567.5, 1e15, -1e15, 1e20, 1e21, 1e300, 5e-324,
  0.1234567890123,
];

const statements = [
  "concat(s, '/', t)",
  'concat(s, s, t, s)',
  "concat('only this')",
  'concat(s, n)',
  "replace(s, '-', '_')",
  "replace(s, 'a', '-')",
  "replace(s, '-', '')",
  "replace(s, 'ab', 'c')",
  "startswith(s, 'ab-')",
  "startswith(s, '')",
  "startswith(s, 'xxxxxxxxxxxxxxx')",
  "startswith(s, 'zzzzzzzzzzzzzzzzz')",
  "endswith(s, '-')",
  "endswith(s, 'yy-y-y-y-y-y-y-y')",
  "endswith(s, '語')",
  'startswith(s, t)',
  'upper(s)',
  'lower(s)',
  'trim(s)',
  'ltrim(s)',
  'rtrim(s)',
  'reverse(s)',
  'length(s)',
  'numbytes(upper(s))',
  'substring(s, 1, 4)',
  'substring(s, 3)',
  'substring(s, 2, 2)',
  'substring(s, 0, 99999999999)',
  "indexof(s, '-')",
  "indexof(s, 'ab')",
  "indexof(s, '')",
  "replace(s, '', '-')",
  "replace(s, 'é', 'e')",
  "length(s) > 3 AND startswith(t, 'a')",
  "CASE WHEN length(s) > 5 THEN s WHEN x > 0 THEN x ELSE 'other' END",
  'CASE WHEN x > 20 THEN s WHEN x < -20 THEN t END',
  "CASE WHEN x > 0 THEN 'more' ELSE s END",
  'sqrt(x + 60)',
  'sqrt(x)',
  'abs(x)',
  'floor(x)',
  'bitand(n, 7)',
  'bitxor(n, x)',
  'sign(x)',
  'sign(y)',
  'abs(y)',
  'abs(-y)',
  'mod(n, 7)',
  'mod(n - 300, 7)',
  'mod(n * 10000000, 1000)',
  'mod(n, -7)',
  'mod(n, 2.5)',
  'mod(x, 7)',
  "cast(x, 'string')",
  "cast(y, 'string')",
  "cast(abs(x), 'string')",
  "concat(cast(y, 'string'), s)",
];

for (const sql of statements) {
  test(sql, () => {
    const column = texts(700);
    const rows = column.map((s, i) => ({
      s,
      t: column[(i * 13) % column.length],
      n: i,
      x: i / 4 - 50,
      y: numbers[i % numbers.length],
    }));
    const sent = (input: object[]): string[] => {
      const rule = openRule(
        ['CREATE STREAM demo (s STRING, t STRING, n BIGINT, x FLOAT, y FLOAT) WITH ()'],
        `SELECT n, ${sql} AS r FROM demo`,
      );
      rule.feed('demo', input);
      const messages = rule.written();
      rule.close();
      return messages.filter((text) => !text.includes('"n":-1'));
    };
    const among = rows.flatMap((row, i) =>
      i % 50 === 0 ? [{ s: null, t: null, n: -1, x: null, y: null }, row] : [row],
    );
    const expected = sent(among);
    assert.is(expected.length, rows.length);
    assert.equal(sent(rows), expected);
  });
}

test.run();
