/**
 * Keys of joined streams: rows that meet have equal ones, so that they go to one part, and each row goes to one part
 * alone. So a row without a partner is in the result once, as in one piece.
 */
import { findFunction } from '../../functions/registry.js';
import type { Expr, Select } from '../../sql/ast.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { checkCondition, checkResult, checkWindow, forEachCall, type KeyColumn, refuse } from './checks.js';

/** A column of one of the streams, by the place of the stream in FROM and the joins. */
interface Place {
  readonly at: number;
  readonly column: KeyColumn;
}

/**
 * The key of each stream, in the order in which they are joined. Throws the reason when there is none.
 *
 * @param streams in the same order
 */
export function joinedKeys(select: Select, streams: readonly StreamDefinition[]): KeyColumn[] {
  const { window, joins } = select;
  if (window === null || joins.some(({ asof }) => asof !== undefined)) {
    refuse('a join by time gives rows as time passes, and parts hear of the ends of windows alone');
  }
  checkWindow(window!);
  const twice = streams.find((one, i) => streams.slice(0, i).some(({ name }) => name === one.name));
  if (twice !== undefined) refuse(`stream ${twice.name} is joined with itself: a row of it may belong to two parts`);
  for (const { on } of joins) if (on !== null) checkCondition('ON', on);
  checkResult(select);
  const keys = linkedKeys(select);
  for (const [i, { name, fields }] of streams.entries()) {
    const declared = fields?.find((field) => field.name === keys[i]!.name)?.fieldType.type;
    if (declared === 'datetime')
      refuse(`${name}.${keys[i]!.name} is a datetime, which equals texts and numbers as well`);
  }
  checkGroups(select, keys);
  return keys;
}

/** Columns such that each ON asks for an equality of that of its stream with that of an earlier one. */
function linkedKeys(select: Select): KeyColumn[] {
  const links = select.joins.map(({ on }, i) => linksOf(select, on, i + 1));
  for (const [, first] of links[0] ?? []) {
    const keys = [first.column];
    for (const own of links) {
      const link = own.find(([, { at, column }]) => keys[at]?.name === column.name);
      if (link !== undefined) keys.push(link[0].column);
    }
    if (keys.length === links.length + 1) return keys;
  }
  return refuse(
    'ON has to link all streams by one key: an equality of a column with a column (a.k = b.k AND …) in each ON, ' +
      'of the same columns where there are several',
  );
}

/** Equalities that a condition asks for, of columns of the stream at a place with those of earlier ones. */
function linksOf(select: Select, on: Expr | null, at: number): [own: Place, earlier: Place][] {
  if (on?.kind !== 'binary') return [];
  if (on.op === 'AND') return [...linksOf(select, on.left, at), ...linksOf(select, on.right, at)];
  const [left, right] = on.op === '=' ? [placeOf(select, on.left), placeOf(select, on.right)] : [];
  if (left === undefined || right === undefined) return [];
  if (left.at === at && right.at < at) return [[left, right]];
  return right.at === at && left.at < at ? [[right, left]] : [];
}

/** The column that a qualified name means; undefined for what is no column of one certain stream. */
function placeOf({ from, joins }: Select, expr: Expr): Place | undefined {
  if (expr.kind !== 'column' || expr.qualifier === null) return undefined;
  const tables = [from, ...joins.map(({ table }) => table)];
  const own = tables.findIndex(({ name, alias }) => (alias ?? name) === expr.qualifier);
  const at = own < 0 ? tables.findIndex(({ name }) => name === expr.qualifier) : own;
  return at < 0 ? undefined : { at, column: expr };
}

function checkGroups(select: Select, keys: readonly KeyColumn[]): void {
  const { groupBy, having, items } = select;
  if (groupBy.some((expr) => isKey(select, keys, expr))) return;
  const names = keys.map(({ qualifier, name }) => `${qualifier}.${name}`).join(', ');
  const hint = `GROUP BY needs a key of the join beside the window (${names}), one that each joined row has`;
  if (groupBy.length > 0 || having !== null) refuse(hint);
  for (const { expr } of items) {
    forEachCall(expr, ({ name }) => {
      const implementation = findFunction(name)?.implementation;
      // Functions of users may be aggregates.
      if (implementation === undefined || 'aggregate' in implementation)
        refuse(`${name} is over rows of all keys: ${hint}`);
    });
  }
}

/** Whether the value is that of the key of the joined row, so that rows of a group are of one key. */
function isKey(select: Select, keys: readonly KeyColumn[], expr: Expr): boolean {
  if (expr.kind === 'column' && expr.qualifier === null) return isKeyName(select, keys, expr.name);
  const columns = expr.kind === 'call' && expr.name === 'coalesce' ? expr.args : [expr];
  const places = columns.map((column) => placeOf(select, column));
  if (!places.every((place) => place !== undefined && keys[place.at]!.name === place.column.name)) return false;
  // Of rows that have none of these streams the value is null, whatever their key is.
  const has = new Set(places.map((place) => place!.at));
  const absent = absentIn(select);
  return has.size === keys.length || [...has].some((at) => !absent.has(at));
}

/** As `isKey` of a name that is an alias, or the column of the first stream that has it. */
function isKeyName(select: Select, keys: readonly KeyColumn[], name: string): boolean {
  const named = select.items.find(({ alias, expr }) => alias === name && expr.kind !== 'star');
  const isItself = named?.expr.kind === 'column' && named.expr.qualifier === null && named.expr.name === name;
  if (named !== undefined && !isItself) return isKey({ ...select, items: [] }, keys, named.expr);
  // The right side of a RIGHT JOIN is searched first.
  const first = select.joins.findLastIndex(({ kind }) => kind === 'RIGHT') + 1;
  if (keys.every((key) => key.name === name)) return true;
  return keys[first]!.name === name && !absentIn(select).has(first);
}

/** Places of the streams that a joined row may have no row of. */
function absentIn({ joins }: Select): ReadonlySet<number> {
  const absent = new Set<number>();
  joins.forEach(({ kind }, i) => {
    if (kind === 'LEFT' || kind === 'FULL') absent.add(i + 1);
    if (kind === 'RIGHT' || kind === 'FULL') for (let at = 0; at <= i; at++) absent.add(at);
  });
  return absent;
}
