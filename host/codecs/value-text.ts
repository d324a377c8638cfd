/** Times, dates and UUIDs of formats that have types for them, as text. */

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

/** Time of day by units since midnight: `07:00:00.5`. */
export function timeOfDay(count: bigint, perSecond: bigint): string {
  if (count < 0n || count >= daySeconds * perSecond) throw new Error(`it has a time of day that is none: ${count}`);
  return instantOf(count, perSecond).slice(11, -1);
}

/** Number of whole units before a time. */
export function wholeUnits(nanos: bigint, unit: bigint): bigint {
  return parts(nanos, unit)[0];
}

function parts(count: bigint, unit: bigint): [whole: bigint, rest: bigint] {
  const rest = ((count % unit) + unit) % unit;
  return [(count - rest) / unit, rest];
}

function fraction(nanos: number): string {
  return nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
}

/** Usual form of the 16 bytes of a UUID. */
export function uuidText(bytes: Uint8Array): string {
  if (bytes.length !== 16) throw new Error(`it has a UUID of ${bytes.length} bytes, expected 16`);
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const rfc3339 = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[-+]\d\d:\d\d)?)?$/;
const timeForm = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9})\d*)?)?$/;

/** Nanoseconds since the epoch of an RFC 3339 time, without a zone in UTC; undefined for other texts. */
export function nanosOf(text: string): bigint | undefined {
  const [, day, time = '00:00:00', fraction = '', zone = 'Z'] = rfc3339.exec(text) ?? [];
  const ms = day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

/** Number of a day since the epoch; undefined for other texts. */
export function dayOf(text: string): bigint | undefined {
  const nanos = /^\d{4}-\d\d-\d\d$/.test(text) ? nanosOf(text) : undefined;
  return nanos === undefined ? undefined : wholeUnits(nanos, daySeconds * 1_000_000_000n);
}

/** Nanoseconds since midnight; undefined for texts that are no time of day. */
export function timeOfDayNanos(text: string): bigint | undefined {
  const [, hours, minutes, seconds = '0', fraction = ''] = timeForm.exec(text) ?? [];
  if (hours === undefined || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const whole = BigInt(Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
  return whole * 1_000_000_000n + BigInt(fraction.padEnd(9, '0'));
}
