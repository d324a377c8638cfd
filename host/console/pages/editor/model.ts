/** A drawn rule: its nodes and edges, and the form that the server takes. */
import type { Typed } from '../../parts/forms/spec.js';

export type NodeType = 'source' | 'operator' | 'sink';

export interface DrawnNode {
  readonly name: string;
  readonly type: NodeType;
  /** Stream of a source, kind of an operator, type of a sink. */
  readonly kind: string;
  readonly typed: Typed;
  readonly x: number;
  readonly y: number;
}

export interface DrawnEdge {
  readonly from: string;
  readonly to: string;
  /** Number of the case, for nodes that have several outputs. */
  readonly output: number;
}

export interface Drawing {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}

export const nothing: Drawing = { nodes: [], edges: [] };

/** Operators with an output for each of their cases. */
export const hasOutputs = ({ kind }: Pick<DrawnNode, 'kind'>): boolean => kind === 'switch';

/** Adds a node under a free name, at a place or right of all others. */
export function added(
  drawing: Drawing,
  { type, kind }: Pick<DrawnNode, 'type' | 'kind'>,
  place?: Pick<DrawnNode, 'x' | 'y'>,
): Drawing {
  const { nodes, edges } = drawing;
  const taken = new Set(nodes.map(({ name }) => name));
  let name = kind;
  for (let i = 2; taken.has(name); i++) name = `${kind}${i}`;
  const x = Math.max(20, ...nodes.map((node) => node.x + 190));
  return { nodes: [...nodes, { name, type, kind, typed: {}, x, y: 60, ...place }], edges };
}

export function changed(drawing: Drawing, name: string, part: Partial<DrawnNode>): Drawing {
  return { ...drawing, nodes: drawing.nodes.map((node) => (node.name === name ? { ...node, ...part } : node)) };
}

export function removed(drawing: Drawing, name: string): Drawing {
  return {
    nodes: drawing.nodes.filter((node) => node.name !== name),
    edges: drawing.edges.filter(({ from, to }) => from !== name && to !== name),
  };
}

/** Connects two nodes, or takes the connection away when it is there. */
export function connected(drawing: Drawing, edge: DrawnEdge): Drawing {
  const isSame = ({ from, to, output }: DrawnEdge) => from === edge.from && to === edge.to && output === edge.output;
  if (drawing.edges.some(isSame)) return { ...drawing, edges: drawing.edges.filter((one) => !isSame(one)) };
  return { ...drawing, edges: [...drawing.edges, edge] };
}

/** Nodes to which another one may lead: sources take nothing, and no way leads back. */
export function targetsOf({ nodes, edges }: Drawing, from: string): readonly DrawnNode[] {
  const before = new Set([from]);
  for (let size = 0; size < before.size; ) {
    size = before.size;
    for (const edge of edges) if (before.has(edge.to)) before.add(edge.from);
  }
  return nodes.filter(({ name, type }) => type !== 'source' && !before.has(name));
}

type Props = Readonly<Record<string, unknown>>;

interface GraphNode {
  readonly type: NodeType;
  readonly nodeType: string;
  readonly props?: Props;
}

export interface Graph {
  readonly nodes: Readonly<Record<string, GraphNode>>;
  readonly topo: {
    readonly sources: readonly string[];
    readonly edges: Readonly<Record<string, readonly (string | readonly string[])[]>>;
  };
}

/** The form of a drawing for the server; `propsOf` reads the fields of a node, `typeOf` tells the type of a stream. */
export function graphOf(
  { nodes, edges }: Drawing,
  propsOf: (node: DrawnNode) => Props,
  typeOf: (stream: string) => string,
): Graph {
  const made = nodes.map((node): [string, GraphNode] => {
    const { name, type, kind } = node;
    if (type !== 'source') return [name, { type, nodeType: kind, props: propsOf(node) }];
    return [name, { type, nodeType: typeOf(kind), props: { sourceType: 'stream', sourceName: kind } }];
  });
  const leading = nodes.filter(({ type }) => type !== 'sink').map((node) => [node.name, edgesOf(node, edges)] as const);
  return {
    nodes: Object.fromEntries(made),
    topo: {
      sources: nodes.filter(({ type }) => type === 'source').map(({ name }) => name),
      edges: Object.fromEntries(leading.filter(([, targets]) => targets.length > 0)),
    },
  };
}

function edgesOf(node: DrawnNode, edges: readonly DrawnEdge[]): readonly (string | readonly string[])[] {
  const own = edges.filter(({ from }) => from === node.name);
  if (!hasOutputs(node)) return own.map(({ to }) => to);
  const outputs = Math.max(-1, ...own.map(({ output }) => output)) + 1;
  return Array.from({ length: outputs }, (_, i) => own.filter(({ output }) => output === i).map(({ to }) => to));
}

/** A drawing of what the server has; places are given later. */
export function drawingOf({ nodes, topo }: Graph, typedOf: (props: Props) => Typed): Drawing {
  const drawn = Object.entries(nodes).map(([name, { type, nodeType, props = {} }]) => ({
    name,
    type,
    kind: type === 'source' ? String(props.sourceName ?? nodeType) : nodeType,
    typed: type === 'source' ? {} : typedOf(props),
    x: 0,
    y: 0,
  }));
  const edges = Object.entries(topo.edges).flatMap(([from, targets]) =>
    targets.flatMap((target, output) =>
      typeof target === 'string' ? [{ from, to: target, output: 0 }] : target.map((to) => ({ from, to, output })),
    ),
  );
  return { nodes: drawn, edges };
}
