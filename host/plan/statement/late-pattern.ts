/** The planner of MATCH_RECOGNIZE, whose code is read with the first statement that has it. */
import type { matches } from './pattern.js';

type Matching = typeof matches;

let matching: Matching | undefined;

export function setMatching(found: Matching): void {
  matching = found;
}

export function matchingOf(): Matching {
  if (matching === undefined) throw new Error('MATCH_RECOGNIZE was not made ready');
  return matching;
}
