/** Durations as text: `1h30m`, `-45s`, `1.5h`, `500ms`. */

const nanosOfUnit: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1000,
  µs: 1000,
  μs: 1000,
  ms: 1_000_000,
  s: 1_000_000_000,
  m: 60_000_000_000,
  h: 3_600_000_000_000,
};
const partsPattern = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
/** Largest duration, nanoseconds. */
const most = 2 ** 63;

/** Nanoseconds of a duration. Throws when the text is none. */
export function nanosOf(text: string): bigint {
  const unsigned = text.replace(/^[+-]/, '');
  if (unsigned === '0') return 0n;
  if (!partsPattern.test(unsigned)) throw new Error(`'${text}' is no duration such as 1h30m`);
  let nanos = 0;
  for (const [, count = '', unit = ''] of unsigned.matchAll(/([\d.]+)([a-zµμ]+)/g)) {
    nanos += Number(count) * (nanosOfUnit[unit] ?? 0);
  }
  if (nanos > most) throw new Error(`duration ${text} is too long`);
  return BigInt(Math.trunc(text.startsWith('-') ? -nanos : nanos));
}
