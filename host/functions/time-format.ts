/**
 * Patterns of times: `yyyy-MM-dd HH:mm:ss`, tokens yyyy yy M MM MMM MMMM d dd E EEE EEEE HH h hh m mm s ss S… a G z Z X XX
 * XXX; text in single quotes or behind a backslash stands for itself, as do all other characters.
 */
import { type Moment, momentFrom, momentOf, partsOf, wholeOf } from './moment.js';

type Field =
  | 'year'
  | 'shortYear'
  | 'month'
  | 'monthName'
  | 'day'
  | 'weekday'
  | 'hour'
  | 'hour12'
  | 'half'
  | 'minute'
  | 'second'
  | 'fraction'
  | 'zoneName'
  | 'zone';

type Token =
  | { field: null; text: string }
  /** `width`: digits at least, of names the number of letters (4: all); of zones the number of X. */
  | { field: Field; width: number };

interface Format {
  tokens: readonly Token[];
  reads: RegExp;
}

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** Letter → its field, the numbers of repetitions allowed and the most that are one token. */
const letters: Readonly<Record<string, { field: Field; allowed: readonly number[]; most: number }>> = {
  M: { field: 'month', allowed: [1, 2, 3, 4], most: 4 },
  d: { field: 'day', allowed: [1, 2], most: 2 },
  E: { field: 'weekday', allowed: [3, 4], most: 4 },
  H: { field: 'hour', allowed: [2], most: 2 },
  h: { field: 'hour12', allowed: [1, 2], most: 2 },
  a: { field: 'half', allowed: [1], most: 1 },
  m: { field: 'minute', allowed: [1, 2], most: 2 },
  s: { field: 'second', allowed: [1, 2], most: 2 },
  S: { field: 'fraction', allowed: [1, 2, 3, 4, 5, 6, 7, 8, 9], most: 9 },
  z: { field: 'zoneName', allowed: [1], most: 1 },
  Z: { field: 'zone', allowed: [1], most: 1 },
  X: { field: 'zone', allowed: [1, 2, 3], most: 3 },
};

const maxFormats = 256;
const formats = new Map<string, Format>();

/** English name of a month, 1 to 12. */
export function monthName(month: number): string {
  return months[month - 1] ?? '';
}

/** English name of a day of the week, 0 is Sunday. */
export function weekdayName(day: number): string {
  return weekdays[day] ?? '';
}

/** Reason why a pattern cannot be used, or undefined. */
export function formatFault(source: string): string | undefined {
  try {
    formatOf(source);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The time as text by a pattern, in the zone of the moment. Throws for a bad pattern. */
export function printTime(moment: Moment, source: string): string {
  const parts = partsOf(moment);
  const padded = (value: number, width: number) => String(value).padStart(width, '0');
  return formatOf(source)
    .tokens.map((token): string => {
      if (token.field === null) return token.text;
      const { width } = token;
      switch (token.field) {
        case 'year':
          return padded(parts.year, 4);
        case 'shortYear':
          return padded(parts.year % 100, 2);
        case 'month':
          return width < 3 ? padded(parts.month, width) : named(monthName(parts.month), width);
        case 'monthName':
          return named(monthName(parts.month), width);
        case 'day':
          return padded(parts.day, width);
        case 'weekday':
          return named(weekdayName(parts.weekday), width);
        case 'hour':
          return padded(parts.hour, 2);
        case 'hour12':
          return padded(parts.hour % 12 || 12, width);
        case 'half':
          return parts.hour < 12 ? 'AM' : 'PM';
        case 'minute':
          return padded(parts.minute, width);
        case 'second':
          return padded(parts.second, width);
        case 'fraction':
          return padded(parts.microsecond, 6).padEnd(9, '0').slice(0, width);
        case 'zoneName':
          return moment.offset === 0 ? 'UTC' : zoneText(moment.offset, 1);
        case 'zone':
          return zoneText(moment.offset, width);
        default:
          return token satisfies never;
      }
    })
    .join('');
}

/** The time of the clock in UTC; `digits` of a fraction, 0 to 6. */
export function currentTime(source: string, digits: unknown = 0n): string {
  const count = digits === null ? 0 : Number(wholeOf(digits));
  if (count < 0 || count > 6) throw new Error(`a time has 0 to 6 digits of a fraction, not ${count}`);
  const moment = momentFrom(Date.now());
  return printTime(moment, count === 0 ? source : `${source}.${'S'.repeat(count)}`);
}

/** Reads a text by a pattern; undefined when it does not fit. Without a zone it is UTC. Throws for a bad pattern. */
export function readTime(text: string, source: string): Moment | undefined {
  const { tokens, reads } = formatOf(source);
  const found = reads.exec(text);
  if (found === null) return undefined;
  const values = new Map<Field, string>();
  let group = 1;
  for (const token of tokens) {
    if (token.field === null) continue;
    values.set(token.field, found[group++] ?? '');
    const rest = token.field === 'second' ? found[group++] : undefined;
    if (rest) values.set('fraction', rest);
  }
  const number = (field: Field, otherwise: number) => Number(values.get(field) ?? otherwise);
  const today = new Date();
  const hasDate = values.has('month') || values.has('monthName') || values.has('day');
  const hasYear = values.has('year') || values.has('shortYear');
  let year = number('year', today.getUTCFullYear());
  const short = values.get('shortYear');
  if (short !== undefined) year = Number(short) + (Number(short) >= 69 ? 1900 : 2000);
  const isTimeOnly = !hasDate && !hasYear;
  const name = values.get('monthName');
  const month =
    name === undefined
      ? number('month', isTimeOnly ? today.getUTCMonth() + 1 : 1)
      : months.findIndex((one) => one.slice(0, 3).toLowerCase() === name.slice(0, 3).toLowerCase()) + 1;
  const day = number('day', isTimeOnly ? today.getUTCDate() : 1);
  let hour = number('hour', 0);
  const half = values.get('half')?.toUpperCase();
  if (values.has('hour12')) {
    hour = number('hour12', 0);
    if (hour < 1 || hour > 12) return undefined;
    if (half !== undefined) hour %= 12;
  }
  if (half === 'PM' && hour < 12) hour += 12;
  const fraction = Number((values.get('fraction') ?? '').padEnd(6, '0').slice(0, 6));
  const [minute, second] = [number('minute', 0), number('second', 0)];
  return momentOf({ year, month, day, hour, minute, second, microsecond: fraction }, offsetOf(values.get('zone')));
}

function formatOf(source: string): Format {
  const known = formats.get(source);
  if (known !== undefined) return known;
  const tokens = tokensOf(source);
  const made = { tokens, reads: new RegExp(`^${patternOf(tokens)}$`, 'iu') };
  // The oldest goes first: formats that come with the rows must not fill the memory.
  if (formats.size >= maxFormats) formats.delete(formats.keys().next().value as string);
  formats.set(source, made);
  return made;
}

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  const literal = (text: string) => {
    const last = tokens.at(-1);
    if (last?.field === null) last.text += text;
    else tokens.push({ field: null, text });
  };
  for (let i = 0; i < source.length; ) {
    const letter = source.charAt(i);
    if (letter === '\\') {
      if (i + 1 >= source.length) throw new Error(`time format ${source} ends with a backslash`);
      literal(source.charAt(i + 1));
      i += 2;
    } else if (letter === "'") {
      const end = source.indexOf("'", i + 1);
      if (end < 0) throw new Error(`time format ${source} has an open quote`);
      literal(end === i + 1 ? "'" : source.slice(i + 1, end));
      i = end + 1;
    } else {
      let count = 1;
      const kind = letters[letter];
      const most = letter === 'y' || letter === 'Y' ? 5 : (kind?.most ?? 1);
      while (count < most && source[i + count] === letter) count++;
      if (letter === 'y' || letter === 'Y') {
        if (count !== 2 && count !== 4)
          throw new Error(`time format ${source}: a year is ${letter}${letter} or ${letter.repeat(4)}`);
        tokens.push({ field: count === 4 ? 'year' : 'shortYear', width: count });
      } else if (letter === 'G') {
        literal('AD');
      } else if (kind === undefined) {
        literal(letter);
      } else {
        if (!kind.allowed.includes(count)) {
          const allowed = kind.allowed.map((times) => letter.repeat(times)).join(', ');
          throw new Error(`time format ${source}: ${letter.repeat(count)} is not known, only ${allowed}`);
        }
        // A fraction brings its point, unless the pattern has written it.
        if (kind.field === 'fraction' && !isPoint(tokens.at(-1))) literal('.');
        const field = kind.field === 'month' && count > 2 ? 'monthName' : kind.field;
        tokens.push({ field, width: letter === 'Z' ? 2 : count });
      }
      i += count;
    }
  }
  return tokens;
}

function isPoint(token: Token | undefined): boolean {
  return token?.field === null && /[.,]$/.test(token.text);
}

/** Regular expression with a group for each field. */
function patternOf(tokens: readonly Token[]): string {
  const digits = (width: number) => (width < 2 ? '(\\d{1,2})' : '(\\d{2})');
  return tokens
    .map((token, i): string => {
      if (token.field === null) return token.text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replace(/ +/g, ' *');
      switch (token.field) {
        case 'year':
          return '(\\d{4})';
        case 'shortYear':
          return '(\\d{2})';
        case 'monthName':
          return `(${months.map((name) => named(name, token.width)).join('|')})`;
        case 'weekday':
          return `(${weekdays.map((name) => named(name, token.width)).join('|')})`;
        case 'hour':
          return '(\\d{1,2})';
        case 'half':
          return '(AM|PM)';
        case 'fraction':
          return `(\\d{${token.width}})`;
        case 'second': {
          // Seconds may have a fraction that the pattern does not mention.
          const isFractionNext = tokens.slice(i + 1, i + 3).some(({ field }) => field === 'fraction');
          return `${digits(token.width)}${isFractionNext ? '()' : '(?:[.,](\\d+))?'}`;
        }
        case 'zoneName':
          return '([A-Z]{3,5})';
        case 'zone':
          return ['', '([+-]\\d{2})', '([+-]\\d{4})', '([+-]\\d{2}:\\d{2})'][token.width] ?? '';
        default:
          return digits(token.width);
      }
    })
    .join('');
}

function named(name: string, width: number): string {
  return width < 4 ? name.slice(0, 3) : name;
}

function zoneText(offset: number, width: number): string {
  const minutes = Math.abs(offset);
  const two = (value: number) => String(value).padStart(2, '0');
  const hours = `${offset < 0 ? '-' : '+'}${two(Math.trunc(minutes / 60))}`;
  return width === 1 ? hours : `${hours}${width === 3 ? ':' : ''}${two(minutes % 60)}`;
}

/** Minutes east of UTC. */
function offsetOf(zone: string | undefined): number {
  if (zone === undefined) return 0;
  const digits = zone.replace(':', '');
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3) || 0);
  return zone.startsWith('-') ? -minutes : minutes;
}
