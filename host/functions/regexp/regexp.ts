/**
 * Regular expressions in the syntax and with the matches of RE2: leftmost, the first alternative wins, in time linear
 * in the text. A port of RE2 decides what a pattern is; JavaScript's engine does the searches that are the same and
 * quick there.
 */
import type { RE2JS } from 're2js';
import { latePackage } from '../../base/program/late-package.js';
import { ownName, withOwnNames } from './names.js';
import { type NativePattern, nativePattern } from './native.js';
import { allowsNative, BoundedPort, chargePattern, task, timed } from './work.js';

export interface Found {
  start: number;
  end: number;
  /** Texts of the groups from 1 on; undefined for those that took no part. */
  groups: (string | undefined)[];
}

/** Patterns are bounded, as their work is (regexp-work.ts), so that none keeps the others waiting. */
const maxPatternLength = 10_000;
const maxProgram = 10_000;

const maxPatterns = 256;
const patterns = new Map<string, Pattern>();

/** Compiles a pattern, or takes it from those known. Throws an error with the pattern and the reason. */
export function pattern(source: string): Pattern {
  const known = patterns.get(source);
  if (known !== undefined) return known;
  chargePattern(source.length);
  return made(source);
}

function made(source: string): Pattern {
  const one = new Pattern(source);
  // The oldest goes first: patterns that come with the rows must not fill the memory.
  if (patterns.size >= maxPatterns) patterns.delete(patterns.keys().next().value as string);
  patterns.set(source, one);
  return one;
}

/** Reason why a pattern cannot be used, or undefined. For those that a statement has: one is no work to speak of. */
export function patternFault(source: string): string | undefined {
  try {
    if (!patterns.has(source)) made(source);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The pattern occurs in the text. */
export function occursIn(source: string, text: string): boolean {
  return pattern(source).occursIn(text);
}

export class Pattern {
  private readonly native: NativePattern | undefined;
  private compiled: BoundedPort | undefined;
  /** Numbers of the groups of each name, once the port was asked. */
  private names: ReadonlyMap<string, readonly number[]> | undefined;

  constructor(private readonly source: string) {
    if (source.length > maxPatternLength) {
      throw new Error(`regular expression of ${source.length} characters, at most ${maxPatternLength} are allowed`);
    }
    this.native = nativePattern(source);
    if (this.native === undefined) this.bounded();
  }

  /** Throws `TooMuchWork`, as the other searches do. */
  occursIn(text: string): boolean {
    const quick = this.quick(text);
    if (quick === undefined) return task(() => this.bounded().for(text.length).test(text));
    return this.timed(text, () => {
      quick.lastIndex = 0;
      return quick.test(text);
    });
  }

  /** The first match. */
  find(text: string): Found | undefined {
    return this.searches(text, (find) => find(0));
  }

  /** Runs searches of one text that begin behind each other's matches: `find` gives the first at or behind a place. */
  searches<T>(text: string, run: (find: (from: number) => Found | undefined) => T): T {
    const quick = this.quick(text);
    if (quick === undefined) return task(() => run((from) => this.findByPort(text, from)));
    return this.timed(text, () =>
      run((from) => {
        quick.lastIndex = from;
        const found = quick.exec(text);
        if (found === null) return undefined;
        return { start: found.index, end: found.index + found[0].length, groups: found.slice(1) };
      }),
    );
  }

  /** Numbers of the groups of this name, in their order. */
  groupsNamed(name: string): readonly number[] {
    if (this.native !== undefined) return this.native.names.get(name) ?? [];
    this.bounded();
    return this.names?.get(name) ?? [];
  }

  private quick(text: string): RegExp | undefined {
    const { native } = this;
    if (native === undefined || text.length > native.quickLength) return undefined;
    return text.length <= native.shortLength || allowsNative() ? native.expression : undefined;
  }

  private timed<T>(text: string, run: () => T): T {
    return text.length <= (this.native?.shortLength ?? 0) ? run() : timed(run);
  }

  private findByPort(text: string, from: number): Found | undefined {
    const matcher = this.bounded()
      .for(text.length - from)
      .matcher(text);
    if (!matcher.find(from)) return undefined;
    const groups = Array.from({ length: matcher.groupCount() }, (_, i) => matcher.group(i + 1) ?? undefined);
    return { start: matcher.start(), end: matcher.end(), groups };
  }

  private bounded(): BoundedPort {
    if (this.compiled !== undefined) return this.compiled;
    const { made, names } = this.compile();
    if (made.programSize() > maxProgram) throw new Error(`regular expression ${this.source} is too large`);
    this.compiled = new BoundedPort(made, () => this.compile().made);
    this.names = names;
    return this.compiled;
  }

  private compile(): { made: RE2JS; names: Map<string, number[]> } {
    const { RE2JS } = library();
    try {
      const made = RE2JS.compile(this.source);
      return { made, names: new Map(Object.entries(made.namedGroups()).map(([name, group]) => [name, [group]])) };
    } catch (error) {
      if (!reasonOf(error).startsWith('duplicate capture group name')) throw this.fault(error);
    }
    const own = withOwnNames(this.source);
    try {
      const made = RE2JS.compile(own.source);
      const groups = made.namedGroups();
      const names = new Map<string, number[]>();
      own.names.forEach((name, i) => {
        const group = groups[ownName(i)];
        if (group !== undefined) names.set(name, [...(names.get(name) ?? []), group]);
      });
      return { made, names };
    } catch (error) {
      throw this.fault(error);
    }
  }

  private fault(error: unknown): Error {
    return new Error(`bad regular expression ${this.source}: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const reason = (error instanceof Error ? error.message : String(error)).replace(/^error parsing regexp: /, '');
  if (/`\(\?[=!]|`\(\?<[=!]/.test(reason)) return `${reason}, there is no look-around`;
  return /invalid escape sequence: `\\[1-9k]/.test(reason) ? `${reason}, there are no back references` : reason;
}

/** The port, read when the first pattern needs it. */
const library = latePackage<typeof import('re2js')>('re2js');
