/** The plan as the interface explains it: one JSON object in each line, indented by tabs with the depth. */

import type { ColumnType, ColumnUse } from '../../kernels/ir.js';
import { notesOf, valuesAboveOf } from './explain-notes.js';
import { tablesOf } from './join.js';
import {
  conditionsOf,
  inputsOf,
  type Logical,
  operatorsOf,
  partitionOf,
  valuesOf,
  type WindowSpec,
} from './logical.js';
import type { Physical } from './physical-plan.js';
import { showValue } from './show-value.js';
import type { Relation } from './source.js';
import type { Value } from './value.js';

/** Prints a value with the names of streams before their columns. */
type Show = (value: Value) => string;

/**
 * Prints the logical plan from the output down to the streams. An operator has the number after that of the operator which
 * reads it, the inputs of one operator are numbered on from there.
 */
export function explainLines(
  root: Extract<Logical, { kind: 'project' }>,
  read: Pick<Physical, 'columns' | 'uses'>,
): string {
  const lines: string[] = [];
  const notes: string[] = [];
  const names = new Map(
    operatorsOf([{ node: root, actions: [] }])
      .flatMap(sourcesOf)
      .map(({ index, ownName }) => [index, `${ownName}.`]),
  );
  const above = valuesAboveOf(root);
  const show: Show = (value) => showValue(value, (source) => names.get(source) ?? '');
  /** Returns how many operators stand side by side there: the inputs of a node that is not shown stand in its place. */
  const print = (node: Logical, number: number, depth: number): number => {
    const shown = describe(node, read, show);
    // Operators of a graph are called as in its topology; the first line is that of the last.
    const labels = node.labels?.toReversed() ?? [];
    shown.forEach(([op, info], i) => {
      const tabs = '\t'.repeat(Math.max(0, 2 * (depth + i) - 1));
      const label = labels[i];
      lines.push(
        tabs +
          JSON.stringify(
            label === undefined
              ? { op: `${op}_${number + i}`, info }
              : { op: `op_${label}`, info: `${op} ${info}`.trim() },
          ),
      );
    });
    // Of an operator in several lines the last is the one that works; the others say what it does besides.
    const [last] = shown.at(-1) ?? [];
    const told = notesOf(node, valuesOf(node), above.get(node) ?? []);
    if (last !== undefined && told !== null) {
      const of =
        labels.length > 0 ? `op_${labels[shown.length - 1] ?? labels[0]}` : `${last}_${number + shown.length - 1}`;
      notes.push(JSON.stringify({ op: 'Note', of, ...told }));
    }
    let width = 0;
    for (const input of readBy(node)) width += print(input, number + shown.length + width, depth + shown.length);
    return shown.length > 0 ? 1 : width;
  };
  print(root, 0, 0);
  return [...lines, ...notes].join('\n');
}

function sourcesOf(node: Logical): readonly Relation[] {
  if (node.kind === 'derive') return [node.table];
  if (node.kind === 'source') return [node.source];
  if (node.kind === 'lookup') return [node.source];
  return node.kind === 'merge' || node.kind === 'join' ? node.sources : [];
}

const filterNames: Readonly<Record<string, string>> = { having: 'HavingPlan', qualify: 'QualifyPlan' };

/** What an operator reads; a join reads its tables beside the windows of streams. */
function readBy(node: Logical): readonly Logical[] {
  if (node.kind !== 'join') return inputsOf(node);
  return [node.input, ...tablesOf(node.sources).map((source): Logical => ({ kind: 'source', source }))];
}

function describe(node: Logical, read: Pick<Physical, 'columns' | 'uses'>, show: Show): [string, string][] {
  const all = (values: readonly Value[]): string => values.map(show).join(', ');
  switch (node.kind) {
    case 'project': {
      const { entries, star } = node.row;
      const fields = entries.map(({ name, value }) =>
        showValue(value) === name ? show(value) : `${show(value)} AS ${name}`,
      );
      if (star !== null) fields.unshift(star.except.length > 0 ? `* EXCEPT(${star.except.join(', ')})` : '*');
      if (node.row.set !== undefined) fields.push(show(node.row.set.value));
      return [['ProjectPlan', `Fields:[ ${fields.join(', ')} ]`]];
    }
    case 'expand': {
      const what = node.of === 'elements' ? 'a row for each element of' : 'the members of';
      return [['ExpandPlan', `Rows:{ ${what} ${show(node.list)} }`]];
    }
    case 'limit':
      return [['LimitPlan', `Count:${node.count}`]];
    case 'sort': {
      const keys = node.keys.map(({ value, descending }) => `${show(value)} ${descending ? 'DESC' : 'ASC'}`);
      return [['OrderPlan', `SortFields:[ ${keys.join(', ')} ]`]];
    }
    case 'derive': {
      const fields = [...node.columns].map(([column, value]) => `${show(value)} AS ${showValue(column)}`);
      return [['DerivedTablePlan', `Name:${node.table.name}, Fields:[ ${fields.join(', ')} ]`]];
    }
    case 'compute':
      return [['ComputePlan', `Values:[ ${all(node.values)} ]`]];
    case 'analytic':
      return [['AnalyticFuncsPlan', `Funcs:[ ${all(node.values)} ]`]];
    case 'hits': {
      if (node.condition === null) return [];
      if (node.clause === 'over') return [];
      const op = node.clause === 'having' ? 'HavingPlan' : 'FilterPlan';
      return [[op, `Condition:{ ${show(node.condition)} }, StateFuncs:[ ${all(node.hits)} ]`]];
    }
    case 'filter': {
      const op = filterNames[node.clause] ?? 'FilterPlan';
      return [[op, `Condition:{ ${show(node.condition)} }`]];
    }
    case 'window': {
      const lines: [string, string][] = [];
      if (node.keys.length > 0)
        lines.push([node.isDistinct === true ? 'DistinctPlan' : 'AggregatePlan', `Dimension:{ ${all(node.keys)} }`]);
      const where = node.where === null ? '' : `, condition:${show(node.where)}`;
      if (node.window.kind !== 'row' && node.window.kind !== 'message')
        lines.push(['WindowPlan', `{ ${showWindow(node.window, all)}${where} }`]);
      return lines;
    }
    case 'watermark':
      return [['WatermarkPlan', node.timestamp === null ? '' : `Timestamp:${show(node.timestamp)}`]];
    case 'late':
      return [['LateRowsPlan', `StreamName: ${node.source.name}`]];
    case 'join': {
      const joins = node.steps.map(({ type, condition }) => {
        const on = condition === null ? '' : `, ${show(condition)}`;
        return `{ joinType:${type.toUpperCase()}_JOIN${on} }`;
      });
      const lines: [string, string][] = [['JoinPlan', `Joins:[ ${joins.join(', ')} ]`]];
      const tables = tablesOf(node.sources).map(({ name }) => name);
      if (tables.length > 0) lines.push(['JoinAlignPlan', `Emitters:[ ${tables.join(', ')} ]`]);
      return lines;
    }
    case 'asof': {
      const { source, type, keys, toleranceMs } = node;
      const by = keys.map(({ left, right }) => `${show(left)} = ${show(right)}`).join(', ');
      const bound = toleranceMs === null ? '' : `, at most ${toleranceMs} ms older`;
      const joinType = type === 'left' ? 'ASOF_LEFT_JOIN' : 'ASOF_JOIN';
      return [
        ['JoinPlan', `Joins:[ { joinType:${joinType}, newest row of ${source.ownName}${bound}, keys:[ ${by} ] } ]`],
      ];
    }
    case 'interval': {
      const { source, left, type, keys, leastMs, mostMs, condition } = node;
      const by = keys.map((key) => `${show(key.left)} = ${show(key.right)}`).join(', ');
      const on = condition === null ? '' : `, condition:${show(condition)}`;
      const span = `${source.ownName} ${leastMs} ms to ${mostMs} ms after ${left.ownName}`;
      return [['JoinPlan', `Joins:[ { joinType:INTERVAL_${type.toUpperCase()}_JOIN, ${span}, keys:[ ${by} ]${on} } ]`]];
    }
    case 'lookup': {
      const { source, type, keys, condition } = node;
      const by = keys.map(({ name, value }) => `${source.ownName}.${name} = ${show(value)}`).join(', ');
      const on = condition === null ? '' : `, condition:${show(condition)}`;
      const kept = source.isKept
        ? `, kept by key ${source.definition.options.key}`
        : ', asked: rows wait for its answers';
      return [
        [
          'LookupPlan',
          `Join:{ joinType:${type.toUpperCase()}_JOIN, table:${source.name}${kept}, keys:[ ${by} ]${on} }`,
        ],
      ];
    }
    case 'dedup':
      return [['DedupTriggerPlan', show(node.ranges)]];
    case 'delay':
      return [['DelayPlan', `Until:{ ${show(node.until)} }`]];
    case 'call':
      return [['CallPlan', `Call:{ ${show(node.call)} }: rows wait for its answers`]];
    case 'merge':
      return [];
    case 'source': {
      const { index } = node.source;
      const names = (read.columns[index] ?? [])
        .flatMap((value, i) => partsOf(showValue(value), read.uses[index]?.[i]))
        .sort();
      return [['DataSourcePlan', `StreamName: ${node.source.name}, StreamFields:[ ${names.join(', ')} ]`]];
    }
    default:
      return node satisfies never;
  }
}

/** What is decoded of a column: its name, or the members of the object that are looked at. */
function partsOf(name: string, use: ColumnUse | undefined): string[] {
  const parts = (path: string, type: ColumnType): string[] => {
    if (type.type === 'array') return parts(`${path}[]`, type.element);
    if (type.type !== 'struct') return [path];
    return type.fields.flatMap((field) => parts(`${path}->${field.name}`, field.type));
  };
  return use?.kind === 'field' && use.read !== undefined ? parts(name, use.read) : [name];
}

/** Kind and lengths of a window, lengths in milliseconds or rows. */
function showWindow(window: WindowSpec, all: (values: readonly Value[]) => string): string {
  const numbers = Object.entries(window).filter(([, value]) => typeof value === 'number');
  const parts = [`windowType:${window.kind}`, ...numbers.map(([name, value]) => `${name}:${value}`)];
  const conditions = conditionsOf(window);
  if (conditions.length > 0) parts.push(`conditions:[ ${all(conditions)} ]`);
  const partition = partitionOf(window);
  if (partition.length > 0) parts.push(`partition:[ ${all(partition)} ]`);
  return parts.join(', ');
}
