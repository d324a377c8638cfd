/** Finds the values that operators need of the rows of a window below, or of rows that wait below. */

import { type AggregateValue, childrenOf, type Value } from '../values/value.js';
import type { Path } from './program.js';

/** Values that the operators above a window need of it. */
export interface WindowNeeds {
  keep: Value[];
  aggregates: AggregateValue[];
  start: Value | null;
  end: Value | null;
  trigger: Value | null;
}

/**
 * @param later values that are computed above the window
 * @param isComputed true for aggregates that the window computes; others are computed above, of the window's rows
 * @param isHeld true for values that are known below the window: they are kept like columns
 */
export function windowNeeds(
  later: readonly Value[],
  isComputed: (aggregate: AggregateValue) => boolean,
  isHeld: (value: Value) => boolean,
): WindowNeeds {
  const needs: WindowNeeds = { keep: [], aggregates: [], start: null, end: null, trigger: null };
  const seen = new Set<Value>();
  const visit = (value: Value): void => {
    if (seen.has(value)) return;
    seen.add(value);
    if (value.kind === 'column' || isHeld(value)) needs.keep.push(value);
    else if (value.kind === 'aggregate' && isComputed(value)) needs.aggregates.push(value);
    else if (value.kind === 'window') needs[value.part] = value;
    else for (const child of childrenOf(value)) visit(child);
  };
  for (const value of later) visit(value);
  return needs;
}

/** A predicate that no value satisfies. */
export const isNone = (): boolean => false;

/**
 * Values that the operators above need of rows that wait, as far as the batch has them already.
 * @param above values that are computed above
 * @param isHeld true for values that operators below have computed
 */
export function carriedBy(above: readonly Value[], path: Path, isHeld: (value: Value) => boolean): readonly Value[] {
  const { keep, start, end, trigger } = windowNeeds(above, isNone, isHeld);
  const needed = [...keep, start, end, trigger].filter((value) => value !== null);
  return needed.filter((value) => path.find(value) !== undefined);
}
