/** The topology of a graph is the graph itself: operators have the names of their nodes. */
import type { OperatorPlan, RulePlan } from '../../../kernels/plan/ir.js';
import type { RuleDefinition, RuleGraph } from '../../model/engine.js';
import { hasDecoder, letterSinks, sinkOperators } from '../lower/topology.js';
import { caseName } from '../operators/filter.js';
import type { Physical } from '../program/physical-plan.js';
import type { Source } from '../values/source.js';

/** Names operators and draws the edges between them. */
export function graphTopology(
  graph: RuleGraph,
  actions: RuleDefinition['actions'],
  sources: readonly Source[],
  physical: Physical,
): Pick<RulePlan, 'topology' | 'operators'> {
  const operators = new Map<string, OperatorPlan>();
  const next = new Map<string, Set<string>>();
  const connect = (from: string, to: string): void => {
    next.set(from, (next.get(from) ?? new Set()).add(to));
  };
  /** Steps at which rows go into a node and come out of it. */
  const ends = new Map<string, { first: string; last: string }>();
  const addChain = (node: string, chain: readonly OperatorPlan[]): void => {
    const names = chain.map(({ name }) => name);
    const first = names[0] ?? '';
    names.slice(1).forEach((name, i) => {
      connect(names[i] ?? '', name);
    });
    for (const one of chain) if (!operators.has(one.name)) operators.set(one.name, one);
    ends.set(node, { first, last: names.at(-1) ?? first });
  };
  let decoder = 2;
  const starts: string[] = [];
  for (const source of sources) {
    // A stream that comes on two ways is there once; lookup tables belong to all rules.
    if (ends.has(source.ownName) || source.isLookup) continue;
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
  const sinks = graph.nodes.filter(({ type }) => type === 'sink');
  for (const { name, operator } of letterSinks(actions, (i) => `sink_${sinks[i]?.name}`)) {
    operators.set(operator.name, operator);
    connect(name, operator.name);
  }
  const tables = new Set(sources.filter(({ isLookup }) => isLookup).map(({ ownName }) => ownName));
  for (const { from, to } of graph.edges) {
    if (tables.has(from)) continue;
    connect(ends.get(from)?.last ?? from, ends.get(to)?.first ?? to);
  }
  const edges = Object.fromEntries([...next].map(([from, to]) => [from, [...to]]));
  return { topology: { sources: starts, edges }, operators: inFlow(operators, next) };
}

/** The operators in the order in which rows come to them, each with those that give it rows. */
function inFlow(
  operators: ReadonlyMap<string, OperatorPlan>,
  next: ReadonlyMap<string, ReadonlySet<string>>,
): OperatorPlan[] {
  const after = new Map<string, string[]>([...operators.keys()].map((name) => [name, []]));
  for (const [from, names] of next) for (const to of names) after.get(to)?.push(from);
  const placed = new Map<string, OperatorPlan>();
  const place = (operator: OperatorPlan): void => {
    if (placed.has(operator.name)) return;
    const givers = after.get(operator.name) ?? [];
    for (const giver of givers) place(operators.get(giver)!);
    placed.set(operator.name, givers.length === 0 ? operator : { ...operator, after: givers });
  };
  for (const operator of operators.values()) place(operator);
  return [...placed.values()];
}

function operatorOf(node: string, { labelled, nodes }: Physical): OperatorPlan {
  const all = labelled.get(node) ?? [];
  const isCase = (index: number): boolean => nodes[index]?.name === caseName;
  const operator: OperatorPlan = { name: `op_${node}`, part: 'operator', nodes: all.filter((index) => !isCase(index)) };
  const outputs = all.filter(isCase);
  return outputs.length === 0 ? operator : { ...operator, outputs };
}
