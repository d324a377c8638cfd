/** Reads the graph of a rule: nodes by name, and edges between them. What nodes mean is the planner's business. */
import { HaumeaError } from '../base/errors.js';
import type { GraphEdge, GraphNode, RuleGraph } from '../model/engine.js';

const types = ['source', 'operator', 'sink'] as const;

/** Far more than anyone draws; a plan has no room for so many either. */
const maxNodes = 1000;
const maxEdges = 5000;

const shownNames = 20;

/** Checks the form of a graph; throws `general` errors that name the node. */
export function readGraph(value: unknown): RuleGraph {
  const { nodes: given, topo } = objectAt(value, 'graph');
  const named = Object.entries(objectAt(given, 'graph.nodes'));
  if (named.length > maxNodes) throw refuse(`graph.nodes has ${named.length} nodes, ${maxNodes} are allowed`);
  const nodes = named.map(([name, node]) => readNode(name, node));
  const { sources, edges: out } = objectAt(topo, 'graph.topo');
  const byName = new Map(nodes.map((node) => [node.name, node]));
  if (!Array.isArray(sources) || sources.length === 0) throw refuse('graph.topo.sources must name the source nodes');
  for (const name of sources as unknown[]) {
    if (typeof name !== 'string' || byName.get(name)?.type !== 'source') {
      throw refuse(`graph.topo.sources: ${JSON.stringify(name)} is no source node`);
    }
  }
  for (const { name, type } of nodes) {
    if (type === 'source' && !sources.includes(name))
      throw refuse(`graph.topo.sources does not name the source ${name}`);
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
  if (edges.length > maxEdges) throw refuse(`graph.topo.edges has ${edges.length} edges, ${maxEdges} are allowed`);
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
  const waitsFor = new Map(nodes.map(({ name }) => [name, 0]));
  const next = new Map<string, string[]>(nodes.map(({ name }) => [name, []]));
  for (const { from, to } of edges) {
    waitsFor.set(to, (waitsFor.get(to) ?? 0) + 1);
    next.get(from)?.push(to);
  }
  for (const { name, type } of nodes) {
    if (type !== 'sink' && next.get(name)?.length === 0) throw refuse(`node ${name} has no edge`);
    if (type !== 'source' && waitsFor.get(name) === 0) throw refuse(`node ${name} has no input`);
  }
  if (!nodes.some(({ type }) => type === 'sink')) throw refuse('the graph has no sink');
  // What is left when nodes without input are taken away again and again stands in a circle, or behind one.
  const free = nodes.filter(({ name }) => waitsFor.get(name) === 0).map(({ name }) => name);
  for (const name of free) {
    waitsFor.delete(name);
    for (const to of next.get(name) ?? []) {
      const left = (waitsFor.get(to) ?? 0) - 1;
      waitsFor.set(to, left);
      if (left === 0) free.push(to);
    }
  }
  if (waitsFor.size > 0) throw refuse(`the edges of ${shown([...waitsFor.keys()])} run in a circle`);
}

/** A list of names, of many the first. */
function shown(names: readonly string[]): string {
  const count = names.length - shownNames;
  return count <= 0 ? names.join(', ') : `${names.slice(0, shownNames).join(', ')} and ${count} more`;
}

function objectAt(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(`${where} must be an object`);
  return value as Record<string, unknown>;
}

function refuse(reason: string): HaumeaError {
  return new HaumeaError('general', reason);
}
