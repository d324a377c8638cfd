/** Reads the graph of a rule: nodes by name, and edges between them. What nodes mean is the planner's business. */
import { HaumeaError } from '../base/errors.js';
import type { GraphEdge, GraphNode, RuleGraph } from '../run/api.js';

const types = ['source', 'operator', 'sink'] as const;

/** Checks the form of a graph; throws `general` errors that name the node. */
export function readGraph(value: unknown): RuleGraph {
  const { nodes: given, topo } = objectAt(value, 'graph');
  const nodes = Object.entries(objectAt(given, 'graph.nodes')).map(([name, node]) => readNode(name, node));
  const { sources, edges: out } = objectAt(topo, 'graph.topo');
  const byName = new Map(nodes.map((node) => [node.name, node]));
  if (!Array.isArray(sources) || sources.length === 0) throw refuse('graph.topo.sources must name the source nodes');
  for (const name of sources as unknown[]) {
    if (typeof name !== 'string' || byName.get(name)?.type !== 'source') {
      throw refuse(`graph.topo.sources: ${JSON.stringify(name)} is no source node`);
    }
  }
  const edges: GraphEdge[] = [];
  for (const [from, targets] of Object.entries(objectAt(out, 'graph.topo.edges'))) {
    const node = byName.get(from);
    if (node === undefined) throw refuse(`graph.topo.edges: node ${from} is not defined`);
    if (node.type === 'sink') throw refuse(`graph.topo.edges: the sink ${from} can't have an edge`);
    for (const { output, to } of readTargets(from, targets)) {
      const target = byName.get(to);
      if (target === undefined) throw refuse(`graph.topo.edges.${from}: node ${to} is not defined`);
      if (target.type === 'source') throw refuse(`graph.topo.edges.${from}: the source ${to} takes no input`);
      edges.push({ from, output, to });
    }
  }
  checkEdges(nodes, edges);
  return { nodes, edges };
}

function readNode(name: string, value: unknown): GraphNode {
  const { type, nodeType, props } = objectAt(value, `graph.nodes.${name}`);
  const known = types.find((one) => one === type);
  if (known === undefined) {
    throw refuse(`graph.nodes.${name}.type is ${JSON.stringify(type)}, expected one of ${types.join(', ')}`);
  }
  if (typeof nodeType !== 'string' || nodeType === '') throw refuse(`graph.nodes.${name}.nodeType is missing`);
  const given = props === undefined || props === null ? {} : objectAt(props, `graph.nodes.${name}.props`);
  return { name, type: known, nodeType: nodeType.toLowerCase(), props: given };
}

/** A list of names is one output; a list of lists has one for each case of a switch. */
function readTargets(from: string, targets: unknown): { output: number; to: string }[] {
  if (!Array.isArray(targets)) throw refuse(`graph.topo.edges.${from} must be a list of nodes`);
  return (targets as unknown[]).flatMap((target, output) => {
    if (typeof target === 'string') return [{ output: 0, to: target }];
    if (Array.isArray(target) && target.every((name) => typeof name === 'string')) {
      return (target as string[]).map((to) => ({ output, to }));
    }
    throw refuse(`graph.topo.edges.${from} must hold names of nodes, or a list of them for each output`);
  });
}

function checkEdges(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): void {
  for (const { name, type } of nodes) {
    const hasInput = edges.some(({ to }) => to === name);
    if (type !== 'sink' && !edges.some(({ from }) => from === name)) throw refuse(`node ${name} has no edge`);
    if (type !== 'source' && !hasInput) throw refuse(`node ${name} has no input`);
  }
  if (!nodes.some(({ type }) => type === 'sink')) throw refuse('the graph has no sink');
  // What is left when nodes without input are taken away again and again stands in a circle.
  let left = nodes.map(({ name }) => name);
  for (let before = -1; before !== left.length; ) {
    before = left.length;
    const inputs = edges.filter(({ from }) => left.includes(from));
    left = left.filter((name) => inputs.some(({ to }) => to === name));
  }
  if (left.length > 0) throw refuse(`the edges of ${left.join(', ')} run in a circle`);
}

function objectAt(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(`${where} must be an object`);
  return value as Record<string, unknown>;
}

function refuse(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}
