/**
 * Work of regular expressions, bounded for each call over a column, all its rows together: about a second of the
 * slowest way. Estimates come first, since they cost nothing. When they are used up, a program is taken whose steps are
 * counted as they are done (docs/decisions/0013).
 */
import type { RE2JS } from 're2js';

/** Time of long searches by JavaScript's engine, ms: beyond it the port does them, which finds the same. */
const nativeMs = 300;
/** Estimated steps of searches by the port, 30 to 100 ns each. */
const estimatedSteps = 5e6;
/** Counted steps of searches by the port. One task may take half of what is left, so that rows behind it get theirs. */
export const countedSteps = 2e7;
/** Steps that any search of the port counts at least. */
const searchSteps = 10;
/** Groups that make a step twice as long: each step takes their places along. */
const groupsOfStep = 8;
/** Characters that replacements may make. */
const replacementLength = 1 << 27;

/** Characters of patterns that are compiled, a microsecond or several each; every pattern counts some more. */
const patternCharacters = 100_000;
const charactersOfPattern = 64;

/** Thrown by what takes more work than a call over a column may. */
export class TooMuchWork extends Error {}

let caller = '';
let native = nativeMs;
let estimated = estimatedSteps;
let counted = countedSteps;
let replaced = replacementLength;
let compiled = patternCharacters;
/** Counted steps of the running task. */
let left = 0;
/** Number of counted steps for one step of the running search. */
let stepWeight = 1;

/** Begins a call of a function over a column. */
export function beginWork(name: string): void {
  caller = name;
  native = nativeMs;
  estimated = estimatedSteps;
  counted = countedSteps;
  replaced = replacementLength;
  compiled = patternCharacters;
}

/** Counted steps of this call so far. */
export function stepsCounted(): number {
  return countedSteps - counted;
}

/** True while JavaScript's engine may do long searches: the clock decides which engine searches, never the result. */
export function allowsNative(): boolean {
  return native > 0;
}

/** Runs a long search by JavaScript's engine. */
export function timed<T>(run: () => T): T {
  const start = performance.now();
  try {
    return run();
  } finally {
    native -= performance.now() - start;
  }
}

/** A pattern that is to be compiled: those that come with the rows are others in each. */
export function chargePattern(length: number): void {
  compiled -= length + charactersOfPattern;
  if (compiled < 0) throw tooMuch(`the patterns of all rows have more than ${patternCharacters} characters`);
}

/** Characters that a replacement makes. */
export function chargeReplaced(length: number): void {
  replaced -= length;
  if (replaced < 0) throw tooMuch(`the replacements have more than ${replacementLength} characters`);
}

/** Runs searches of one row; the counted ones among them share half of the steps that are left. */
export function task<T>(run: () => T): T {
  const part = Math.floor(counted / 2);
  left = part;
  try {
    return run();
  } finally {
    counted -= part - Math.max(left, 0);
  }
}

/** A program of the port, and the same once more that counts its steps when the estimates are used up. */
export class BoundedPort {
  readonly #stepWeight: number;
  #counting: RE2JS | undefined;

  /** @param compile makes the program again */
  constructor(
    readonly port: RE2JS,
    private readonly compile: () => RE2JS,
  ) {
    this.#stepWeight = 1 + port.groupCount() / groupsOfStep;
  }

  /** Returns the program for a search of `length` characters, within `task`. */
  for(length: number): RE2JS {
    const steps = searchSteps + this.port.programSize() * length * this.#stepWeight;
    if (steps <= estimated) {
      estimated -= steps;
      return this.port;
    }
    spend(searchSteps);
    stepWeight = this.#stepWeight;
    this.#counting ??= countSteps(this.compile());
    return this.#counting;
  }
}

interface Instruction {
  op: number;
}

let counting: object | undefined;

/**
 * Every look at an instruction of the program is a step: the port has no other place that all its ways of searching
 * share. All programs share one prototype, or V8 would forget where to find it.
 */
function countSteps(port: RE2JS): RE2JS {
  const { inst } = (port.re2() as unknown as { prog: { inst: Instruction[] } }).prog;
  counting ??= Object.create(Object.getPrototypeOf(inst[0]), {
    op: {
      get(this: { kind: number }) {
        spend(stepWeight);
        return this.kind;
      },
      set(this: { kind: number }, kind: number) {
        this.kind = kind;
      },
    },
  }) as object;
  for (const [i, one] of inst.entries()) inst[i] = Object.assign(Object.create(counting), one);
  return port;
}

function spend(steps: number): void {
  left -= steps;
  if (left < 0) throw tooMuch('the searches take too many steps');
}

function tooMuch(reason: string): TooMuchWork {
  return new TooMuchWork(`${caller === '' ? '' : `${caller}: `}too much work for a regular expression, ${reason}`);
}
