/**
 * What must hold of a graph before its operators are looked at: which of them take rows and which collections of rows,
 * how many inputs they may have, whether its sources are what they are said to be.
 */
import type { Catalog, GraphNode, RuleGraph } from '../../run/api.js';
import { refuse } from '../errors.js';
import { streamNameOf } from './streams.js';

/** What flows along an edge: single rows, a window's rows, or groups of them. */
export type Flow = 'rows' | 'a collection' | 'groups';

const any: readonly Flow[] = ['rows', 'a collection', 'groups'];

interface Kind {
  readonly takes: readonly Flow[];
  /** What it gives, where that is not what it takes. */
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
  switch: { takes: any },
  watermark: { takes: ['rows'], takesMany: true },
  window: { takes: ['rows'], gives: 'a collection', takesMany: true },
};

/** Checks nodes and edges; throws `plan` errors that name the node and the property. */
export function checkGraph(graph: RuleGraph, catalog: Catalog): void {
  const sources = graph.nodes.filter(({ type }) => type === 'source');
  for (const source of sources) checkSource(source, catalog);
  const byName = new Map(graph.nodes.map((node) => [node.name, node]));
  const known = new Map<string, Flow>();
  const flowOf = (name: string): Flow => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const node = byName.get(name);
    const flow = node === undefined || node.type === 'source' ? 'rows' : through(node);
    known.set(name, flow);
    return flow;
  };
  const through = (node: GraphNode): Flow => {
    const inputs = graph.edges.filter(({ to }) => to === node.name);
    const flows = inputs.map(({ from }) => flowOf(from));
    const kind = kindOf(node);
    if (inputs.length > 1 && kind.takesMany !== true) {
      throw refuse(`${named(node)} takes one input, not ${inputs.map(({ from }) => from).join(', ')}`);
    }
    flows.forEach((flow, i) => {
      if (kind.takes.includes(flow)) return;
      const wanted = kind.takes.filter((one) => one !== 'groups' || kind.takes.length === 1).join(' or ');
      throw refuse(`${named(node)} takes ${wanted}, but ${inputs[i]?.from} gives ${flow}`);
    });
    for (const { output } of graph.edges.filter(({ from }) => from === node.name)) {
      if (output > 0 && node.nodeType !== 'switch') throw refuse(`${named(node)} has one output only, it is no switch`);
    }
    return kind.gives ?? flows[0] ?? 'rows';
  };
  for (const node of graph.nodes) if (node.type === 'operator') flowOf(node.name);
  const streams = sources.map(streamNameOf);
  for (const node of graph.nodes) {
    if (node.type === 'operator' && node.nodeType === 'watermark') checkEmitters(node, streams);
  }
}

function kindOf(node: GraphNode): Kind {
  if (node.nodeType === 'script') {
    throw refuse(
      `${named(node)} is not supported: scripts would handle row by row what runs compiled over whole batches; ` +
        'use the operators function, filter and pick',
    );
  }
  const kind = Object.hasOwn(kinds, node.nodeType) ? kinds[node.nodeType] : undefined;
  if (kind === undefined) throw refuse(`${named(node)}: this type of operator is not known`);
  return kind;
}

function checkSource({ name, nodeType, props }: GraphNode, catalog: Catalog): void {
  const { sourceName, sourceType } = props;
  if (sourceType !== undefined && sourceType !== 'stream' && sourceType !== 'table') {
    throw refuse(`source ${name}: sourceType must be stream or table, not ${JSON.stringify(sourceType)}`);
  }
  if (typeof sourceName !== 'string' || sourceName === '') return;
  const definition = catalog.source(sourceName);
  // The planner names streams that are not there.
  if (definition === undefined) return;
  const wanted = sourceType ?? 'stream';
  if (definition.kind !== wanted) {
    throw refuse(`source ${name}: sourceType is ${wanted}, but ${sourceName} is a ${definition.kind}`);
  }
  const { type } = definition.options;
  if (type.toLowerCase() !== nodeType) {
    throw refuse(`source ${name}: nodeType is ${nodeType}, but ${sourceName} is of type ${type}`);
  }
}

function checkEmitters(node: GraphNode, streams: readonly string[]): void {
  const { emitters } = node.props;
  if (!Array.isArray(emitters) || emitters.length === 0) {
    throw refuse(`${named(node)}: emitters must be a list of at least one stream`);
  }
  for (const emitter of emitters as unknown[]) {
    if (typeof emitter !== 'string' || !streams.includes(emitter)) {
      throw refuse(`${named(node)}: emitters: ${JSON.stringify(emitter)} is no stream of the rule`);
    }
  }
}

function named({ name, nodeType }: GraphNode): string {
  return `node ${name} (${nodeType})`;
}
