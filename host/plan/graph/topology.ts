/** The topology of a graph is the graph itself: operators have the names of their nodes. */
import type { OperatorPlan, RulePlan } from '../../../kernels/ir.js';
import type { RuleGraph } from '../../run/api.js';
import { caseName, type Physical } from '../physical.js';
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
  return { topology: { sources: starts, edges }, operators: inFlow(operators, edges) };
}

/** The operators in the order in which rows come to them, each with those that give it rows. */
function inFlow(operators: readonly OperatorPlan[], edges: Readonly<Record<string, string[]>>): OperatorPlan[] {
  const after = (name: string): string[] => Object.keys(edges).filter((from) => edges[from]?.includes(name));
  const placed = new Map<string, OperatorPlan>();
  const place = (operator: OperatorPlan): void => {
    if (placed.has(operator.name)) return;
    const givers = after(operator.name);
    for (const giver of operators) if (givers.includes(giver.name)) place(giver);
    placed.set(operator.name, givers.length === 0 ? operator : { ...operator, after: givers });
  };
  for (const operator of operators) place(operator);
  return [...placed.values()];
}

function operatorOf(node: string, { labelled, nodes }: Physical): OperatorPlan {
  const all = labelled.get(node) ?? [];
  const isCase = (index: number): boolean => nodes[index]?.name === caseName;
  const operator: OperatorPlan = { name: `op_${node}`, part: 'operator', nodes: all.filter((index) => !isCase(index)) };
  const outputs = all.filter(isCase);
  return outputs.length === 0 ? operator : { ...operator, outputs };
}
