/** MATCH_RECOGNIZE by backtracking over all rows of a partition: what the automaton of the kernel is compared with. */
import type { PatternPart } from '../../../host/sql/ast.js';

export interface PatternRow {
  id: number;
  v: number | null;
}

/**
 * Whether row `at` may be its variable after the variables of the rows before it, from `start` on. What looks at rows
 * behind it takes those that have not come for null: it is asked at the end of the rows alone.
 */
export type NaiveCondition = (
  rows: readonly PatternRow[],
  start: number,
  labels: readonly string[],
  at: number,
) => boolean;

export interface NaiveMatch {
  start: number;
  /** Variable of each row, and whether the row is left out. */
  labels: { name: string; isExcluded: boolean }[];
}

/** The search needs a row that has not come yet. */
const pending = Symbol('pending');

/** The search takes too long to be told. */
export class TooLong extends Error {}

const mostSteps = 30_000;

type Outcome = NaiveMatch | typeof pending | null;
type Label = NaiveMatch['labels'][number];

/** The preferred match that begins with a row; null without one, `pending` while later rows may change it. */
function matchAt(
  rows: readonly PatternRow[],
  start: number,
  pattern: PatternPart,
  conditions: ReadonlyMap<string, NaiveCondition>,
  isOver: boolean,
): Outcome {
  let steps = 0;
  type Next = (labels: readonly Label[]) => Outcome;
  const run = (part: PatternPart, labels: readonly Label[], isExcluded: boolean, next: Next): Outcome => {
    if (++steps > mostSteps) throw new TooLong();
    switch (part.kind) {
      case 'variable': {
        const at = start + labels.length;
        if (at >= rows.length) return isOver ? null : pending;
        const names = [...labels.map(({ name }) => name), part.name];
        if (conditions.get(part.name)?.(rows, start, names, at) === false) return null;
        return next([...labels, { name: part.name, isExcluded }]);
      }
      case 'sequence': {
        const from =
          (i: number): Next =>
          (so) => {
            const one = part.parts[i];
            return one === undefined ? next(so) : run(one, so, isExcluded, from(i + 1));
          };
        return from(0)(labels);
      }
      case 'choice':
        return firstOf(part.options.map((one) => () => run(one, labels, isExcluded, next)));
      case 'excluded':
        return run(part.of, labels, true, next);
      case 'permute': {
        const all = orders(part.of);
        return firstOf(
          all.map((parts) => () => run({ kind: 'sequence', parts: [...parts] }, labels, isExcluded, next)),
        );
      }
      case 'repeat':
        return repeat(part, labels, isExcluded, next, 0);
      default:
        throw new Error(`the naive search knows no ${part.kind}`);
    }
  };
  const repeat = (
    part: Extract<PatternPart, { kind: 'repeat' }>,
    labels: readonly Label[],
    isExcluded: boolean,
    next: Next,
    done: number,
  ): Outcome => {
    const { of, least, most, isReluctant } = part;
    const again = (): Outcome =>
      run(of, labels, isExcluded, (so) => {
        // Without a bound a repetition that takes no row would go on for ever.
        if (most === null && done >= least && so.length === labels.length) return null;
        return repeat(part, so, isExcluded, next, done + 1);
      });
    if (done < least) return again();
    if (most !== null && done >= most) return next(labels);
    return firstOf(isReluctant ? [() => next(labels), again] : [again, () => next(labels)]);
  };
  return run(pattern, [], false, (labels) => ({ start, labels: [...labels] }));
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
  variable: string;
}

/**
 * All matches that are final, in the order of their first rows; null: SKIP led nowhere. A number is a row that is in no
 * match, where these are wanted. `isOver`: no row comes any more.
 */
export function naiveMatches(
  rows: readonly PatternRow[],
  pattern: PatternPart,
  conditions: ReadonlyMap<string, NaiveCondition>,
  { to, variable }: NaiveSkip,
  { isOver, wantsUnmatched }: { isOver: boolean; wantsUnmatched: boolean },
): (NaiveMatch | number | null)[] {
  const found: (NaiveMatch | number | null)[] = [];
  let covered = 0;
  let isOpen = false;
  for (let start = 0; start < rows.length; ) {
    const match = matchAt(rows, start, pattern, conditions, isOver);
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
      const names = match.labels.map(({ name }) => name);
      const at = to === 'first' ? names.indexOf(variable) : names.lastIndexOf(variable);
      if (at <= 0) found.push(null);
      start += Math.max(at, 1);
    }
  }
  return found;
}
