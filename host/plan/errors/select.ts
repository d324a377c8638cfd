/** Refusals of the SELECT list, and of the clauses after it. */
import { planErrors } from './table.js';

export const selectErrors = planErrors('select', {
  replaceWithoutName: 'an expression in REPLACE needs a name (AS column)',
  duplicateAlias: (alias: string) => `duplicate alias ${alias}`,
  aliasCircle: (names: string) => `the aliases ${names} are defined by each other`,
  aliasTooDeep: (name: string, maxOpen: number) =>
    `the alias ${name} is used before its definition over more than ${maxOpen} other aliases`,
  changedColsNamed: 'changed_cols names its columns itself, by its first argument',
  starInvisible: '* cannot be INVISIBLE',
  starAlias: '* cannot have an alias',
  severalRowMakers: 'only one function that makes rows can stand in a SELECT list',
  rowMakerInvisible: (name: string | undefined) => `${name} makes rows and cannot be INVISIBLE`,
  sameColumnName: (name: string) => `two output columns are named ${name}, give one of them another alias`,
  rowNumberInHaving: 'row_number numbers rows that HAVING has left: it cannot be part of it',
  unionColumnMissing: (index: number, missing: string) =>
    `UNION ALL needs the same columns everywhere: SELECT ${index + 1} has no column ${missing}`,
  unionColumnFurther: (index: number, further: string) =>
    `UNION ALL needs the same columns everywhere: only SELECT ${index + 1} has a column ${further}`,
  unknownFieldOf: (name: string, ownName: string, meant: string | undefined) =>
    `unknown field ${name} of ${ownName}${meant === undefined ? '' : `, did you mean ${meant}?`}`,
  noMetadata: (ownName: string) => `rows of ${ownName} have no metadata: SELECT it in the query that makes them`,
  havingAggregate: 'HAVING needs an aggregate',
  orderByMade: (made: string) => `ORDER BY cannot use ${made}: the rows are made of those that it has ordered`,
  orderByDistinct: 'ORDER BY of SELECT DISTINCT may only use its columns',
  distinctWindow: 'SELECT DISTINCT needs a window in GROUP BY: without one all rows had to be remembered for ever',
  distinctMadeRows:
    'SELECT DISTINCT compares rows before unnest or extract makes others of them: these belong into a derived ' +
    'table, SELECT DISTINCT … FROM (SELECT unnest(…) AS …) AS t',
  havingOther: 'HAVING may only use aggregates, grouping expressions and the window',
});
