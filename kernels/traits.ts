/** Questions about the kinds of nodes, for code that reasons about a tree of nodes. */
import { kinds } from './nodes/gen/kinds.js';
import type { Kind, NodeKind, Of } from './nodes/node.js';
import type { NodePlan } from './plan/ir.js';

/** Says whether rows of the input go on one by one through nodes of the kind. */
export function passesRows(kind: Kind): boolean {
  return kinds[kind].traits.passesRows;
}

/** Says whether one batch may keep nodes of the kind at work for long. */
export function worksOnMany(kind: Kind): boolean {
  return kinds[kind].traits.worksOnMany;
}

/** Says whether rows stay in the node after their message has been processed. */
export function keepsRows<K extends Kind>(plan: Of<K>): boolean {
  return holds(kindOf(plan).traits.keepsRows, plan);
}

/** Says whether the node keeps something for each value that rows are partitioned by, or joined by as of their time. */
export function keepsPartitions<K extends Kind>(plan: Of<K>): boolean {
  return holds(kindOf(plan).traits.keepsPartitions, plan);
}

/**
 * The source whose columns a node's operands number, or null when an operator between them made columns of its own:
 * nodes below operators that pass columns on need the column map of the source, too.
 */
export function sourceOfColumns(nodes: readonly NodePlan[], node: NodePlan): number | null {
  let { input } = node;
  while (input !== null && 'node' in input) {
    const parent = nodes[input.node];
    if (parent === undefined || !kinds[parent.kind].traits.passesColumns) return null;
    input = parent.input;
  }
  return input === null ? null : input.source;
}

function kindOf<K extends Kind>(plan: Of<K>): NodeKind<K> {
  return kinds[plan.kind as K];
}

function holds<P>(trait: boolean | ((plan: P) => boolean) | undefined, plan: P): boolean {
  return typeof trait === 'function' ? trait(plan) : trait === true;
}
