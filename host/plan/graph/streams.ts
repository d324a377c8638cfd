/** Sources of a graph: streams that exist, or definitions of their own that only the rule sees. */
import type { GraphNode, RuleGraph } from '../../model/engine.js';
import { defineSource, optionNames, type StreamDefinition } from '../../sql/source-def.js';

/** Properties that are options of the stream; all others are properties of the connector. */
const options = new Map(optionNames.map((name) => [name.toLowerCase().replaceAll('_', ''), name]));

/** Name under which the query knows a source node. */
export function streamNameOf({ name, props }: GraphNode): string {
  return typeof props.sourceName === 'string' && props.sourceName !== '' ? props.sourceName : name;
}

/** Streams that the graph itself defines, by name. */
export function streamsOf(graph: RuleGraph): Map<string, StreamDefinition> {
  const own = graph.nodes.filter(({ type, props }) => type === 'source' && !props.sourceName);
  return new Map(own.map((node) => [node.name, define(node)]));
}

function define({ name, nodeType, props }: GraphNode): StreamDefinition {
  const given: Record<string, string> = { TYPE: nodeType };
  const extra: Record<string, unknown> = {};
  for (const [property, value] of Object.entries(props)) {
    const option = options.get(property.toLowerCase().replaceAll('_', ''));
    if (property === 'sourceType' || property === 'sourceName' || value === null) continue;
    if (option === undefined) extra[property] = value;
    else given[option] = String(value);
  }
  if (Object.keys(extra).length > 0) given.EXTRA = JSON.stringify(extra);
  return defineSource({ kind: 'create', target: 'stream', name, fields: null, options: given });
}
