/** Tables of what an expression gives for rows of a stream: SQL and rows in, rows out. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openRule } from './rule-kernel.js';

export const streams = ['CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="demo", FORMAT="json")'];

/**
 * Values of the columns a, b and c, undefined for a missing one; then what the row gives: a value, null for nothing, or a
 * pattern of the error's text.
 */
export type Case = unknown[];

/** Outcomes of an expression, one for each row; null and missing are one, errors are texts. */
export function evaluate(expression: string, rows: readonly object[] | Uint8Array, statements = streams): unknown[] {
  const rule = openRule(statements, `SELECT ${expression} AS r FROM demo`);
  rule.feed('demo', rows);
  const messages = rule.taken();
  rule.close();
  return messages.map((message) =>
    typeof message === 'string' ? message : ((message[0] as { r?: unknown }).r ?? null),
  );
}

/** Tests the expression: all cases are rows of one stream. */
export function check(expression: string, cases: readonly Case[]): void {
  test(expression, () => {
    const rows = cases.map((one) => {
      const [a, b, c] = one.slice(0, -1);
      return { a, b, c };
    });
    const got = evaluate(expression, rows);
    assert.is(got.length, cases.length, 'each row gives a message');
    cases.forEach((one, i) => {
      const wanted = one.at(-1);
      const what = `${expression} of ${JSON.stringify(rows[i])}`;
      if (wanted instanceof RegExp) assert.match(String(got[i]), wanted, what);
      else assert.equal(got[i], wanted, what);
    });
  });
}
