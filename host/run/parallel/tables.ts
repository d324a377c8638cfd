/** Lookup tables of divided rules: tables that are asked are so by each part, for the rows that it has. */
import { isKeptTable } from '../../connectors/index.js';
import type { Expr, Select } from '../../sql/ast.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { forEachCall, isAggregate, type KeyColumn, refuse } from './checks.js';

/** Throws the reason when parts can't read the table. */
export function checkTable({ name, options: { tableKind, type } }: StreamDefinition): void {
  if (tableKind !== 'lookup')
    refuse(`table ${name} keeps its newest rows in the rule: parts would not have the same ones at one time`);
  if (isKeptTable(type)) refuse(`table ${name} is kept in data plane 0, where all parts would have to be`);
}

/** A column of what the statement reads, by its place: FROM is 0. */
export interface Place {
  readonly at: number;
  readonly column: KeyColumn;
}

/** The column that a qualified name means; undefined for what is no column of one certain stream or table. */
export function placeOf({ from, joins }: Select, expr: Expr): Place | undefined {
  if (expr.kind !== 'column' || expr.qualifier === null) return undefined;
  const tables = [from, ...joins.map(({ table }) => table)];
  const own = tables.findIndex(({ name, alias }) => (alias ?? name) === expr.qualifier);
  const at = own < 0 ? tables.findIndex(({ name }) => name === expr.qualifier) : own;
  return at < 0 ? undefined : { at, column: expr };
}

/** Equalities that a condition asks for, of columns at a place with those of earlier ones. */
export function linksOf(select: Select, on: Expr | null, at: number): [own: Place, earlier: Place][] {
  if (on?.kind !== 'binary') return [];
  if (on.op === 'AND') return [...linksOf(select, on.left, at), ...linksOf(select, on.right, at)];
  const [left, right] = on.op === '=' ? [placeOf(select, on.left), placeOf(select, on.right)] : [];
  if (left === undefined || right === undefined) return [];
  if (left.at === at && right.at < at) return [[left, right]];
  return right.at === at && left.at < at ? [[right, left]] : [];
}

/**
 * The column of the only stream by which rows are looked up, where nothing else keeps rows by a key: each row stands
 * for itself. Throws the reason when there is none.
 */
export function lookupKey(select: Select): KeyColumn {
  const { items, groupBy, having, joins } = select;
  const hint = 'GROUP BY beside the window, or PARTITION BY, needs a column of the stream with its name (s.k)';
  if (groupBy.length > 0 || having !== null) refuse(hint);
  for (const { expr } of items) {
    forEachCall(expr, ({ name }) => {
      if (isAggregate(name)) refuse(`${name} is over rows of all keys: ${hint}`);
    });
  }
  const [link] = joins.flatMap(({ on }, i) => linksOf(select, on, i + 1)).filter(([, { at }]) => at === 0);
  if (link === undefined) refuse('ON has no column of the stream that equals one of the table (s.k = t.k)');
  return link![1].column;
}
