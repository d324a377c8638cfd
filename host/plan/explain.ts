/** The plan as the interface explains it: one JSON object in each line, indented by tabs with the depth. */
import { chainOf, type Logical, type WindowSpec, windowConditions } from './logical.js';
import { showValue } from './show-value.js';
import type { ColumnValue, Value } from './value.js';

/** Prints the logical plan from the output down to the streams; operators are numbered from the root. */
export function explainLines(root: Logical, columns: readonly (readonly ColumnValue[])[]): string {
  const lines: string[] = [];
  let number = 0;
  const line = (op: string, info: string): void => {
    const depth = lines.length;
    lines.push('\t'.repeat(Math.max(0, 2 * depth - 1)) + JSON.stringify({ op: `${op}_${number++}`, info }));
  };
  for (const node of chainOf(root).reverse()) {
    for (const [op, info] of describe(node, columns)) line(op, info);
  }
  return lines.join('\n');
}

function describe(node: Logical, columns: readonly (readonly ColumnValue[])[]): [string, string][] {
  switch (node.kind) {
    case 'project': {
      const { entries, star } = node.row;
      const fields = entries.map(({ name, value }) => {
        const text = showValue(value);
        return text === name ? name : `${text} AS ${name}`;
      });
      if (star !== null) fields.unshift(star.except.length > 0 ? `* EXCEPT(${star.except.join(', ')})` : '*');
      return [['ProjectPlan', `Fields:[ ${fields.join(', ')} ]`]];
    }
    case 'limit':
      return [['LimitPlan', `Count:${node.count}`]];
    case 'sort': {
      const keys = node.keys.map(({ value, descending }) => `${showValue(value)} ${descending ? 'DESC' : 'ASC'}`);
      return [['OrderPlan', `SortFields:[ ${keys.join(', ')} ]`]];
    }
    case 'filter': {
      const op = node.clause === 'having' ? 'HavingPlan' : 'FilterPlan';
      return [[op, `Condition:{ ${showValue(node.condition)} }`]];
    }
    case 'window': {
      const lines: [string, string][] = [];
      if (node.keys.length > 0) lines.push(['AggregatePlan', `Dimension:{ ${showAll(node.keys)} }`]);
      const where = node.where === null ? '' : `, condition:${showValue(node.where)}`;
      if (node.window.kind !== 'row' && node.window.kind !== 'message')
        lines.push(['WindowPlan', `{ ${showWindow(node.window)}${where} }`]);
      return lines;
    }
    case 'watermark':
      return [['WatermarkPlan', node.timestamp === null ? '' : `Timestamp:${showValue(node.timestamp)}`]];
    case 'join': {
      const joins = node.steps.map(({ type, condition }) => {
        const on = condition === null ? '' : `, ${showValue(condition)}`;
        return `{ joinType:${type.toUpperCase()}_JOIN${on} }`;
      });
      return [['JoinPlan', `Joins:[ ${joins.join(', ')} ]`]];
    }
    case 'merge':
      return node.sources.flatMap((source) => describe({ kind: 'source', source }, columns));
    case 'source': {
      const names = (columns[node.source.index] ?? []).map((value) => showValue(value)).sort();
      return [['DataSourcePlan', `StreamName: ${node.source.name}, StreamFields:[ ${names.join(', ')} ]`]];
    }
    default:
      return node satisfies never;
  }
}

function showAll(values: readonly Value[]): string {
  return values.map((value) => showValue(value)).join(', ');
}

/** Kind and lengths of a window, lengths in milliseconds or rows. */
export function showWindow(window: WindowSpec): string {
  const numbers = Object.entries(window).filter(([, value]) => typeof value === 'number');
  const parts = [`windowType:${window.kind}`, ...numbers.map(([name, value]) => `${name}:${value}`)];
  const conditions = windowConditions(window);
  if (conditions.length > 0) parts.push(`conditions:[ ${showAll(conditions)} ]`);
  return parts.join(', ');
}
