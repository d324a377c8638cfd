/** Joins over arrays, as slow and plain as can be: what the kernel must give. */
import type { JoinStep } from '../../../kernels/nodes/join.js';
import type { Condition } from './join-drive.js';

export interface Row {
  id?: unknown;
  v?: unknown;
}

/** One row for each branch joined so far; null where an outer join found none. */
type Tuple = (Row | null)[];

export interface NaiveStep {
  type: JoinStep['type'];
  leftBranch: number;
  condition: Condition;
}

/** The message fails: values that do not compare. */
export class Mismatch extends Error {}

function compare(a: unknown, b: unknown, test: (a: never, b: never) => boolean): boolean {
  if (a === null || a === undefined) return false;
  // Lists and objects on the left compare with nothing, not even with null.
  if ((b === null || b === undefined) && typeof a !== 'object') return false;
  if (typeof a !== typeof b || typeof a === 'object') throw new Mismatch();
  return test(a as never, b as never);
}

function plusOne(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'number') throw new Mismatch();
  return value + 1;
}

function matches({ type, condition }: NaiveStep, left: Row | null, right: Row): boolean {
  if (type === 'cross') return true;
  const equal = (): boolean => compare(left?.id, right.id, (a, b) => a === b);
  const greater = (): boolean => compare(right.v, 2, (a, b) => a > b);
  if (condition === 'id and v') return equal() && greater();
  if (condition === 'v and id') return greater() && equal();
  if (condition === 'id + 1') return compare(plusOne(left?.id), plusOne(right.id), (a, b) => a === b);
  return equal();
}

/** Joins the rows of one window, `branches[i]` those of branch i; step i joins branch i + 1. Throws Mismatch. */
export function naiveJoin(branches: Row[][], steps: NaiveStep[]): Tuple[] {
  let tuples: Tuple[] = (branches[0] ?? []).map((row) => [row]);
  steps.forEach((step, i) => {
    const rights = branches[i + 1] ?? [];
    const empty: Tuple = Array.from({ length: i + 1 }, () => null);
    const isMatch = (tuple: Tuple, right: Row) => matches(step, tuple[step.leftBranch] ?? null, right);
    if (step.type === 'right') {
      tuples = rights.flatMap((right) => {
        const found = tuples.filter((tuple) => isMatch(tuple, right));
        return (found.length > 0 ? found : [empty]).map((tuple) => [...tuple, right]);
      });
      return;
    }
    const matched = new Set<Row>();
    const joined = tuples.flatMap((tuple): Tuple[] => {
      const found = rights.filter((right) => isMatch(tuple, right));
      for (const right of found) matched.add(right);
      if (found.length > 0) return found.map((right) => [...tuple, right]);
      return step.type === 'left' || step.type === 'full' ? [[...tuple, null]] : [];
    });
    const rest = step.type === 'full' ? rights.filter((right) => !matched.has(right)) : [];
    tuples = [...joined, ...rest.map((right) => [...empty, right])];
  });
  return tuples;
}
