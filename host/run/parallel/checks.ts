/** What no statement of a divided rule may have, wherever it stands. */
import { findFunction } from '../../functions/registry.js';
import type { Expr, Select, WindowClause, WindowKind } from '../../sql/ast.js';
import { walk } from '../../sql/visit.js';
import { parallelErrors } from './errors.js';

export type KeyColumn = Extract<Expr, { kind: 'column' }>;
type Call = Extract<Expr, { kind: 'call' }>;

/** Functions that the planner replaces and that tell of the row, its group or its window alone. */
const ownSpecials = new Set(['cast', 'eventTime', 'windowStart', 'windowEnd', 'arrayMap']);

const windowReasons: Partial<Record<WindowKind, string>> = {
  sliding: 'each row of a sliding window sends the groups of all keys',
  session: 'the pauses of a session window are those between rows of all keys',
  count: 'a count window counts the rows of all keys',
  state: 'a state window begins and ends with rows of all keys',
};

export function refuse(reason: string): never {
  throw parallelErrors.refused(reason);
}

/** Calls with each call of a function in an expression. */
export function forEachCall(expr: Expr, take: (call: Call) => void): void {
  walk(expr, (one) => {
    if (one.kind === 'call') take(one);
    return undefined;
  });
}

export function someCall(expr: Expr, fits: (call: Call) => boolean): boolean {
  let found = false;
  forEachCall(expr, (call) => {
    found ||= fits(call);
  });
  return found;
}

export function isAnalytic({ name, over }: Call): boolean {
  return over !== null || findFunction(name)?.category === 'analytic';
}

/** Whether the function is, or may be, over several rows: those of users may be aggregates. */
export function isAggregate(name: string): boolean {
  const implementation = findFunction(name)?.implementation;
  return implementation === undefined || 'aggregate' in implementation;
}

/** Functions that tell of more than their row and its group. */
export function checkCall({ name }: Call): void {
  const implementation = findFunction(name)?.implementation;
  if (implementation === undefined || !('special' in implementation)) return;
  if (!ownSpecials.has(implementation.special)) refuse(`${name} tells of the whole rule, or of metadata`);
}

/** A condition on rows, which each part decides by itself. */
export function checkCondition(clause: 'WHERE' | 'ON', condition: Expr): void {
  forEachCall(condition, (call) => {
    if (isAnalytic(call)) refuse(`${call.name} in ${clause} looks back at rows of all keys`);
    if (findFunction(call.name)?.isVolatile) refuse(`${call.name} in ${clause} gives another value in each part`);
    checkCall(call);
  });
}

/** Windows that end at the same times for all keys. */
export function checkWindow({ kind, filter, over }: WindowClause): void {
  const reason = windowReasons[kind];
  if (reason !== undefined) refuse(reason);
  if (filter !== null || over !== null) refuse('a window with FILTER or OVER is one for the rows of all keys');
}

/** What is computed of the groups of a window. */
export function checkResult({ items, groupBy, having }: Select): void {
  for (const expr of [...items.map((item) => item.expr), ...groupBy, ...(having === null ? [] : [having])]) {
    forEachCall(expr, (call) => {
      if (isAnalytic(call)) refuse(`${call.name} looks back at groups of all keys`);
      checkCall(call);
    });
  }
}
