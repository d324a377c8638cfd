/** Taps of a traced rule: they show the output rows of its operators beside the results. */
import { col, type NodePlan, type Operand, type Tap } from '../../../kernels/plan/ir.js';
import { passesRows, sourceOfColumns } from '../../../kernels/traits.js';
import type { Physical } from '../program/physical-plan.js';
import type { Value } from '../values/value.js';

type Field = { name: string; operand: Operand; plain: boolean };

/** Name of the nodes. */
const tapName = 'trace';

/** Nodes that write the rows of operators as text, and the results of sinks that take none. */
export function tapsOf({ nodes, rows }: Physical, sendError: boolean): Tap[] {
  const taps: Tap[] = [];
  for (const [of, values] of rows) {
    const plan = rowsPlan(of, values, isOfRows(nodes, of), sendError);
    if (plan !== undefined) taps.push({ of, plan, source: sourceOfColumns(nodes, plan) });
  }
  nodes.forEach((node, of) => {
    if (node.kind !== 'encode' || node.output.format === 'json') return;
    const output = { ...node.output, format: 'json' as const, batchSize: 0, lingerMs: 0, framing: 'lines' as const };
    taps.push({ of, plan: { ...node, output, actions: [], name: tapName }, source: sourceOfColumns(nodes, node) });
  });
  return taps;
}

function rowsPlan(
  node: number,
  values: readonly (Value | null)[],
  sendSingle: boolean,
  sendError: boolean,
): NodePlan | undefined {
  const whole = values.findIndex((value) => value?.kind === 'column' && value.use.kind === 'row');
  const fields = new Map<string, Field>();
  values.forEach((value, i) => {
    const name = value === null ? undefined : nameOf(value);
    if (name !== undefined && !fields.has(name)) fields.set(name, { name, operand: col(i), plain: true });
  });
  if (whole < 0 && fields.size === 0) return undefined;
  const sorted = [...fields.values()].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  return {
    kind: 'encode',
    input: { node },
    program: null,
    output: {
      shape: whole < 0 ? { kind: 'fields', fields: sorted } : { kind: 'object', operand: col(whole) },
      format: 'json',
      sendSingle,
      sendNil: false,
      omitIfEmpty: false,
      sendError,
      batchSize: 0,
      lingerMs: 0,
      framing: 'lines',
    },
    actions: [],
    name: tapName,
  };
}

/** Name of a column: that of a message has its own name, an aggregate has its text. */
function nameOf(value: Value): string | undefined {
  switch (value.kind) {
    case 'column':
      return value.use.kind === 'field' ? value.use.name : undefined;
    case 'aggregate':
      return `${value.fn}(${value.args.map((arg) => nameOf(arg) ?? '*').join(', ')})`;
    case 'window':
      return `window_${value.part}`;
    default:
      return undefined;
  }
}

/** True as long as no window, join or order makes messages of the rows. */
function isOfRows(nodes: readonly NodePlan[], index: number): boolean {
  const node = nodes[index];
  if (node === undefined || !passesRows(node.kind)) return false;
  const { input } = node;
  return input !== null && ('source' in input || isOfRows(nodes, input.node));
}
