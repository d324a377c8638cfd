/** Scripts in nodes of graphs, as functions that only their rule knows. */
import type { Catalog, GraphNode, RuleGraph } from '../../model/engine.js';
import { scriptNameOf } from '../../plan/graph/script.js';
import type { ScriptLimits, UserFunction } from '../../plugins/define.js';
import { newUserNumber } from '../../plugins/numbers.js';

/** Each script keeps its number as long as the graph is there. */
const made = new WeakMap<GraphNode, UserFunction>();

/** The catalog with the scripts of the graph. */
export function withScripts({ nodes }: RuleGraph, catalog: Catalog): Catalog {
  const { scriptLimits, brought } = catalog;
  const scripts = new Map(nodes.filter(isScript).map((node) => [scriptNameOf(node), node]));
  if (scripts.size === 0 || scriptLimits === undefined) return catalog;
  return {
    ...catalog,
    brought: (name) => {
      const node = scripts.get(name);
      if (node === undefined) return brought?.(name);
      const run = functionOf(node, scriptLimits);
      return { owner: run.owner, run };
    },
  };
}

function isScript({ type, nodeType, props }: GraphNode): boolean {
  return type === 'operator' && nodeType === 'script' && typeof props.script === 'string';
}

function functionOf(node: GraphNode, limits: ScriptLimits): UserFunction {
  let known = made.get(node);
  if (known === undefined) {
    const name = scriptNameOf(node);
    const number = newUserNumber(name);
    known = {
      name,
      owner: name,
      number,
      // The number tells it from functions of that name that clients made.
      code: { kind: 'javascript', name: 'exec', version: number, script: String(node.props.script), limits },
      entry: 'exec',
      isAggregate: node.props.isAgg === true,
      args: { min: 0, max: null },
    };
    made.set(node, known);
  }
  return known;
}
