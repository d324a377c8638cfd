/** Plans each type of operator of a graph over its input rows. */

import type { GraphNode } from '../../model/engine.js';
import type { Expr, SelectItem } from '../../sql/ast.js';
import { ownName } from '../../sql/names.js';
import { some } from '../../sql/visit.js';
import { bindSelectList } from '../bind/select-list.js';
import { nodeErrors } from '../errors/node.js';
import type { Logical, OutputEntry, OutputRow, WindowSpec } from '../logical/logical.js';
import { withAnalyticsAt } from '../statement/analytic.js';
import { isAggregateCall } from '../statement/statement.js';
import type { Value } from '../values/value.js';
import { checkWindow, messageGroups } from '../windows/clause.js';
import { specOf } from '../windows/index.js';
import { joined } from './join.js';
import { type Branch, binderAt, type Context, clauseAt, localNames, type Point } from './point.js';
import * as props from './props.js';
import { hasColumn, plain, withEntry } from './row.js';
import { scripted } from './script.js';

/**
 * Applies an operator, but for switches. Throws `plan` errors that name the property.
 * @param tables those that lead to a join
 */
export function applied(node: GraphNode, point: Point, tables: readonly Branch[], context: Context): Point {
  switch (node.nodeType) {
    case 'filter':
      return filtered(node, point, context);
    case 'function':
      return computed(node, point, context);
    case 'aggfunc':
      return aggregated(node, point.flow === 'groups' ? point : grouped(point, [], context), context);
    case 'pick':
      return picked(node, point, context);
    case 'window':
      return windowed(node, point, context);
    case 'groupby': {
      const { binder } = binderAt(point, context, node.name);
      const clause = { name: 'dimensions', place: 'row', hasAggregates: false, hasAnalytics: false } as const;
      const keys = props.dimensions(node).map((expr) => binder.bind(localNames(expr, point), clause));
      return grouped(point, keys, context, node.name);
    }
    case 'orderby': {
      const keys = props
        .sorts(node)
        .map(({ expr, descending }) => ({ value: bound(node, expr, point, 'sorts', context), descending }));
      const input = lookedBack(
        node,
        point,
        keys.map(({ value }) => value),
      );
      return { ...point, operator: { kind: 'sort', input, keys, labels: [node.name] } };
    }
    case 'script':
      return scripted(node, point, context);
    case 'join':
      return joined(node, point.flow === 'rows' ? eachAlone(point, context) : point, tables, context);
    case 'watermark':
      return context.rule.options.isEventTime
        ? inOrder({ ...point, watermarks: [...point.watermarks, node.name] }, context)
        : passed(node, point, []);
    default:
      throw nodeErrors.unsupportedType();
  }
}

/** Orders rows by their event time, unless they are. */
export function inOrder(point: Point, { ordered }: Context): Point {
  if (point.isOrdered) return point;
  let after = ordered.get(point);
  if (after === undefined) {
    const { operator: input, watermarks: labels } = point;
    const operator: Logical = { kind: 'watermark', input, timestamp: timeOf(point), labels };
    after = { ...point, operator, isOrdered: true, watermarks: [] };
    ordered.set(point, after);
  }
  return after;
}

/** Time by which the rows of a single stream are ordered; null for several streams, whose merge has it. */
function timeOf({ branches }: Point): Value | null {
  const [first, second] = branches;
  return first !== undefined && second === undefined ? first.source.time() : null;
}

function bound(node: GraphNode, expr: Expr, point: Point, property: string, context: Context): Value {
  return binderAt(point, context, node.name).binder.bind(localNames(expr, point), clauseAt(point, property));
}

/** The rows with the results of the node's functions that look back, which the values are made of. */
function lookedBack(node: GraphNode, { operator }: Point, values: readonly Value[]): Logical {
  return withAnalyticsAt(operator, node.name, values);
}

/** Passes all rows on, with the values that are computed for the nodes below. */
export function passed(node: GraphNode, point: Point, values: Value[]): Point {
  const isAsMet = values.length === 0 && point.isAsMet;
  const input = lookedBack(node, point, values);
  return { ...point, isAsMet, operator: { kind: 'compute', input, values, labels: [node.name] } };
}

function filtered(node: GraphNode, point: Point, context: Context): Point {
  const { binder } = binderAt(point, context, node.name);
  const condition = binder.condition(localNames(props.condition(node), point), clauseAt(point, 'expr'));
  const clause = point.flow === 'groups' ? 'having' : 'where';
  const input = lookedBack(node, point, [condition]);
  return { ...point, operator: { kind: 'filter', input, condition, clause, labels: [node.name] } };
}

function computed(node: GraphNode, point: Point, context: Context): Point {
  const { expr, name } = props.call(node);
  const value = bound(node, expr, point, 'expr', context);
  return passed(node, { ...point, row: withEntry(point.row, plain(name, value)) }, [value]);
}

/** An aggregate over no rows (an empty window) is sent as null. */
function aggregated(node: GraphNode, point: Point, context: Context): Point {
  const { values } = context;
  const { expr, name } = props.call(node);
  const value = bound(node, expr, point, 'expr', context);
  const sent = values.op('logic.case', [], [values.op('logic.isNull', [value]), values.null(), value]);
  return passed(node, { ...point, row: withEntry(point.row, plain(name, sent)) }, [sent]);
}

function grouped(point: Point, keys: Value[], { values }: Context, label?: string): Point {
  const groups = { ...messageGroups(point.operator, keys, values), sendEmpty: keys.length === 0 };
  const operator: Logical = label === undefined ? groups : { ...groups, labels: [label] };
  return { ...point, operator, flow: 'groups' };
}

function windowed(node: GraphNode, given: Point, context: Context): Point {
  const { rule } = context;
  const clause = props.windowOf(node);
  checkWindow({ window: clause, groupBy: [] }, rule);
  const point = rule.options.isEventTime ? inOrder(given, context) : given;
  const spec = specOf(clause, (expr) => bound(node, expr, point, 'partitionBy', context));
  return { ...gathered(point, spec, context, [node.name]), window: clause.kind };
}

/** Rows that are collections each by itself, as joins take them. */
function eachAlone(given: Point, context: Context): Point {
  const point = context.rule.options.isEventTime ? inOrder(given, context) : given;
  return gathered(point, { kind: 'row' }, context, []);
}

/** Rows in windows. What was computed for rows of a single stream is from here on theirs as what it sent. */
function gathered(point: Point, window: WindowSpec, context: Context, labels: readonly string[]): Point {
  const { operator: input, branches, row, sent } = point;
  const [first, second] = branches;
  const only = first !== undefined && second === undefined ? first : undefined;
  const operator: Logical = {
    kind: 'window',
    input,
    window,
    timestamp: context.rule.options.isEventTime ? timeOf(point) : null,
    where: null,
    keys: [],
    isGrouped: false,
    sendEmpty: window.kind !== 'row',
    labels,
  };
  const settled = only === undefined ? {} : { branches: [{ ...only, row, sent }], isAsMet: true };
  return { ...point, ...settled, operator, flow: 'a collection' };
}

function picked(node: GraphNode, given: Point, context: Context): Point {
  const items = props
    .fields(node)
    .map((item) => ({ ...item, expr: localNames(item.expr, given), alias: aliasOf(item) }));
  const hasAggregates = items.some(({ expr }) => some(expr, (one) => isAggregateCall(one, context.catalog.brought)));
  const isOfWindow = given.flow === 'a collection' && (node.props.isAgg === true || hasAggregates);
  const point = isOfWindow ? grouped(given, [], context) : given;
  const stars = items.flatMap(({ expr }) => (expr.kind === 'star' && expr.qualifier === null ? [expr] : []));
  const replaced = stars.flatMap(({ replace }) =>
    replace.map((item) => ({ ...item, alias: item.alias ?? ownName(item.expr) })),
  );
  const others = items.filter(({ expr }) => expr.kind !== 'star' || expr.qualifier !== null);
  const named: SelectItem[] = [...others, ...replaced.map(({ expr, alias }) => ({ expr, alias, invisible: false }))];
  const { scope, binder } = binderAt(point, context, node.name, named);
  const { row: list, expand } = bindSelectList({ items: named }, scope, binder, clauseAt(point, 'fields'));
  if (expand !== null) throw nodeErrors.fieldsMakeRows(node.name);
  // A column that is taken over as it is keeps how its null is sent; named by itself it is there in each row.
  const entries = list.entries.map((entry) => {
    const own = point.row.entries.find((one) => isSame(one, entry));
    return own === undefined ? entry : { ...own, isBrought: entry.isBrought };
  });
  const all =
    stars.length === 0
      ? { ...list, entries: [] }
      : {
          ...without(
            point.sent,
            stars.flatMap((star) => star.except),
          ),
          ...(list.set === undefined ? {} : { set: list.set }),
        };
  const row = entries.reduce(withEntry, all);
  const sent = entries.filter((entry) => hasColumn(point.sent, entry, context.values)).reduce(withEntry, all);
  const made = list.set === undefined ? [] : [list.set.value];
  return passed(node, { ...point, row, sent }, [...row.entries.map(({ value }) => value), ...made]);
}

/** A column keeps its name whichever stream it is said to be of. */
function aliasOf({ expr, alias }: SelectItem): string | null {
  return alias ?? (expr.kind === 'column' && expr.qualifier !== null ? expr.name : null);
}

function isSame(a: OutputEntry, b: OutputEntry): boolean {
  return a.name === b.name && a.value === b.value;
}

/** The row but for some columns. */
function without({ entries, star }: OutputRow, names: readonly string[]): OutputRow {
  const kept = entries.filter(({ name }) => !names.includes(name));
  return { entries: kept, star: star === null ? null : { ...star, except: [...star.except, ...names] } };
}
