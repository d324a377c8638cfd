/** Durations as text: `1h30m`, `-45s`, `1.5h`, `500ms`. */

const microsOfUnit: Readonly<Record<string, number>> = {
  ns: 0.001,
  us: 1,
  µs: 1,
  μs: 1,
  ms: 1000,
  s: 1_000_000,
  m: 60_000_000,
  h: 3_600_000_000,
};
const partsPattern = /^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
/** Largest duration in microseconds: 2^63 nanoseconds. */
const most = 2 ** 63 / 1000;

/** Microseconds of a duration. Throws when the text is none. */
export function microsOf(text: string): bigint {
  const unsigned = text.replace(/^[+-]/, '');
  if (unsigned === '0') return 0n;
  if (!partsPattern.test(unsigned)) throw new Error(`'${text}' is no duration such as 1h30m`);
  let micros = 0;
  for (const [, count = '', unit = ''] of unsigned.matchAll(/([\d.]+)([a-zµμ]+)/g)) {
    micros += Number(count) * (microsOfUnit[unit] ?? 0);
  }
  if (micros > most) throw new Error(`duration ${text} is too long`);
  return BigInt(Math.trunc(text.startsWith('-') ? -micros : micros));
}
