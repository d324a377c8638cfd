/** What the regular-expression functions share: values as text, patterns compiled once, an end to endless searches. */
import type { HostColumns } from '../../kernels/api.js';
import { readArgs, setResult } from './define.js';
import { printed } from './printed.js';
import { within } from './time-limit.js';

const maxPatterns = 256;

interface Pattern {
  readonly expression: RegExp;
  /** Texts up to this length are searched in `quickSteps` at most. */
  readonly quickLength: number;
  /** How often in a row a search took too long, and when it last did, ms. */
  timeouts: number;
  timedOutAt: number;
}

const patterns = new Map<string, Pattern>();

/** Inline flags at the start of a pattern and what they are in JavaScript. */
const inlineFlags = /^\(\?([ims]+)\)/;

/** A search that goes back over the text no oftener than this needs no watch. */
const quickSteps = 1e6;
/** How long a search may take, ms, and how long when it is tried again: the thread may have waited for others. */
const patienceMs = 50;
const secondPatienceMs = 200;
/** How long all searches of a batch may take, ms. */
const batchMs = 2000;
/** A pattern that took too long so often is not tried for a while, ms. */
const maxTimeouts = 3;
const banMs = 60_000;

/**
 * Compiles a pattern in the common subset of RE2 and JavaScript; flags may stand in front as `(?i)`, `(?m)`, `(?s)`.
 * Throws an error with the pattern and the reason, also for a pattern whose searches took too long of late.
 */
export function pattern(source: string): RegExp {
  const { expression, timeouts, timedOutAt } = known(source);
  if (timeouts >= maxTimeouts && performance.now() - timedOutAt < banMs) throw tooLong(source);
  expression.lastIndex = 0;
  return expression;
}

function known(source: string): Pattern {
  const found = patterns.get(source);
  if (found !== undefined) return found;
  const flags = inlineFlags.exec(source);
  let expression: RegExp;
  try {
    expression = new RegExp(flags === null ? source : source.slice(flags[0].length), `gu${flags?.[1] ?? ''}`);
  } catch (error) {
    throw new Error(`bad regular expression ${source}: ${error instanceof Error ? error.message : String(error)}`);
  }
  // The oldest goes first: patterns that come with the rows must not fill the memory.
  if (patterns.size >= maxPatterns) patterns.delete(patterns.keys().next().value as string);
  const made = { expression, quickLength: quickLengthOf(source), timeouts: 0, timedOutAt: 0 };
  patterns.set(source, made);
  return made;
}

/**
 * A search begins at each character and each repetition may end at each: length ^ (repetitions + 1) steps. Repeated groups
 * and references back know no such bound.
 */
function quickLengthOf(source: string): number {
  const plain = source.replace(/\\[^1-9k]|\[(?:\\.|[^\]\\])*\]/gs, 'x');
  if (/\)[*+{]|\\[1-9k]/.test(plain)) return 0;
  const repetitions = plain.match(/[*+]\??|(?<!\()\?|\{\d+,/g)?.length ?? 0;
  return quickSteps ** (1 / (repetitions + 1));
}

/** A search for the pattern in the text may take long; not when the pattern is none. */
function mayTakeLong(source: string, text: string): boolean {
  try {
    return text.length > known(source).quickLength;
  } catch {
    return false;
  }
}

function tooLong(source: string): Error {
  return new Error(`regular expression ${source} takes too long`);
}

/** Remembers that a search took too long; returns the error. */
function timedOut(source: string): Error {
  const entry = known(source);
  const now = performance.now();
  entry.timeouts = now - entry.timedOutAt < banMs ? entry.timeouts + 1 : 1;
  entry.timedOutAt = now;
  return tooLong(source);
}

/** The pattern occurs in the text. Throws when finding out takes too long. */
export function occursIn(source: string, text: string): boolean {
  const [outcome] = mayTakeLong(source, text)
    ? watched([{ source, compute: () => pattern(source).test(text) }])
    : [() => pattern(source).test(text)];
  return outcome?.() ?? false;
}

/**
 * As `perRow`, for functions of a text, a pattern and more that compile the pattern with `pattern`: searches that take too
 * long are broken off, and are the error of their row.
 */
export function perRowWithPattern(
  nulls: 'propagate' | 'handles',
  compute: (...args: unknown[]) => unknown,
): (columns: HostColumns) => void {
  return (columns) => {
    const slow: (Search & { row: number })[] = [];
    for (let row = 0; row < columns.count; row++) {
      const args = new Array<unknown>(columns.argCount);
      if (!readArgs(columns, row, nulls, args)) continue;
      const source = printed(args[1]);
      if (mayTakeLong(source, printed(args[0]))) slow.push({ row, source, compute: () => compute(...args) });
      else setResult(columns, row, () => compute(...args));
    }
    // What is broken off must not be at work in the kernel: results are written when all are there.
    const outcomes = slow.length === 0 ? [] : watched(slow);
    for (const [i, outcome] of outcomes.entries()) setResult(columns, slow[i]?.row ?? 0, outcome);
  };
}

interface Search<T = unknown> {
  readonly source: string;
  readonly compute: () => T;
}

/** Does the searches, as many under one watch as its time allows. Each outcome returns the result or throws the error. */
function watched<T>(searches: readonly Search<T>[]): (() => T)[] {
  const outcomes: (() => T)[] = [];
  const end = performance.now() + batchMs;
  const next = () => {
    const { source, compute } = searches[outcomes.length] as Search<T>;
    if (performance.now() > end) throw tooLong(source);
    return compute();
  };
  const one = () => void outcomes.push(outcomeOf(next));
  const rest = () => {
    while (outcomes.length < searches.length) one();
  };
  while (outcomes.length < searches.length) {
    const at = outcomes.length;
    within(patienceMs, rest);
    // A search that others came before begins the next watch, with all of its time.
    if (outcomes.length > at || within(secondPatienceMs, one) || outcomes.length > at) continue;
    const error = timedOut((searches[at] as Search<T>).source);
    outcomes.push(() => {
      throw error;
    });
  }
  return outcomes;
}

function outcomeOf<T>(compute: () => T): () => T {
  try {
    const result = compute();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
