/** What an expression gives for rows of a stream, where a test asks for more than a case file can say. */
import { openRule } from '../engine/rule-kernel.js';

export const streams = ['CREATE STREAM demo () WITH (TYPE="memory", DATASOURCE="demo", FORMAT="json")'];

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
