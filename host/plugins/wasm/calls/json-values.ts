/** Values of the kernel as JSON texts for guests, and back. */
import { Instant, type Value, ValueError } from '../../../../kernels/values/value.js';

/** The JSON text of a value, as sinks write it; bytes are base64. */
export function jsonOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  switch (typeof value) {
    case 'bigint':
      return String(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'object':
      break;
    default:
      return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (value instanceof Instant) return JSON.stringify(timeText(value));
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  if (value instanceof ValueError) return 'null';
  const members = Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : [`${JSON.stringify(key)}:${jsonOf(item)}`],
  );
  return `{${members.join(',')}}`;
}

function timeText({ nanos }: Instant): string {
  const fraction = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const date = new Date(Number((nanos - fraction) / 1_000_000n));
  if (Number.isNaN(date.getTime())) return String(nanos);
  const digits = String(fraction).padStart(9, '0').replace(/0+$/, '');
  return `${date.toISOString().slice(0, -5)}${digits === '' ? '' : `.${digits}`}Z`;
}

/** Least memory of a list item in the kernel, bytes. */
const itemBytes = 16;

/** Parses a JSON text into a value of at most `maxBytes` in the kernel; throws when it is invalid or too large. */
export function valueOfJson(text: string, maxBytes: number): Value {
  let left = Math.floor(maxBytes / itemBytes);
  const plainOf = (json: unknown): Value => {
    if (typeof json === 'number') return Number.isSafeInteger(json) && !Object.is(json, -0) ? BigInt(json) : json;
    if (typeof json !== 'object' || json === null) return json as Value;
    const items = Array.isArray(json) ? json : Object.entries(json);
    left -= items.length;
    if (left < 0) throw new RangeError(`it has more items than a value of ${maxBytes} bytes (maxValueBytes)`);
    if (Array.isArray(json)) return json.map(plainOf);
    return Object.fromEntries((items as [string, unknown][]).map(([key, item]) => [key, plainOf(item)]));
  };
  return plainOf(JSON.parse(text) as unknown);
}
