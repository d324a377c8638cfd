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
  noVariable: 'PATTERN has no variable: a match would have no rows',
  subsetIsNone: (name: string, clause: string, of: readonly string[]) =>
    `${clause}: ${name} is a subset: write its variables, ${of.join(', ')}`,
  variableAlone: (name: string) =>
    `${name} is a variable of the pattern: name a column of its row, as in ${name}.x, or count its rows by ` +
    `count(${name}.*)`,
  variableBefore: (clause: string, name: string, column: string) =>
    `${clause} is of rows before they are matched: write ${column} without ${name}`,
  variableOutside: (name: string) =>
    `${name} is a variable of MATCH_RECOGNIZE, which is known within it alone: give the value a name there, as in ` +
    `MEASURES ${name}.x AS x`,
  notMeasured: (name: string, table: string) =>
    `MATCH_RECOGNIZE gives no column ${name} of ${table}: add it there, as in MEASURES LAST(${name}) AS ${name}, or ` +
    'write ALL ROWS PER MATCH',
  notCalled: (name: string) => `${name} is a function: write ${name}()`,
  keyTwice: (name: string) => `PARTITION BY has ${name} twice`,
  skipUnfinished: (name: string, expected: string) => `AFTER MATCH SKIP TO ${name} needs ${expected} behind ${name}`,
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
  lookInAggregate: (name: string, inner: string) =>
    `${name} takes one row after the other, and ${inner} looks at other rows: write ${name} of a column, which a ` +
    'derived table before MATCH_RECOGNIZE may compute (by lag for PREV)',
  aggregateInLook: (name: string, inner: string) =>
    `${name} looks at one row, and ${inner} is of many: write ${inner}(…) alone, or FINAL ${inner}(…) for the whole ` +
    'match',
  lookArguments: (name: string) =>
    `${name} takes an expression and a number of rows, as in ${name}(A.x, 2), from 0 to 10000`,
  overInMatch: (name: string) =>
    `${name} is of the rows of the match: leave OVER out, PARTITION BY of MATCH_RECOGNIZE divides the rows`,
  classifierArgument: 'CLASSIFIER takes nothing, or a variable of the pattern or a subset',
  matchNumberArgument: 'MATCH_NUMBER takes no argument',
  finalInDefine: 'FINAL looks at the whole match, which DEFINE does not know yet: leave it out',
  semanticsOf: (name: string) => `${name} stands before FIRST, LAST or an aggregate`,
  starInMatch: 'a star can only be the argument of an aggregate in MATCH_RECOGNIZE',
});
