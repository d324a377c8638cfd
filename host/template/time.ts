/** Times written by Go's reference layout (`2006-01-02 15:04:05`). */

const months = 'January February March April May June July August September October November December'.split(' ');
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** The longer elements come first where one begins another. */
const names = '2006|January|Jan|Monday|Mon|MST';
const numbers = 'Z07:00|Z0700|-07:00|-0700|-07|[.,]0+|[.,]9+|01|02|_2|03|04|05|06|15|PM|pm|1|2|3|4|5';
const element = new RegExp(`${names}|${numbers}`, 'g');

/** A time in its zone: the fields of `local` in UTC are those of the clock there. */
interface Clock {
  readonly local: Date;
  /** Minutes east of UTC. */
  readonly offset: number;
}

const padded = (value: number, width: number) => String(value).padStart(width, '0');
const monthOf = ({ local }: Clock) => months[local.getUTCMonth()]!;
const dayOf = ({ local }: Clock) => days[local.getUTCDay()]!;
const hour12 = ({ local }: Clock) => local.getUTCHours() % 12 || 12;

function zoneOf({ offset }: Clock, colon: string): string {
  const minutes = Math.abs(offset);
  return `${offset < 0 ? '-' : '+'}${padded(Math.floor(minutes / 60), 2)}${colon}${padded(minutes % 60, 2)}`;
}

const printers: Readonly<Record<string, (clock: Clock) => string>> = {
  '2006': ({ local }) => padded(local.getUTCFullYear(), 4),
  '06': ({ local }) => padded(local.getUTCFullYear() % 100, 2),
  January: monthOf,
  Jan: (clock) => monthOf(clock).slice(0, 3),
  '01': ({ local }) => padded(local.getUTCMonth() + 1, 2),
  '1': ({ local }) => String(local.getUTCMonth() + 1),
  Monday: dayOf,
  Mon: (clock) => dayOf(clock).slice(0, 3),
  '02': ({ local }) => padded(local.getUTCDate(), 2),
  _2: ({ local }) => String(local.getUTCDate()).padStart(2, ' '),
  '2': ({ local }) => String(local.getUTCDate()),
  '15': ({ local }) => padded(local.getUTCHours(), 2),
  '03': (clock) => padded(hour12(clock), 2),
  '3': (clock) => String(hour12(clock)),
  '04': ({ local }) => padded(local.getUTCMinutes(), 2),
  '4': ({ local }) => String(local.getUTCMinutes()),
  '05': ({ local }) => padded(local.getUTCSeconds(), 2),
  '5': ({ local }) => String(local.getUTCSeconds()),
  PM: ({ local }) => (local.getUTCHours() < 12 ? 'AM' : 'PM'),
  pm: ({ local }) => (local.getUTCHours() < 12 ? 'am' : 'pm'),
  MST: (clock) => (clock.offset === 0 ? 'UTC' : zoneOf(clock, '').replace(/00$/, '')),
  'Z07:00': (clock) => (clock.offset === 0 ? 'Z' : zoneOf(clock, ':')),
  Z0700: (clock) => (clock.offset === 0 ? 'Z' : zoneOf(clock, '')),
  '-07:00': (clock) => zoneOf(clock, ':'),
  '-0700': (clock) => zoneOf(clock, ''),
  '-07': (clock) => zoneOf(clock, '').slice(0, 3),
};

/** A point or comma with as many digits as there are zeros, or at most as many as there are nines. */
function fractionOf({ local }: Clock, element: string): string {
  const digits = padded(local.getUTCMilliseconds(), 3)
    .padEnd(9, '0')
    .slice(0, element.length - 1);
  if (element[1] === '0') return element[0] + digits;
  const short = digits.replace(/0+$/, '');
  return short === '' ? '' : element[0] + short;
}

/** Writes a time; `isUtc` or else in the local zone. */
export function goTime(time: Date, layout: string, isUtc = false): string {
  if (Number.isNaN(time.getTime())) return '0001-01-01 00:00:00 +0000 UTC';
  const offset = isUtc ? 0 : -time.getTimezoneOffset();
  const clock: Clock = { local: new Date(time.getTime() + offset * 60_000), offset };
  return layout.replace(element, (name) => printers[name]?.(clock) ?? fractionOf(clock, name));
}
