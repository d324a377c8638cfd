/**
 * Ways through an expression tree for the passes of the planner. The parser bounds the height of trees, so recursion is
 * safe here.
 */
import type { Expr, Over, Query, Select, SelectItem, TableRef } from './ast.js';

/** Calls `visit` for every direct operand, in source order; `FILTER`, `OVER` and `REPLACE` parts included. */
function forEachChild(expr: Expr, visit: (child: Expr) => void): void {
  mapChildren(expr, (child) => {
    visit(child);
    return child;
  });
}

/** Visits an expression and everything below it, parents first; a visitor that returns false skips what is below. */
export function walk(expr: Expr, visit: (expr: Expr) => boolean | undefined): void {
  if (visit(expr) === false) return;
  forEachChild(expr, (child) => walk(child, visit));
}

/** Tells whether the expression or anything below it satisfies the test. */
export function some(expr: Expr, test: (expr: Expr) => boolean): boolean {
  if (test(expr)) return true;
  let found = false;
  forEachChild(expr, (child) => {
    found ||= some(child, test);
  });
  return found;
}

/**
 * Rebuilds an expression bottom up: `change` sees every node after its operands were changed and returns the node to
 * stand there. Unchanged subtrees are shared with the input, which is never modified.
 */
export function transform(expr: Expr, change: (expr: Expr) => Expr): Expr {
  return change(mapChildren(expr, (child) => transform(child, change)));
}

/** Replaces every direct operand, in source order; returns the same object when nothing changed. */
export function mapChildren(expr: Expr, map: (child: Expr) => Expr): Expr {
  let isChanged = false;
  const one = (child: Expr): Expr => {
    const mapped = map(child);
    if (mapped !== child) isChanged = true;
    return mapped;
  };
  const maybe = (child: Expr | null): Expr | null => (child === null ? null : one(child));
  const copy = rebuild(expr, one, maybe);
  return isChanged ? copy : expr;
}

function rebuild(expr: Expr, one: (child: Expr) => Expr, maybe: (child: Expr | null) => Expr | null): Expr {
  switch (expr.kind) {
    case 'null':
    case 'boolean':
    case 'integer':
    case 'number':
    case 'string':
    case 'column':
      return expr;
    case 'star':
      return { ...expr, replace: expr.replace.map((item): SelectItem => ({ ...item, expr: one(item.expr) })) };
    case 'unary':
    case 'isNull':
      return { ...expr, operand: one(expr.operand) };
    case 'binary':
      return { ...expr, left: one(expr.left), right: one(expr.right) };
    case 'between':
      return { ...expr, operand: one(expr.operand), low: one(expr.low), high: one(expr.high) };
    case 'in':
      return { ...expr, operand: one(expr.operand), list: expr.list?.map(one) ?? null, set: maybe(expr.set) };
    case 'like':
      return { ...expr, operand: one(expr.operand), pattern: one(expr.pattern) };
    case 'case': {
      const operand = maybe(expr.operand);
      // biome-ignore lint/suspicious/noThenProperty: a piece of the syntax tree, never awaited
      const whens = expr.whens.map((branch) => ({ when: one(branch.when), then: one(branch.then) }));
      return { ...expr, operand, whens, otherwise: maybe(expr.otherwise) };
    }
    case 'member':
      return { ...expr, object: one(expr.object) };
    case 'index':
      return { ...expr, object: one(expr.object), index: one(expr.index) };
    case 'slice':
      return { ...expr, object: one(expr.object), from: maybe(expr.from), to: maybe(expr.to) };
    case 'array':
      return { ...expr, items: expr.items.map(one) };
    case 'call': {
      const args = expr.args.map(one);
      const filter = maybe(expr.filter);
      const over: Over | null =
        expr.over === null
          ? null
          : {
              partitionBy: expr.over.partitionBy.map(one),
              orderBy: expr.over.orderBy.map((item) => ({ ...item, expr: one(item.expr) })),
              when: maybe(expr.over.when),
            };
      return { ...expr, args, filter, over };
    }
    default:
      return impossible(expr);
  }
}

/** All SELECTs of a query, those of its derived tables included. */
export function selectsIn(query: Query): Select[] {
  const own = query.kind === 'union' ? query.selects : [query];
  const inner = own.flatMap(tableRefs).flatMap((table) => (table.query === null ? [] : selectsIn(table.query)));
  return [...own, ...inner];
}

/** The streams and tables that a query reads, those of its derived tables included. */
export function streamsIn(query: Query): TableRef[] {
  return selectsIn(query)
    .flatMap(tableRefs)
    .filter((table) => table.query === null);
}

function tableRefs({ from, joins }: Select): TableRef[] {
  return [from, ...joins.map(({ table }) => table)];
}

/** Calls `visit` for every expression that stands directly in a clause of a SELECT, in source order. */
export function forEachExpression(select: Select, visit: (expr: Expr) => void): void {
  for (const item of select.items) visit(item.expr);
  for (const { on, asof } of select.joins) {
    if (asof !== undefined && asof.match !== null) visit(asof.match);
    if (on !== null) visit(on);
  }
  if (select.where !== null) visit(select.where);
  select.groupBy.forEach(visit);
  const { window } = select;
  if (window !== null) {
    window.conditions.forEach(visit);
    if (window.filter !== null) visit(window.filter);
    window.over?.partitionBy.forEach(visit);
    if (window.over?.when) visit(window.over.when);
  }
  if (select.having !== null) visit(select.having);
  if (select.qualify !== null) visit(select.qualify);
  for (const item of select.orderBy) visit(item.expr);
  const { pattern } = select;
  if (pattern === undefined) return;
  pattern.partitionBy.forEach(visit);
  for (const { expr } of [...pattern.orderBy, ...pattern.measures]) visit(expr);
  for (const { condition } of pattern.defines) visit(condition);
}

function impossible(expr: never): never {
  throw new TypeError(`unknown expression ${JSON.stringify(expr)}`);
}
