/** Puts the plans of a graph's branches together: one rule, one topology. */
import type { NodeInput, NodePlan, OperatorPlan, RulePlan } from '../../../kernels/ir.js';

export interface BranchPlan {
  plan: RulePlan;
  /** Actions of the branch by their position in the rule. */
  actions: readonly number[];
}

/** Joins plans, with sinks named as their nodes; a stream that several branches read is listed for each of them, and opened once. */
export function mergePlans(branches: readonly BranchPlan[], sinks: readonly string[]): RulePlan {
  const merged: RulePlan = {
    sources: [],
    nodes: [],
    topology: { sources: [], edges: {} },
    operators: [],
    outputFields: [],
  };
  let steps = 0;
  for (const { plan, actions } of branches) {
    const sourceBase = merged.sources.length;
    const nodeBase = merged.nodes.length;
    const names = new Map<string, string>();
    for (const operator of plan.operators) {
      const name = renamed(operator, steps, actions, sinks);
      names.set(operator.name, name);
      const isKnown = merged.operators.some((one) => one.name === name);
      if (!isKnown) merged.operators.push(moved(operator, name, sourceBase, nodeBase, actions));
    }
    steps += plan.operators.filter(({ part }) => part === 'operator').length;
    merged.sources.push(...plan.sources);
    for (const node of plan.nodes) merged.nodes.push(movedNode(node, sourceBase, nodeBase, actions));
    add(merged.topology.sources, plan.topology.sources);
    for (const [from, targets] of Object.entries(plan.topology.edges)) {
      const name = names.get(from) ?? from;
      merged.topology.edges[name] ??= [];
      add(
        merged.topology.edges[name],
        targets.map((target) => names.get(target) ?? target),
      );
    }
    add(merged.outputFields, plan.outputFields);
  }
  return merged;
}

/** Steps are numbered on through all branches, sinks have the names of their nodes; sources and decoders are the same. */
function renamed(operator: OperatorPlan, steps: number, actions: readonly number[], sinks: readonly string[]): string {
  const { name, part, action } = operator;
  if (part === 'operator') return name.replace(/^op_(\d+)/, (_whole, number) => `op_${Number(number) + steps}`);
  if (action === undefined) return name;
  const sink = sinks[actions[action] ?? action] ?? '';
  if (part === 'transform') return `op_${sink}_0_transform`;
  return part === 'encode' ? `op_${sink}_1_encode` : `sink_${sink}`;
}

function moved(
  operator: OperatorPlan,
  name: string,
  sourceBase: number,
  nodeBase: number,
  actions: readonly number[],
): OperatorPlan {
  const { source, action, nodes } = operator;
  return {
    ...operator,
    name,
    ...(source === undefined ? {} : { source: source + sourceBase }),
    ...(action === undefined ? {} : { action: actions[action] ?? action }),
    nodes: nodes.map((node) => node + nodeBase),
  };
}

function movedNode(node: NodePlan, sourceBase: number, nodeBase: number, actions: readonly number[]): NodePlan {
  if (node.kind === 'merge') return node;
  const input: NodeInput =
    'source' in node.input ? { source: node.input.source + sourceBase } : { node: node.input.node + nodeBase };
  if (node.kind === 'port') return { ...node, input, into: node.into + nodeBase };
  if (node.kind !== 'encode') return { ...node, input };
  return { ...node, input, actions: node.actions.map((action) => actions[action] ?? action) };
}

function add(list: string[], more: readonly string[]): void {
  for (const one of more) if (!list.includes(one)) list.push(one);
}
