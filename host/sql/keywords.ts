/**
 * Words with a meaning in the language. Reserved words never name a column without back-quotes; soft words do where the
 * grammar leaves no doubt (at the start of an expression, after AS, a dot or an arrow), but are no alias without AS.
 */
import type { TimeUnit, WindowKind } from './ast.js';
import { windowGrammars } from './gen/windows.js';

export const reservedWords: ReadonlySet<string> = new Set([
  'SELECT',
  'AS',
  'FROM',
  'WHERE',
  'AND',
  'OR',
  'NOT',
  'GROUP',
  'HAVING',
  'ORDER',
  'BY',
  'DESC',
  'ASC',
  'LIMIT',
  'INNER',
  'LEFT',
  'RIGHT',
  'FULL',
  'CROSS',
  'JOIN',
  'ON',
  'CASE',
  'WHEN',
  'THEN',
  'ELSE',
  'END',
  'IN',
  'BETWEEN',
  'LIKE',
  'NULL',
  'TRUE',
  'FALSE',
]);

export const softWords: ReadonlySet<string> = new Set([
  'IS',
  'FILTER',
  'OVER',
  'PARTITION',
  'REPLACE',
  'EXCEPT',
  'INVISIBLE',
  'UNION',
  'QUALIFY',
  'ASOF',
  'MATCH_CONDITION',
  'DEFAULT',
  'DD',
  'HH',
  'MI',
  'SS',
  'MS',
]);

/** Words that may stand behind an expression, a name or a clause: one that is mistyped is taken for a name. */
export const clauseWords: readonly string[] = [
  ...['FROM', 'WHERE', 'GROUP', 'HAVING', 'QUALIFY', 'ORDER', 'LIMIT', 'UNION', 'SELECT', 'DISTINCT'],
  ...['JOIN', 'INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS', 'ASOF', 'OUTER', 'MATCH_CONDITION'],
  ...['BETWEEN', 'LIKE', 'AND', 'NOT', 'DESC', 'ASC', 'NULL', 'CASE', 'WHEN', 'THEN', 'ELSE', 'END'],
  ...['FILTER', 'OVER', 'PARTITION', 'EXCEPT', 'REPLACE', 'INVISIBLE', 'WITH'],
];

/** Milliseconds in each time unit of a window. */
export const timeUnitMs: Readonly<Record<TimeUnit, number>> = {
  DD: 86_400_000,
  HH: 3_600_000,
  MI: 60_000,
  SS: 1_000,
  MS: 1,
};

/** Tells whether an upper-case word is a time unit. */
export function isTimeUnit(word: string): word is TimeUnit {
  return Object.hasOwn(timeUnitMs, word);
}

/** Window kinds by the upper-case name of their call. */
export const windowKinds: ReadonlyMap<string, WindowKind> = new Map(
  (Object.keys(windowGrammars) as WindowKind[]).map((kind) => [`${kind.toUpperCase()}WINDOW`, kind]),
);
