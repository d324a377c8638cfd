/**
 * The part of RE2's syntax in which JavaScript's own engine finds the same: literals, classes, alternatives, groups
 * that are not repeated, repetitions of single characters. It is ten times as fast there as a port of RE2. Everything
 * else – and every text for which going back could take long – is left to the port (regexp.ts, docs/decisions/0013).
 */
import { stepPower } from './cost.js';
import type { CharSet, Node } from './nodes.js';

export interface NativePattern {
  expression: RegExp;
  /** Texts up to this length are searched in a bounded number of steps. */
  quickLength: number;
  /** Longer texts may take longer than a look at the clock. */
  shortLength: number;
  groupCount: number;
  /** Numbers of the groups of each name. */
  names: ReadonlyMap<string, readonly number[]>;
}

/** Steps of a search that nobody notices. */
const quickSteps = 1e6;
/** Steps of one that takes microseconds: texts that a stream of them could make long together are timed beyond it. */
const shortSteps = 1e4;
/** Groups that may be left out, and repetitions written as counts: both multiply the steps. */
const maxOptional = 6;
const maxCounted = 100;

const anySet = new Uint8Array(129).fill(1);

/** Thrown where the pattern leaves the common part. */
const foreign = Symbol('foreign');

/** The pattern for JavaScript's engine, or undefined when it is not in the common part. */
export function nativePattern(source: string): NativePattern | undefined {
  try {
    return new Translation(source).run();
  } catch (error) {
    if (error === foreign || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const classEscapes: Readonly<Record<string, string>> = {
  d: '0-9',
  w: '0-9A-Za-z_',
  s: '\\t\\n\\f\\r ',
};
const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', f: '\f', r: '\r', v: '\v', a: '\x07' };
const punctuation = /^[!-/:-@[-`{-~]$/;

interface Atom {
  text: string;
  set: CharSet;
}

class Translation {
  private at = 0;
  private optional = 0;
  private counted = 0;
  private groups = 0;
  private depth = 0;
  private readonly names = new Map<string, number[]>();
  private isFolding = false;
  private dotAll = false;

  constructor(private readonly source: string) {}

  run(): NativePattern {
    const flags = /^\(\?([is]+)\)/.exec(this.source);
    if (flags !== null) {
      this.isFolding = flags[1]?.includes('i') ?? false;
      this.dotAll = flags[1]?.includes('s') ?? false;
      this.at = flags[0].length;
    }
    // Letters beyond ASCII fold by tables that need not be of the same age.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
    if (this.isFolding && /[^\x00-\x7f]/.test(this.source)) throw foreign;
    const { text, branches } = this.alternatives();
    if (this.at < this.source.length) throw foreign;
    const power = stepPower(branches);
    const ways = 2 ** this.optional;
    return {
      expression: new RegExp(text, this.isFolding ? 'giu' : 'gu'),
      quickLength: (quickSteps / ways) ** (1 / power),
      shortLength: (shortSteps / ways) ** (1 / power),
      groupCount: this.groups,
      names: this.names,
    };
  }

  private peek(): string {
    const code = this.source.codePointAt(this.at);
    return code === undefined ? '' : String.fromCodePoint(code);
  }

  private accept(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private alternatives(): { text: string; branches: Node[][] } {
    if (++this.depth > 50) throw foreign;
    const branches: Node[][] = [];
    let text = '';
    do {
      const nodes: Node[] = [];
      if (branches.length > 0) text += '|';
      while (this.at < this.source.length && this.peek() !== '|' && this.peek() !== ')') text += this.item(nodes);
      branches.push(nodes);
    } while (this.accept('|'));
    this.depth--;
    return { text, branches };
  }

  /** Reads one piece and what repeats it. */
  private item(nodes: Node[]): string {
    if (this.accept('(')) return this.group(nodes);
    const assertion = this.assertion(nodes);
    if (assertion !== undefined) {
      if (/^[*+?{]/.test(this.peek())) throw foreign;
      return assertion;
    }
    const { text, set } = this.atom();
    return text + this.repetition(nodes, set);
  }

  private group(nodes: Node[]): string {
    let opening = '(?:';
    if (!this.accept('?:')) {
      this.groups++;
      opening = '(';
      if (this.accept('?')) {
        const named = /P?<([A-Za-z_]\w*)>/y;
        named.lastIndex = this.at;
        const name = named.exec(this.source)?.[1];
        if (name === undefined) throw foreign;
        this.at = named.lastIndex;
        this.names.set(name, [...(this.names.get(name) ?? []), this.groups]);
      }
    }
    const { text, branches } = this.alternatives();
    if (!this.accept(')')) throw foreign;
    if (/^[*+{]/.test(this.peek())) throw foreign;
    const isOptional = this.accept('?');
    if (isOptional && branches.some(canBeEmpty)) throw foreign;
    if (isOptional && ++this.optional > maxOptional) throw foreign;
    const lazy = isOptional && this.accept('?') ? '?' : '';
    if (isOptional && /^[*+?{]/.test(this.peek())) throw foreign;
    nodes.push({ kind: 'group', branches, isOptional });
    return `${opening}${text})${isOptional ? `?${lazy}` : ''}`;
  }

  /** Places in the text; undefined when none follows. */
  private assertion(nodes: Node[]): string | undefined {
    const put = (text: string, place: 'start' | 'end' | 'other' = 'other') => {
      nodes.push({ kind: 'assert', place });
      return text;
    };
    if (this.accept('^')) return put('^', 'start');
    if (this.accept('$')) return put('$', 'end');
    if (this.accept('\\A')) return put('^', 'start');
    if (this.accept('\\z')) return put('$', 'end');
    // With `i` two letters beyond ASCII would count as word characters; \B matches within a pair of surrogates.
    return !this.isFolding && this.accept('\\b') ? put('\\b') : undefined;
  }

  private repetition(nodes: Node[], set: CharSet): string {
    const mark = /[*+?]|\{(\d+)(?:(,)(\d*))?\}/y;
    mark.lastIndex = this.at;
    const found = mark.exec(this.source);
    if (found === null) {
      // A brace that begins no count is a character, which is rare enough.
      if (this.peek() === '{') throw foreign;
      nodes.push({ kind: 'one', set });
      return '';
    }
    this.at = mark.lastIndex;
    const [text, low, comma, high] = found;
    const min = low === undefined ? Number(text === '+') : Number(low);
    const max = low === undefined ? (text === '?' ? 1 : Number.POSITIVE_INFINITY) : maxOf(min, comma, high);
    if (low !== undefined) {
      this.counted += Number.isFinite(max) ? max : min;
      if (max < min || this.counted > maxCounted) throw foreign;
    }
    const lazy = this.accept('?') ? '?' : '';
    if (/^[*+?{]/.test(this.peek())) throw foreign;
    nodes.push({ kind: 'repeat', set, min, max });
    return text + lazy;
  }

  private atom(): Atom {
    const c = this.peek();
    if (c === '[') return this.charClass();
    this.at += c.length;
    if (c === '.') return this.dotAll ? { text: '[\\s\\S]', set: anySet } : classOf('\\n', true);
    if (c === '\\') {
      const escaped = this.escape();
      return typeof escaped === 'string'
        ? this.literal(escaped)
        : classOf(escaped.text, escaped.isNegated, this.isFolding);
    }
    if ('*+?{'.includes(c)) throw foreign;
    return this.literal(c);
  }

  private literal(c: string): Atom {
    return { text: quoted(c), set: setOf(quoted(c), false, this.isFolding) };
  }

  /** Reads what stands behind a backslash: a character, or a class as the inside of brackets. */
  private escape(): string | { text: string; isNegated: boolean } {
    const c = this.peek();
    this.at += c.length;
    const inside = classEscapes[c.toLowerCase()];
    if (inside !== undefined) return { text: inside, isNegated: c !== c.toLowerCase() };
    const control = controls[c];
    if (control !== undefined) return control;
    if (c === 'x') {
      const digits = /([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\}/y;
      digits.lastIndex = this.at;
      const found = digits.exec(this.source);
      const code = Number.parseInt(found?.[1] ?? found?.[2] ?? '', 16);
      if (found === null || code > 0x10ffff || (this.isFolding && code > 0x7f)) throw foreign;
      this.at = digits.lastIndex;
      return String.fromCodePoint(code);
    }
    if (!punctuation.test(c)) throw foreign;
    return c;
  }

  private charClass(): Atom {
    this.at++;
    const isNegated = this.accept('^');
    let text = '';
    for (let isFirst = true; isFirst || this.peek() !== ']'; isFirst = false) {
      if (this.at >= this.source.length || this.source.startsWith('[:', this.at)) throw foreign;
      const low = this.member();
      if (typeof low !== 'string') {
        if (this.peek() === '-') throw foreign;
        text += low.text;
        continue;
      }
      text += quoted(low);
      if (this.peek() !== '-' || this.source[this.at + 1] === ']') continue;
      this.at++;
      const high = this.member();
      if (typeof high !== 'string' || (high.codePointAt(0) ?? 0) < (low.codePointAt(0) ?? 0)) throw foreign;
      text += `-${quoted(high)}`;
    }
    this.at++;
    return classOf(text, isNegated, this.isFolding);
  }

  /** One character of a class, or a class within it. */
  private member(): string | { text: string; isNegated: boolean } {
    const c = this.peek();
    this.at += c.length;
    if (c !== '\\') return c;
    const escaped = this.escape();
    if (typeof escaped !== 'string' && escaped.isNegated) throw foreign;
    return escaped;
  }
}

function maxOf(min: number, comma: string | undefined, high: string | undefined): number {
  if (comma === undefined) return min;
  return high === undefined || high === '' ? Number.POSITIVE_INFINITY : Number(high);
}

function canBeEmpty(branch: readonly Node[]): boolean {
  return branch.every((node) => {
    if (node.kind === 'one') return false;
    if (node.kind === 'repeat') return node.min === 0;
    return node.kind === 'assert' || node.isOptional || node.branches.some(canBeEmpty);
  });
}

/** The character as it stands in expressions and in classes. */
function quoted(c: string): string {
  return /^[\^$\\.*+?()[\]{}|/-]$/.test(c)
    ? `\\x${c.charCodeAt(0).toString(16)}`
    : c.replace(/[\n\r\u2028\u2029]/, (end) => `\\u{${end.charCodeAt(0).toString(16)}}`);
}

function classOf(inside: string, isNegated: boolean, isFolding = false): Atom {
  return { text: `[${isNegated ? '^' : ''}${inside}]`, set: setOf(inside, isNegated, isFolding) };
}

/** Members of a class; of what is beyond ASCII some may be in it. */
function setOf(inside: string, isNegated: boolean, isFolding: boolean): CharSet {
  const test = new RegExp(`[${inside}]`, isFolding ? 'iu' : 'u');
  const set = new Uint8Array(129);
  for (let code = 0; code < 128; code++) set[code] = Number(test.test(String.fromCharCode(code)) !== isNegated);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
  set[128] = Number(isNegated || isFolding || /[^\x00-\x7f]|\\[ux]\{?[8-9a-f]|\\u\{/.test(inside));
  return set;
}
