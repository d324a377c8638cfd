/** Go's `Sprintf` for the values of templates. */
import { asNumber, type Budget, goFloat, show, TemplateError, typeName, type Value } from './value.js';

const verbs = /%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d+)?)?([a-zA-Z%])?/g;
/** Widest field and most digits, as in Go. */
const maxWidth = 1_000_000;

interface Verb {
  flags: string;
  width: number;
  /** -1: none given. */
  precision: number;
  letter: string;
}

/** Formats values; wrong verbs show as Go shows them (`%!d(string=x)`). */
export function sprintf(format: string, values: readonly Value[], budget: Budget): string {
  let used = 0;
  const text = format.replace(verbs, (whole, flags: string, width = '', precision: string | undefined, letter = '') => {
    if (letter === '%') return '%';
    if (letter === '') return '%!(NOVERB)';
    const count = (digits: string): number => {
      const value = digits === '*' ? values[used++] : Number(digits);
      if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) > maxWidth) {
        throw new TemplateError(`bad width or precision in ${whole}`);
      }
      budget.spend(Math.ceil(Math.abs(value) / 64));
      return value;
    };
    const wide = width === '' ? 0 : count(width);
    const hasDot = whole.includes('.');
    const digits = precision !== undefined ? count(precision) : hasDot ? 0 : -1;
    if (used >= values.length) return `%!${letter}(MISSING)`;
    const verb = { flags: wide < 0 ? `${flags}-` : flags, width: Math.abs(wide), precision: digits, letter };
    const shown = pad(one(verb, values[used++], budget), verb);
    budget.text(shown.length);
    return shown;
  });
  if (used >= values.length) return text;
  const extra = values.slice(used).map((value) => {
    const type = value === undefined || value === null ? '<nil>' : `${typeName(value)}=${show(value, budget)}`;
    return type;
  });
  return `${text}%!(EXTRA ${extra.join(', ')})`;
}

function pad(text: string, { flags, width, letter }: Verb): string {
  if (width === 0) return text;
  if (flags.includes('-')) return text.padEnd(width);
  if (!flags.includes('0') || !'dfFeEgGxXobsqvt'.includes(letter)) return text.padStart(width);
  const sign = /^[-+ ]?/.exec(text)![0];
  return sign + text.slice(sign.length).padStart(width - sign.length, '0');
}

function one(verb: Verb, value: Value, budget: Budget): string {
  const { letter, flags, precision } = verb;
  const wrong = () =>
    value === undefined || value === null
      ? `%!${letter}(<nil>)`
      : `%!${letter}(${typeName(value)}=${show(value, budget)})`;
  if (letter === 'v')
    return flags.includes('#') && typeof value === 'string' ? JSON.stringify(value) : show(value, budget);
  if (letter === 'T') return value === undefined || value === null ? '<nil>' : typeName(value);
  if (Array.isArray(value)) return `[${value.map((item) => one(verb, item, budget)).join(' ')}]`;
  const number = asNumber(value);
  if (number !== undefined) return withSign(numeric(verb, number) ?? wrong(), flags);
  if (typeof value === 'boolean') return letter === 't' ? String(value) : wrong();
  if (typeof value !== 'string') return wrong();
  const text = precision >= 0 ? [...value].slice(0, precision).join('') : value;
  switch (letter) {
    case 's':
      return text;
    case 'q':
      return quoteGo(text);
    case 'x':
      return Buffer.from(text).toString('hex');
    case 'X':
      return Buffer.from(text).toString('hex').toUpperCase();
    default:
      return wrong();
  }
}

function withSign(text: string, flags: string): string {
  if (/^[-+%]/.test(text)) return text;
  return flags.includes('+') ? `+${text}` : flags.includes(' ') ? ` ${text}` : text;
}

/**
 * Text of a number by verb; undefined when the verb is not for it. Verbs in capitals that are not here write capitals.
 */
const printers: Readonly<Record<string, (value: number | bigint, verb: Verb) => string | undefined>> = {
  d: (value) => whole(value, 10),
  b: (value) => whole(value, 2),
  o: (value) => whole(value, 8),
  x: (value, { flags }) => (flags.includes('#') ? whole(value, 16)?.replace(/^-?/, '$&0x') : whole(value, 16)),
  c: (value) => {
    const code = codePoint(value);
    return code === undefined ? undefined : String.fromCodePoint(code);
  },
  U: (value) => {
    const code = codePoint(value);
    return code === undefined ? undefined : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  },
  f: (value, { precision }) => fixed(value, precision < 0 ? 6 : precision),
  F: (value, { precision }) => fixed(value, precision < 0 ? 6 : precision),
  e: (value, { precision }) => exponent(Number(value).toExponential(Math.min(100, precision < 0 ? 6 : precision))),
  g: (value, { precision }) =>
    precision < 0 ? goFloat(Number(value)) : general(Number(value), Math.min(100, precision || 1)),
};

function numeric(verb: Verb, value: number | bigint): string | undefined {
  const { letter } = verb;
  const own = printers[letter];
  if (own !== undefined) return own(value, verb);
  return 'XEG'.includes(letter) ? printers[letter.toLowerCase()]?.(value, verb)?.toUpperCase() : undefined;
}

function whole(value: number | bigint, radix: number): string | undefined {
  return typeof value === 'bigint' || Number.isInteger(value) ? BigInt(value).toString(radix) : undefined;
}

function codePoint(value: number | bigint): number | undefined {
  const code = Number(value);
  return Number.isInteger(code) && code >= 0 && code <= 0x10ffff ? code : undefined;
}

function fixed(value: number | bigint, digits: number): string {
  if (typeof value === 'bigint') return digits > 0 ? `${value}.${'0'.repeat(digits)}` : String(value);
  if (!Number.isFinite(value)) return goFloat(value);
  const shown = Math.min(100, digits);
  // From 1e21 on toFixed writes an exponent.
  const text =
    Math.abs(value) < 1e21 ? value.toFixed(shown) : `${BigInt(value)}${shown > 0 ? `.${'0'.repeat(shown)}` : ''}`;
  return text + '0'.repeat(digits - shown);
}

function general(value: number, digits: number): string {
  if (!Number.isFinite(value)) return goFloat(value);
  const [mantissa = '', power = '0'] = value.toExponential(digits - 1).split('e');
  const short = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (Number(power) < -4 || Number(power) >= digits) return exponent(`${short(mantissa)}e${power}`);
  return short(value.toFixed(Math.max(0, digits - 1 - Number(power))));
}

/** Gives the exponent two digits at least. */
function exponent(text: string): string {
  return text.replace(/e([-+])(\d)$/, 'e$10$2');
}

/** A text in double quotes with Go's escapes. */
export function quoteGo(text: string): string {
  return JSON.stringify(text).replace(/\\u00([01][\da-f]|7f)/g, (_whole, hex: string) => {
    if (hex === '07') return '\\a';
    return hex === '0b' ? '\\v' : `\\x${hex}`;
  });
}
