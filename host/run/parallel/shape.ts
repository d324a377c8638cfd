/** Whether the rows of a rule can be divided by a key such that its parts give the rows of the whole, and by which. */
import { connectorOf } from '../../connectors/index.js';
import { findFunction } from '../../functions/registry.js';
import type { RuleDefinition } from '../../model/engine.js';
import { getsLateRows } from '../../plan/sinks/sinks.js';
import type { Expr, Select, TableRef, WindowClause } from '../../sql/ast.js';
import { parseQuery } from '../../sql/parser.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import {
  checkCall,
  checkCondition,
  checkResult,
  checkWindow,
  forEachCall,
  isAnalytic,
  type KeyColumn,
  refuse,
  someCall,
} from './checks.js';
import { joinedKeys } from './joins.js';
import { isKept } from './kept.js';
import { checkTable, lookupKey, placeOf } from './tables.js';

/** A stream that the rule reads. */
export interface Keyed {
  readonly table: TableRef;
  readonly stream: StreamDefinition;
  /** Rows with an equal value of the column go to one part. */
  readonly key: KeyColumn;
}

export interface Shape {
  readonly select: Select;
  /** Streams that the statement reads, FROM first: several are joined by their keys. */
  readonly inputs: readonly [Keyed, ...Keyed[]];
  /** Names of the tables that each part asks by itself. */
  readonly tables: readonly string[];
}

/**
 * Throws the reason when the rule can't be divided.
 *
 * @param source the stream of a name
 */
export function shapeOf(rule: RuleDefinition, source: (name: string) => StreamDefinition | undefined): Shape {
  checkOptions(rule);
  const select = selectOf(rule);
  const tables = [select.from, ...select.joins.map(({ table }) => table)];
  const { isEventTime } = rule.options;
  const sources = tables.map((table) => sourceOf(table, source));
  const streams = sources.filter(({ kind }) => kind === 'stream');
  for (const one of sources) if (one.kind === 'table') checkTable(one);
  for (const stream of streams) {
    if (isKept(rule)) checkTopics(rule, stream);
    if (!stream.options.shared) refuse(`stream ${stream.name} needs SHARED="true", so that all parts read it once`);
  }
  for (const { on } of select.joins) if (on !== null) checkCondition('ON', on);
  const keys = streams.length > 1 ? joinedKeys(select, sources, isEventTime) : [keyOf(select)];
  const own = tables.filter((_table, i) => sources[i]!.kind === 'stream');
  const [first, ...others] = own.map((table, i) => ({ table, stream: streams[i]!, key: keys[i]! }));
  return { select, inputs: [first!, ...others], tables: namesOf(sources) };
}

function namesOf(sources: readonly StreamDefinition[]): string[] {
  return sources.flatMap(({ kind, name }) => (kind === 'table' ? [name] : []));
}

/** The statement; refuses what is over the rows of all keys. */
function selectOf({ sql }: RuleDefinition): Select {
  const query = parseQuery(sql);
  if (query.kind !== 'select') refuse('a UNION ALL reads several streams');
  const select = query as Select;
  for (const [is, part] of [
    [select.distinct, 'DISTINCT'],
    [select.qualify !== null, 'QUALIFY'],
    [select.orderBy.length > 0, 'ORDER BY'],
    [select.limit !== null, 'LIMIT'],
  ] as const) {
    if (is) refuse(`${part} is over the rows of all keys`);
  }
  if (select.where !== null) checkCondition('WHERE', select.where);
  return select;
}

function sourceOf({ name, query }: TableRef, source: (name: string) => StreamDefinition | undefined): StreamDefinition {
  const found = query === null ? source(name) : undefined;
  if (found === undefined) refuse('the statement has to read streams themselves');
  return found!;
}

/** The key of the only stream, beside which there may be tables. */
function keyOf(select: Select): KeyColumn {
  const { window, joins, items, groupBy } = select;
  if (window !== null) checkWindow(window);
  const looksBack = items.some(({ expr }) => someCall(expr, isAnalytic));
  const isPlain = !looksBack && !groupBy.some((expr) => columnOf(select, expr) !== undefined);
  if (joins.length > 0 && isPlain) {
    checkResult(select);
    return lookupKey(select);
  }
  return window === null ? partitionKeyOf(select) : groupKeyOf(select, window);
}

function checkOptions({ graph, options, actions }: RuleDefinition): void {
  if (graph !== undefined) refuse('a rule with a graph has no statement that could be divided');
  if (options.sendError) refuse('errors of parts are not sent to sinks: sendError is set');
  if (options.sendMetaToSink) refuse('parts have no metadata for sinks: sendMetaToSink is set');
  if (options.cron !== '' || options.durationMs > 0 || options.cronDatetimeRange.length > 0) {
    refuse('a rule with a schedule (cron, duration, cronDatetimeRange) is not divided');
  }
  if (actions.some(getsLateRows)) refuse('rows that are late are found before the parts, which send none');
}

/** Rules that feed each other by topics are cut at one instant, which those of several data planes do not have. */
function checkTopics({ actions }: RuleDefinition, { name, options }: StreamDefinition): void {
  const why = 'rules with checkpoints that feed each other are in one data plane, and parts are in several';
  if (connectorOf(options.type)?.topics !== undefined) refuse(`stream ${name} is a topic in memory: ${why}`);
  for (const { type } of actions)
    if (connectorOf(type)?.topics !== undefined) refuse(`sink ${type} writes to a topic in memory: ${why}`);
}

/**
 * Throws the reason when the rows of a rule depend on more than one partition of its stream. That rows of a key are in
 * one partition is up to who publishes them.
 *
 * @returns the stream
 */
export function partitionedStream(
  rule: RuleDefinition,
  source: (name: string) => StreamDefinition | undefined,
): StreamDefinition {
  if (rule.graph !== undefined) refuse('a rule with a graph has no statement that could be divided');
  if (rule.options.qos > 0) checkFiles(rule);
  const select = selectOf(rule);
  if (select.joins.length > 0) refuse('a join reads several streams');
  const stream = sourceOf(select.from, source);
  let looksBack = false;
  for (const { expr } of select.items) {
    forEachCall(expr, (call) => {
      looksBack ||= isAnalytic(call);
      checkCall(call);
    });
  }
  if (select.window !== null) groupKeyOf(select, select.window);
  else if (looksBack || select.groupBy.length > 0 || select.having !== null) partitionKeyOf(select);
  return stream;
}

/** With checkpoints a file is cut back to what the checkpoint has, and with it would go rows of other partitions. */
function checkFiles({ actions }: RuleDefinition): void {
  for (const { type } of actions) {
    const isOwner = (connectorOf(type)?.sink?.ownFiles ?? []).length > 0;
    if (isOwner) refuse(`with qos 1 and 2 partitions can't write one file together, as sink ${type} would`);
  }
}

/**
 * The column as it comes from the stream; undefined for an alias of the select list, and for a name that may be one of
 * a table's columns.
 */
function columnOf(select: Select, expr: Expr): KeyColumn | undefined {
  if (expr.kind !== 'column') return undefined;
  const { qualifier, name } = expr;
  if (qualifier !== null) return placeOf(select, expr)?.at === 0 ? expr : undefined;
  const named = select.items.find(({ alias }) => alias === name);
  if (select.joins.length > 0) return named && columnOf({ ...select, items: [] }, named.expr);
  return named === undefined || columnOf({ ...select, items: [] }, named.expr)?.name === name ? expr : undefined;
}

function groupKeyOf(select: Select, window: WindowClause): KeyColumn {
  checkWindow(window);
  const key = select.groupBy.map((expr) => columnOf(select, expr)).find((column) => column !== undefined);
  if (key === undefined) refuse('GROUP BY has no column of the stream beside the window: its groups are of all keys');
  checkResult(select);
  return key!;
}

/** The column by which all functions that look back are partitioned. */
function partitionKeyOf(select: Select): KeyColumn {
  if (select.groupBy.length > 0 || select.having !== null) refuse('GROUP BY without a window groups single messages');
  let keys: KeyColumn[] | undefined;
  for (const { expr } of select.items) {
    forEachCall(expr, (call) => {
      checkCall(call);
      const definition = findFunction(call.name);
      if (definition !== undefined && 'aggregate' in definition.implementation) {
        refuse(`${call.name} is over a whole message`);
      }
      if (!isAnalytic(call)) return;
      const own = (call.over?.partitionBy ?? []).flatMap((one) => columnOf(select, one) ?? []);
      keys = keys === undefined ? own : keys.filter(({ name }) => own.some((other) => other.name === name));
      if (keys.length === 0) refuse(`${call.name} looks back at rows of all keys: PARTITION BY has no common column`);
    });
  }
  const [key] = keys ?? [];
  if (key === undefined)
    refuse('nothing in the statement keeps rows by a key: no window with GROUP BY, no PARTITION BY');
  return key!;
}
