/** Turns a branch of a graph into the syntax tree of the SELECT that does the same. */
import { HaumeaError } from '../../base/errors.js';
import type { GraphNode } from '../../run/api.js';
import type { Expr, Select, SelectItem, Span, TableRef } from '../../sql/ast.js';
import { parseExpression, parseSelect } from '../../sql/parser.js';
import { some, transform } from '../../sql/visit.js';
import { isAggregateCall } from '../analyse.js';
import { refuse } from '../errors.js';
import type { Branch, Step } from './branches.js';
import { streamNameOf } from './streams.js';

const nowhere: Span = { start: 0, end: 0, line: 1, column: 1 };

/** The query so far. */
interface Query {
  select: Select;
  /** Columns that functions added, by name: later operators see them like any other. */
  added: Map<string, Expr>;
  picked: SelectItem[] | null;
  isAggregated: boolean;
}

/** Translates a branch. Throws a `plan` error that names the node. */
export function selectOf({ sources, steps }: Branch): Select {
  const tables = sources.map((source): TableRef => ({ name: streamNameOf(source), alias: null, span: nowhere }));
  const [from] = tables;
  if (from === undefined) throw refuse('the graph has a sink without a source');
  const select: Select = {
    kind: 'select',
    items: [],
    from,
    joins: [],
    where: null,
    groupBy: [],
    window: null,
    having: null,
    orderBy: [],
    limit: null,
  };
  const query: Query = { select, added: new Map(), picked: null, isAggregated: false };
  for (const step of steps) apply(query, step);
  if (tables.length > 1 && select.joins.length === 0) {
    throw refuse(`the streams ${tables.map(({ name }) => name).join(', ')} meet without a join`);
  }
  select.items = query.picked ?? [star(), ...[...query.added].map(([name, expr]) => item(expr, name))];
  return select;
}

function apply(query: Query, { node, output }: Step): void {
  try {
    operators(query, node, output);
  } catch (error) {
    if (!(error instanceof HaumeaError)) throw error;
    throw refuse(`node ${node.name} (${node.nodeType}): ${error.message}`);
  }
}

function operators(query: Query, node: GraphNode, output: number): void {
  const { select } = query;
  switch (node.nodeType) {
    case 'filter':
      keep(query, resolve(query, parseExpression(text(node, 'expr'))));
      return;
    case 'switch':
      keep(query, resolve(query, caseOf(node, output)));
      return;
    case 'function':
    case 'aggfunc': {
      for (const { expr, alias } of parseItems([text(node, 'expr')])) {
        if (expr.kind !== 'call') throw refuse('expr must be the call of a function');
        query.added.set(alias ?? expr.name, resolve(query, expr));
        query.picked?.push(item(resolve(query, expr), alias ?? expr.name));
      }
      if (node.nodeType === 'aggfunc') query.isAggregated = true;
      return;
    }
    case 'pick': {
      const items = parseItems(texts(node, 'fields'));
      const picked = items.flatMap((one) => pick(query, one));
      query.picked = picked;
      query.added = new Map(picked.flatMap(({ expr, alias }) => (alias === null ? [] : [[alias, expr]])));
      return;
    }
    case 'window':
      if (select.window !== null) throw refuse('a rule has one window only');
      if (query.isAggregated || select.groupBy.length > 0) throw refuse('the window must stand before grouping');
      select.window = windowOf(node);
      // What is filtered above the window never reaches it.
      select.window.filter = select.where;
      select.where = null;
      return;
    case 'groupby':
      select.groupBy.push(...texts(node, 'dimensions').map((one) => resolve(query, parseExpression(one))));
      query.isAggregated = true;
      return;
    case 'join':
      join(select, node);
      return;
    case 'orderby': {
      const sorts = list(node, 'sorts').map((one) => one as { field?: unknown; order?: unknown; desc?: unknown });
      for (const { field, order, desc } of sorts) {
        if (typeof field !== 'string') throw refuse('each of sorts needs a field');
        const descending = desc === true || String(order ?? '').toLowerCase() === 'desc';
        select.orderBy.push({ expr: resolve(query, parseExpression(field)), descending });
      }
      return;
    }
    case 'watermark':
      // The planner adds it where the option isEventTime asks for it.
      return;
    default:
      throw refuse('this type of operator is not supported');
  }
}

/** Adds a condition: before a window, on its rows, or on its groups. */
function keep({ select, isAggregated }: Query, condition: Expr): void {
  const isOnGroups = isAggregated || some(condition, (expr) => isAggregateCall(expr));
  if (isOnGroups) select.having = both(select.having, condition);
  else select.where = both(select.where, condition);
}

/** The condition under which a row leaves a switch at one of its outputs. */
function caseOf(node: GraphNode, output: number): Expr {
  const cases = texts(node, 'cases').map((one) => parseExpression(one));
  const own = cases[output];
  if (own === undefined) throw refuse(`output ${output} has no case`);
  if (node.props.stopAtFirstMatch !== true) return own;
  return cases.slice(0, output).reduceRight<Expr>((rest, earlier) => {
    // CASE takes a condition without an answer as not met, which NOT would keep without an answer.
    const no: Expr = { kind: 'boolean', value: false, span: nowhere };
    // biome-ignore lint/suspicious/noThenProperty: a piece of the syntax tree, never awaited
    return { kind: 'case', operand: null, whens: [{ when: earlier, then: no }], otherwise: rest, span: nowhere };
  }, own);
}

/** Puts the expressions of added columns in the place of their names. */
function resolve({ added, picked }: Query, expr: Expr): Expr {
  return transform(expr, (part) => {
    if (part.kind !== 'column' || part.qualifier !== null) return part;
    const known = added.get(part.name);
    const isHidden = known === undefined && picked !== null && !picked.some((one) => one.expr.kind === 'star');
    if (isHidden && !picked.some((one) => one.alias === null && nameOf(one.expr) === part.name)) {
      throw refuse(`column ${part.name} was not picked`);
    }
    return known ?? part;
  });
}

function pick(query: Query, one: SelectItem): SelectItem[] {
  if (one.expr.kind === 'star' && one.expr.qualifier === null) {
    const all = query.picked ?? [star(), ...[...query.added].map(([name, expr]) => item(expr, name))];
    return one.expr.except.length + one.expr.replace.length === 0 ? all : [one];
  }
  const isPlain = one.alias === null && one.expr.kind === 'column' && one.expr.qualifier === null;
  const name = isPlain ? nameOf(one.expr) : one.alias;
  const expr = resolve(query, one.expr);
  return [{ ...one, expr, alias: isPlain && expr === one.expr ? null : (name ?? one.alias) }];
}

function join(select: Select, node: GraphNode): void {
  const clauses = list(node, 'joins').map((one) => {
    const { name, type, on } = one as Record<string, unknown>;
    if (typeof name !== 'string') throw refuse('each of joins needs a name');
    const condition = typeof on === 'string' && on !== '' ? ` ON ${on}` : '';
    return ` ${typeof type === 'string' ? type : 'inner'} JOIN ${quoted(name)}${condition}`;
  });
  const joined = parseSelect(`SELECT * FROM ${quoted(text(node, 'from'))}${clauses.join('')}`);
  select.from = joined.from;
  select.joins = joined.joins;
}

function windowOf(node: GraphNode): NonNullable<Select['window']> {
  const type = text(node, 'type').toLowerCase();
  const { size, interval } = node.props;
  const takesUnit = type !== 'countwindow';
  const numbers = [size];
  const needsInterval = type === 'hoppingwindow' || type === 'sessionwindow';
  const takesInterval = needsInterval || type === 'countwindow';
  if (takesInterval && interval !== undefined && interval !== null && interval !== 0) numbers.push(interval);
  else if (!takesInterval && interval !== undefined && interval !== 0 && interval !== null && interval !== size) {
    throw refuse('interval must be left out or equal to size');
  }
  for (const [i, number] of numbers.entries()) {
    if (!Number.isSafeInteger(number) || Number(number) <= 0) {
      throw refuse(`${i === 0 ? 'size' : 'interval'} must be a whole number above 0`);
    }
  }
  const isHopping = type === 'hoppingwindow' || type === 'countwindow';
  if (needsInterval && numbers.length < 2) throw refuse('interval must be a whole number above 0');
  if (isHopping && numbers.length === 2 && Number(interval) > Number(size)) {
    throw refuse('interval must not be greater than size');
  }
  const parameters = takesUnit ? [text(node, 'unit'), ...numbers] : numbers;
  if (!/^[a-z]+window$/.test(type)) throw refuse(`window type ${type} is not known`);
  const { window } = parseSelect(`SELECT * FROM s GROUP BY ${type}(${parameters.join(', ')})`);
  if (window === null) throw refuse(`window type ${type} is not known`);
  return window;
}

function parseItems(fields: readonly string[]): SelectItem[] {
  return parseSelect(`SELECT ${fields.join(', ')} FROM s`).items;
}

function text({ props }: GraphNode, name: string): string {
  const value = props[name];
  if (typeof value !== 'string' || value.trim() === '') throw refuse(`${name} must be a text`);
  return value;
}

function list({ props }: GraphNode, name: string): object[] {
  const value = props[name];
  const isList =
    Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'object' && one !== null);
  if (!isList) throw refuse(`${name} must be a list of objects`);
  return value as object[];
}

function texts({ props }: GraphNode, name: string): string[] {
  const value = props[name];
  const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
  if (!isList) throw refuse(`${name} must be a list of texts`);
  return value as string[];
}

function quoted(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name}\``;
}

function nameOf(expr: Expr): string | null {
  return expr.kind === 'column' ? expr.name : null;
}

function both(left: Expr | null, right: Expr): Expr {
  return left === null ? right : { kind: 'binary', op: 'AND', left, right, span: nowhere };
}

function item(expr: Expr, alias: string | null): SelectItem {
  return { expr, alias, invisible: false };
}

function star(): SelectItem {
  return item({ kind: 'star', qualifier: null, except: [], replace: [], span: nowhere }, null);
}
