/** The table of the kinds of windows, and functions that hold for any of them. */
import type { Operand, WindowPlan } from '../../../kernels/plan/ir.js';
import type { Expr, WindowClause } from '../../sql/ast.js';
import { timeUnitMs } from '../../sql/keywords.js';
import { checkCondition } from '../bind/type-checks.js';
import { partitionOf, type WindowSpec } from '../logical/logical.js';
import type { Value } from '../values/value.js';
import { kinds } from './gen/kinds.js';
import type { Kind, WindowKind } from './kind.js';

/** The record of the window's kind. */
export function kindOf<K extends Kind>({ kind }: { kind: K }): WindowKind<K> {
  return kinds[kind];
}

/**
 * The window that a clause asks for; without one every row is one.
 * @param bindIn binds an expression of the clause that it names
 */
export function specOf(clause: WindowClause | null, bindIn: (expr: Expr, clause: string) => Value): WindowSpec {
  if (clause === null) return { kind: 'row' };
  const { unit, over } = clause;
  const partition = over?.partitionBy.map((expr) => bindIn(expr, 'PARTITION BY')) ?? [];
  const kind: WindowKind<typeof clause.kind> = kindOf(clause);
  const spec = kind.of?.({
    clause,
    unitMs: unit === null ? 1 : timeUnitMs[unit],
    partition,
    bind: (condition) => bindIn(condition, 'a condition of the window'),
    trigger: (condition) => triggerOf(condition, bindIn),
  });
  if (spec === undefined) throw new Error(`no clause asks for a window of kind ${clause.kind}`);
  return spec;
}

/** The rows that end sliding windows. */
function triggerOf(expr: Expr, bindIn: (expr: Expr, clause: string) => Value): Value {
  const value = bindIn(expr, 'OVER (WHEN …)');
  checkCondition('OVER (WHEN …)', [expr, value]);
  return value;
}

/** Conditions by which rows open, end or send a window. */
function conditionsOf(window: WindowSpec): Value[] {
  return kindOf(window).conditions?.(window) ?? [];
}

/** Values that a window itself reads in each row. */
export function valuesOfWindow(window: WindowSpec): Value[] {
  return [...conditionsOf(window), ...(kindOf(window).values?.(window) ?? []), ...partitionOf(window)];
}

/** The window with each condition and each value of its partition replaced. */
export function mapWindow(window: WindowSpec, map: (value: Value) => Value): WindowSpec {
  const mapped = kindOf(window).map?.(window, map) ?? window;
  return 'partition' in mapped ? { ...mapped, partition: mapped.partition.map(map) } : mapped;
}

/**
 * The window with operands in the place of values.
 * @param ttlMs how long partitions of windows that end with a row wait for one, 0 for ever
 */
export function windowPlan(window: WindowSpec, operand: (value: Value) => Operand, ttlMs: number): WindowPlan {
  const kind = kindOf(window);
  const of = partitionOf(window);
  const partition = of.length === 0 ? {} : { partition: of.map(operand) };
  const plan = kind.plan(window, operand);
  const lasting = of.length === 0 || ttlMs === 0 || kind.endsWithRow !== true ? {} : { ttlMs };
  return { ...plan, ...partition, ...lasting };
}

/** Kind and lengths of a window as EXPLAIN shows them, lengths in milliseconds or rows. */
export function explainWindow(window: WindowSpec, all: (values: readonly Value[]) => string): string {
  const numbers = Object.entries(window).filter(([, value]) => typeof value === 'number');
  const parts = [`windowType:${window.kind}`, ...numbers.map(([name, value]) => `${name}:${value}`)];
  const conditions = conditionsOf(window);
  if (conditions.length > 0) parts.push(`conditions:[ ${all(conditions)} ]`);
  const partition = partitionOf(window);
  if (partition.length > 0) parts.push(`partition:[ ${all(partition)} ]`);
  return parts.join(', ');
}

/**
 * A window of a plan as GROUP BY has it; empty for one of each row or message.
 * @param triggers its conditions
 * @param all prints values, separated by commas
 */
export function writtenWindow(
  window: WindowPlan,
  triggers: readonly Value[],
  partition: readonly Value[],
  all: (values: readonly Value[]) => string,
): string {
  const isTriggered = window.kind === 'sliding' && triggers.length > 0;
  const over = [
    ...(partition.length > 0 ? [`PARTITION BY ${all(partition)}`] : []),
    ...(isTriggered ? [`WHEN ${all(triggers)}`] : []),
  ].join(' ');
  const text = kindOf(window).written?.(window, all(triggers)) ?? '';
  return `${text}${over === '' ? '' : ` OVER (${over})`}`;
}
