/** What the regular-expression functions share: values as text and patterns compiled once. */
import { createContext, runInContext } from 'node:vm';
import { Instant } from '../../kernels/value.js';

const maxPatterns = 256;
const patterns = new Map<string, RegExp>();

/** Inline flags at the start of a pattern and what they are in JavaScript. */
const inlineFlags = /^\(\?([ims]+)\)/;

/**
 * Compiles a pattern in the common subset of RE2 and JavaScript; flags may stand in front as `(?i)`, `(?m)`, `(?s)`.
 * Throws an error with the pattern and the reason.
 */
export function pattern(source: string): RegExp {
  const known = patterns.get(source);
  if (known !== undefined) {
    known.lastIndex = 0;
    return known;
  }
  const flags = inlineFlags.exec(source);
  let compiled: RegExp;
  try {
    compiled = new RegExp(flags === null ? source : source.slice(flags[0].length), `gu${flags?.[1] ?? ''}`);
  } catch (error) {
    throw new Error(`bad regular expression ${source}: ${error instanceof Error ? error.message : String(error)}`);
  }
  // The oldest goes first: patterns that come with the rows must not fill the memory.
  if (patterns.size >= maxPatterns) patterns.delete(patterns.keys().next().value as string);
  patterns.set(source, compiled);
  return compiled;
}

/** How long a pattern may search a text, milliseconds, and how often it may take longer before it is not tried any more. */
const patienceMs = 50;
const maxTimeouts = 3;
const timeouts = new Map<string, number>();
const sandbox: { search?: () => unknown } = {};
const context = createContext(sandbox);

/**
 * Searches with a pattern. Patterns whose search can take exponential time, such as `(a+)+b`, run with a time limit; what
 * takes longer throws, and so does each further use of a pattern that did so several times.
 */
export function withPattern<T>(source: string, search: (expression: RegExp) => T): T {
  const expression = pattern(source);
  if (!mayExplode(source)) return search(expression);
  const count = timeouts.get(source) ?? 0;
  if (count >= maxTimeouts) throw new Error(`regular expression ${source} takes too long`);
  try {
    sandbox.search = () => search(expression);
    return runInContext('search()', context, { timeout: patienceMs }) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    if (timeouts.size >= maxPatterns) timeouts.delete(timeouts.keys().next().value as string);
    timeouts.set(source, count + 1);
    throw new Error(`regular expression ${source} takes too long`);
  }
}

/** Repeated groups, references back or many repetitions: the search may go back over the text again and again. */
function mayExplode(source: string): boolean {
  return /\)[*+{]|\\[1-9k]/.test(source) || (source.match(/[*+]|\{\d+,/g)?.length ?? 0) > 2;
}

/** The value as text functions print it: `1.5`, `[1 a]`, `map[k:v]`. */
export function printed(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof Instant) return new Date(Number(value.micros / 1000n)).toISOString();
  if (Array.isArray(value)) return `[${value.map(printed).join(' ')}]`;
  const members = Object.entries(value).map(([key, item]) => `${key}:${printed(item)}`);
  return `map[${members.join(' ')}]`;
}
