/** The topology of a graph is the graph itself: operators have the names of their nodes. */
import type { OperatorPlan, RulePlan } from '../../../kernels/ir.js';
import type { RuleGraph } from '../../run/api.js';
import type { Physical } from '../physical.js';
import type { Source } from '../source.js';
import { hasDecoder, sinkOperators } from '../topology.js';

/** Names operators and draws the edges between them. */
export function graphTopology(
  graph: RuleGraph,
  sources: readonly Source[],
  physical: Physical,
): Pick<RulePlan, 'topology' | 'operators'> {
  const operators: OperatorPlan[] = [];
  const edges: Record<string, string[]> = {};
  const connect = (from: string, to: string): void => {
    edges[from] ??= [];
    if (!edges[from].includes(to)) edges[from].push(to);
  };
  /** Where rows go into a node, and where they come out. */
  const ends = new Map<string, { first: string; last: string }>();
  const addChain = (node: string, chain: readonly OperatorPlan[]): void => {
    const names = chain.map(({ name }) => name);
    const first = names[0] ?? '';
    names.slice(1).forEach((name, i) => {
      connect(names[i] ?? '', name);
    });
    for (const one of chain) if (!operators.some(({ name }) => name === one.name)) operators.push(one);
    ends.set(node, { first, last: names.at(-1) ?? first });
  };
  let decoder = 2;
  const starts: string[] = [];
  for (const source of sources) {
    // A stream that comes on two ways is there once.
    if (ends.has(source.ownName)) continue;
    const name = `source_${source.name}`;
    const chain: OperatorPlan[] = [{ name, part: 'source', source: source.index, nodes: [] }];
    if (hasDecoder(source)) {
      chain.push({ name: `op_${decoder++}_decoder`, part: 'decoder', source: source.index, nodes: [] });
    }
    addChain(source.ownName, chain);
    if (!starts.includes(name)) starts.push(name);
  }
  let action = 0;
  for (const { name, type, nodeType } of graph.nodes) {
    if (type === 'operator') addChain(name, [operatorOf(name, physical)]);
    if (type === 'sink') addChain(name, sinkOperators(nodeType, name, action++, physical));
  }
  for (const { from, to } of graph.edges) connect(ends.get(from)?.last ?? from, ends.get(to)?.first ?? to);
  return { topology: { sources: starts, edges }, operators };
}

function operatorOf(node: string, { labelled }: Physical): OperatorPlan {
  return { name: `op_${node}`, part: 'operator', nodes: labelled.get(node) ?? [] };
}
