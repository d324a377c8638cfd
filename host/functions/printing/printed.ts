/** Values as texts within functions of the host, which are those that the kernel prints (assembly/value/print.ts). */
import { Instant } from '../../../kernels/values/value.js';
import { offsetText } from './offset-text.js';

/** Lists and objects within each other: values of the kernel have no more, texts of JSON may. */
const deepest = 1000;

/** The value as text functions print it: `1.5`, `1e+06`, `[1 a]`, `map[k:v]`. */
export function printed(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return printedNumber(value);
  if (value === null || value === undefined) return '<nil>';
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint8Array) return `[${value.join(' ')}]`;
  if (value instanceof Instant) return printedTime(value);
  if (depth === deepest) throw new Error(`a value is nested deeper than ${deepest} levels`);
  if (Array.isArray(value)) return `[${value.map((item) => printed(item, depth + 1)).join(' ')}]`;
  const members = Object.entries(value).map(([key, item]) => ({
    key: Buffer.from(key),
    text: `${key}:${printed(item, depth + 1)}`,
  }));
  members.sort((a, b) => Buffer.compare(a.key, b.key));
  return `map[${members.map(({ text }) => text).join(' ')}]`;
}

/** Shortest digits that read back as the number, with an exponent of two digits at least below 1e-4 and from 1e6 on. */
function printedNumber(value: number): string {
  if (Object.is(value, -0)) return '-0';
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

function printedTime({ nanos: instant, offset }: Instant): string {
  const nanos = instant + BigInt(offset) * 1_000_000_000n;
  const nanosecond = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const date = new Date(Number((nanos - nanosecond) / 1_000_000n)).toISOString().slice(0, -5).replace('T', ' ');
  const fraction = nanosecond === 0n ? '' : `.${String(nanosecond).padStart(9, '0').replace(/0+$/, '')}`;
  const zone = offsetText(offset, '');
  return `${date}${fraction} ${zone} ${offset === 0 ? 'UTC' : zone}`;
}
