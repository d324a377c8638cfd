/** MATCH_RECOGNIZE by backtracking over all rows of a partition: what the automaton of the kernel is compared with. */
import type { PatternPart } from '../../../../host/sql/ast.js';

export interface PatternRow {
  id: number;
  /** Key of its partition. */
  k: number;
  v: number | null;
  /** Its time, ms. */
  ts: number;
}

/** A row of a match: its place in the partition, what it is, and whether it is left out. */
export interface Labelled {
  at: number;
  name: string;
  isExcluded: boolean;
}

/**
 * Whether the last of the rows may be its variable. What looks at rows that have not come takes them for null: it is
 * asked at the end of the rows alone.
 */
export type NaiveCondition = (rows: readonly PatternRow[], labels: readonly Labelled[]) => boolean;

export interface NaiveMatch {
  start: number;
  labels: readonly Labelled[];
}

export interface NaivePattern {
  readonly body: PatternPart;
  /** A row that must not come for so long after the last row. */
  readonly absent: { readonly name: string; readonly ms: number } | null;
  /** Longest time between the first and the last row, ms. */
  readonly withinMs: number;
  readonly conditions: ReadonlyMap<string, NaiveCondition>;
}

/** The search needs a row that has not come yet. */
const pending = Symbol('pending');

/** The search takes too long to be told. */
export class TooLong extends Error {}

const mostSteps = 20_000;

type Outcome = NaiveMatch | typeof pending | null;
type Next = (labels: readonly Labelled[]) => Outcome;

/** The search for the preferred match that begins with a row. */
class Attempt {
  #steps = 0;

  constructor(
    private readonly rows: readonly PatternRow[],
    private readonly start: number,
    private readonly pattern: NaivePattern,
    private readonly isOver: boolean,
  ) {}

  /** Null without a match, `pending` while later rows may change it. */
  outcome(): Outcome {
    const found: Next = (labels) => ({ start: this.start, labels });
    return this.#run(this.pattern.body, [], false, (labels) => this.#whenAbsent(labels, found));
  }

  #holds(name: string, at: number, isExcluded: boolean, labels: readonly Labelled[]): readonly Labelled[] | null {
    const longer = [...labels, { at, name, isExcluded }];
    return this.pattern.conditions.get(name)?.(this.rows, longer) === false ? null : longer;
  }

  #run(part: PatternPart, labels: readonly Labelled[], isExcluded: boolean, next: Next): Outcome {
    if (++this.#steps > mostSteps) throw new TooLong();
    switch (part.kind) {
      case 'variable': {
        const { rows, start } = this;
        const at = start + labels.length;
        if (at >= rows.length) return this.isOver ? null : pending;
        if (rows[at]!.ts - rows[start]!.ts > this.pattern.withinMs) return null;
        const longer = this.#holds(part.name, at, isExcluded, labels);
        return longer === null ? null : next(longer);
      }
      case 'sequence': {
        const from =
          (i: number): Next =>
          (so) => {
            const one = part.parts[i];
            return one === undefined ? next(so) : this.#run(one, so, isExcluded, from(i + 1));
          };
        return from(0)(labels);
      }
      case 'choice':
        return firstOf(part.options.map((one) => () => this.#run(one, labels, isExcluded, next)));
      case 'excluded':
        return this.#run(part.of, labels, true, next);
      case 'permute': {
        const sequences = orders(part.of).map((parts): PatternPart => ({ kind: 'sequence', parts: [...parts] }));
        return firstOf(sequences.map((one) => () => this.#run(one, labels, isExcluded, next)));
      }
      case 'repeat':
        return this.#repeat(part, labels, isExcluded, next, 0);
      default:
        throw new Error(`the naive search knows no ${part.kind}`);
    }
  }

  #repeat(
    part: Extract<PatternPart, { kind: 'repeat' }>,
    labels: readonly Labelled[],
    isExcluded: boolean,
    next: Next,
    done: number,
  ): Outcome {
    const { of, least, most, isReluctant } = part;
    const again = (): Outcome =>
      this.#run(of, labels, isExcluded, (so) => {
        // Without a bound a repetition that takes no row would go on for ever.
        if (most === null && done >= least && so.length === labels.length) return null;
        return this.#repeat(part, so, isExcluded, next, done + 1);
      });
    if (done < least) return again();
    if (most !== null && done >= most) return next(labels);
    return firstOf(isReluctant ? [() => next(labels), again] : [again, () => next(labels)]);
  }

  /** Goes on when the row that must not come has not come in its time. */
  #whenAbsent(labels: readonly Labelled[], next: Next): Outcome {
    const { absent } = this.pattern;
    if (absent === null) return next(labels);
    const { rows } = this;
    const last = labels.at(-1)!.at;
    for (let at = last + 1; at < rows.length; at++) {
      if (rows[at]!.ts - rows[last]!.ts > absent.ms) return next(labels);
      if (this.#holds(absent.name, at, false, labels) !== null) return null;
    }
    return this.isOver ? next(labels) : pending;
  }
}

function firstOf(ways: readonly (() => Outcome)[]): Outcome {
  for (const way of ways) {
    const found = way();
    if (found !== null) return found;
  }
  return null;
}

function orders<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) => orders(items.filter((_one, at) => at !== i)).map((rest) => [item, ...rest]));
}

export interface NaiveSkip {
  to: 'pastLast' | 'next' | 'first' | 'last';
  /** The variables that the name stands for. */
  variables: readonly string[];
}

/**
 * All matches that are final, in the order of their first rows; null: SKIP led nowhere. A number is a row that is in no
 * match, where these are wanted. `isOver`: no row comes any more.
 */
export function naiveMatches(
  rows: readonly PatternRow[],
  pattern: NaivePattern,
  { to, variables }: NaiveSkip,
  { isOver, wantsUnmatched }: { isOver: boolean; wantsUnmatched: boolean },
): (NaiveMatch | number | null)[] {
  const found: (NaiveMatch | number | null)[] = [];
  let covered = 0;
  let isOpen = false;
  for (let start = 0; start < rows.length; ) {
    const match = new Attempt(rows, start, pattern, isOver).outcome();
    if (match === pending) {
      if (to !== 'next') break;
      isOpen = true;
      start++;
      continue;
    }
    if (match !== null) {
      found.push(match);
      covered = Math.max(covered, start + match.labels.length);
    } else if (wantsUnmatched && start >= covered && !isOpen) found.push(start);
    if (match === null || to === 'next' || match.labels.length === 0) start++;
    else if (to === 'pastLast') start += match.labels.length;
    else {
      const isOne = ({ name }: Labelled) => variables.includes(name);
      const at = to === 'first' ? match.labels.findIndex(isOne) : match.labels.findLastIndex(isOne);
      if (at <= 0) found.push(null);
      start += Math.max(at, 1);
    }
  }
  return found;
}
