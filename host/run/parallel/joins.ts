/**
 * Keys of joined streams: rows that meet have equal ones, so that they go to one part, and each row goes to one part
 * alone. So a row without a partner is in the result once, as in one piece.
 */
import type { Expr, Select } from '../../sql/ast.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { checkResult, checkWindow, forEachCall, isAggregate, type KeyColumn, refuse, someCall } from './checks.js';
import { linksOf, placeOf } from './tables.js';

/** Keys by the places of their streams; tables have none. */
type Keys = readonly (KeyColumn | undefined)[];

/** Whether rows of streams are joined as time passes, and not those of a window. */
function joinsByTime({ window, joins }: Select): boolean {
  return window === null || joins.some(({ asof }) => asof !== undefined);
}

/**
 * The key of each stream, in the order in which they are joined. Throws the reason when there is none.
 *
 * @param sources streams and tables of FROM and the joins
 */
export function joinedKeys(select: Select, sources: readonly StreamDefinition[], isEventTime: boolean): KeyColumn[] {
  const { window, groupBy, having } = select;
  if (joinsByTime(select) && !isEventTime)
    refuse('by the clock streams are joined in the order in which their rows come, which parts do not have');
  if (window !== null) checkWindow(window);
  else if (groupBy.length > 0 || having !== null) refuse('GROUP BY without a window groups single messages');
  checkResult(select);
  checkFirstWindow(select);
  const isTable = sources.map(({ kind }) => kind === 'table');
  const keys = linkedKeys(select, isTable);
  for (const [i, { name, fields }] of sources.entries()) {
    const key = keys[i]?.name;
    const declared = fields?.find((field) => field.name === key)?.fieldType.type;
    if (declared === 'datetime') refuse(`${name}.${key} is a datetime, which equals texts and numbers as well`);
  }
  checkGroups(select, keys);
  if (!isEventTime) checkTwice(sources, keys);
  return keys.filter((key) => key !== undefined);
}

/** The first window begins with the first row that comes to it. */
function checkFirstWindow({ window, joins, items, groupBy, having }: Select): void {
  if (window === null || !joins.some(({ asof, kind }) => asof !== undefined && kind === 'INNER')) return;
  const all = [...items.map(({ expr }) => expr), ...groupBy, ...(having === null ? [] : [having])];
  const asksStart = all.some((expr) => someCall(expr, ({ name }) => name === 'window_start'));
  if (asksStart) refuse('window_start of the first window is the time of the first row of all keys with a partner');
}

/** By the clock the two that a row of a stream is would be worked on at different times. */
function checkTwice(sources: readonly StreamDefinition[], keys: Keys): void {
  for (const [i, { kind, name }] of sources.entries()) {
    const before = sources.findIndex((one) => one.name === name);
    if (kind === 'table' || keys[before]?.name === keys[i]?.name) continue;
    refuse(`stream ${name} is joined with itself by other columns: by the clock a row would be in two parts`);
  }
}

/** Columns such that each ON asks for an equality of that of its stream with that of an earlier one. */
function linkedKeys(select: Select, isTable: readonly boolean[]): Keys {
  const links = select.joins.map(({ on }, i) => (isTable[i + 1] ? undefined : linksOf(select, on, i + 1)));
  const [ofFirst = []] = links.filter((own) => own !== undefined);
  for (const [, first] of ofFirst) {
    if (first.at > 0) continue;
    const keys: (KeyColumn | undefined)[] = [first.column];
    for (const own of links) keys.push(own?.find(([, { at, column }]) => keys[at]?.name === column.name)?.[0].column);
    if (keys.every((key, i) => (key === undefined) === isTable[i])) return keys;
  }
  return refuse(
    'ON has to link all streams by one key: an equality of a column with a column (a.k = b.k AND …) in each ON, ' +
      'of the same columns where there are several',
  );
}

function checkGroups(select: Select, keys: Keys): void {
  const { groupBy, having, items } = select;
  if (groupBy.some((expr) => isKey(select, keys, expr))) return;
  const names = keys.flatMap((key) => (key === undefined ? [] : `${key.qualifier}.${key.name}`)).join(', ');
  const hint = `GROUP BY needs a key of the join beside the window (${names}), one that each joined row has`;
  if (groupBy.length > 0 || having !== null) refuse(hint);
  for (const { expr } of items) {
    forEachCall(expr, ({ name }) => {
      if (isAggregate(name)) refuse(`${name} is over rows of all keys: ${hint}`);
    });
  }
}

/** Whether the value is that of the key of the joined row, so that rows of a group are of one key. */
function isKey(select: Select, keys: Keys, expr: Expr): boolean {
  if (expr.kind === 'column' && expr.qualifier === null) return isKeyName(select, keys, expr.name);
  const columns = expr.kind === 'call' && expr.name === 'coalesce' ? expr.args : [expr];
  const places = columns.map((column) => placeOf(select, column));
  if (!places.every((place) => place !== undefined && keys[place.at]?.name === place.column.name)) return false;
  // Of rows that have none of these streams the value is null, whatever their key is.
  const has = new Set(places.map((place) => place!.at));
  const absent = absentIn(select);
  return keys.every((key, at) => key === undefined || has.has(at)) || [...has].some((at) => !absent.has(at));
}

/** As `isKey` of a name that is an alias, or the column of the first stream that has it. */
function isKeyName(select: Select, keys: Keys, name: string): boolean {
  const named = select.items.find(({ alias, expr }) => alias === name && expr.kind !== 'star');
  const isItself = named?.expr.kind === 'column' && named.expr.qualifier === null && named.expr.name === name;
  if (named !== undefined && !isItself) return isKey({ ...select, items: [] }, keys, named.expr);
  // Where rows of streams lack the column, a table may have it.
  if (keys.includes(undefined)) return false;
  // The right side of a RIGHT JOIN is searched first.
  const first = select.joins.findLastIndex(({ kind }) => kind === 'RIGHT') + 1;
  if (keys.every((key) => key?.name === name)) return true;
  return keys[first]?.name === name && !absentIn(select).has(first);
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
