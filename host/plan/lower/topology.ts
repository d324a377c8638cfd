/** Operators under the names of the interface: what topology and status show, and which nodes stand behind each. */
import type { OperatorPlan, RulePlan } from '../../../kernels/plan/ir.js';
import { connectorOf, sinkForm } from '../../connectors/index.js';
import { rowActions } from '../../model/actions.js';
import type { RuleDefinition } from '../../model/engine.js';
import { streamsOf, tablesOf } from '../joins/join.js';
import type { Chain, Physical } from '../program/physical-plan.js';
import type { Source } from '../values/source.js';

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
  const names = namesOf(sources);
  const nameOf = (source: Source): string => names.get(source) ?? source.name;
  const addSource = (source: Source): string => {
    const name = nameOf(source);
    operators.push({ name, part: 'source', source: source.index, nodes: [] });
    number++;
    if (!hasDecoder(source)) return name;
    const decoder = `op_${number++}_decoder`;
    operators.push({ name: decoder, part: 'decoder', source: source.index, nodes: [] });
    connect([name], decoder);
    return decoder;
  };
  // Without a word of it an operator follows the one before it in the list.
  const isChain = physical.chains.length === 1 && physical.chains[0]?.steps.every(({ inputs }) => inputs === undefined);
  const after = (from: readonly string[]) => (isChain ? {} : { after: [...from] });
  const byNode = new Map<number, string>();
  const addChain = ({ sources: own, steps, from }: Chain): string[] => {
    const start = from === undefined ? undefined : byNode.get(from);
    let ends = start === undefined ? streamsOf(own).map(addSource) : [start];
    for (const { kind, nodes, table, inputs } of steps) {
      if (kind === 'join_aligner') ends.push(...tablesOf(own).map(addSource));
      if (inputs !== undefined) ends = inputs.flatMap(addChain);
      // Lookups are called like their tables.
      const name = table === undefined ? `op_${number}_${kind}` : `op_${table}`;
      // The filter of a window is a part of it and has its number.
      if (kind !== 'windowFilter') number++;
      operators.push({ name, part: 'operator', nodes, ...after(ends) });
      for (const node of nodes) byNode.set(node, name);
      connect(ends, name);
      ends = [name];
    }
    return ends;
  };
  const ways = physical.chains.map((chain) => ({ ...chain, ends: addChain(chain) }));
  for (const action of rowActions(rule.actions)) {
    const { type } = rule.actions[action]!;
    let from = ways.flatMap(({ ends, actions }) => (actions?.includes(action) === false ? [] : ends));
    for (const operator of sinkOperators(type, `${type}_${action}`, action, physical)) {
      operators.push({ ...operator, ...after(from) });
      connect(from, operator.name);
      from = [operator.name];
    }
  }
  for (const { name, operator } of letterSinks(
    rule.actions,
    (action) => `sink_${rule.actions[action]?.type}_${action}`,
  )) {
    operators.push({ ...operator, after: [name] });
    connect([name], operator.name);
  }
  return { topology: { sources: [...streamsOf(sources), ...tablesOf(sources)].map(nameOf), edges }, operators };
}

/** A stream that is there twice has the names of its aliases, numbered where it has none. */
function namesOf(sources: readonly Source[]): Map<Source, string> {
  const isUnique = new Set(sources.map(({ name }) => name)).size === sources.length;
  const taken = new Set<string>();
  const names = new Map<Source, string>();
  for (const source of sources) {
    const own = `source_${isUnique ? source.name : source.ownName}`;
    const name = taken.has(own) ? `${own}_${source.index + 1}` : own;
    taken.add(name);
    names.set(source, name);
  }
  return names;
}

/** True for streams whose bytes are decoded in a step of its own. */
export function hasDecoder({ definition }: Source): boolean {
  return connectorOf(definition.options.type)?.source?.showsDecoder === true;
}

/** The sinks of dead letters, each with the name of the sink whose letters they are. */
export function letterSinks(
  actions: RuleDefinition['actions'],
  sinkOf: (action: number) => string,
): { name: string; operator: OperatorPlan }[] {
  return actions.flatMap(({ type, deadLettersOf }, action) =>
    deadLettersOf === undefined
      ? []
      : [
          {
            name: sinkOf(deadLettersOf),
            operator: { name: `sink_${type}_${action}`, part: 'sink', action, nodes: [] },
          },
        ],
  );
}

/** The steps before an action, and its sink. */
export function sinkOperators(type: string, name: string, action: number, { encoders }: Physical): OperatorPlan[] {
  const nodes = encoders[action] ?? [];
  const encode: OperatorPlan = { name: `op_${name}_1_encode`, part: 'encode', action, nodes };
  return [
    { name: `op_${name}_0_transform`, part: 'transform', action, nodes },
    ...(sinkForm(type).takes === 'rows' ? [] : [encode]),
    { name: `sink_${name}`, part: 'sink', action, nodes },
  ];
}
