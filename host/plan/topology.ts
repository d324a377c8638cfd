/** Operators under the names of the interface: what topology and status show, and which nodes stand behind each. */
import type { OperatorPlan, RulePlan } from '../../kernels/ir.js';
import type { RuleDefinition } from '../run/api.js';
import { streamsOf, tablesOf } from './join.js';
import type { Physical } from './physical.js';
import type { Source } from './source.js';

/** Connectors that deliver raw bytes: their streams show a decoder. */
const rawSources = ['mqtt', 'httppush', 'httppull', 'websocket'];
/** Sinks that take rows: no encode step is shown. */
const rowSinks = ['memory'];

/** Names the operators of a planned rule, how they follow one another and which nodes do the work of each. */
export function topologyOf(
  sources: readonly Source[],
  rule: RuleDefinition,
  physical: Physical,
): Pick<RulePlan, 'topology' | 'operators'> {
  const operators: OperatorPlan[] = [];
  const edges: Record<string, string[]> = {};
  const connect = (from: readonly string[], to: string): void => {
    for (const name of from) edges[name] = [...(edges[name] ?? []), to];
  };
  let number = 1;
  // A stream that is there twice has the names of its aliases.
  const isUnique = new Set(sources.map(({ name }) => name)).size === sources.length;
  const nameOf = (source: Source): string => `source_${isUnique ? source.name : source.ownName}`;
  const addSource = (source: Source): string => {
    const name = nameOf(source);
    operators.push({ name, part: 'source', source: source.index, nodes: [] });
    number++;
    if (!rawSources.includes(source.definition.options.type)) return name;
    const decoder = `op_${number++}_decoder`;
    operators.push({ name: decoder, part: 'decoder', source: source.index, nodes: [] });
    connect([name], decoder);
    return decoder;
  };
  const streams = streamsOf(sources);
  const tables = tablesOf(sources);
  let ends = streams.map(addSource);
  for (const { kind, nodes } of physical.steps) {
    if (kind === 'join_aligner') ends.push(...tables.map(addSource));
    const name = `op_${number++}_${kind}`;
    operators.push({ name, part: 'operator', nodes });
    connect(ends, name);
    ends = [name];
  }
  rule.actions.forEach(({ type }, action) => {
    const node = physical.encoders[action];
    const nodes = node === undefined ? [] : [node];
    const sink = `sink_${type}_${action}`;
    const steps: [string, OperatorPlan['part']][] = [[`op_${type}_${action}_0_transform`, 'transform']];
    if (!rowSinks.includes(type)) steps.push([`op_${type}_${action}_1_encode`, 'encode']);
    steps.push([sink, 'sink']);
    let from = ends;
    for (const [name, part] of steps) {
      operators.push({ name, part, action, nodes });
      connect(from, name);
      from = [name];
    }
  });
  return { topology: { sources: [...streams, ...tables].map(nameOf), edges }, operators };
}
