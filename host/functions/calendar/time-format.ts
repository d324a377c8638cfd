/**
 * Patterns of times: `yyyy-MM-dd HH:mm:ss`, tokens yyyy yy M MM MMM MMMM d dd E EEE EEEE HH h hh m mm s ss S… a G z Z X
 * XX XXX; text in single quotes or behind a backslash stands for itself, as do all other characters.
 */

import { offsetText } from '../printing/offset-text.js';
import { type Moment, momentFrom, momentIn, momentOf, partsOf, wholeOf } from './moment.js';
import { isUtc, zoneOffset } from './time-zone.js';
import { zoneAbbreviation } from './zone-abbreviations.js';

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
  /** Expression for the longest text that each token reads at a place; undefined for texts. */
  reads: readonly (RegExp | undefined)[];
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
  y: { field: 'year', allowed: [2, 4], most: 5 },
  Y: { field: 'year', allowed: [2, 4], most: 5 },
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
/** A time has no more to tell. */
const maxFields = 64;
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

/** Text of each field of a time; `width` as in the token. */
const printers: Readonly<
  Record<Field, (parts: ReturnType<typeof partsOf>, width: number, moment: Moment, zone?: string) => string>
> = {
  year: ({ year }) => padded(year, 4),
  shortYear: ({ year }) => padded(year % 100, 2),
  month: ({ month }, width) => padded(month, width),
  monthName: ({ month }, width) => named(monthName(month), width),
  day: ({ day }, width) => padded(day, width),
  weekday: ({ weekday }, width) => named(weekdayName(weekday), width),
  hour: ({ hour }) => padded(hour, 2),
  hour12: ({ hour }, width) => padded(hour % 12 || 12, width),
  half: ({ hour }) => (hour < 12 ? 'AM' : 'PM'),
  minute: ({ minute }, width) => padded(minute, width),
  second: ({ second }, width) => padded(second, width),
  fraction: ({ nanosecond }, width) => padded(nanosecond, 9).slice(0, width),
  zoneName: (_parts, _width, moment, zone) => nameOfZone(moment, zone),
  zone: (_parts, width, { offset }) => zoneText(offset, width),
};

/**
 * The time as text by a pattern, at the offset of the moment, which `zone` may have a name for. Throws for a bad
 * pattern.
 */
export function printTime(moment: Moment, source: string, zone?: string): string {
  const parts = partsOf(moment);
  let text = '';
  for (const token of formatOf(source).tokens) {
    text += token.field === null ? token.text : printers[token.field](parts, token.width, moment, zone);
  }
  return text;
}

/** The time of the clock in a zone, UTC without one; `digits` of a fraction, 0 to 6. */
export function currentTime(source: string, digits: unknown, zone: unknown): string {
  const count = digits === null || digits === undefined ? 0 : Number(wholeOf(digits));
  if (count < 0 || count > 6) throw new Error(`a time has 0 to 6 digits of a fraction, not ${count}`);
  const moment = momentFrom(Date.now(), zone);
  return printTime(moment, count === 0 ? source : `${source}.${'S'.repeat(count)}`);
}

/**
 * Reads a text by a pattern; undefined when it does not fit. Without an offset it is in `zone`, or UTC. Throws for a
 * bad pattern.
 */
export function readTime(text: string, source: string, zone?: unknown): Moment | undefined {
  const fields = fieldsOf(text, formatOf(source));
  const hour = fields && hourOf(fields);
  if (fields === undefined || hour === undefined) return undefined;
  const [minute, second] = [Number(fields.get('minute') ?? 0), Number(fields.get('second') ?? 0)];
  const nanosecond = Number((fields.get('fraction') ?? '').padEnd(9, '0').slice(0, 9));
  const parts = { ...dateOf(fields), hour, minute, second, nanosecond };
  const offset = fields.get('zone');
  return offset === undefined ? momentIn(parts, zone) : momentOf(parts, offsetOf(offset));
}

type FieldTexts = ReadonlyMap<Field, string>;

/** The texts of the fields, each as long as those behind it allow; undefined when the text does not fit. */
function fieldsOf(text: string, { tokens, reads }: Format): FieldTexts | undefined {
  const found: RegExpExecArray[] = [];
  const ends: number[] = [];
  /** Tokens and places from which the rest did not fit: nothing is tried twice. */
  const failed = new Set<number>();
  const fits = (i: number, at: number): boolean => {
    const token = tokens[i];
    if (token === undefined) return at === text.length;
    const key = at * (tokens.length + 1) + i;
    if (failed.has(key)) return false;
    const read = reads[i];
    if (token.field === null || read === undefined) {
      const end = behindLiteral(text, at, token.field === null ? token.text : '');
      if (end >= 0 && fits(i + 1, end)) return true;
    } else {
      read.lastIndex = at;
      const match = read.exec(text);
      const least = at + Math.min(leastOf(token), match?.[0].length ?? 0);
      for (let end = read.lastIndex; match !== null && end >= least; end--) {
        if (!fits(i + 1, end)) continue;
        found[i] = match;
        ends[i] = end - at;
        return true;
      }
    }
    failed.add(key);
    return false;
  };
  if (!fits(0, 0)) return undefined;
  const fields = new Map<Field, string>();
  for (const [i, { field }] of tokens.entries()) {
    if (field === null) continue;
    const [whole = '', first = whole, rest] = found[i] ?? [];
    fields.set(field, first.slice(0, ends[i]));
    if (field === 'second' && rest) fields.set('fraction', rest);
  }
  return fields;
}

/**
 * Place behind the text of a format, in any letter case, where blanks stand for any number of blanks; -1 when it does
 * not fit.
 */
function behindLiteral(text: string, start: number, literal: string): number {
  let at = start;
  for (const wanted of literal) {
    if (wanted === ' ') {
      while (text[at] === ' ') at++;
      continue;
    }
    const here = text.slice(at, at + wanted.length);
    if (here !== wanted && here.toLowerCase() !== wanted.toLowerCase()) return -1;
    at += wanted.length;
  }
  return at;
}

/** Characters that a field takes at least, where it may leave some to the next one. */
function leastOf(token: Token): number {
  switch (token.field) {
    case 'month':
    case 'day':
    case 'hour12':
    case 'minute':
      return token.width;
    case 'hour':
      return 1;
    case 'zoneName':
      return 3;
    default:
      return Number.POSITIVE_INFINITY;
  }
}

/** A time alone is one of today; a date without a year is one of this year, without a month or day the first. */
function dateOf(fields: FieldTexts): { year: number; month: number; day: number } {
  const today = new Date();
  const isTimeOnly = !(['year', 'shortYear', 'month', 'monthName', 'day'] as const).some((field) => fields.has(field));
  const month = fields.get('monthName');
  return {
    year: yearOf(fields) ?? today.getUTCFullYear(),
    month:
      month === undefined
        ? Number(fields.get('month') ?? (isTimeOnly ? today.getUTCMonth() + 1 : 1))
        : months.findIndex((name) => name.slice(0, 3).toLowerCase() === month.slice(0, 3).toLowerCase()) + 1,
    day: Number(fields.get('day') ?? (isTimeOnly ? today.getUTCDate() : 1)),
  };
}

/** Years of two digits are those from 1969 to 2068. */
function yearOf(fields: FieldTexts): number | undefined {
  const short = fields.get('shortYear');
  if (short !== undefined) return Number(short) + (Number(short) >= 69 ? 1900 : 2000);
  const year = fields.get('year');
  return year === undefined ? undefined : Number(year);
}

/** Hour of the day; undefined when it is no hour of the clock. */
function hourOf(fields: FieldTexts): number | undefined {
  const half = fields.get('half')?.toUpperCase();
  const hour12 = fields.get('hour12');
  let hour = Number(hour12 ?? fields.get('hour') ?? 0);
  if (hour12 !== undefined) {
    if (hour < 1 || hour > 12) return undefined;
    if (half !== undefined) hour %= 12;
  }
  return half === 'PM' && hour < 12 ? hour + 12 : hour;
}

function formatOf(source: string): Format {
  const known = formats.get(source);
  if (known !== undefined) return known;
  const tokens = tokensOf(source);
  if (tokens.filter(({ field }) => field !== null).length > maxFields) {
    throw new Error(`time format ${source} has more than ${maxFields} fields`);
  }
  const made = {
    tokens,
    reads: tokens.map((token, i) => readerOf(token, tokens.slice(i + 1, i + 3))),
  };
  // The oldest goes first: formats that come with the rows must not fill the memory.
  if (formats.size >= maxFormats) formats.delete(formats.keys().next().value as string);
  formats.set(source, made);
  return made;
}

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < source.length; ) at = addToken(tokens, source, at);
  return tokens;
}

/** Reads what stands at `at`; returns where the next begins. */
function addToken(tokens: Token[], source: string, at: number): number {
  const letter = source.charAt(at);
  if (letter === '\\') {
    if (at + 1 >= source.length) throw new Error(`time format ${source} ends with a backslash`);
    addText(tokens, source.charAt(at + 1));
    return at + 2;
  }
  if (letter === "'") {
    const end = source.indexOf("'", at + 1);
    if (end < 0) throw new Error(`time format ${source} has an open quote`);
    addText(tokens, end === at + 1 ? "'" : source.slice(at + 1, end));
    return end + 1;
  }
  const kind = letters[letter];
  if (kind === undefined) {
    addText(tokens, letter === 'G' ? 'AD' : letter);
    return at + 1;
  }
  let count = 1;
  while (count < kind.most && source[at + count] === letter) count++;
  if (!kind.allowed.includes(count)) {
    const allowed = kind.allowed.map((times) => letter.repeat(times)).join(', ');
    throw new Error(`time format ${source}: ${letter.repeat(count)} is not known, only ${allowed}`);
  }
  // A fraction brings its point, unless the pattern has written it.
  if (kind.field === 'fraction' && !isPoint(tokens.at(-1))) addText(tokens, '.');
  tokens.push({ field: longField(kind.field, count), width: letter === 'Z' ? 2 : count });
  return at + count;
}

function addText(tokens: Token[], text: string): void {
  const last = tokens.at(-1);
  if (last?.field === null) last.text += text;
  else tokens.push({ field: null, text });
}

/** Field of a letter that stands `count` times in a row. */
function longField(field: Field, count: number): Field {
  if (field === 'month' && count > 2) return 'monthName';
  return field === 'year' && count === 2 ? 'shortYear' : field;
}

function isPoint(token: Token | undefined): boolean {
  return token?.field === null && /[.,]$/.test(token.text);
}

/** Expression for the text that a field reads, before the tokens that follow; undefined for texts. */
function readerOf(token: Token, following: readonly Token[]): RegExp | undefined {
  return token.field === null ? undefined : new RegExp(patternOf(token.field, token.width, following), 'iuy');
}

function patternOf(field: Field, width: number, following: readonly Token[]): string {
  const digits = width < 2 ? '\\d{1,2}' : '\\d{2}';
  switch (field) {
    case 'year':
      return '\\d{4}';
    case 'shortYear':
      return '\\d{2}';
    case 'monthName':
      return months.map((name) => named(name, width)).join('|');
    case 'weekday':
      return weekdays.map((name) => named(name, width)).join('|');
    case 'hour':
      return '\\d{1,2}';
    case 'half':
      return 'AM|PM';
    case 'fraction':
      return `\\d{${width}}`;
    case 'second':
      // Seconds may have a fraction that the pattern does not mention.
      return following.some((next) => next.field === 'fraction') ? digits : `(${digits})(?:[.,](\\d+))?`;
    case 'zoneName':
      return '[A-Z]{3,5}';
    case 'zone':
      return ['', '[+-]\\d{2}', '[+-]\\d{4}', '[+-]\\d{2}:\\d{2}'][width] ?? '';
    default:
      return digits;
  }
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

function named(name: string, width: number): string {
  return width < 4 ? name.slice(0, 3) : name;
}

/**
 * How the zone calls its time: by letters (EST), by the digits that stand for them (-03, +0530), and where no zone is
 * known by all four of the offset.
 */
function nameOfZone({ nanos, offset, zone }: Moment, other = zone): string {
  const ms = Number(nanos / 1_000_000n);
  const isIn = other !== undefined && zoneOffset(other, ms) === offset;
  const letters = isIn ? zoneAbbreviation(other, ms, offset) : undefined;
  if (letters !== undefined) return letters;
  if (offset === 0 && (!isIn || isUtc(other))) return 'UTC';
  const text = offsetText(offset, '');
  return isIn ? text.replace(/^(...)00$/, '$1') : text;
}

/** Hours, with minutes from two X on; seconds are left out. */
function zoneText(offset: number, width: number): string {
  const text = offsetText(offset, ':').slice(0, 6);
  return width === 1 ? text.slice(0, 3) : width === 2 ? text.replace(':', '') : text;
}

/** Seconds east of UTC. */
function offsetOf(zone: string): number {
  const digits = zone.replace(':', '');
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3) || 0);
  return zone.startsWith('-') ? -minutes * 60 : minutes * 60;
}
