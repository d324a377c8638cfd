/** Refusals of MATCH_RECOGNIZE. */
import { planErrors } from './table.js';

const or = (meant: string | undefined) => (meant === undefined ? '' : `, did you mean ${meant}?`);

export const patternErrors = planErrors('pattern', {
  tooManyVariables: (most: number) => `a pattern has at most ${most} variables`,
  tooLong: (most: number) =>
    `the pattern has more than ${most} steps once its repetitions are written out: use smaller bounds`,
  definedTwice: (name: string) => `DEFINE has two conditions for ${name}: join them with AND or OR`,
  notInPattern: (name: string, clause: string, meant: string | undefined) =>
    `${clause}: PATTERN has no variable ${name}${or(meant)}`,
  subsetNamedTwice: (name: string) => `SUBSET: ${name} is the name of a variable or another subset already`,
  absentNotLast: (name: string) =>
    `NOT ${name} stands at the very end of PATTERN, not in a group, an alternative or a repetition: what came ` +
    'before would not be known',
  absentAlone: (name: string) =>
    `NOT ${name} WITHIN … begins with the last row of the match: PATTERN needs a part before it that takes a row`,
  skipToFirst: (name: string) =>
    `AFTER MATCH SKIP TO FIRST ${name} leads to the first row of the match, with which it would begin again for ` +
    'ever: write TO NEXT ROW',
  orderBy: (time: string) => `ORDER BY of MATCH_RECOGNIZE can only be ${time}, ascending, which may be left out`,
  orderByArrival:
    'ORDER BY of MATCH_RECOGNIZE needs event time: set the option isEventTime and TIMESTAMP of the stream, or leave ' +
    'it out for the order of arrival',
  sameName: (name: string) => `MATCH_RECOGNIZE gives two columns ${name}: name the measure otherwise`,
  excludedUnmatched: '{- … -} cannot stand beside WITH UNMATCHED ROWS: rows that are left out are neither',
  oneVariable: (name: string) => `${name} looks at one row: its columns must be of one variable`,
  lookNested: (name: string, inner: string) =>
    `${name}(${inner}(…)) has no meaning: FIRST and LAST may stand in PREV and NEXT, not the other way round`,
  lookArguments: (name: string) => `${name} takes an expression and a number of rows, as in ${name}(A.x, 2)`,
  classifierArgument: 'CLASSIFIER takes nothing, or a variable of the pattern or a subset',
  matchNumberArgument: 'MATCH_NUMBER takes no argument',
  finalInDefine: 'FINAL looks at the whole match, which DEFINE does not know yet: leave it out',
  semanticsOf: (name: string) => `${name} stands before FIRST, LAST or an aggregate`,
  starInMatch: 'a star can only be the argument of an aggregate in MATCH_RECOGNIZE',
});
