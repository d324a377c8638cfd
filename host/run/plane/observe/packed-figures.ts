/** Figures of many rules for monitoring, which are numbers: names that rules have in common travel once. */
import type { PackedFigures } from '../../../model/figures.js';
import { numbersIn } from '../../../model/figures.js';
import type { RunningRule } from '../running/running.js';
import { metricsOf } from './metrics.js';

export function packedFigures(rules: Iterable<RunningRule>): PackedFigures {
  const names: (readonly string[])[] = [];
  const runs: [number, number, readonly number[]][] = [];
  for (const rule of rules) {
    const own = numbersIn(metricsOf(rule));
    runs.push([rule.run, placeOf(own.names, names), own.values]);
  }
  return { names, runs };
}

/** Index of equal names in the list, to which new ones are added; the last are the most likely. */
function placeOf(own: readonly string[], names: (readonly string[])[]): number {
  const known = names.findLastIndex((one) => one.length === own.length && one.every((name, i) => name === own[i]));
  return known >= 0 ? known : names.push(own) - 1;
}
