/**
 * A place of a graph between two nodes: the operator that gives its rows, their columns, and the meaning of names
 * there.
 */
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import type { Expr, SelectItem, WindowKind } from '../../sql/ast.js';
import { transform } from '../../sql/visit.js';
import { Binder, type Clause } from '../bind/bind.js';
import type { Logical, OutputEntry, OutputRow } from '../logical/logical.js';
import type { Source } from '../values/source.js';
import type { Values } from '../values/value.js';
import type { Flow } from './check.js';
import { RowScope } from './row.js';

/** One of the streams that make the rows: its source, its row, and the operator that gives the row. */
export interface Branch {
  source: Source;
  row: OutputRow;
  sent: OutputRow;
  operator: Logical;
}

export interface Point {
  operator: Logical;
  /** All columns of the rows. */
  row: OutputRow;
  /** Columns that the streams sent, for which `*` stands. */
  sent: OutputRow;
  flow: Flow;
  /**
   * Streams of the rows: one, those of a merge, or those of a join in the order in which a row is searched for a name.
   */
  branches: readonly Branch[];
  isJoined: boolean;
  /** Rows of several streams still have the columns that they had where the streams met. */
  isAsMet: boolean;
  /** Kind of the window above, null without one. */
  window: WindowKind | null;
  /** A script made the rows: columns of streams are not in them. */
  isMade?: boolean;
  /** Rows are in the order of their event time. */
  isOrdered: boolean;
  /** Watermark nodes whose work is left to the place where streams meet. */
  watermarks: readonly string[];
}

/** Context that all nodes of a graph share while it is planned. */
export interface Context {
  rule: RuleDefinition;
  catalog: Catalog;
  values: Values;
  /** Points with rows in the order of event time, by the point before: all nodes that need the order share one. */
  ordered: Map<Point, Point>;
}

/**
 * Binds expressions at a place.
 * @param node whose properties they are: its functions that look back see the rows that come to it
 * @param items columns being picked, which may use each other's aliases
 */
export function binderAt(
  point: Point,
  { rule, catalog, values }: Context,
  node: string,
  items: readonly SelectItem[] = [],
) {
  const sources = point.branches.map(({ source }) => source);
  const computed = point.isJoined ? point.branches.flatMap(qualifiedIn) : [];
  const row = { ...point.row, entries: [...point.row.entries, ...computed] };
  const scope = new RowScope(sources, values, row, point.sent, items, node);
  const binder = new Binder(values, scope, {
    values,
    scope,
    ruleId: rule.id,
    zone: rule.options.timezone,
    brought: catalog.brought,
    isEventTime: rule.options.isEventTime,
    window: point.window,
    isGrouped: point.flow === 'groups',
  });
  return { scope, binder };
}

/**
 * The expression with qualified names as `binderAt` knows them. Names of streams say nothing before rows are joined: a
 * column is the row's own. In joined rows they tell apart what was computed for the stream's rows.
 */
export function localNames(expr: Expr, { isJoined, branches }: Point): Expr {
  return transform(expr, (part) => {
    if (part.kind !== 'column' || part.qualifier === null) return part;
    const { qualifier, name } = part;
    const branch = branches.find(({ source }) => source.ownName === qualifier || source.name === qualifier);
    const hasEntry = branch?.row.entries.some((entry) => entry.name === name) ?? false;
    if (branch === undefined || (isJoined && !hasEntry)) return part;
    return { ...part, qualifier: null, name: isJoined ? `${branch.source.ownName}.${name}` : name };
  });
}

/** Columns of the branch under names that tell it apart from others. */
function qualifiedIn({ source, row }: Branch): OutputEntry[] {
  return row.entries.map((entry) => ({ ...entry, name: `${source.ownName}.${entry.name}` }));
}

/** Rules for an expression in a property at a place of the graph. */
export function clauseAt({ flow, isJoined, branches }: Point, property: string): Clause {
  const isSingle = branches.length > 1 && !isJoined;
  const place = flow === 'rows' ? (isSingle ? 'single' : 'row') : 'window';
  // Rows that are not joined yet, and groups, have no sequence of their own in which one could look back.
  return { name: property, place, hasAggregates: flow === 'groups', hasAnalytics: flow !== 'groups' && !isSingle };
}
