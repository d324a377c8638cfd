/** Times and dates of formats that have types for them, as text. */

const daySeconds = 86_400n;
/** Years 0 to 9999: others have no RFC 3339. */
const first = -62_167_219_200n;
const last = 253_402_300_799n;

/** RFC 3339 of a time in UTC, with the fraction that there is. */
export function instantText(seconds: bigint, nanos: number): string {
  if (seconds < first || seconds > last || nanos < 0 || nanos > 999_999_999) {
    throw new Error(`it has a time outside the years 0 to 9999: ${seconds} s, ${nanos} ns`);
  }
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${whole}${fraction(nanos)}Z`;
}

/** The same of a count since the epoch, with so many units in a second. */
export function instantOf(count: bigint, perSecond: bigint): string {
  const [seconds, rest] = parts(count, perSecond);
  return instantText(seconds, Number(rest * (1_000_000_000n / perSecond)));
}

/** Day by its number since the epoch: `2026-01-31`. */
export function dateText(days: bigint): string {
  return instantText(days * daySeconds, 0).slice(0, 10);
}

function parts(count: bigint, unit: bigint): [whole: bigint, rest: bigint] {
  const rest = ((count % unit) + unit) % unit;
  return [(count - rest) / unit, rest];
}

function fraction(nanos: number): string {
  return nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
}
