/** Cuts a graph into branches: the ways from its sources to its sinks. Sinks behind the same operators share one. */
import type { GraphNode, RuleGraph } from '../../run/api.js';
import { refuse } from '../errors.js';

/** An operator on a way, and which of its outputs the way takes. */
export interface Step {
  node: GraphNode;
  output: number;
}

export interface Branch {
  /** More than one where the first step joins them. */
  sources: GraphNode[];
  steps: Step[];
  /** Sinks by their position among all sinks of the graph. */
  actions: number[];
}

/** More ways than this multiply the work of every row beyond reason. */
const maxBranches = 100;

/** Lists the branches; throws a `plan` error for shapes that no query has. */
export function branchesOf(graph: RuleGraph): Branch[] {
  const byName = new Map(graph.nodes.map((node) => [node.name, node]));
  const branches = new Map<string, Branch>();
  const sinks = graph.nodes.filter(({ type }) => type === 'sink');
  sinks.forEach((sink, action) => {
    for (const { sources, steps } of waysTo(sink, graph, byName)) {
      const key = JSON.stringify([
        sources.map(({ name }) => name),
        steps.map(({ node, output }) => [node.name, output]),
      ]);
      const same = branches.get(key);
      if (same === undefined) branches.set(key, { sources, steps, actions: [action] });
      else if (!same.actions.includes(action)) same.actions.push(action);
      if (branches.size > maxBranches) throw refuse(`the graph has more than ${maxBranches} ways from source to sink`);
    }
  });
  return [...branches.values()];
}

function waysTo(node: GraphNode, graph: RuleGraph, byName: ReadonlyMap<string, GraphNode>): Omit<Branch, 'actions'>[] {
  const inputs = graph.edges.filter(({ to }) => to === node.name);
  const from = inputs.map((edge) => ({ node: byName.get(edge.from)!, output: edge.output }));
  if (node.type === 'operator' && from.length > 1) {
    // Several streams meet: in the query they stand in FROM and JOIN.
    if (from.some((input) => input.node.type !== 'source')) {
      const path = from.map((input) => meetingWay(input.node, graph, byName));
      const steps = path.flatMap((way) => way.steps);
      const sources = path.flatMap((way) => way.sources);
      return [{ sources, steps }];
    }
    return [{ sources: from.map((input) => input.node), steps: [] }];
  }
  return from.flatMap(({ node: before, output }) =>
    before.type === 'source'
      ? [{ sources: [before], steps: [] }]
      : waysTo(before, graph, byName).map(({ sources, steps }) => ({
          sources,
          steps: [...steps, { node: before, output }],
        })),
  );
}

/** The way to an operator from which streams go on to meet others: only a watermark may stand before that. */
function meetingWay(node: GraphNode, graph: RuleGraph, byName: ReadonlyMap<string, GraphNode>) {
  if (node.type === 'source') return { sources: [node], steps: [] };
  const ways = waysTo(node, graph, byName);
  const [way] = ways;
  if (way === undefined || ways.length > 1 || node.nodeType !== 'watermark') {
    throw refuse(`operator ${node.name} of type ${node.nodeType} can't stand before streams meet`);
  }
  return { sources: way.sources, steps: [...way.steps, { node, output: 0 }] };
}
