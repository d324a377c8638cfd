/** Reads the graph of a rule: nodes by name, and edges between them. What nodes mean is the planner's business. */
import type { GraphEdge, GraphNode, RuleGraph } from '../../model/engine.js';
import { graphErrors } from '../errors.js';

const types = ['source', 'operator', 'sink'] as const;

/** Most nodes of a graph: far more than anyone draws, and more than a plan has room for. */
const maxNodes = 1000;
const maxEdges = 5000;

const shownNames = 20;

/** Checks the form of a graph; throws `general` errors that name the node. */
export function readGraph(value: unknown): RuleGraph {
  const { nodes: given, topo } = objectAt(value, 'graph');
  const named = Object.entries(objectAt(given, 'graph.nodes'));
  if (named.length > maxNodes) throw graphErrors.tooManyNodes(named.length, maxNodes);
  const nodes = named.map(([name, node]) => readNode(name, node));
  const { sources, edges: out } = objectAt(topo, 'graph.topo');
  const byName = new Map(nodes.map((node) => [node.name, node]));
  if (!Array.isArray(sources) || sources.length === 0) throw graphErrors.noSources();
  for (const name of sources as unknown[]) {
    if (typeof name !== 'string' || byName.get(name)?.type !== 'source') {
      throw graphErrors.notSource(JSON.stringify(name));
    }
  }
  for (const { name, type } of nodes) {
    if (type === 'source' && !sources.includes(name)) throw graphErrors.sourceNotNamed(name);
  }
  const edges: GraphEdge[] = [];
  for (const [from, targets] of Object.entries(objectAt(out, 'graph.topo.edges'))) {
    const node = byName.get(from);
    if (node === undefined) throw graphErrors.noNode(from);
    if (node.type === 'sink') throw graphErrors.edgeOfSink(from);
    for (const { output, to } of readTargets(from, targets)) {
      const target = byName.get(to);
      if (target === undefined) throw graphErrors.noTarget(from, to);
      if (target.type === 'source') throw graphErrors.sourceAsTarget(from, to);
      edges.push({ from, output, to });
    }
  }
  if (edges.length > maxEdges) throw graphErrors.tooManyEdges(edges.length, maxEdges);
  checkEdges(nodes, edges);
  return { nodes, edges };
}

function readNode(name: string, value: unknown): GraphNode {
  const { type, nodeType, props } = objectAt(value, `graph.nodes.${name}`);
  const known = types.find((one) => one === type);
  if (known === undefined) {
    throw graphErrors.nodeType(name, JSON.stringify(type), types.join(', '));
  }
  if (typeof nodeType !== 'string' || nodeType === '') throw graphErrors.noNodeType(name);
  const given = props === undefined || props === null ? {} : objectAt(props, `graph.nodes.${name}.props`);
  return { name, type: known, nodeType: nodeType.toLowerCase(), props: given };
}

/** A list of names is one output; a list of lists has one for each case of a switch. */
function readTargets(from: string, targets: unknown): { output: number; to: string }[] {
  if (!Array.isArray(targets)) throw graphErrors.edges(from);
  return (targets as unknown[]).flatMap((target, output) => {
    if (typeof target === 'string') return [{ output: 0, to: target }];
    if (Array.isArray(target) && target.every((name) => typeof name === 'string')) {
      return (target as string[]).map((to) => ({ output, to }));
    }
    throw graphErrors.edgeNames(from);
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
    if (type !== 'sink' && next.get(name)?.length === 0) throw graphErrors.noEdge(name);
    if (type !== 'source' && waitsFor.get(name) === 0) throw graphErrors.noInput(name);
  }
  if (!nodes.some(({ type }) => type === 'sink')) throw graphErrors.noSink();
  // Nodes without input are removed again and again; those that remain are in a cycle, or behind one.
  const free = nodes.filter(({ name }) => waitsFor.get(name) === 0).map(({ name }) => name);
  for (const name of free) {
    waitsFor.delete(name);
    for (const to of next.get(name) ?? []) {
      const left = (waitsFor.get(to) ?? 0) - 1;
      waitsFor.set(to, left);
      if (left === 0) free.push(to);
    }
  }
  if (waitsFor.size > 0) throw graphErrors.circle(shown([...waitsFor.keys()]));
}

/** A list of names, of many the first. */
function shown(names: readonly string[]): string {
  const count = names.length - shownNames;
  return count <= 0 ? names.join(', ') : `${names.slice(0, shownNames).join(', ')} and ${count} more`;
}

function objectAt(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw graphErrors.notObject(where);
  return value as Record<string, unknown>;
}
