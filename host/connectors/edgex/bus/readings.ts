/** Values of readings: texts with a type, as EdgeX has them, and values as the engine has them. */
import { Instant, type Value } from '../../../../kernels/values/value.js';
import { writeExactJson } from '../../../base/text/exact-json.js';
import { edgexErrors } from './errors.js';

const integer = /^(?:Int(?:8|16|32|64)|Uint(?:8|16|32|64))$/;
const integers = /^(?:Int(?:8|16|32|64)|Uint(?:8|16|32|64))Array$/;
const isTrue = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const isFalse = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);
const maxInt64 = (1n << 63n) - 1n;

export interface Reading {
  readonly valueType?: unknown;
  readonly value?: unknown;
  readonly binaryValue?: unknown;
  readonly objectValue?: unknown;
}

/** The value of a reading; throws when it is not of its type. Types that nobody knows are texts. */
export function readingValue({ valueType, value, binaryValue, objectValue }: Reading): Value {
  const type = String(valueType ?? '');
  const text = typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value);
  if (type === 'Bool') return boolOf(text);
  if (integer.test(type)) return integerOf(type, text);
  if (type === 'Float32' || type === 'Float64') return floatOf(type, text);
  if (type === 'Binary') return new Uint8Array(Buffer.from(String(binaryValue ?? ''), 'base64'));
  if (type === 'Object' || type === 'ObjectArray') return plain(objectValue);
  if (type.endsWith('Array')) return listOf(type, text);
  return text;
}

function boolOf(text: string): boolean {
  if (isTrue.has(text)) return true;
  if (isFalse.has(text)) return false;
  throw edgexErrors.value('Bool', text);
}

/** Numbers above those of 64 bits with a sign are floats. */
function integerOf(type: string, text: string): bigint | number {
  const isUnsigned = type === 'Uint64';
  if (!(isUnsigned ? /^\d+$/ : /^[+-]?\d+$/).test(text)) throw edgexErrors.value(type, text);
  const number = BigInt(text.replace(/^\+/, ''));
  if (number > maxInt64 || number < -maxInt64 - 1n) {
    if (isUnsigned && number < 1n << 64n) return Number(number);
    throw edgexErrors.value(type, text);
  }
  return number;
}

function floatOf(type: string, text: string): number {
  const number = text.trim() === text && text !== '' ? Number(text) : Number.NaN;
  if (Number.isNaN(number)) throw edgexErrors.value(type, text);
  return type.startsWith('Float32') ? Math.fround(number) : number;
}

function listOf(type: string, text: string): Value[] {
  const items = jsonList(type, text);
  if (type === 'BoolArray' && items.every((item) => typeof item === 'boolean')) return items as Value[];
  if (type === 'StringArray' && items.every((item) => typeof item === 'string')) return items as Value[];
  if (type.startsWith('Float')) {
    // Numbers stand there, or texts of numbers.
    return items.map((item) => floatOf(type, typeof item === 'number' || typeof item === 'string' ? String(item) : ''));
  }
  if (integers.test(type)) {
    return items.map((item) => integerOf(type.slice(0, -'Array'.length), typeof item === 'number' ? String(item) : ''));
  }
  throw edgexErrors.value(type, text.slice(0, 100));
}

function jsonList(type: string, text: string): unknown[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    list = undefined;
  }
  if (!Array.isArray(list)) throw edgexErrors.value(type, text.slice(0, 100));
  return list;
}

/** Numbers within objects are floats. */
function plain(value: unknown): Value {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value as Value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

/** The members of a reading that hold its value. */
export type Held =
  | { readonly valueType: string; readonly value: string }
  | { readonly valueType: 'Binary'; readonly binaryValue: string; readonly mediaType: string }
  | { readonly valueType: 'Object'; readonly objectValue: unknown };

/** A value as a reading, of the type that it has, or that is asked for. Throws when it can't be one. */
export function heldOf(name: string, value: Value, asked?: string): Held {
  const type = asked ?? typeOf(name, value);
  if (type === 'Binary') {
    if (typeof value !== 'string' && !(value instanceof Uint8Array)) throw edgexErrors.cast(name, type);
    const binaryValue = typeof value === 'string' ? value : Buffer.from(value).toString('base64');
    return { valueType: type, binaryValue, mediaType: 'application/text' };
  }
  if (type === 'Object') return { valueType: type, objectValue: shown(value) };
  const text = type.endsWith('Array') ? listText(name, value, type) : textOf(name, value, type);
  return { valueType: type, value: text };
}

function typeOf(name: string, value: Value): string {
  if (typeof value === 'boolean') return 'Bool';
  if (typeof value === 'string') return 'String';
  if (typeof value === 'bigint') return 'Int64';
  if (typeof value === 'number') return 'Float64';
  if (value instanceof Uint8Array) return 'Binary';
  if (!Array.isArray(value)) return 'Object';
  if (value.length === 0) return 'StringArray';
  const [first] = value;
  if (first === undefined || first === null) throw edgexErrors.cast(name, 'Array');
  return typeof first === 'object' ? 'Object' : `${typeOf(name, first)}Array`;
}

function textOf(name: string, value: Value, type: string): string {
  if (type === 'String' && typeof value === 'string') return value;
  if (type === 'Bool' && typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' && typeof value !== 'bigint') throw edgexErrors.cast(name, type);
  if (type === 'Float32' || type === 'Float64') return exponent(Number(value), type);
  if (!integer.test(type) || !Number.isFinite(Number(value))) throw edgexErrors.cast(name, type);
  return String(typeof value === 'bigint' ? value : BigInt(Math.trunc(value)));
}

function listText(name: string, value: Value, type: string): string {
  if (!Array.isArray(value)) throw edgexErrors.cast(name, type);
  const item = type.slice(0, -'Array'.length);
  const texts = value.map((one) => textOf(name, one, item));
  return item === 'String' ? JSON.stringify(texts) : `[${texts.join(', ')}]`;
}

/** The shortest text of a float with an exponent of two digits, such as 2.05e+01. */
function exponent(value: number, type: string): string {
  let text = value.toExponential();
  if (type === 'Float32') {
    const single = Math.fround(value);
    for (let digits = 0; digits < 10; digits++) {
      text = single.toExponential(digits);
      if (Math.fround(Number(text)) === single) break;
    }
  }
  const [mantissa = '', power = '+0'] = text.split('e');
  return `${mantissa}e${power[0]}${power.slice(1).padStart(2, '0')}`;
}

/** The value as JSON has it. */
function shown(value: Value): unknown {
  if (value instanceof Instant) return new Date(Number(value.nanos / 1_000_000n)).toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shown(member as Value)]));
}

/** JSON of an event or a request with one. */
export function eventText(event: unknown): string {
  return writeExactJson(event);
}
