/** The node of a window: what it groups by, keeps of its rows and computes of them. */
import type { AggregatePlan, NodePlan, Operand } from '../../kernels/ir.js';
import { partitionOf, type WindowNode } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';
import type { Value } from './value.js';
import { type WindowNeeds, windowPlan } from './window-needs.js';

interface Place {
  readonly path: Path;
  /** What stands above needs of the window. */
  readonly needs: WindowNeeds;
  readonly isEventTime: boolean;
  /** Event time of a row. */
  readonly time: Operand;
  /** How long partitions of windows that end with a row wait for one, 0 for ever. */
  readonly ttlMs: number;
}

/** Plans the node. Its columns are what it keeps, then what it computes, then its start, end and trigger. */
export function windowNode(
  node: WindowNode,
  { path, needs, isEventTime, time, ttlMs }: Place,
): { plan: NodePlan; columns: (Value | null)[] } {
  const builder = new ProgramBuilder(path);
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
  const window = windowPlan(node.window, operand, ttlMs);
  const where = node.where === null ? undefined : operand(node.where);
  const plan: Extract<NodePlan, { kind: 'window' }> = {
    kind: 'window',
    input: path.input,
    program: builder.finishOrNull(),
    window,
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
  return { plan, columns: [...needs.keep, ...needs.aggregates, needs.start, needs.end, needs.trigger] };
}
