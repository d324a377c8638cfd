/**
 * Several streams in FROM: their sources, the logical join of the rows of a window, equalities that a kernel can hash.
 */

import { nearest } from '../../base/text/nearest.js';
import { isKeptTable } from '../../connectors/index.js';
import type { Catalog, RuleOptions } from '../../model/engine.js';
import type { Join, JoinKind, Select, TableRef } from '../../sql/ast.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import type { Binder, Clause } from '../bind/bind.js';
import { joinErrors } from '../errors/join.js';
import { chainOf, type JoinSpec, type Logical } from '../logical/logical.js';
import { type Relation, Source } from '../values/source.js';
import { type ColumnValue, sourcesIn, type Value } from '../values/value.js';

const types: Record<JoinKind, JoinSpec['type']> = {
  INNER: 'inner',
  LEFT: 'left',
  RIGHT: 'right',
  FULL: 'full',
  CROSS: 'cross',
};

/** Gives the sources of a statement their numbers. Those of tables that are asked come last: no rows come from them. */
export class SourceNumbers {
  private asked: number;
  private others = 0;

  /** @param all what the statement reads, in all of its SELECTs */
  constructor(all: readonly StreamDefinition[]) {
    this.asked = all.filter((definition) => !isAsked(definition)).length;
  }

  next(definition: StreamDefinition): number {
    return isAsked(definition) ? this.asked++ : this.others++;
  }
}

/** A lookup table that is asked for rows by key, and sends none by itself. */
export function isAsked({ options: { tableKind, type } }: StreamDefinition): boolean {
  return tableKind === 'lookup' && !isKeptTable(type);
}

/**
 * Throws a `plan` error for joins that cannot be.
 * @param definitions of what FROM and the joins name, null for derived tables
 */
export function checkJoined(
  { from, joins, window }: Select,
  definitions: readonly (StreamDefinition | null)[],
  { isEventTime }: RuleOptions,
): void {
  const streams = definitions.filter((definition) => definition === null || definition.kind === 'stream');
  if (streams.length === 0) {
    throw joinErrors.fromTable(from.name, from.span);
  }
  checkNames([from, ...joins.map(({ table }) => table)]);
  const scanned = definitions.some((definition) => definition?.options.tableKind === 'scan');
  // In event time two streams can be joined by the time between their rows.
  const mayBeInterval = isEventTime && streams.length === 2;
  const isTimed = joins.some(({ asof }) => asof !== undefined);
  if (window === null && streams.length > 1 && !scanned && !mayBeInterval && !isTimed) {
    throw joinErrors.needsWindow(joins[0]?.table.span);
  }
}

/**
 * Says of a join of streams beside a table, without a window, that it finds nothing: each row is joined by itself with
 * the rows of tables, and those of two streams never meet. Null where that is not so.
 * @param definitions of what FROM and the joins name, null for derived tables
 */
export function remarkOfJoins(
  { joins, window }: Select,
  definitions: readonly (StreamDefinition | null)[],
): string | null {
  if (window !== null || joins.some(({ asof }) => asof !== undefined)) return null;
  const isStream = definitions.map((definition) => definition === null || definition.kind === 'stream');
  const vain = joins.findIndex(
    ({ kind }, i) => (kind === 'INNER' || kind === 'CROSS') && isStream[i + 1] && isStream.indexOf(true) <= i,
  );
  if (vain < 0 || joins.slice(vain + 1).some(({ kind }) => kind === 'RIGHT' || kind === 'FULL')) return null;
  const { alias, name } = (joins[vain] as Join).table;
  return (
    `${joins[vain]?.kind} JOIN ${alias ?? name} finds nothing: without a window each row is joined with tables ` +
    'alone, and rows of two streams never meet; a window in GROUP BY brings them together'
  );
}

/** Throws a `plan` error for streams without event time. */
export function checkEventTimes(relations: readonly Relation[]): void {
  for (const source of streamsOf(relations)) if (source instanceof Source) checkEventTime(source);
}

/** Sources that are no tables, in their order; their rows make messages. */
export function streamsOf<R extends Relation>(sources: readonly R[]): R[] {
  return sources.filter(({ isTable }) => !isTable);
}

/** Scan tables among the sources, in their order; a join keeps their rows for the messages of streams. */
export function tablesOf(sources: readonly Relation[]): Source[] {
  return sources.filter((one) => one instanceof Source).filter(({ isTable, isLookup }) => isTable && !isLookup);
}

/** Kinds of joins that are mistyped are names of the table before them, and the join is an inner one. */
export function mistypedJoins({ from, joins }: Pick<Select, 'from' | 'joins'>): string[] {
  return joins.flatMap(({ kind, asof }, i) => {
    const { name, alias } = i === 0 ? from : joins[i - 1]!.table;
    const meant = alias === null || kind !== 'INNER' || asof ? undefined : nearest(alias, joinWords);
    return meant === undefined ? [] : [`${name} is called ${alias} before JOIN: is that meant as ${meant} JOIN?`];
  });
}

const joinWords = ['INNER', 'LEFT', 'RIGHT', 'FULL', 'CROSS', 'ASOF'];

/** Definition of a stream or table; throws when there is none of that name. */
export function definitionOf({ name }: Pick<TableRef, 'name'>, catalog: Catalog): StreamDefinition {
  const definition = catalog.source(name);
  if (definition !== undefined) return definition;
  const meant = nearest(name, catalog.sourceNames?.() ?? []);
  throw joinErrors.unknownStream(name, meant);
}

function checkNames(tables: readonly TableRef[]): void {
  const seen = new Set<string>();
  for (const { name, alias, span } of tables) {
    const own = alias ?? name;
    if (seen.has(own)) throw joinErrors.sameName(own, span);
    seen.add(own);
  }
}

/** Event time needs a column with the time. */
export function checkEventTime({ name, timestamp }: Source): void {
  if (timestamp === null) throw joinErrors.needsTimestamp(name);
}

/**
 * Sources in the order in which a joined row is searched for an unqualified name: as they are written, but the right
 * side of a RIGHT JOIN comes first.
 */
export function inRowOrder(joins: readonly Join[], sources: readonly Relation[]): Relation[] {
  const order = sources.slice(0, 1);
  joins.forEach(({ kind }, i) => {
    const source = sources[i + 1];
    if (source === undefined) return;
    if (kind === 'RIGHT') order.unshift(source);
    else order.push(source);
  });
  return order;
}

/**
 * The steps of the join. A condition sees the streams up to its own.
 * @param sources FROM first, then those of the joins
 */
export function bindJoins(
  joins: readonly Join[],
  sources: readonly Relation[],
  binder: Binder,
  clause: Clause,
): JoinSpec[] {
  const indexes = sources.map(({ index }) => index);
  return joins.map(({ kind, on, table }, i) => {
    const condition = on === null ? null : binder.bind(on, clause);
    const isLate = condition !== null && sourcesIn(condition).some((source) => indexes.indexOf(source) > i + 1);
    if (isLate) throw joinErrors.streamJoinedLater(table.span);
    return { type: types[kind], source: indexes[i + 1] ?? -1, condition };
  });
}

/** Sources that rows of the plan may have no row of: those on the side of an outer join that need no partner. */
export function absentSources(root: Logical): Relation[] {
  return chainOf(root).flatMap((node) => {
    if (node.kind === 'lookup' || node.kind === 'asof') return node.type === 'left' ? [node.source] : [];
    if (node.kind === 'interval') {
      const { type, left, source } = node;
      return [
        ...(type === 'left' || type === 'full' ? [source] : []),
        ...(type === 'right' || type === 'full' ? [left] : []),
      ];
    }
    if (node.kind !== 'join') return [];
    const { sources, steps } = node;
    const joined = steps.map(({ source }) => source);
    const absent = new Set<number>();
    steps.forEach(({ type, source }, i) => {
      if (type === 'left' || type === 'full') absent.add(source);
      if (type !== 'right' && type !== 'full') return;
      for (const { index } of sources) if (!joined.includes(index, i)) absent.add(index);
    });
    return sources.filter(({ index }) => absent.has(index));
  });
}

/**
 * Whether no row that the join gives is without a row of the source, and each row of it decides by itself about those:
 * to drop rows before the join is then to drop those that were joined of them.
 */
export function isInAllRows({ sources, steps }: Extract<Logical, { kind: 'join' }>, source: number): boolean {
  const own = steps.findIndex((step) => step.source === source);
  if (own < 0 && sources[0]?.index !== source) return false;
  return steps.every(({ type }, i) => {
    if (i < own || type === 'inner' || type === 'cross') return true;
    return type === (i === own ? 'right' : 'left');
  });
}

/** Pairs of columns, one of an earlier stream and one of the joined, whose equality the condition demands. */
export function equalities({ condition, source }: JoinSpec): { left: ColumnValue; right: ColumnValue }[] {
  const found: { left: ColumnValue; right: ColumnValue }[] = [];
  const visit = (value: Value | null | undefined): void => {
    if (value?.kind !== 'op') return;
    const [a, b] = value.operands;
    if (value.op === 'logic.and') {
      visit(a);
      visit(b);
    } else if (value.op === 'compare.eq' && a?.kind === 'column' && b?.kind === 'column') {
      if (a.source !== source && b.source === source) found.push({ left: a, right: b });
      else if (b.source !== source && a.source === source) found.push({ left: b, right: a });
    }
  };
  visit(condition);
  return found;
}

/** True of a merge of streams whose rows come to it as they are: otherwise each of its inputs is a chain of its own. */
export function isOfStreams({ inputs }: Extract<Logical, { kind: 'merge' }>): boolean {
  return inputs.every(({ kind }) => kind === 'source');
}

/** The streams and tables whose rows the operator reads, without those of chains that meet below it. */
export function readBy(node: Logical): Source[] {
  return chainOf(node).flatMap((one) => {
    if (one.kind === 'source') return [one.source];
    if (one.kind === 'join') return tablesOf(one.sources);
    if (one.kind !== 'merge' || !isOfStreams(one)) return [];
    return one.sources.filter((source) => source instanceof Source);
  });
}
