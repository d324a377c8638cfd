/** Values of templates and how Go prints them. */
import { readExactJson } from '../base/text/exact-json.js';
import { goTime } from './time.js';

/** `undefined` is the missing member, which prints as `<no value>`; integers beyond 2^53 are bigint. */
export type Value = undefined | null | boolean | number | bigint | string | Date | Value[] | { [key: string]: Value };
export type Dict = { [key: string]: Value };

/** A template that fails while it runs. */
export class TemplateError extends Error {}

/** Bound on the work of one run of a template: hostile templates must neither hang nor fill the memory. */
export class Budget {
  #units: number;

  constructor(
    units: number,
    /** Most characters of one text, and of the output. */
    readonly maxText: number,
  ) {
    this.#units = units;
  }

  spend(units: number): void {
    this.#units -= units;
    if (this.#units < 0) throw new TemplateError('the template takes too many steps');
  }

  /** Accounts for a text that is made: long ones cost more. */
  text(length: number): void {
    if (length > this.maxText) throw new TemplateError(`a text is longer than ${this.maxText} characters`);
    this.spend(length >> 6);
  }
}

/** Whether the value is a map: an object that is no list and no time. */
export function isDict(value: Value): value is Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** A member of a map; `undefined` when it is not there. Names of the prototype are no members. */
export function member(dict: Dict, key: string): Value {
  return Object.hasOwn(dict, key) ? dict[key] : undefined;
}

/** Sets a member of any name, `__proto__` too. */
export function setMember(dict: Dict, key: string, value: Value): void {
  Object.defineProperty(dict, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Keys in the order in which Go prints and walks maps. */
export function sortedKeys(dict: Dict): string[] {
  return Object.keys(dict).sort();
}

/** Whether `if` and `and` take a value for true: all but zero, false, null and empty values. */
export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Date) return true;
  if (isDict(value)) {
    for (const _ in value) return true;
    return false;
  }
  // NaN is true in Go.
  return typeof value === 'number' ? value !== 0 : Boolean(value);
}

/** The Go type that a message of errors names. */
export function typeName(value: Value): string {
  if (value === undefined || value === null) return 'nil';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int64' : 'float64';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (value instanceof Date) return 'time.Time';
  return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
}

/** Prints as `%v` does; numbers without a fraction are integers, since JSON does not tell. */
export function show(value: Value, budget: Budget): string {
  if (typeof value === 'string') return value;
  const parts: string[] = [];
  writeValue(value, parts, budget, 0);
  return parts.join('');
}

const maxNesting = 200;

function writeValue(value: Value, parts: string[], budget: Budget, nesting: number): void {
  budget.spend(1);
  if (nesting > maxNesting) throw new TemplateError(`a value is nested deeper than ${maxNesting}`);
  if (Array.isArray(value)) {
    parts.push('[');
    value.forEach((item, i) => {
      if (i > 0) parts.push(' ');
      writeValue(item, parts, budget, nesting + 1);
    });
    parts.push(']');
  } else if (isDict(value)) {
    parts.push('map[');
    sortedKeys(value).forEach((key, i) => {
      parts.push(i > 0 ? ` ${key}:` : `${key}:`);
      writeValue(value[key], parts, budget, nesting + 1);
    });
    parts.push(']');
  } else {
    const text = showScalar(value);
    budget.text(text.length);
    parts.push(text);
  }
}

function showScalar(value: undefined | null | boolean | number | bigint | string | Date): string {
  if (value === undefined || value === null) return '<nil>';
  if (typeof value === 'number') return showNumber(value);
  if (value instanceof Date) return goTime(value, '2006-01-02 15:04:05.999999999 -0700 MST');
  return String(value);
}

/** Prints a number as `%v` does: as an integer when it is a whole one that JavaScript holds exactly. */
function showNumber(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? '-0' : String(value);
  return goFloat(value);
}

/** Shortest form of a float as Go's `%v`: with an exponent, of at least two digits, below 1e-4 and from 1e6 on. */
export function goFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  // JavaScript, too, writes these without an exponent.
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Writes JSON as Go does: keys in order and, with `isHtmlSafe`, angle brackets and ampersands as escapes. */
export function toJson(value: Value, budget: Budget, isHtmlSafe = true, indent = ''): string {
  const writer = new JsonWriter(budget, isHtmlSafe, indent);
  writer.write(value, 0);
  return writer.parts.join('');
}

class JsonWriter {
  readonly parts: string[] = [];

  constructor(
    private readonly budget: Budget,
    private readonly isHtmlSafe: boolean,
    private readonly indent: string,
  ) {}

  write(value: Value, nesting: number): void {
    this.budget.spend(1);
    if (nesting > maxNesting) throw new TemplateError(`a value is nested deeper than ${maxNesting}`);
    if (Array.isArray(value)) {
      this.#items('[', value.length, ']', nesting, (i) => this.write(value[i], nesting + 1));
    } else if (isDict(value)) {
      const keys = sortedKeys(value);
      this.#items('{', keys.length, '}', nesting, (i) => {
        const key = keys[i]!;
        this.parts.push(jsonText(key, this.isHtmlSafe), this.indent === '' ? ':' : ': ');
        this.write(value[key], nesting + 1);
      });
    } else {
      const text = this.#scalar(value);
      this.budget.text(text.length);
      this.parts.push(text);
    }
  }

  #items(open: string, count: number, close: string, nesting: number, item: (i: number) => void): void {
    const line = (depth: number) => (this.indent === '' ? '' : `\n${this.indent.repeat(depth)}`);
    this.parts.push(open);
    for (let i = 0; i < count; i++) {
      this.parts.push(i > 0 ? `,${line(nesting + 1)}` : line(nesting + 1));
      item(i);
    }
    this.parts.push(count > 0 ? line(nesting) : '', close);
  }

  #scalar(value: Exclude<Value, Value[] | Dict>): string {
    if (value === undefined || value === null) return 'null';
    if (typeof value === 'string') return jsonText(value, this.isHtmlSafe);
    if (value instanceof Date) return `"${goTime(value, '2006-01-02T15:04:05.999999999Z07:00')}"`;
    if (typeof value === 'number' && !Number.isFinite(value)) {
      throw new TemplateError(`json: unsupported value: ${goFloat(value)}`);
    }
    return String(value);
  }
}

const unsafeForHtml = /[<>&\u2028\u2029]/g;

function jsonText(text: string, isHtmlSafe: boolean): string {
  const json = JSON.stringify(text);
  if (!isHtmlSafe) return json;
  return json.replace(unsafeForHtml, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The value if it is a number, else `undefined`. */
export function asNumber(value: Value): number | bigint | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? value : undefined;
}

/** Compares across bigint and number, which `===` tells apart. */
export function isSameNumber(a: number | bigint, b: number | bigint): boolean {
  return a <= b && a >= b;
}

/** Says whether two values are the same through and through. */
export function isDeepEqual(a: Value, b: Value, budget: Budget): boolean {
  budget.spend(1);
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isDeepEqual(item, b[i], budget));
  }
  if (isDict(a)) {
    if (!isDict(b)) return false;
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    return keys.every((key) => Object.hasOwn(b, key) && isDeepEqual(a[key], b[key], budget));
  }
  if (a instanceof Date) return b instanceof Date && a.getTime() === b.getTime();
  const [left, right] = [asNumber(a), asNumber(b)];
  if (left !== undefined && right !== undefined) return isSameNumber(left, right);
  return (a ?? null) === (b ?? null);
}

/** Reads JSON; integers that a double can't hold become bigint. */
export function readJson(text: string): Value {
  return readExactJson(text) as Value;
}
