/** A rule's plan as compact readable text, for debugging and tests. */
import type {
  JoinStep,
  NodeInput,
  NodePlan,
  Op,
  Operand,
  OutputPlan,
  Program,
  RulePlan,
  WindowPlan,
} from '../../kernels/ir.js';
import { operandCol as firstColumn, operandConst as firstConst, NONE } from '../../kernels/ir.js';
import { partitionOf } from '../../kernels/nodes/window.js';
import { showConst, showUse } from './show-value.js';

/** Prints sources with their columns, then each node: `#1 filter < #0`, its operations and what it gives out. */
export function showPlan(plan: RulePlan): string {
  const lines = plan.sources.map(
    ({ stream, columns }, i) => `source ${i} ${stream}: ${columns.map((use, c) => `c${c}=${showUse(use)}`).join(' ')}`,
  );
  plan.nodes.forEach((node, i) => {
    lines.push(`#${i} ${node.kind} < ${showInput(node.input)}`);
    for (const line of showNode(node)) lines.push(`  ${line}`);
  });
  return lines.join('\n');
}

function showInput(input: NodeInput | null): string {
  if (input === null) return 'ports';
  return 'source' in input ? `source ${input.source}` : `#${input.node}`;
}

function showNode(node: NodePlan): string[] {
  switch (node.kind) {
    case 'filter':
      return [...showOps(node.program), `keep ${shower(node.program)(node.condition)}`];
    case 'eventTime':
      return [
        ...showOps(node.program ?? null),
        `by ${shower(node.program ?? null)(node.timestamp)} ${node.isOrdered === true ? 'in order' : `late ${node.lateToleranceMs}ms`} columns ${node.columns}`,
      ];
    case 'late':
      return [`too late of branch ${node.branch}`];
    case 'window': {
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
      const columns = [...node.keep.map(show), ...aggs].map((text, i) => `c${i}=${text}`);
      return [...showOps(node.program), details.filter((text) => text !== '').join(', '), `give ${columns.join(' ')}`];
    }
    case 'sort': {
      const show = shower(node.program);
      const keys = node.keys.map(({ operand, descending }) => `${show(operand)}${descending ? ' desc' : ''}`);
      return [...showOps(node.program), `by ${keys.join(', ')} columns ${node.columns}`];
    }
    case 'expand': {
      const show = shower(node.program);
      const bound = node.most < Number.MAX_SAFE_INTEGER ? ` most ${node.most}` : '';
      const columns = [...node.columns.map(show), 'element'].map((text, i) => `c${i}=${text}`);
      return [...showOps(node.program), `${node.of} of ${show(node.list)}${bound}`, `give ${columns.join(' ')}`];
    }
    case 'analytic': {
      const show = shower(node.program);
      const shown = node.functions.map(({ fn, args, size, partition, when, dst }) => {
        const by = partition.length === 0 ? '' : ` by [${partition.map(show).join(' ')}]`;
        const condition = when === undefined ? '' : ` when ${show(when)}`;
        return `r${dst} = ${fn}(${args.map(show).join(' ')})${size > 0 ? ` #${size}` : ''}${by}${condition}`;
      });
      return [...showOps(node.program), ...shown];
    }
    case 'hits': {
      const show = shower(node.program);
      return [
        ...showOps(node.program),
        `r${node.count}, r${node.time} = rows that passed and time ${show(node.when)} of the newest`,
        node.judged === null ? `keep ${show(node.condition)}` : `r${node.judged} = ${show(node.condition)}`,
      ];
    }
    case 'limit':
      return [`first ${node.count}`];
    case 'merge':
      return [`branches of ${node.branches.join(', ')} columns`];
    case 'port': {
      const show = shower(node.program);
      const time = node.timestamp === undefined ? '' : ` at ${show(node.timestamp)}`;
      return [
        ...showOps(node.program),
        `branch ${node.branch} of #${node.into}${time}: ${node.columns.map(show).join(' ')}`,
      ];
    }
    case 'join': {
      const tables = (node.tables ?? []).map(({ branch, retainRows }) => `keep ${retainRows} rows of branch ${branch}`);
      const first = node.first ? [`first branch ${node.first}`] : [];
      return [...showOps(node.program), ...tables, ...first, ...node.steps.flatMap(showJoin)];
    }
    case 'asof': {
      const show = shower(node.program);
      const keys = node.keys.map(({ left, right }) => ` ${show(left)}=${show(right)}`).join('');
      const { branches, bounds } = node;
      const bound = bounds.toleranceMs === null ? '' : ` within ${bounds.toleranceMs}ms`;
      const ordered = node.time === null ? '' : ` at c${node.time}`;
      const columns = [...node.columns, ...node.fields].map((operand, i) => `c${i}=${show(operand)}`);
      return [
        ...showOps(node.program),
        `${branches.type} join branch ${branches.left} with newest of branch ${branches.right}${ordered}${bound}${keys === '' ? '' : ` by${keys}`}`,
        `give ${columns.join(' ')}`,
      ];
    }
    case 'interval': {
      const show = shower(node.program);
      const keys = node.keys.map(({ left, right }) => ` ${show(left)}=${show(right)}`).join('');
      const { leastMs, mostMs } = node.bounds;
      const { condition } = node;
      return [
        ...showOps(node.program),
        `${node.type} join branch ${node.left} with the other from ${leastMs}ms to ${mostMs}ms at c${node.time}${keys === '' ? '' : ` by${keys}`}`,
        ...(condition === null
          ? []
          : [...showOps(condition.program), `where ${shower(condition.program)(condition.operand)}`]),
        `give ${[...node.lefts, ...node.rights].map((operand, i) => `c${i}=${show(operand)}`).join(' ')}`,
      ];
    }
    case 'keyedTable': {
      const show = shower(node.program);
      return [...showOps(node.program), `keep ${show(node.row)} by ${node.key}`];
    }
    case 'lookup':
    case 'ask': {
      if (node.kind === 'ask' && node.lookup === null) return showDelay(node);
      const show = shower(node.program);
      const keys = node.keys.map(({ name, operand }) => `${name}=${show(operand)}`).join(' ');
      const { condition } = node;
      const on = condition === null ? [] : showOps(condition.program);
      return [
        ...showOps(node.program),
        `${node.type} join ${node.kind === 'ask' ? `asked table ${node.lookup}` : `table #${node.table}`} by ${keys}`,
        ...on,
        ...(condition === null ? [] : [`where ${shower(condition.program)(condition.operand)}`]),
        `give ${[...node.columns.map(show), ...node.fields.map(showUse)].map((text, i) => `c${i}=${text}`).join(' ')}`,
      ];
    }
    case 'dedup': {
      const show = shower(node.program);
      const times = [node.begin, node.end, node.now].map(show).join(' ');
      const given = [...node.columns.map(show), 'ranges'].map((text, i) => `c${i}=${text}`).join(' ');
      return [...showOps(node.program), `ranges of ${times} expire ${node.expireMs}`, `give ${given}`];
    }
    case 'encode':
      return [...showOps(node.program), ...showOutput(node.output, shower(node.program), node.actions)];
    default:
      return node satisfies never;
  }
}

function showDelay({ program, keys, columns }: Extract<NodePlan, { kind: 'ask' }>): string[] {
  const show = shower(program);
  const given = columns.map((column, i) => `c${i}=${show(column)}`).join(' ');
  return [...showOps(program), `wait until ${keys.map(({ operand }) => show(operand)).join()}`, `give ${given}`];
}

function showJoin({ type, branch, program, condition, keys }: JoinStep): string[] {
  const show = shower(program);
  const on = condition === null ? '' : ` on ${show(condition)}`;
  const equal = keys.map(({ left, right }) => ` ${shower(null)(left)}=${shower(null)(right)}`).join('');
  return [...showOps(program), `${type} join branch ${branch}${on}${equal === '' ? '' : ` by${equal}`}`];
}

function showOutput(output: OutputPlan, show: (operand: Operand) => string, actions: number[]): string[] {
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

function showWindow(window: WindowPlan, show: (operand: Operand) => string): string {
  const operands = ['trigger', 'begin', 'emit', 'start', 'end'];
  const parts = Object.entries(window).flatMap(([name, value]) =>
    typeof value === 'number' ? [`${name} ${operands.includes(name) ? show(value) : value}`] : [],
  );
  const partition = partitionOf(window);
  if (partition.length > 0) parts.push(`by [${partition.map(show).join(' ')}]`);
  return [window.kind, ...parts].join(' ');
}

function showOps(program: Program | null): string[] {
  const show = shower(program);
  return (program?.ops ?? []).map((op) => showOp(op, show));
}

function showOp({ op, dst, a, b, c, args, imm }: Op, show: (operand: Operand) => string): string {
  const operands = [a, b, c].filter((operand) => operand !== undefined).map(show);
  const all = [...operands, ...(args ?? []).map(show)];
  return `${show(dst)} = ${op} ${all.join(' ')}${imm === undefined ? '' : ` #${imm}`}`;
}

function shower(program: Program | null): (operand: Operand) => string {
  return (operand) => {
    if (operand === NONE) return '_';
    if (operand < firstColumn) return `r${operand}`;
    if (operand < firstConst) return `c${operand - firstColumn}`;
    const value = program?.consts[operand - firstConst];
    return value === undefined ? `k${operand - firstConst}` : showConst(value);
  };
}
