/** From the syntax tree of a SELECT to the logical plan: names resolved, meaning checked, nothing optimised yet. */
import { findFunction } from '../functions/registry.js';
import type { Catalog, RuleDefinition } from '../run/api.js';
import type { Expr, Select, WindowClause } from '../sql/ast.js';
import { timeUnitMs } from '../sql/keywords.js';
import { some } from '../sql/visit.js';
import { Binder, type Clause } from './bind.js';
import { notSupported, refuse } from './errors.js';
import { bindJoins, inRowOrder, sourcesOf, streamsOf } from './join.js';
import type { Logical, OutputRow, WindowSpec } from './logical.js';
import { Scope } from './scope.js';
import { bindSelectList } from './select-list.js';
import type { Source } from './source.js';
import { childrenOf, type Value, type Values } from './value.js';

export interface Analysis {
  sources: Source[];
  root: Extract<Logical, { kind: 'project' }>;
}

/** Checks the statement of a rule and returns its logical plan. Throws `plan` errors. */
export function analyse(select: Select, rule: RuleDefinition, catalog: Catalog, values: Values): Analysis {
  const sources = sourcesOf(select, rule.options, catalog, values);
  const { isEventTime } = rule.options;
  checkWindow(select, rule);

  const isAggregate = hasAggregates(select);
  const isGrouped = isAggregate || select.groupBy.length > 0;
  const scope = new Scope(sources, inRowOrder(select.joins, sources), values, select);
  const window = select.window?.kind ?? null;
  const { functionOwner } = catalog;
  const ruleId = rule.id;
  const binder = new Binder(values, scope, { values, scope, ruleId, functionOwner, isEventTime, window, isGrouped });
  const rowClause = (name: string): Clause => ({ name, place: 'row', hasAggregates: false });
  const resultClause = (name: string): Clause => ({ name, place: 'window', hasAggregates: true });

  const streams = streamsOf(sources);
  const timestamps = isEventTime ? streams.map((one) => one.time()) : [];
  const [source, other] = streams;
  if (source === undefined) throw new Error('a statement without a stream');
  const isMerged = other !== undefined;
  const timestamp = isMerged ? null : (timestamps[0] ?? null);
  let root: Logical = isMerged
    ? { kind: 'merge', sources: streams, inputs: streams.map(leafOf), timestamps }
    : leafOf(source);
  if (isEventTime) root = { kind: 'watermark', input: root, timestamp };
  const withHaving = (input: Logical, keys: readonly Value[]): Logical => {
    if (select.having === null) return input;
    const condition = binder.bind(select.having, resultClause('HAVING'));
    checkHaving(condition, keys, select.having);
    return { kind: 'filter', input, condition, clause: 'having' };
  };
  const row = bindSelectList(select, scope, binder, resultClause('SELECT'));
  const where = select.where === null ? null : binder.bind(select.where, rowClause('WHERE'));
  if (sources.length > 1) {
    const bindSingle = (condition: Expr, name: string) =>
      binder.bind(condition, { name, place: 'single', hasAggregates: false });
    const filter = select.window?.filter ?? null;
    if (filter !== null)
      root = { kind: 'filter', input: root, condition: bindSingle(filter, 'FILTER'), clause: 'filter' };
    root = {
      kind: 'window',
      input: root,
      window: specOf(select.window, values, (condition) => bindSingle(condition, 'a condition of the window')),
      timestamp,
      where: null,
      keys: [],
      isGrouped: false,
      sendEmpty: false,
    };
    root = { kind: 'join', input: root, sources, steps: bindJoins(select.joins, sources, binder, rowClause('ON')) };
    if (where !== null) root = { kind: 'filter', input: root, condition: where, clause: 'where' };
    const keys = select.groupBy.map((key) => binder.bind(key, rowClause('GROUP BY')));
    if (isGrouped) {
      const [start, end, trigger] = [values.window('start'), values.window('end'), values.window('trigger')];
      root = {
        kind: 'window',
        input: root,
        window: { kind: 'message', start, end, trigger },
        timestamp: null,
        where: null,
        keys,
        isGrouped,
        sendEmpty: false,
      };
    }
    root = withHaving(root, keys);
  } else if (select.window !== null || isGrouped) {
    const filter = select.window?.filter ?? null;
    if (filter !== null) {
      const condition = binder.bind(filter, rowClause('FILTER'));
      root = { kind: 'filter', input: root, condition, clause: 'filter' };
    }
    if (select.window === null && where !== null) {
      root = { kind: 'filter', input: root, condition: where, clause: 'where' };
    }
    const keys = select.groupBy.map((key) => binder.bind(key, rowClause('GROUP BY')));
    root = {
      kind: 'window',
      input: root,
      window: specOf(select.window, values, (condition) =>
        binder.bind(condition, rowClause('a condition of the window')),
      ),
      timestamp,
      where: select.window === null ? null : where,
      keys,
      isGrouped,
      sendEmpty: select.window !== null && where === null && keys.length === 0,
    };
    root = withHaving(root, keys);
  } else {
    if (select.having !== null) throw refuse('HAVING needs an aggregate', select.having.span);
    if (where !== null) root = { kind: 'filter', input: root, condition: where, clause: 'where' };
  }
  if (select.orderBy.length > 0) {
    const keys = select.orderBy.map(({ expr, descending }) => ({
      value: binder.bind(expr, resultClause('ORDER BY')),
      descending,
    }));
    root = { kind: 'sort', input: root, keys };
  }
  if (select.limit !== null) root = { kind: 'limit', input: root, count: select.limit };
  return { sources, root: { kind: 'project', input: root, row } };
}

/** Output columns in the order of the SELECT; columns that `*` brings without a schema are not known. */
export function outputFieldsOf(row: OutputRow): string[] {
  return row.entries.map(({ name }) => name);
}

function leafOf(source: Source): Logical {
  return { kind: 'source', source };
}

/** What windows and options don't go with. */
export function checkWindow({ window, groupBy }: Pick<Select, 'window' | 'groupBy'>, rule: RuleDefinition): void {
  if (window === null) {
    const [first] = groupBy;
    if (first !== undefined) throw refuse('GROUP BY needs a window', first.span);
    if (rule.options.sendMetaToSink) throw notSupported('option sendMetaToSink');
    return;
  }
  if (rule.options.sendMetaToSink) throw refuse('option sendMetaToSink cannot be used with a window');
  if (window.kind === 'count' && rule.options.isEventTime) {
    throw refuse('COUNTWINDOW cannot be used with event time', window.span);
  }
  if (window.over === null) return;
  const { partitionBy, when } = window.over;
  if (when !== null && window.kind !== 'sliding')
    throw refuse('OVER (WHEN) belongs to SLIDINGWINDOW only', window.span);
  if (partitionBy.length > 0 && window.kind !== 'state') {
    throw refuse('PARTITION BY of a window belongs to STATEWINDOW only', window.span);
  }
}

/** Without a window every row is one. */
export function specOf(clause: WindowClause | null, values: Values, bind: (expr: Expr) => Value): WindowSpec {
  if (clause === null) return { kind: 'row' };
  const { kind, unit, args, conditions, over, span } = clause;
  const unitMs = unit === null ? 1 : timeUnitMs[unit];
  const [first = 0, second] = args;
  switch (kind) {
    case 'tumbling':
      return { kind, unitMs, lengthMs: first * unitMs };
    case 'hopping':
      return { kind, unitMs, lengthMs: first * unitMs, hopMs: (second ?? first) * unitMs };
    case 'sliding':
      return {
        kind,
        lengthMs: first * unitMs,
        delayMs: (second ?? 0) * unitMs,
        trigger: over?.when ? bind(over.when) : null,
      };
    case 'session':
      return { kind, unitMs, maxMs: first * unitMs, timeoutMs: (second ?? 0) * unitMs };
    case 'count':
      return { kind, length: first, step: second ?? first };
    case 'state': {
      const [begin, emit] = conditions.map(bind);
      if (begin === undefined) throw refuse('STATEWINDOW needs a condition', span);
      const parts = over?.partitionBy.map(bind) ?? [];
      const partition = parts.length > 1 ? values.op('nested.arrayOf', [], parts) : (parts[0] ?? null);
      return { kind, begin, emit: emit ?? null, partition };
    }
    default:
      return kind satisfies never;
  }
}

/** Whether the node itself, not what is below it, is a call of an aggregate. */
export function isAggregateCall(expr: Expr): boolean {
  if (expr.kind !== 'call') return false;
  const definition = findFunction(expr.name);
  return definition !== undefined && 'aggregate' in definition.implementation;
}

function hasAggregates(select: Select): boolean {
  const roots = [...select.items.map(({ expr }) => expr), ...select.orderBy.map(({ expr }) => expr)];
  if (select.having !== null) roots.push(select.having);
  return roots.some((root) => some(root, isAggregateCall));
}

/** A condition on results may use aggregates, grouping expressions and the window, but no columns of single rows. */
function checkHaving(condition: Value, keys: readonly Value[], having: Expr): void {
  const seen = new Set<Value>();
  const isOfRow = (value: Value): boolean => {
    if (seen.has(value) || keys.includes(value) || value.kind === 'aggregate') return false;
    seen.add(value);
    return value.kind === 'column' || childrenOf(value).some(isOfRow);
  };
  if (isOfRow(condition)) {
    throw refuse('HAVING may only use aggregates, grouping expressions and the window', having.span);
  }
}
