/** Nodes in the text of a plan: the operations of the program, then what the node does. */

import type { Kind, PlanOf } from '../../../host/plan/nodes/node.js';
import { operands } from '../../../host/plan/operators/window.js';
import { showUse } from '../../../host/plan/values/show.js';
import type { JoinStep } from '../../../kernels/nodes/join.js';
import { partitionOf } from '../../../kernels/nodes/window.js';
import type { OutputPlan, WindowPlan } from '../../../kernels/plan/ir.js';
import { numbered, type Show, showCondition, shower, showKeys, showOps } from './show-text.js';

type Lookup = PlanOf<'lookup' | 'ask'>;

type Shown = { readonly [K in Kind]?: (node: PlanOf<K>) => readonly string[] };

const shown: Shown = {
  analytic({ program, functions }) {
    const show = shower(program);
    const shown = functions.map(({ fn, args, size, partition, when, dst }) => {
      const by = partition.length === 0 ? '' : ` by [${partition.map(show).join(' ')}]`;
      const condition = when === undefined ? '' : ` when ${show(when)}`;
      return `r${dst} = ${fn}(${args.map(show).join(' ')})${size > 0 ? ` #${size}` : ''}${by}${condition}`;
    });
    return [...showOps(program), ...shown];
  },
  ask(node) {
    if (node.lookup !== null) return showLookup(node, `asked table ${node.lookup}`);
    const show = shower(node.program);
    return [
      ...showOps(node.program),
      `wait until ${node.keys.map(({ operand }) => show(operand)).join()}`,
      `give ${numbered(node.columns.map(show))}`,
    ];
  },
  asof({ program, keys, branches: { type, left, right }, bounds: { toleranceMs }, time, columns, fields }) {
    const show = shower(program);
    const bound = toleranceMs === null ? '' : ` within ${toleranceMs}ms`;
    const ordered = time === null ? '' : ` at c${time}`;
    const by = showKeys(keys, show);
    return [
      ...showOps(program),
      `${type} join branch ${left} with newest of branch ${right}${ordered}${bound}${by}`,
      `give ${numbered([...columns, ...fields].map(show))}`,
    ];
  },
  dedup({ program, begin, end, now, expireMs, columns }) {
    const show = shower(program);
    const times = [begin, end, now].map(show).join(' ');
    return [
      ...showOps(program),
      `ranges of ${times} expire ${expireMs}`,
      `give ${numbered([...columns.map(show), 'ranges'])}`,
    ];
  },
  encode: ({ program, output, actions }) => [...showOps(program), ...showOutput(output, shower(program), actions)],
  eventTime({ program, timestamp, isOrdered, lateToleranceMs, columns }) {
    const how = isOrdered === true ? 'in order' : `late ${lateToleranceMs}ms`;
    return [...showOps(program), `by ${shower(program)(timestamp)} ${how} columns ${columns}`];
  },
  expand({ program, most, columns, of, list }) {
    const show = shower(program);
    const bound = most < Number.MAX_SAFE_INTEGER ? ` most ${most}` : '';
    return [
      ...showOps(program),
      `${of} of ${show(list)}${bound}`,
      `give ${numbered([...columns.map(show), 'element'])}`,
    ];
  },
  filter: ({ program, condition }) => [...showOps(program), `keep ${shower(program)(condition)}`],
  hits({ program, count, time, when, judged, condition }) {
    const show = shower(program);
    return [
      ...showOps(program),
      `r${count}, r${time} = rows that passed and time ${show(when)} of the newest`,
      judged === null ? `keep ${show(condition)}` : `r${judged} = ${show(condition)}`,
    ];
  },
  interval({ program, type, left, bounds: { leastMs, mostMs }, time, keys, condition, lefts, rights }) {
    const show = shower(program);
    return [
      ...showOps(program),
      `${type} join branch ${left} with the other from ${leastMs}ms to ${mostMs}ms at c${time}${showKeys(keys, show)}`,
      ...showCondition(condition),
      `give ${numbered([...lefts, ...rights].map(show))}`,
    ];
  },
  join({ program, tables = [], first, steps }) {
    const kept = tables.map(({ branch, retainRows }) => `keep ${retainRows} rows of branch ${branch}`);
    return [...showOps(program), ...kept, ...(first ? [`first branch ${first}`] : []), ...steps.flatMap(showStep)];
  },
  keyedTable: ({ program, row, key }) => [...showOps(program), `keep ${shower(program)(row)} by ${key}`],
  late: ({ branch }) => [`too late of branch ${branch}`],
  limit: ({ count }) => [`first ${count}`],
  lookup: (node) => showLookup(node, `table #${node.table}`),
  merge: ({ branches }) => [`branches of ${branches.join(', ')} columns`],
  port({ program, timestamp, branch, into, columns }) {
    const show = shower(program);
    const time = timestamp === undefined ? '' : ` at ${show(timestamp)}`;
    return [...showOps(program), `branch ${branch} of #${into}${time}: ${columns.map(show).join(' ')}`];
  },
  sort({ program, keys: by, columns }) {
    const show = shower(program);
    const keys = by.map(({ operand, descending }) => `${show(operand)}${descending ? ' desc' : ''}`);
    return [...showOps(program), `by ${keys.join(', ')} columns ${columns}`];
  },
  window(node) {
    const show = shower(node.program);
    const aggs = node.aggs.map(({ fn, args, filter }) => {
      const condition = filter === undefined ? '' : ` filter ${show(filter)}`;
      return `${fn}(${args.map(show).join(' ')})${condition}`;
    });
    const details = [
      `window ${showWindow(node.window, show)}`,
      node.isEventTime && node.timestamp !== undefined ? `event time ${show(node.timestamp)}` : '',
      node.where === undefined ? '' : `where ${show(node.where)}`,
      node.grouped ? `grouped by [${node.keys.map(show).join(' ')}]` : '',
      node.sendEmpty ? 'send empty' : '',
    ];
    const columns = numbered([...node.keep.map(show), ...aggs]);
    return [...showOps(node.program), details.filter((text) => text !== '').join(', '), `give ${columns}`];
  },
};

/** The lines of a node; one of a kind without words here is shown as it is. */
export function showNode<K extends Kind>(node: PlanOf<K>): readonly string[] {
  const show = shown[node.kind as K] as ((node: PlanOf<K>) => readonly string[]) | undefined;
  return show === undefined ? [JSON.stringify(node)] : show(node);
}

function showOutput(output: OutputPlan, show: Show, actions: readonly number[]): string[] {
  const { shape } = output;
  const body =
    shape.kind === 'object'
      ? `object ${show(shape.operand)}`
      : `{${shape.fields
          .map(({ name, operand, plain, omitNull, omitMissing }) => {
            const mark = omitNull ? '??' : omitMissing ? '*' : plain ? '' : '?';
            return `${name}: ${show(operand)}${mark}`;
          })
          .join(', ')}}`;
  const flags = [
    output.format,
    output.framing,
    output.sendSingle ? 'single' : '',
    output.firstOnly === true ? 'first' : '',
    output.sendNil ? 'nil' : '',
    output.omitIfEmpty ? 'omitEmpty' : '',
    output.sendError ? 'errors' : '',
    output.batchSize > 0 ? `batch ${output.batchSize}` : '',
    output.lingerMs > 0 ? `linger ${output.lingerMs}ms` : '',
    output.head === undefined ? '' : `head ${show(output.head)}`,
    output.empty === undefined ? '' : `empty ${show(output.empty)}`,
  ];
  return [body, `${flags.filter((flag) => flag !== '').join(' ')} > ${actions.join(' ')}`];
}

function showStep({ type, branch, program, condition, keys }: JoinStep): string[] {
  const on = condition === null ? '' : ` on ${shower(program)(condition)}`;
  return [...showOps(program), `${type} join branch ${branch}${on}${showKeys(keys, shower(null))}`];
}

function showLookup({ program, keys, type, condition, columns, fields }: Lookup, table: string): string[] {
  const show = shower(program);
  const by = keys.map(({ name, operand }) => `${name}=${show(operand)}`).join(' ');
  return [
    ...showOps(program),
    `${type} join ${table} by ${by}`,
    ...showCondition(condition),
    `give ${numbered([...columns.map(show), ...fields.map(showUse)])}`,
  ];
}

function showWindow(spec: WindowPlan, show: Show): string {
  const parts = Object.entries(spec).flatMap(([name, value]) =>
    typeof value === 'number' ? [`${name} ${operands.has(name) ? show(value) : value}`] : [],
  );
  const partition = partitionOf(spec);
  if (partition.length > 0) parts.push(`by [${partition.map(show).join(' ')}]`);
  return [spec.kind, ...parts].join(' ');
}
