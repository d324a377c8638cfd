/** Lengths of time as texts: `10s`, `1m30s`, `250ms`; a bare number counts milliseconds. */

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/**
 * Reads a duration text or a number of milliseconds; returns milliseconds, or undefined when it is neither or no time
 * can be counted with it.
 */
export function parseDuration(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? read(value) : value;
  return typeof ms === 'number' && Math.abs(ms) <= Number.MAX_SAFE_INTEGER ? ms : undefined;
}

function read(value: string): number | undefined {
  const text = value.trim();
  if (/^[-+]?\d+(\.\d+)?$/.test(text)) return Number(text);
  const isNegative = text.startsWith('-');
  let at = isNegative || text.startsWith('+') ? 1 : 0;
  if (at === text.length) return undefined;
  let total = 0;
  while (at < text.length) {
    part.lastIndex = at;
    const match = part.exec(text);
    if (match === null) return undefined;
    total += Number(match[1]) * (unitMs[match[2] as string] as number);
    at = part.lastIndex;
  }
  return isNegative ? -total : total;
}

/** Prints milliseconds the way durations are stored and shown: `250ms`, `10s`, `1m30s`, `1h0m0s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  const size = Math.abs(ms);
  if (size < 1e-3) return `${sign}${trim(size * 1e6)}ns`;
  if (size < 1) return `${sign}${trim(size * 1e3)}µs`;
  if (size < 1000) return `${sign}${trim(size)}ms`;
  const hours = Math.floor(size / 3_600_000);
  const minutes = Math.floor((size % 3_600_000) / 60_000);
  const seconds = `${trim((size % 60_000) / 1000)}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}

/** Drops the noise that binary fractions leave behind the ninth decimal (one nanosecond of a second). */
function trim(value: number): string {
  return String(Number(value.toFixed(9)));
}
