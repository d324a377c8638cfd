/** Reads the properties of operators. Errors name the property; who reads adds the node. */

import { reasonOf } from '../../base/errors.js';
import type { GraphNode } from '../../model/engine.js';
import type { Expr, Join, Select, SelectItem, Span, TableRef } from '../../sql/ast.js';
import { most } from '../../sql/cursor.js';
import { parseExpression, parseItems, parseSelect } from '../../sql/parser.js';
import { nodeErrors } from '../errors/node.js';

export const nowhere: Span = { start: 0, end: 0, line: 1, column: 1 };

/** The expression in property `expr`. */
export function condition(node: GraphNode): Expr {
  return parseExpression(text(node, 'expr'));
}

/** The call in property `expr`, with the name of its result. */
export function call(node: GraphNode): { expr: Expr; name: string } {
  const [item, other] = parseItems(text(node, 'expr'));
  if (item === undefined || other !== undefined || item.expr.kind !== 'call') {
    throw nodeErrors.exprNoCall();
  }
  return { expr: item.expr, name: item.alias ?? item.expr.name };
}

/** Select items of the property `fields`. */
export function fields(node: GraphNode): SelectItem[] {
  const items = texts(node, 'fields').flatMap((one) => parseItems(one));
  if (items.length > most.columns) throw nodeErrors.tooManyFields(items.length, most.columns);
  return items;
}

/** Expressions by which property `dimensions` groups. */
export function dimensions(node: GraphNode): Expr[] {
  return texts(node, 'dimensions').map((one) => parseExpression(one));
}

/** Keys of property `sorts`: `desc: true` or `order: "desc"` turns one round. */
export function sorts(node: GraphNode): { expr: Expr; descending: boolean }[] {
  return list(node, 'sorts').map((one) => {
    const { field, order, desc } = one as { field?: unknown; order?: unknown; desc?: unknown };
    if (typeof field !== 'string') throw nodeErrors.sortField();
    return { expr: parseExpression(field), descending: desc === true || String(order ?? '').toLowerCase() === 'desc' };
  });
}

/** Conditions of property `cases`. */
export function cases(node: GraphNode): Expr[] {
  return texts(node, 'cases').map((one) => parseExpression(one));
}

/** Properties `from` and `joins`. */
export function joinOf(node: GraphNode): { from: TableRef; joins: Join[] } {
  const clauses = list(node, 'joins').map((one) => {
    const { name, type, on } = one as Record<string, unknown>;
    if (typeof name !== 'string' || name === '') throw nodeErrors.joinName();
    if (on !== undefined && on !== null && typeof on !== 'string') throw nodeErrors.joinOnText(name);
    if (typeof type !== 'string' || !joinTypes.includes(type.toLowerCase())) {
      throw nodeErrors.joinType(name, joinTypes.join(', '), type);
    }
    if (!on && type.toLowerCase() !== 'cross') throw nodeErrors.joinOn(name);
    return ` ${type} JOIN ${quoted(name)}${on ? ` ON ${on}` : ''}`;
  });
  return parseSelect(`SELECT * FROM ${quoted(text(node, 'from'))}${clauses.join('')}`);
}

const joinTypes = ['inner', 'left', 'right', 'full', 'cross'];

/** The window of properties `type`, `unit`, `size`, `interval` and `partitionBy`. */
export function windowOf(node: GraphNode): NonNullable<Select['window']> {
  const type = text(node, 'type').toLowerCase();
  if (!windowTypes.includes(type)) throw nodeErrors.windowType(windowTypes.join(', '), type);
  const { size, interval } = node.props;
  const hasInterval = interval !== undefined && interval !== null && interval !== 0;
  const needsInterval = type === 'hoppingwindow' || type === 'sessionwindow';
  const takesInterval = needsInterval || type === 'countwindow';
  if (!takesInterval && hasInterval && interval !== size) throw nodeErrors.countInterval();
  if (!isCount(size)) throw nodeErrors.size();
  if ((needsInterval || hasInterval) && !isCount(interval)) throw nodeErrors.interval();
  if (takesInterval && type !== 'sessionwindow' && hasInterval && Number(interval) > Number(size)) {
    throw nodeErrors.intervalAboveSize();
  }
  const numbers = takesInterval && hasInterval ? [size, interval] : [size];
  const parameters = type === 'countwindow' ? numbers : [unitOf(node), ...numbers];
  const { window } = parsed(`SELECT * FROM s GROUP BY ${type}(${parameters.join(', ')})`);
  if (window === null) throw new Error(`${type} is no window`);
  if (node.props.partitionBy === undefined || node.props.partitionBy === null) return window;
  if (type === 'tumblingwindow' || type === 'hoppingwindow') {
    throw nodeErrors.partitionByClock(type);
  }
  const partitionBy = texts(node, 'partitionBy').map((one) => parseExpression(one));
  return { ...window, over: { partitionBy, orderBy: [], when: null } };
}

/** A statement that the user has not written: where in it a number is wrong says nothing. */
function parsed(text: string): Select {
  try {
    return parseSelect(text);
  } catch (error) {
    throw nodeErrors.statement(reasonOf(error).replace(/^line \d+ column \d+: /, ''));
  }
}

const windowTypes = ['tumblingwindow', 'hoppingwindow', 'slidingwindow', 'sessionwindow', 'countwindow'];
const units = ['dd', 'hh', 'mi', 'ss', 'ms'];

function unitOf(node: GraphNode): string {
  const unit = text(node, 'unit').toLowerCase();
  if (!units.includes(unit)) throw nodeErrors.unit(units.join(', '), unit);
  return unit;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) > 0;
}

function text({ props }: GraphNode, name: string): string {
  const value = props[name];
  if (typeof value !== 'string' || value.trim() === '') throw nodeErrors.propText(name);
  return value;
}

function list({ props }: GraphNode, name: string): object[] {
  const value = props[name];
  const isList =
    Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'object' && one !== null);
  if (!isList) throw nodeErrors.propObjects(name);
  return value as object[];
}

function texts({ props }: GraphNode, name: string): string[] {
  const value = props[name];
  const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
  if (!isList) throw nodeErrors.propTexts(name);
  return value as string[];
}

function quoted(name: string): string {
  return `\`${name}\``;
}
