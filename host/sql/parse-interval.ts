/** `INTERVAL '5' SECOND`: a length of time, which is its number of milliseconds. */
import type { Expr } from './ast.js';
import type { Cursor } from './cursor.js';

const unitMs: Readonly<Record<string, number>> = {
  MILLISECOND: 1,
  SECOND: 1000,
  MINUTE: 60_000,
  HOUR: 3_600_000,
  DAY: 86_400_000,
  WEEK: 604_800_000,
};

const amountForm = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/;

/** Tells whether a length of time begins here; `interval` alone is a name. */
export function atInterval(cursor: Cursor): boolean {
  if (!cursor.atWord('INTERVAL')) return false;
  const { kind } = cursor.peek();
  return kind === 'string' || kind === 'integer' || kind === 'number';
}

/** Reads it. */
export function parseInterval(cursor: Cursor): Expr {
  const first = cursor.advance();
  const amount = cursor.advance();
  if (!amountForm.test(amount.text)) {
    throw cursor.errorAt(amount, `INTERVAL needs a number before the unit, not "${amount.text.slice(0, 40)}"`);
  }
  const unit = unitMs[cursor.token.kind === 'word' ? cursor.token.upper.replace(/S$/, '') : ''];
  if (unit === undefined) throw cursor.unexpected('MILLISECOND, SECOND, MINUTE, HOUR, DAY or WEEK');
  cursor.advance();
  const ms = Number(amount.text) * unit;
  if (!Number.isSafeInteger(ms)) {
    throw cursor.errorAt(
      amount,
      `INTERVAL is a whole number of milliseconds, which ${amount.text.trim()} of it is not`,
    );
  }
  return { kind: 'integer', value: BigInt(ms), span: cursor.spanFrom(first) };
}
