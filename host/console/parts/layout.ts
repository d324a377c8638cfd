/** Places of nodes and lines between them, so that a drawing is read from its sources to its sinks. */
import dagre from '@dagrejs/dagre';

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly { readonly name: string; readonly x: number; readonly y: number; readonly width: number }[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly path: string }[];
}

export const nodeHeight = 48;
/** Width of a character, and of the edges of a box. */
const charWidth = 8;
const edgeWidth = 28;
const leastWidth = 110;

export const widthOf = (label: string): number => Math.max(leastWidth, label.length * charWidth + edgeWidth);

/** Lays nodes out, each with its middle at x and y; `isDown`: from top to bottom instead of to the right. */
export function layoutOf(
  nodes: readonly (readonly [name: string, label: string])[],
  edges: readonly (readonly [from: string, to: string])[],
  isDown: boolean,
  height = nodeHeight,
): Layout {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: isDown ? 'TB' : 'LR', nodesep: 22, ranksep: isDown ? 26 : 42, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [name, label] of nodes) graph.setNode(name, { height, width: widthOf(label) });
  for (const [from, to] of edges) graph.setEdge(from, to);
  dagre.layout(graph);
  const size = graph.graph();
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    nodes: graph.nodes().map((name) => ({ name, ...(graph.node(name) as { x: number; y: number; width: number }) })),
    edges: graph.edges().map(({ v, w }) => {
      const { points } = graph.edge(v, w) as { points: readonly { x: number; y: number }[] };
      return { from: v, to: w, path: `M${points.map((point) => `${point.x} ${point.y}`).join('L')}` };
    }),
  };
}
