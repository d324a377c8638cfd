/**
 * Checks a graph before its operators are planned: which of them take rows and which collections of rows, how many
 * inputs they may have, whether its sources are what they are said to be.
 */

import { meantOr } from '../../base/text/nearest.js';
import type { Catalog, GraphNode, RuleGraph } from '../../model/engine.js';
import { nodeErrors } from '../errors/node.js';
import type { Edges } from './edges.js';
import { streamNameOf } from './streams.js';

/** Data on an edge of the graph: single rows, the rows of a window, or groups of them. */
export type Flow = 'rows' | 'a collection' | 'groups';

const any: readonly Flow[] = ['rows', 'a collection', 'groups'];

interface Kind {
  readonly takes: readonly Flow[];
  /** Flow out of the operator, when it differs from the flow into it. */
  readonly gives?: Flow;
  readonly takesMany?: boolean;
}

const kinds: Readonly<Record<string, Kind>> = {
  aggfunc: { takes: ['a collection', 'groups'], gives: 'groups' },
  filter: { takes: any },
  function: { takes: ['rows', 'a collection'] },
  groupby: { takes: ['a collection'], gives: 'groups' },
  join: { takes: ['a collection'], gives: 'a collection' },
  orderby: { takes: ['a collection', 'groups'] },
  pick: { takes: any },
  script: { takes: ['rows', 'a collection'] },
  switch: { takes: any },
  watermark: { takes: ['rows'], takesMany: true },
  window: { takes: ['rows'], gives: 'a collection', takesMany: true },
};

/** Checks nodes and edges; throws `plan` errors that name the node and the property. */
export function checkGraph(graph: RuleGraph, edges: Edges, catalog: Catalog): void {
  const sources = graph.nodes.filter(({ type }) => type === 'source');
  for (const source of sources) checkSource(source, catalog);
  const flows = new Flows(edges);
  for (const node of graph.nodes) {
    if (node.type === 'operator') flows.of(node);
    if (node.type === 'sink') checkTables(node, edges);
  }
  const streams = sources.filter((source) => !isTable(source)).map(streamNameOf);
  for (const node of graph.nodes) {
    if (node.type === 'operator' && node.nodeType === 'watermark') checkEmitters(node, streams);
  }
}

/** Flow out of each node; a request for it checks the node and those before it. */
class Flows {
  private readonly known = new Map<GraphNode, Flow>();

  constructor(private readonly edges: Edges) {}

  of(node: GraphNode): Flow {
    let flow = this.known.get(node);
    if (flow === undefined) {
      flow = node.type === 'source' ? 'rows' : this.through(node);
      this.known.set(node, flow);
    }
    return flow;
  }

  private through(node: GraphNode): Flow {
    const { edges } = this;
    const kind = kindOf(node);
    const tables = node.nodeType === 'join' ? tablesInto(node, edges) : checkTables(node, edges);
    const inputs = edges
      .into(node)
      .map(({ from }) => edges.node(from))
      .filter((input) => !isTable(input));
    if (inputs.length === 0) throw nodeErrors.needsStream(named(node));
    if (inputs.length > 1 && kind.takesMany !== true) {
      throw nodeErrors.oneInput(named(node), inputs.map(({ name }) => name).join(', '));
    }
    const flows = inputs.map((input) => this.of(input));
    // A message is joined with tables as it is, with other streams it takes a window.
    const taken = tables.length > 0 ? [...kind.takes, 'rows'] : kind.takes;
    flows.forEach((flow, i) => {
      if (taken.includes(flow)) return;
      const wanted = kind.takes.filter((one) => one !== 'groups' || kind.takes.length === 1).join(' or ');
      throw nodeErrors.wrongInput(named(node), wanted, inputs[i]?.name, flow);
    });
    if (node.nodeType !== 'switch' && edges.outOf(node).some(({ output }) => output > 0)) {
      throw nodeErrors.oneOutput(named(node));
    }
    return kind.gives ?? flows[0] ?? 'rows';
  }
}

/** True for a source whose rows are kept for joins; a source that the graph defines itself is a stream. */
export function isTable({ type, props }: GraphNode): boolean {
  return type === 'source' && props.sourceType === 'table' && Boolean(props.sourceName);
}

/** True for a node at which rows of several streams may meet. */
export function takesMany({ type, nodeType }: GraphNode): boolean {
  return type === 'operator' && kinds[nodeType]?.takesMany === true;
}

function tablesInto(node: GraphNode, edges: Edges): GraphNode[] {
  return edges
    .into(node)
    .map(({ from }) => edges.node(from))
    .filter(isTable);
}

/** Refuses tables as inputs of a node that is no join; gives none. */
function checkTables(node: GraphNode, edges: Edges): GraphNode[] {
  const [table] = tablesInto(node, edges);
  if (table === undefined) return [];
  throw nodeErrors.readsTable(named(node), streamNameOf(table));
}

function kindOf(node: GraphNode): Kind {
  const kind = Object.hasOwn(kinds, node.nodeType) ? kinds[node.nodeType] : undefined;
  if (kind === undefined) {
    throw nodeErrors.unknownType(named(node), meantOr(node.nodeType, Object.keys(kinds), 'there are'));
  }
  return kind;
}

function checkSource({ name, nodeType, props }: GraphNode, catalog: Catalog): void {
  const { sourceName, sourceType } = props;
  if (sourceType !== undefined && sourceType !== 'stream' && sourceType !== 'table') {
    throw nodeErrors.sourceType(name, sourceType);
  }
  if (typeof sourceName !== 'string' || sourceName === '') return;
  const definition = catalog.source(sourceName);
  // The planner names streams that are not there.
  if (definition === undefined) return;
  const wanted = sourceType ?? 'stream';
  if (definition.kind !== wanted) {
    throw nodeErrors.otherSourceType(name, wanted, sourceName, definition.kind);
  }
  const { type } = definition.options;
  if (type.toLowerCase() !== nodeType) {
    throw nodeErrors.otherNodeType(name, nodeType, sourceName, type);
  }
}

function checkEmitters(node: GraphNode, streams: readonly string[]): void {
  const { emitters } = node.props;
  if (!Array.isArray(emitters) || emitters.length === 0) {
    throw nodeErrors.noEmitters(named(node));
  }
  for (const emitter of emitters as unknown[]) {
    if (typeof emitter !== 'string' || !streams.includes(emitter)) {
      throw nodeErrors.emitter(named(node), emitter);
    }
  }
}

function named({ name, nodeType }: GraphNode): string {
  return `node ${name} (${nodeType})`;
}
