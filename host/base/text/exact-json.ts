/** JSON whose integers keep all their digits. */

const markedInteger = '\u0000int:';
const backslash = 0x5c;

/** Writes JSON as `JSON.stringify` does, but a bigint as the digits that it has. */
export function writeExactJson(value: unknown): string {
  return textOf(value, '') ?? 'null';
}

/** The text of a value under a name; undefined where JSON has none. */
function textOf(value: unknown, name: string): string | undefined {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (hasOwnForm(value)) return textOf(value.toJSON(name), name);
  if (Array.isArray(value)) return `[${value.map((item, i) => textOf(item, String(i)) ?? 'null').join(',')}]`;
  let text = '{';
  for (const key of Object.keys(value)) {
    const member = textOf((value as Record<string, unknown>)[key], key);
    if (member === undefined) continue;
    if (text.length > 1) text += ',';
    text += `${JSON.stringify(key)}:${member}`;
  }
  return `${text}}`;
}

function hasOwnForm(value: object): value is { toJSON(name: string): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** Reads JSON; integers that a double can't hold become bigint. */
export function readExactJson(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text) as unknown;
  const marked = withMarks(text);
  const value: unknown = JSON.parse(marked);
  return marked === text ? value : unmarked(value);
}

/** Long integers outside of texts become texts with a mark. */
function withMarks(text: string): string {
  let marked = '';
  let taken = 0;
  const texts = new Texts(text);
  for (const { 0: digits, index } of text.matchAll(/(?<![\d.eE+-])-?\d{16,19}(?![\d.eE])/g)) {
    if (texts.has(index)) continue;
    marked += `${text.slice(taken, index)}${JSON.stringify(markedInteger + digits)}`;
    taken = index + digits.length;
  }
  return taken === 0 ? text : marked + text.slice(taken);
}

/** Tells of places, which only grow, whether they lie in a text. */
class Texts {
  #isInside = false;
  #nextQuote: number;

  constructor(private readonly json: string) {
    this.#nextQuote = json.indexOf('"');
  }

  has(index: number): boolean {
    while (this.#nextQuote >= 0 && this.#nextQuote < index) {
      if (!this.#isInside || !this.#isEscaped(this.#nextQuote)) this.#isInside = !this.#isInside;
      this.#nextQuote = this.json.indexOf('"', this.#nextQuote + 1);
    }
    return this.#isInside;
  }

  #isEscaped(index: number): boolean {
    let at = index;
    while (this.json.charCodeAt(at - 1) === backslash) at--;
    return (index - at) % 2 === 1;
  }
}

/** The value with integers in place of texts with a mark; lists and objects are changed in place. */
function unmarked(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(markedInteger) ? integerOf(value) : value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = unmarked(value[i]);
  } else if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[key];
      if (typeof member !== 'object' && typeof member !== 'string') continue;
      const given = unmarked(member);
      if (given !== member) define(value, key, given);
    }
  }
  return value;
}

function integerOf(text: string): unknown {
  const digits = text.slice(markedInteger.length);
  if (!/^-?\d+$/.test(digits)) return text;
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

/** A member may be named as what all objects have (`__proto__`). */
function define(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
