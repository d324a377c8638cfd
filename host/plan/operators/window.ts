/** Gathers rows into windows, and groups them; above a join the rows of each message. */
import { aggregates } from '../../../kernels/gen/ops.js';
import { type AggregatePlan, keptColumns, partitionOf as partitionOperands } from '../../../kernels/nodes/window.js';
import { col, type NodePlan, type Operand } from '../../../kernels/plan/ir.js';
import {
  hasWatermark,
  inputsOf,
  isOfMerge,
  type Logical,
  levelOf,
  partitionOf,
  type WindowNode,
  type WindowSpec,
} from '../logical/logical.js';
import type { KeptPlace, NodeKind, PlanOf } from '../nodes/node.js';
import { ProgramBuilder } from '../program/program.js';
import { windowNeeds } from '../program/window-needs.js';
import { type AggregateValue, aggregatesIn, type Value } from '../values/value.js';
import { explainWindow, kindOf, mapWindow, valuesOfWindow, windowPlan, writtenWindow } from '../windows/index.js';
import { mergeBranch, mergeTime } from './joins/merge.js';
import type { ExplainLine, Level, Lowering, OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    window: {
      input: Logical;
      window: WindowSpec;
      /** Event time of a row; null in processing time, and where the watermark below a merge has it. */
      timestamp: Value | null;
      /** See WindowPlan.where of the plan IR. */
      where: Value | null;
      keys: Value[];
      isGrouped: boolean;
      /** Aggregates over all rows of a message that each of its rows shows; only without groups. */
      shown?: readonly AggregateValue[];
      sendEmpty: boolean;
      /** SELECT DISTINCT: the groups are the rows of the result. */
      isDistinct?: boolean;
    };
  }
}

export const window: OperatorKind<'window'> = {
  values: ({ timestamp, where, window: own, keys, shown }) =>
    [timestamp, where, ...valuesOfWindow(own), ...keys, ...(shown ?? [])].filter((value) => value !== null),
  map: (node, map) => ({
    ...node,
    window: mapWindow(node.window, map),
    where: node.where === null ? null : map(node.where),
    keys: node.keys.map(map),
    ...(node.shown === undefined ? {} : { shown: aggregatesIn(...node.shown.map(map)) }),
  }),
  lower(node, at) {
    if (at.isJoined(node)) lowerCollecting(node, at);
    else lowerComputing(node, at);
  },
  explain({ window: own, where, keys, isDistinct }, { show, all }) {
    const lines: ExplainLine[] = [];
    if (keys.length > 0)
      lines.push([isDistinct === true ? 'DistinctPlan' : 'AggregatePlan', `Dimension:{ ${all(keys)} }`]);
    const condition = where === null ? '' : `, condition:${show(where)}`;
    if (kindOf(own).span !== undefined) lines.push(['WindowPlan', `{ ${explainWindow(own, all)}${condition} }`]);
    return lines;
  },
  keeps,
  waits: ({ window: own }) => (kindOf(own).span === undefined ? undefined : 'for the end of the window'),
  growth,
};

/** Output columns are the kept values, then the computed values, then the window's start, end and trigger. */
function lowerComputing(node: WindowNode, at: Lowering): void {
  const shown = node.shown ?? [];
  const isComputed = (aggregate: AggregateValue): boolean => node.isGrouped || shown.includes(aggregate);
  const needs = windowNeeds(at.valuesAbove(node), isComputed, (value) => at.isHeld(value));
  const isEventTime = node.window.kind !== 'message' && hasWatermark(node);
  const time = isOfMerge(node) ? col(mergeTime) : timeOperand(node.timestamp, at);
  const builder = new ProgramBuilder(at.path);
  const operand = (value: Value): Operand => builder.operand(value);
  const keep = needs.keep.map(operand);
  const own = partitionOf(node.window);
  // Rows of one partition are one group by what they are partitioned by.
  const keys = node.keys.every((key) => own.includes(key)) ? [] : node.keys.map(operand);
  const aggs = needs.aggregates.map(({ fn, args, filter, call }): AggregatePlan => {
    const plan: AggregatePlan = { fn, args: args.map(operand), ...(call === 0 ? {} : { call }) };
    if (filter !== null) plan.filter = operand(filter);
    return plan;
  });
  const spec = windowPlan(node.window, operand, at.options.stateTtlMs);
  const where = node.where === null ? undefined : operand(node.where);
  const plan: Extract<NodePlan, { kind: 'window' }> = {
    kind: 'window',
    input: at.path.input,
    program: builder.finishOrNull(),
    window: spec,
    isEventTime,
    grouped: node.isGrouped,
    keys,
    keep,
    aggs,
    sendEmpty: node.sendEmpty,
    name: 'window',
  };
  if (where !== undefined) plan.where = where;
  if (isEventTime) plan.timestamp = time;
  // A window above this one keeps them as it does columns.
  for (const aggregate of needs.aggregates) at.held.add(aggregate);
  const index = at.next;
  const columns = [...needs.keep, ...needs.aggregates, needs.start, needs.end, needs.trigger];
  at.pushNew(plan, kindOf(node.window).span === undefined ? null : 'window', columns);
  if (node.keys.length > 0) at.addStep({ kind: 'aggregate', nodes: [index] });
}

/** Below a join: keeps the number of the branch, if there are several, and all columns, then start, end and trigger. */
function lowerCollecting(node: WindowNode, at: Lowering): void {
  const { values } = at;
  const [bottom] = levelOf(node);
  const isMerged = bottom?.kind === 'merge';
  const above = at.valuesAbove(node);
  // The columns of a derived table may stand in registers.
  const below = bottom?.kind === 'derive' ? [...bottom.columns.keys()] : at.path.columnValues;
  const columns = below.filter((value) => value !== null);
  const only = bottom?.kind === 'source' ? bottom.source : bottom?.kind === 'derive' ? bottom.table : null;
  const computed = only === null ? [] : at.computedFor(only, above);
  const ofStreams = isMerged ? at.ownedByStreams(above) : new Map<Value, Value>();
  const kept = [...columns, ...computed, ...ofStreams.keys()];
  const operands = [...columns, ...computed, ...ofStreams.values()].map((value) => at.operandOf(value));
  const builder = new ProgramBuilder(at.path);
  const spec = windowPlan(node.window, (value) => builder.operand(value), at.options.stateTtlMs);
  const isEventTime = node.window.kind !== 'message' && hasWatermark(node);
  const numbers = isMerged ? [null] : [];
  const time = !isEventTime ? null : isMerged ? col(mergeTime) : timeOperand(node.timestamp, at);
  const plan: NodePlan = {
    kind: 'window',
    input: at.path.input,
    program: builder.finishOrNull(),
    window: spec,
    isEventTime,
    grouped: false,
    keys: [],
    keep: [...numbers.map(() => col(mergeBranch)), ...operands],
    aggs: [],
    sendEmpty: false,
    name: 'window',
    ...(time === null ? {} : { timestamp: time }),
  };
  const parts = [values.window('start'), values.window('end'), values.window('trigger')];
  at.pushNew(plan, node.window.kind === 'row' ? null : 'window', [...numbers, ...kept, ...parts]);
}

/** Event time of a row; a computed one is the column that the watermark below added. */
function timeOperand(time: Value | null, at: Lowering): Operand {
  return time?.kind === 'column' ? at.operandOf(time) : col(at.path.columns);
}

function keeps({ window: own, isGrouped, where, keys }: WindowNode, above: readonly Value[]): string | undefined {
  const { span: spanOf, keepsRows } = kindOf(own);
  if (spanOf === undefined) return own.kind === 'message' ? 'the groups of one message' : undefined;
  const isPartitioned = partitionOf(own).length > 0;
  const span = isPartitioned ? `${spanOf(own)} of each partition` : spanOf(own);
  const fns = aggregatesIn(...above);
  const lists = [...new Set(fns.flatMap(({ fn }) => (aggregates[fn].keepsValues ? aggregates[fn].sql : [])))];
  if (!isGrouped || where !== null || keepsRows === true) return `the rows of ${span}: grows with their number`;
  const groups = keys.length === 0 ? 'one group' : 'each group';
  if (lists.length > 0) return `${lists.join(', ')} of ${groups} of ${span}: grows with the number of rows`;
  if (isPartitioned) return `aggregates of ${groups} of ${span}: grows with the number of partitions, not of rows`;
  return keys.length === 0
    ? `aggregates of ${span}: does not grow`
    : `aggregates of ${groups} of ${span}: grows with the number of groups, not of rows`;
}

function growth(node: WindowNode, { chain, values, row }: Level): string[] {
  const { window: own } = node;
  const overlap = kindOf(own).overlap?.(own) ?? null;
  if (overlap === null) return [];
  const called = aggregatesIn(...values).map(({ fn }) => aggregates[fn]);
  const fns = called.flatMap(({ isLong, sql }) => (isLong ? sql : []));
  const isJoined = chain.some((other) => other.kind === 'join' && inputsOf(other).includes(node));
  const sends = isJoined
    ? 'joins all its rows'
    : !node.isGrouped && row !== null
      ? 'sends all its rows'
      : fns.length > 0
        ? `sends all that ${[...new Set(fns)].join(' and ')} ${fns.length > 1 ? 'gather' : 'gathers'}`
        : undefined;
  if (sends === undefined) {
    const walking = called.flatMap(({ keepsValues, isFixed, sql }) =>
      !keepsValues && (isFixed || own.kind === 'hopping') ? [] : sql,
    );
    if (!node.isGrouped || walking.length === 0) return [];
    return [
      `the ${own.kind} window goes through all its rows ${overlap} for ${[...new Set(walking)].join(' and ')}: its ` +
        'work grows with the square of its input; aggregates of fixed size alone, a shorter window or a ' +
        'condition for its ' +
        'trigger bound it',
    ];
  }
  return [
    `the ${own.kind} window ${sends} ${overlap}: its output grows with the square of its input; ` +
      'an aggregate of fixed size, a shorter window or a condition for its trigger bounds it',
  ];
}

export const windowNode: NodeKind<'window'> = {
  gives({ keep, aggs }, { value, valuesOf, values, listed }) {
    const parts = (['start', 'end', 'trigger'] as const).map((part) => () => values.window(part));
    const computed = aggs.map(({ fn, args, filter, call }) => () => {
      const condition = filter === undefined ? null : value(filter);
      return values.aggregate(fn, valuesOf(args), condition, call);
    });
    return listed([...keep.map((operand) => () => value(operand)), ...computed, ...parts]);
  },
  rows(node, at) {
    const shown = wordsOf(node, at);
    const words = [...seenBy(node, at), ...(shown === '' ? [] : [shown])];
    return { key: keyOf(node, at), words, isOfMessages: true };
  },
  keeps(node, at) {
    const { kind } = node.window;
    const rows = seenBy(node, at);
    const aggs = node.aggs.map((_agg, i) => at.columnBelow(node.keep.length + i));
    const isOfRows = keepsItsRows(node);
    const lists = [
      at.list(isOfRows ? 'values' : 'none', at.valuesOf(keptColumns(node))),
      at.list(isOfRows ? 'none' : 'values', at.valuesOf(node.keep)),
      at.list(isOfRows ? 'none' : 'aggregates', aggs),
    ];
    const what = wordsOf(node, at);
    const holder = `the ${isOfRows ? 'rows' : 'groups'} in ${what}`;
    const found = { key: keyOf(node, at), what, holder, rows, lists };
    return kind === 'row' || kind === 'message' ? { ...found, isSilent: true } : found;
  },
};

/** Members of windows that are operands. */
export const operands: ReadonlySet<string> = new Set(['trigger', 'begin', 'emit', 'start', 'end']);

function keyOf(node: PlanOf<'window'>, at: KeptPlace): bigint {
  const { window: spec, isEventTime, where, grouped, input, keys } = node;
  const parts = Object.entries(spec).flatMap(([name, part]): (string | number | Value | Value[])[] => {
    // The time for which partitions are kept is no part of the meaning of their state.
    if (name === 'ttlMs') return [];
    if (Array.isArray(part)) return [name, at.valuesOf(part)];
    return [name, typeof part === 'number' && operands.has(name) ? at.value(part) : part];
  });
  return at.together(
    'window',
    at.rowsOf(input).key,
    ...parts,
    isEventTime,
    where === undefined ? null : at.value(where),
    grouped,
    keepsItsRows(node),
    grouped ? at.valuesOf(keys) : [],
  );
}

/** Origin of the window's rows, in words, with its own WHERE. */
function seenBy({ input, where }: PlanOf<'window'>, at: KeptPlace): readonly string[] {
  const { words } = at.rowsOf(input);
  return where === undefined ? words : [...words, `WHERE ${at.text(at.value(where))}`];
}

function wordsOf({ window: spec, grouped, keys }: PlanOf<'window'>, at: KeptPlace): string {
  const triggers = Object.entries(spec)
    .filter(([name, part]) => typeof part === 'number' && ['trigger', 'begin', 'emit'].includes(name))
    .map(([, part]) => at.value(part as Operand));
  const shown = writtenWindow(spec, triggers, at.valuesOf(partitionOperands(spec)), (values) => at.texts(values));
  return grouped && keys.length > 0 ? `${shown} by ${at.texts(at.valuesOf(keys))}` : shown;
}

/** A window keeps its rows, not their groups alone (assembly/window/content/content.ts). */
function keepsItsRows({ window: spec, grouped, aggs }: PlanOf<'window'>): boolean {
  if (!grouped || spec.kind === 'sliding') return true;
  if (spec.kind === 'count') return spec.length !== spec.step;
  return spec.kind === 'hopping' && !aggs.every(({ fn }) => aggregates[fn].isMergeable);
}
