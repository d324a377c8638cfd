/** Messages in the engine's own form as JSON, to be shown to people. */
import { Tag } from '../../../../../kernels/gen/layouts.js';
import { eachRow, rowAt } from '../../../../../kernels/values/rows.js';
import { Instant, type Value } from '../../../../../kernels/values/value.js';
import { writeExactJson } from '../../../../base/text/exact-json.js';

/**
 * JSON of a message that is a row or a list of rows: bytes are base64, times are texts. Undefined for another one, as
 * what a connector has made of rows.
 */
export function jsonOfRows(message: Buffer): string | undefined {
  if (message[0] !== Tag.object && message[0] !== Tag.array) return undefined;
  const rows: unknown[] = [];
  eachRow(message, (at) => rows.push(shown(rowAt(message, at))));
  return writeExactJson(rows.length === 1 ? rows[0] : rows);
}

/** A row in the engine's own form as values that JSON has; integers are bigint. */
export function shownRow(row: Buffer): unknown {
  return shown(rowAt(row, 0));
}

function shown(value: Value): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Instant) return new Date(Number(value.nanos / 1_000_000n)).toISOString();
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shown(member as Value)]));
}
