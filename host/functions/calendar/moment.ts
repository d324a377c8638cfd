/** Times as date functions see them: an instant and the zone offset with which it was written. */
import { Instant } from '../../../kernels/values/value.js';
import { printed } from '../printing/printed.js';
import { zoneOffset } from './time-zone.js';

export interface Moment {
  /** Nanoseconds since the epoch. */
  nanos: bigint;
  /** Seconds east of UTC. */
  offset: number;
  /** The zone that it was read in, where it came without an offset. */
  zone?: string;
}

export interface TimeParts {
  year: number;
  /** 1 to 12. */
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  /** Nanoseconds of the second, 0 to 999,999,999. */
  nanosecond: number;
}

const nanosOfSecond = 1_000_000_000n;
const dayMs = 86_400_000;
/** Offsets with seconds are below that many on both sides (ODD_LIMIT). */
const oddLimit = 57_600;
/** Largest milliseconds that a datetime of the kernel holds (MAX_TIME_MS). */
const maxMs = 3.1e14;

// Dates and times in the forms that the kernel's cast reads as well (assembly/text/time.ts).
const dayForm = /(\d{4})(?:(\d{2})(\d{2})|([-/.])(\d{1,2})(?:\4(\d{1,2}))?)?/.source;
const clockForm = /(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d+))?)?)?/.source;
const offsetForm = /(?:([Zz]|UTC|GMT)|([+-])(\d{2}):?(?:(\d{2}):?(\d{2})?)?)/.source;
const forms = new RegExp(`^ *${dayForm}(?:[Tt ]${clockForm}(?: ?${offsetForm})?)? *$`);

/**
 * Reads a datetime, epoch milliseconds or a text in a common form; what has no offset is in the zone, or in UTC without
 * one. Throws for everything else.
 */
export function momentFrom(value: unknown, zone?: unknown): Moment {
  if (value instanceof Instant) return inRange(value.nanos, value.offset, value);
  if (typeof value === 'bigint') return momentAt(inRange(value * 1_000_000n, 0, value).nanos, zone);
  if (typeof value === 'number' && Math.abs(value) <= maxMs)
    return momentAt(BigInt(Math.trunc(value)) * 1_000_000n, zone);
  if (typeof value === 'string') {
    const moment = readCommon(value, zone);
    if (moment !== undefined) return moment;
    throw new Error(`'${value}' cannot be read as a time`);
  }
  throw new Error(`${printed(value)} is no time`);
}

function inRange(nanos: bigint, offset: number, value: unknown): Moment {
  if (Math.abs(Number(nanos)) > maxMs * 1e6) throw new Error(`${printed(value)} is beyond the range of times`);
  return { nanos, offset };
}

/** The moment in a zone, in UTC without one. */
export function momentAt(nanos: bigint, zone: unknown): Moment {
  return typeof zone === 'string' ? { nanos, offset: zoneOffset(zone, msOf(nanos)), zone } : { nanos, offset: 0 };
}

function readCommon(text: string, zone: unknown): Moment | undefined {
  const found = forms.exec(text);
  if (found === null) return undefined;
  const number = (...groups: number[]) =>
    Number(groups.map((group) => found[group]).find((one) => one !== undefined) ?? 0);
  const hasDigits = (...groups: number[]) => groups.some((group) => found[group] !== undefined);
  const parts = {
    year: number(1),
    month: hasDigits(2, 5) ? number(2, 5) : 1,
    day: hasDigits(3, 6) ? number(3, 6) : 1,
    hour: number(7),
    minute: number(8),
    second: number(9),
    nanosecond: Number((found[10] ?? '').padEnd(9, '0').slice(0, 9)),
  };
  if (!hasDigits(11, 12)) return momentIn(parts, zone);
  const [hours, minutes, seconds] = [number(13), number(14), number(15)];
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const offset = (hours * 60 + minutes) * 60 + seconds;
  if (seconds !== 0 && offset >= oddLimit) return undefined;
  return momentOf(parts, found[12] === '-' ? -offset : offset);
}

/**
 * As `momentOf` for the clocks of a zone, of UTC without one: of a time that they show twice the first, a skipped one
 * moves on.
 */
export function momentIn(parts: TimeParts, zone: unknown): Moment | undefined {
  const utc = momentOf(parts, 0);
  if (typeof zone !== 'string' || utc === undefined) return utc;
  const local = msOf(utc.nanos);
  const before = zoneOffset(zone, local - dayMs);
  const after = zoneOffset(zone, local + dayMs);
  const isBefore = zoneOffset(zone, local - before * 1000) === before;
  const isAfter = zoneOffset(zone, local - after * 1000) === after;
  const offset = isBefore || !isAfter ? before : after;
  return momentAt(utc.nanos - BigInt(offset) * nanosOfSecond, zone);
}

/** Rounded down, before the epoch as well. */
function msOf(nanos: bigint): number {
  const rest = ((nanos % 1_000_000n) + 1_000_000n) % 1_000_000n;
  return Number((nanos - rest) / 1_000_000n);
}

/** The moment of a date and time of day in a zone; undefined when there is none, as on February 30. */
export function momentOf(parts: TimeParts, offset: number): Moment | undefined {
  const { year, month, day, hour, minute, second, nanosecond } = parts;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  date.setUTCHours(hour, minute, second);
  const nanos = BigInt(date.getTime()) * 1_000_000n + BigInt(nanosecond) - BigInt(offset) * nanosOfSecond;
  return { nanos, offset };
}

/** Date and time of day in the moment's zone; `weekday` 0 is Sunday, `yearDay` counts from 1. */
export function partsOf({ nanos, offset }: Moment): TimeParts & { weekday: number; yearDay: number } {
  const local = nanos + BigInt(offset) * nanosOfSecond;
  const nanosecond = Number(((local % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n);
  const date = new Date(Number((local - BigInt(nanosecond)) / 1_000_000n));
  const year = date.getUTCFullYear();
  const midnight = Date.UTC(2000, date.getUTCMonth(), date.getUTCDate()) - Date.UTC(2000, 0, 1);
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const yearDay = midnight / 86_400_000 + (isLeap || date.getUTCMonth() < 2 ? 1 : 0);
  return {
    year,
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    nanosecond,
    weekday: date.getUTCDay(),
    yearDay,
  };
}

/** The argument as a whole number. Throws for fractions and other values. */
export function wholeOf(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  throw new Error(`${printed(value)} is not a whole number`);
}
