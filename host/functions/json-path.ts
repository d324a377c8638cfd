/**
 * JSON paths: `$.a.b`, `$["a b"]`, `$.list[0]`, `[1,2]`, `[0:3]`, `[*]`, `..name`, `[?(@.age > 5 && @.name == "x")]`.
 * A path with a step that may match several values gives the list of its matches, any other path one value.
 */
import type { LiteralArg } from './define.js';
import { printed } from './printing/printed.js';
import { occursIn } from './regexp/regexp.js';
import { TooMuchWork } from './regexp/work.js';
import { Walk } from './walk-work.js';

interface Scope {
  root: unknown;
  current: unknown;
  walk: Walk;
}
/** Evaluates an expression; gives `Missing` for a value that is not there. */
type Evaluate = (scope: Scope) => unknown;
/** `one` gives `Missing` when there is no such value; `many` passes over what does not fit. */
type Step =
  | { kind: 'one'; find: (value: unknown, scope: Scope) => unknown }
  | { kind: 'many'; find: (value: unknown, scope: Scope) => unknown[] | Missing };

/**
 * A path that found nothing. It is returned, not thrown: thousands in a document are passed over, and each throw costs
 * as much as a hundred visits.
 */
class Missing {
  constructor(readonly reason: () => string) {}
}

const maxPaths = 256;
/** Brackets and conditions within each other. */
const maxDepth = 64;
const paths = new Map<string, Evaluate>();

/** Checks that the path, the second argument, is written out; returns the reason for a refusal. */
export function needsPath([, path]: readonly LiteralArg[]): string | undefined {
  return typeof path === 'string' ? undefined : 'argument 2 (path) must be a string literal';
}

/**
 * Finds what the path describes in a list, an object or a text of JSON. Throws for a bad path and for missing members.
 */
export function findPath(data: unknown, path: unknown): unknown {
  if (typeof path !== 'string') throw new Error(`the path must be a string, not ${printed(path)}`);
  let root = data;
  if (typeof data === 'string') {
    try {
      root = JSON.parse(data);
    } catch {
      throw new Error(`'${data}' is not valid JSON`);
    }
  } else if (typeof data !== 'object' || data === null) {
    throw new Error(`${printed(data)} has no members a path could find`);
  }
  let evaluate = paths.get(path);
  if (evaluate === undefined) {
    evaluate = new PathParser(path).parse();
    // The oldest goes first: paths that come with the rows must not fill the memory.
    if (paths.size >= maxPaths) paths.delete(paths.keys().next().value as string);
    paths.set(path, evaluate);
  }
  const walk = new Walk(root);
  try {
    const found = evaluate({ root, current: root, walk });
    if (found instanceof Missing) throw new Error(found.reason());
    return found;
  } finally {
    walk.end();
  }
}

/** Follows the steps from a value; the current value of the scope stays that of the condition around them. */
function follow(steps: readonly Step[], start: unknown, scope: Scope): unknown {
  if (steps.every(({ kind }) => kind === 'one')) {
    return steps.reduce((value, step) => (value instanceof Missing ? value : step.find(value, scope)), start);
  }
  let matches = [start];
  for (const step of steps) {
    const next: unknown[] = [];
    for (const value of matches) {
      if (step.kind === 'many') {
        const all = step.find(value, scope);
        if (all instanceof Missing) return all;
        for (const found of all) next.push(found);
      } else {
        const found = attempt(() => step.find(value, scope));
        if (!(found instanceof Missing)) next.push(found);
      }
    }
    matches = next;
  }
  return matches;
}

/** Result of `find`; `Missing` when it fails, as on a bad regular expression. */
function attempt(find: () => unknown): unknown {
  try {
    return find();
  } catch (error) {
    if (error instanceof TooMuchWork) throw error;
    return new Missing(() => String(error));
  }
}

function member(value: unknown, key: unknown, { walk }: Scope): unknown {
  walk.visit(1);
  if (Array.isArray(value)) {
    const index = numberOf(key);
    if (index === undefined) return new Missing(() => `a list has no member ${printed(key)}`);
    const at = Math.trunc(index);
    if (at < 0 || at >= value.length) return new Missing(() => `index ${at} is out of bounds`);
    return value[at];
  }
  if (typeof value !== 'object' || value === null) {
    return new Missing(() => `${printed(value)} has no member ${printed(key)}`);
  }
  const name = walk.print(key);
  if (!Object.hasOwn(value, name)) return new Missing(() => `unknown key ${name}`);
  return (value as Record<string, unknown>)[name];
}

/** The member that a key in brackets names, which may be missing itself. */
function memberAt(value: unknown, key: unknown, scope: Scope): unknown {
  return key instanceof Missing ? key : member(value, key, scope);
}

function children(value: unknown, { walk }: Scope): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  const found = Array.isArray(value) ? value : Object.values(value);
  walk.visit(found.length);
  return found;
}

/** The value and all within it, each before those within it. */
function descendants(value: unknown, scope: Scope): unknown[] {
  const found: unknown[] = [];
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    found.push(next);
    const inner = children(next, scope);
    for (let i = inner.length - 1; i >= 0; i--) open.push(inner[i]);
  }
  return found;
}

function range(value: unknown, bounds: readonly unknown[], { walk }: Scope): unknown[] {
  if (!Array.isArray(value)) return [];
  const [low = 0, high = 2147483647, by = 1] = bounds.map((bound) => numberOf(bound));
  if (low > high) return [];
  const clip = (at: number) => (at < 0 ? Math.max(value.length + at, 0) : Math.min(at, value.length));
  const step = Math.trunc(by) || 1;
  const found: unknown[] = [];
  if (step > 0) for (let i = clip(low); i < clip(high); i += step) found.push(value[i]);
  else for (let i = clip(high) - 1; i >= clip(low); i += step) found.push(value[i]);
  walk.visit(found.length);
  return found;
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
  return Number.isNaN(number) ? undefined : number;
}

function truth(value: unknown): boolean | Missing {
  if (value instanceof Missing) return value;
  if (value === null || value === undefined || value === false || value === 'false' || value === 'FALSE') return false;
  if (value === true || value === 'true' || value === 'TRUE') return true;
  const number = numberOf(value);
  if (number === undefined) return new Missing(() => `${printed(value)} is neither true nor false`);
  return number !== 0;
}

function isEqual(a: unknown, b: unknown, { walk }: Scope): boolean {
  if (typeof a === 'string' && typeof b === 'string' && a === b) return true;
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== undefined && y !== undefined) return x === y;
  return typeof a === typeof b && walk.print(a) === walk.print(b);
}

/** -1, 0 or 1, undefined beside null; numbers and texts of numbers by value, other texts by their characters. */
function order(a: unknown, b: unknown, { walk }: Scope): number | undefined {
  const [x, y] = [numberOf(a), numberOf(b)];
  const areTexts = typeof a === 'string' && typeof b === 'string';
  if (!areTexts && x !== undefined && y !== undefined) return Math.sign(x - y);
  if (a == null || b == null) return undefined;
  return Buffer.compare(Buffer.from(walk.print(a)), Buffer.from(walk.print(b)));
}

type Compare = (a: unknown, b: unknown, scope: Scope) => boolean | Missing;

function ordered(holds: (sign: number) => boolean): Compare {
  return (a, b, scope) => {
    const sign = order(a, b, scope);
    return sign === undefined ? new Missing(() => 'null cannot be ordered') : holds(sign);
  };
}

const operators: Readonly<Record<string, Compare>> = {
  '==': isEqual,
  '!=': (a, b, scope) => !isEqual(a, b, scope),
  '<=': ordered((sign) => sign <= 0),
  '>=': ordered((sign) => sign >= 0),
  '<': ordered((sign) => sign < 0),
  '>': ordered((sign) => sign > 0),
  '=~': (a, b, { walk }) => occursIn(walk.print(b), walk.print(a)),
  '!~': (a, b, { walk }) => !occursIn(walk.print(b), walk.print(a)),
};

class PathParser {
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  parse(): Evaluate {
    const evaluate = this.disjunction();
    this.take(/$/y, 'the end');
    return evaluate;
  }

  private disjunction(): Evaluate {
    if (++this.depth > maxDepth) throw this.error(`more than ${maxDepth} levels`);
    let left = this.conjunction();
    while (this.accept(/\|\|/y) !== null) {
      const [a, b] = [left, this.conjunction()];
      left = (scope) => {
        const first = truth(a(scope));
        return first === false ? truth(b(scope)) : first;
      };
    }
    this.depth--;
    return left;
  }

  private conjunction(): Evaluate {
    let left = this.comparison();
    while (this.accept(/&&/y) !== null) {
      const [a, b] = [left, this.comparison()];
      left = (scope) => {
        const first = truth(a(scope));
        return first === true ? truth(b(scope)) : first;
      };
    }
    return left;
  }

  private comparison(): Evaluate {
    const left = this.operand();
    const compare = operators[this.accept(/==|!=|<=|>=|=~|!~|<|>/y) ?? ''];
    if (compare === undefined) return left;
    const right = this.operand();
    return (scope) => {
      const a = left(scope);
      if (a instanceof Missing) return a;
      const b = right(scope);
      return b instanceof Missing ? b : compare(a, b, scope);
    };
  }

  private operand(): Evaluate {
    if (this.accept(/!/y) !== null) {
      if (++this.depth > maxDepth) throw this.error(`more than ${maxDepth} levels`);
      const inner = this.operand();
      this.depth--;
      return (scope) => {
        const is = truth(inner(scope));
        return is instanceof Missing ? is : !is;
      };
    }
    if (this.accept(/\(/y) !== null) {
      const inner = this.disjunction();
      this.take(/\)/y, ')');
      return inner;
    }
    const start = this.accept(/[$@]/y);
    if (start !== null) {
      const steps = this.steps();
      return (scope) => follow(steps, start === '$' ? scope.root : scope.current, scope);
    }
    const number = this.accept(/-?\d+(\.\d+)?([eE][+-]?\d+)?/y);
    if (number !== null) return () => Number(number);
    const text = this.accept(/"(?:[^"\\]|\\.)*"/y);
    if (text !== null) return constant(this.unquoted(text));
    // In single quotes stands one character, as in the language of the paths.
    const character = this.accept(/'(?:[^'\\]|\\.)'/uy);
    if (character !== null) return constant(character.slice(character.length === 4 ? 2 : 1, -1));
    const word = this.take(/[\p{L}_][\p{L}\p{N}_]*/uy, 'a value');
    if (word === 'true' || word === 'false') return constant(word === 'true');
    const steps: Step[] = [{ kind: 'one', find: (value, scope) => member(value, word, scope) }, ...this.steps()];
    return (scope) => follow(steps, scope.root, scope);
  }

  private steps(): Step[] {
    const steps: Step[] = [];
    for (;;) {
      if (this.accept(/\.\./y) !== null) {
        steps.push({ kind: 'many', find: descendants });
        if (this.accept(/\[/y) !== null) steps.push(this.bracket());
        else steps.push(this.named());
      } else if (this.accept(/\./y) !== null) steps.push(this.named());
      else if (this.accept(/\[/y) !== null) steps.push(this.bracket());
      else return steps;
    }
  }

  private named(): Step {
    if (this.accept(/\*/y) !== null) return { kind: 'many', find: children };
    const name = this.take(/[\p{L}_][\p{L}\p{N}_]*/uy, 'a name');
    return { kind: 'one', find: (value, scope) => member(value, name, scope) };
  }

  private bracket(): Step {
    if (this.accept(/\*\s*\]/y) !== null) return { kind: 'many', find: children };
    if (this.accept(/\?/y) !== null) {
      const condition = this.disjunction();
      this.take(/\]/y, ']');
      const holds = (current: unknown, { root, walk }: Scope): boolean =>
        attempt(() => truth(condition({ root, current, walk }))) === true;
      return {
        kind: 'many',
        find: (value, scope) => children(value, scope).filter((item) => holds(item, scope)),
      };
    }
    const keys: (Evaluate | null)[] = [];
    let separator: string | null = null;
    for (;;) {
      keys.push(/\s*[:\]]/y.test(this.text.slice(this.at)) && separator !== ',' ? null : this.disjunction());
      const next = this.take(/[:,\]]/y, ', : or ]');
      if (next === ']') break;
      if (separator !== null && separator !== next) throw this.error('mixed , and : in brackets');
      separator = next;
    }
    const at = (key: Evaluate | null, current: unknown, { root, walk }: Scope) => key?.({ root, current, walk });
    if (separator === ':') {
      if (keys.length > 3) throw this.error('a range has at most start, end and step');
      const bounds = (value: unknown, scope: Scope) => keys.map((key) => at(key, value, scope));
      return {
        kind: 'many',
        find: (value, scope) => {
          const all = bounds(value, scope);
          return all.find((one) => one instanceof Missing) ?? range(value, all, scope);
        },
      };
    }
    const [only] = keys;
    if (only === null || only === undefined) throw this.error('empty brackets');
    if (separator === null) {
      return { kind: 'one', find: (value, scope) => memberAt(value, at(only, value, scope), scope) };
    }
    const find = (value: unknown, scope: Scope) => {
      const found: unknown[] = [];
      for (const key of keys) {
        const one = attempt(() => memberAt(value, at(key, value, scope), scope));
        if (!(one instanceof Missing)) found.push(one);
      }
      return found;
    };
    return { kind: 'many', find };
  }

  private unquoted(text: string): string {
    try {
      return JSON.parse(text);
    } catch {
      throw this.error(`bad text ${text}`);
    }
  }

  private accept(token: RegExp): string | null {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++;
    token.lastIndex = this.at;
    const found = token.exec(this.text)?.[0];
    if (found === undefined) return null;
    this.at += found.length;
    return found;
  }

  private take(token: RegExp, wanted: string): string {
    const found = this.accept(token);
    if (found === null) throw this.error(`expected ${wanted}`);
    return found;
  }

  private error(reason: string): Error {
    return new Error(`bad path ${this.text}: ${reason} at position ${this.at + 1}`);
  }
}

function constant(value: unknown): Evaluate {
  return () => value;
}
