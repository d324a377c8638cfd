/** Edges of a graph by node: those that lead into it, and those that lead out. */
import type { GraphEdge, GraphNode, RuleGraph } from '../../model/engine.js';

export class Edges {
  private readonly nodes: ReadonlyMap<string, GraphNode>;
  private readonly inputs = new Map<string, GraphEdge[]>();
  private readonly outputs = new Map<string, GraphEdge[]>();

  constructor({ nodes, edges }: RuleGraph) {
    this.nodes = new Map(nodes.map((node) => [node.name, node]));
    for (const edge of edges) {
      listAt(this.inputs, edge.to).push(edge);
      listAt(this.outputs, edge.from).push(edge);
    }
  }

  /** The node of an edge; the form of a graph is checked before it is planned. */
  node(name: string): GraphNode {
    return this.nodes.get(name)!;
  }

  into({ name }: GraphNode): readonly GraphEdge[] {
    return this.inputs.get(name) ?? [];
  }

  outOf({ name }: GraphNode): readonly GraphEdge[] {
    return this.outputs.get(name) ?? [];
  }
}

function listAt(lists: Map<string, GraphEdge[]>, name: string): GraphEdge[] {
  let list = lists.get(name);
  if (list === undefined) {
    list = [];
    lists.set(name, list);
  }
  return list;
}
