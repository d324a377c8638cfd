/** Sprig's functions of texts, encodings and hashes. */
import { createHash } from 'node:crypto';
import { any, anyText, type FunctionSpec, fn, indexArg, sizeArg, textArg, textFn } from './function-spec.js';
import { quoteGo } from './printf.js';
import { type Budget, type Dict, setMember, TemplateError, toJson, type Value } from './value.js';

/** Letters, digits or blanks to cut off: the characters of a text. */
function trimOf(set: string, text: string, left: boolean, right: boolean): string {
  const chars = [...text];
  const cut = new Set(set);
  let from = 0;
  let to = chars.length;
  while (left && from < to && cut.has(chars[from]!)) from++;
  while (right && to > from && cut.has(chars[to - 1]!)) to--;
  return chars.slice(from, to).join('');
}

function replaceAll(old: string, by: string, text: string, budget: Budget): string {
  const pieces = text.split(old);
  budget.text(text.length + (pieces.length + 1) * by.length);
  if (old !== '') return pieces.join(by);
  // An empty text is found before each character and at the end.
  return `${by}${[...text].map((char) => char + by).join('')}`;
}

/** Texts of a list, or of one value; null members are left out. */
function texts(value: Value, budget: Budget): string[] {
  const items = Array.isArray(value) ? value : [value];
  budget.spend(items.length);
  return items.filter((item) => item !== undefined && item !== null).map((item) => anyText(item, budget));
}

function joined(items: readonly string[], separator: string, budget: Budget): string {
  budget.text(items.reduce((sum, item) => sum + item.length + separator.length, 0));
  return items.join(separator);
}

function hash(algorithm: string): FunctionSpec {
  return textFn(1, (text) => createHash(algorithm).update(text!).digest('hex'));
}

function indent(count: Value, text: string, budget: Budget): string {
  const blank = ' '.repeat(sizeArg(count, budget));
  const lines = text.split('\n');
  budget.text(text.length + lines.length * blank.length);
  return lines.map((line) => blank + line).join('\n');
}

function substr(from: Value, to: Value, text: string): string {
  const bytes = Buffer.from(text);
  const [start, end] = [indexArg(from), indexArg(to)];
  const stop = end < 0 || end > bytes.length ? bytes.length : end;
  return bytes.subarray(Math.min(Math.max(0, start), stop), stop).toString();
}

function split(separator: string, text: string, budget: Budget): string[] {
  const parts = separator === '' ? [...text] : text.split(separator);
  budget.spend(parts.length);
  return parts;
}

/** `split` gives a map with the keys `_0`, `_1` and so on. */
function numbered(parts: readonly string[]): Dict {
  const dict: Dict = {};
  for (const [i, part] of parts.entries()) setMember(dict, `_${i}`, part);
  return dict;
}

const title = (text: string) =>
  text.replace(/(^|[^\p{L}\p{N}_'])(\p{L})/gu, (_whole, before, letter) => before + letter.toUpperCase());
const words = (text: string) =>
  text
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
const base64 = textFn(1, (text) => Buffer.from(text!).toString('base64'));
const toText = fn(1, 1, ([value], budget) => anyText(value, budget));

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0;
}

export const textFunctions: Record<string, FunctionSpec> = {
  upper: textFn(1, (text) => text!.toUpperCase()),
  lower: textFn(1, (text) => text!.toLowerCase()),
  title: textFn(1, (text) => title(text!)),
  untitle: textFn(1, (text) => text!.replace(/(^|\s)(\S)/g, (_whole, before, char) => before + char.toLowerCase())),
  trim: textFn(1, (text) => text!.trim()),
  trimAll: textFn(2, (set, text) => trimOf(set!, text!, true, true)),
  trimPrefix: textFn(2, (head, text) => (text!.startsWith(head!) ? text!.slice(head!.length) : text)),
  trimSuffix: textFn(2, (tail, text) => (text!.endsWith(tail!) ? text!.slice(0, text!.length - tail!.length) : text)),
  nospace: textFn(1, (text) => text!.replace(/\s+/g, '')),
  replace: fn(3, 3, ([old, by, text], budget) => replaceAll(textArg(old), textArg(by), textArg(text), budget)),
  contains: textFn(2, (part, text) => text!.includes(part!)),
  hasPrefix: textFn(2, (head, text) => text!.startsWith(head!)),
  hasSuffix: textFn(2, (tail, text) => text!.endsWith(tail!)),
  substr: fn(3, 3, ([from, to, text]) => substr(from, to, textArg(text))),
  trunc: fn(2, 2, ([count, text]) => {
    const bytes = Buffer.from(textArg(text));
    const size = indexArg(count);
    return (size < 0 ? bytes.subarray(Math.max(0, bytes.length + size)) : bytes.subarray(0, size)).toString();
  }),
  abbrev: fn(2, 2, ([width, text]) => {
    const [size, whole] = [indexArg(width), textArg(text)];
    return size < 4 || whole.length <= size ? whole : `${whole.slice(0, size - 3)}...`;
  }),
  indent: fn(2, 2, ([count, text], budget) => indent(count, textArg(text), budget)),
  nindent: fn(2, 2, ([count, text], budget) => `\n${indent(count, textArg(text), budget)}`),
  split: fn(2, 2, ([separator, text], budget) => numbered(split(textArg(separator), textArg(text), budget))),
  splitList: fn(2, 2, ([separator, text], budget) => split(textArg(separator), textArg(text), budget)),
  join: fn(2, 2, ([separator, list], budget) => joined(texts(list, budget), textArg(separator), budget)),
  sortAlpha: fn(1, 1, ([list], budget) => texts(list, budget).sort()),
  cat: fn(0, any, (args, budget) =>
    joined(
      args.flatMap((arg) => texts(arg ?? null, budget)),
      ' ',
      budget,
    ),
  ),
  quote: fn(0, any, (args, budget) => args.flatMap((arg) => texts(arg ?? null, budget).map(quoteGo)).join(' ')),
  squote: fn(0, any, (args, budget) =>
    args.flatMap((arg) => texts(arg ?? null, budget).map((one) => `'${one}'`)).join(' '),
  ),
  toString: toText,
  toStrings: fn(1, 1, ([list], budget) => texts(list, budget)),
  initials: textFn(1, (text) =>
    words(text!)
      .map((word) => [...word][0])
      .join(''),
  ),
  snakecase: textFn(1, (text) => words(text!).join('_').toLowerCase()),
  kebabcase: textFn(1, (text) => words(text!).join('-').toLowerCase()),
  camelcase: textFn(1, (text) =>
    words(text!)
      .map((word) => word[0]!.toUpperCase() + word.slice(1))
      .join(''),
  ),
  plural: fn(3, 3, ([one, many, count]) => (indexArg(count) === 1 ? one : many)),
  b64enc: base64,
  base64: fn(1, 1, ([value], budget) => {
    if (value === undefined || value === null) throw new TemplateError('base64 error for nil');
    return Buffer.from(typeof value === 'string' ? value : toJson(value, budget)).toString('base64');
  }),
  b64dec: textFn(1, (text) => {
    if (!isBase64(text!)) throw new TemplateError('illegal base64 data');
    return Buffer.from(text!, 'base64').toString();
  }),
  md5sum: hash('md5'),
  sha1sum: hash('sha1'),
  sha256sum: hash('sha256'),
  sha512sum: hash('sha512'),
  adler32sum: textFn(1, (text) => {
    let [a, b] = [1, 0];
    for (const byte of Buffer.from(text!)) {
      a = (a + byte) % 65521;
      b = (b + a) % 65521;
    }
    return String(((b << 16) | a) >>> 0);
  }),
};
