/** Numbers with a fixed count of decimals, plain or as a locale writes them. */
import { printed } from './printed.js';

/** Most decimals, which is the limit of the library for locales. */
const maxDecimals = 100;
/** Regions that are no country. */
const noCountries = new Set(['ZZ', 'QO', 'EU', 'UN']);
const maxFormats = 64;
const formats = new Map<string, Intl.NumberFormat>();

/** Formats a number. Throws for what is no number, counts of decimals out of range and unknown locales. */
export function formatted(value: unknown, decimals: unknown, locale?: unknown): string {
  if (typeof value !== 'bigint' && (typeof value !== 'number' || !Number.isFinite(value))) {
    throw new Error(`${printed(value)} is no number`);
  }
  const places = Number(decimals);
  if (!(places >= 0 && places <= maxDecimals)) {
    throw new Error(`the decimals must be between 0 and ${maxDecimals}, not ${printed(decimals)}`);
  }
  const digits = typeof value === 'bigint' ? whole(value, places) : rounded(value, places);
  if (locale === undefined) return digits;
  // Texts are formatted with all their digits.
  const text = formatOf(String(locale), places).format(digits as `${number}`);
  // Versions of Node.js differ in these separators; a rule gives the same text with all of them.
  return text.replaceAll('\u202f', '\u00a0').replaceAll("'", '\u2019');
}

function whole(value: bigint, places: number): string {
  return places === 0 ? String(value) : `${value}.${'0'.repeat(places)}`;
}

/** The decimal digits of the double, of which all count, rounded half to even. */
function rounded(value: number, places: number): string {
  const sign = value < 0 ? '-' : '';
  // value = mantissa / divisor: doubling is exact until nothing is behind the point.
  let mantissa = Math.abs(value);
  let bits = 0n;
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2;
    bits++;
  }
  const divisor = 1n << bits;
  const scaled = BigInt(mantissa) * 10n ** BigInt(places);
  let quotient = scaled / divisor;
  const twice = (scaled % divisor) * 2n;
  if (twice > divisor || (twice === divisor && quotient % 2n === 1n)) quotient++;
  const digits = quotient.toString().padStart(places + 1, '0');
  if (places === 0) return sign + digits;
  return `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function formatOf(name: string, places: number): Intl.NumberFormat {
  const key = `${name} ${places}`;
  let format = formats.get(key);
  if (format !== undefined) return format;
  format = new Intl.NumberFormat(tagOf(name), {
    minimumFractionDigits: places,
    maximumFractionDigits: places,
    useGrouping: 'always',
    numberingSystem: 'latn',
  } as Intl.NumberFormatOptions);
  if (formats.size >= maxFormats) formats.delete(formats.keys().next().value as string);
  formats.set(key, format);
  return format;
}

/** The language tag of a locale's name, which needs a language and a country. */
function tagOf(name: string): string {
  const tag = name.replaceAll('_', '-');
  try {
    const { region } = new Intl.Locale(tag);
    const isKnown = Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
    if (isKnown && region !== undefined && !noCountries.has(region)) return tag;
  } catch {
    // Not even the form of a tag.
  }
  throw new Error(`the locale ${name} is not known`);
}
