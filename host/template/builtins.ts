/** The functions that Go's templates know by themselves. */
import { any, type FunctionSpec, fn, indexArg, textArg } from './function-spec.js';
import { sprintf } from './printf.js';
import {
  asNumber,
  type Budget,
  isDict,
  isSameNumber,
  isTrue,
  member,
  show,
  TemplateError,
  typeName,
  type Value,
} from './value.js';

/** Says whether two plain values are equal; values of different kinds can't be compared. */
function isEqual(a: Value, b: Value): boolean {
  const left = a ?? null;
  const right = b ?? null;
  if (left === null || right === null) return left === right;
  if (typeof left === 'object' || typeof right === 'object') {
    if (left instanceof Date && right instanceof Date) return left.getTime() === right.getTime();
    throw new TemplateError(`non-comparable types ${typeName(left)}, ${typeName(right)}`);
  }
  // JSON does not tell 1 from 1.0: all numbers are of one kind here.
  const numbers = [asNumber(left), asNumber(right)];
  if (numbers[0] !== undefined && numbers[1] !== undefined) return isSameNumber(numbers[0], numbers[1]);
  if (typeof left !== typeof right) {
    throw new TemplateError(`incompatible types for comparison: ${typeName(left)} and ${typeName(right)}`);
  }
  return left === right;
}

function isLess(a: Value, b: Value): boolean {
  const isText = typeof a === 'string' && typeof b === 'string';
  const isNumber = asNumber(a) !== undefined && asNumber(b) !== undefined;
  if (!isText && !isNumber) {
    const invalid = [a, b].some((value) => value === undefined || value === null || typeof value === 'object');
    if (invalid) throw new TemplateError('invalid type for comparison');
    throw new TemplateError(`incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`);
  }
  return a! < b!;
}

function lengthOf(value: Value, budget: Budget): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.length;
  if (isDict(value)) {
    const { length } = Object.keys(value);
    budget.spend(length >> 4);
    return length;
  }
  if (value === undefined || value === null) throw new TemplateError('len of nil pointer');
  throw new TemplateError(`len of type ${typeName(value)}`);
}

function item(value: Value, key: Value): Value {
  if (value === undefined || value === null) throw new TemplateError('index of untyped nil');
  if (isDict(value)) return member(value, textArg(key));
  if (Array.isArray(value)) {
    const index = indexArg(key);
    if (index < 0 || index >= value.length) throw new TemplateError(`index out of range: ${index}`);
    return value[index];
  }
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    const index = indexArg(key);
    if (index < 0 || index >= bytes.length) throw new TemplateError(`index out of range: ${index}`);
    return bytes[index];
  }
  throw new TemplateError(`can't index item of type ${typeName(value)}`);
}

function slice(value: Value, from: Value, to: Value): Value {
  const isText = typeof value === 'string';
  if (!isText && !Array.isArray(value)) throw new TemplateError(`can't slice item of type ${typeName(value)}`);
  const whole = isText ? Buffer.from(value) : value;
  const start = from === undefined ? 0 : indexArg(from);
  const end = to === undefined ? whole.length : indexArg(to);
  for (const index of [start, end]) {
    if (index < 0 || index > whole.length) throw new TemplateError(`index out of range: ${index}`);
  }
  if (start > end) throw new TemplateError(`invalid slice index: ${start} > ${end}`);
  return Array.isArray(whole) ? whole.slice(start, end) : whole.subarray(start, end).toString();
}

/** Joins values as `print` does: a space between two that are no texts. */
function print(values: Value[], budget: Budget): string {
  let text = '';
  values.forEach((value, i) => {
    if (i > 0 && typeof value !== 'string' && typeof values[i - 1] !== 'string') text += ' ';
    text += show(value, budget);
  });
  return text;
}

const htmlEscapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
  '\0': '\uFFFD',
};
const jsEscapes: Record<string, string> = { '\\': '\\\\', "'": "\\'", '"': '\\"' };

function escapeJs(text: string): string {
  return text.replace(/[\\'"<>&=]|\p{Cc}/gu, (char) => {
    const code = char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return jsEscapes[char] ?? `\\u${code}`;
  });
}

/** Escapes all but letters, digits and `-_.~`, a space as `+`. */
function queryEscape(text: string): string {
  // The way through bytes turns half characters into U+FFFD, which can be escaped.
  return encodeURIComponent(Buffer.from(text).toString())
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

export const builtins: Record<string, FunctionSpec> = {
  not: fn(1, 1, ([value]) => !isTrue(value)),
  eq: fn(2, any, ([first, ...others]) => others.some((other) => isEqual(first, other))),
  ne: fn(2, 2, ([a, b]) => !isEqual(a, b)),
  lt: fn(2, 2, ([a, b]) => isLess(a, b)),
  le: fn(2, 2, ([a, b]) => isLess(a, b) || isEqual(a, b)),
  gt: fn(2, 2, ([a, b]) => isLess(b, a)),
  ge: fn(2, 2, ([a, b]) => isLess(b, a) || isEqual(a, b)),
  len: fn(1, 1, ([value], budget) => lengthOf(value, budget)),
  index: fn(1, any, ([value, ...keys]) => keys.reduce<Value>(item, value)),
  slice: fn(1, 3, ([value, from, to]) => slice(value, from, to)),
  print: fn(0, any, print),
  println: fn(0, any, (values, budget) => `${values.map((value) => show(value, budget)).join(' ')}\n`),
  printf: fn(1, any, ([format, ...values], budget) => sprintf(textArg(format), values, budget)),
  html: fn(1, any, (values, budget) => print(values, budget).replace(/[&<>"'\0]/g, (char) => htmlEscapes[char]!)),
  js: fn(1, any, (values, budget) => escapeJs(print(values, budget))),
  urlquery: fn(1, any, (values, budget) => queryEscape(print(values, budget))),
  call: fn(1, any, ([value]) => {
    throw new TemplateError(`non-function of type ${typeName(value)}`);
  }),
};
