/** Keys and single values as Redis has them: texts. */
import { writeExactJson } from '../../base/text/exact-json.js';

/** The text of a value: a text as it is, null as an empty text, objects and lists as JSON. */
export function keyOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (typeof value !== 'object') return String(value);
  return writeExactJson(value);
}
