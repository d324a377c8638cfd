/** What the partitions of a rule say, as one. */
import type { RuleNumbers, RuleState, RuleStatus } from '../../../model/engine.js';

/** States that the rule has when one of its partitions has it, the first that is found. */
const order: readonly RuleState[] = ['stopped by error', 'starting', 'stopping', 'running'];

export function stateOf(states: readonly RuleState[]): RuleState {
  return order.find((state) => states.includes(state)) ?? states[0] ?? 'stopped';
}

/** The status of the rule: figures are summed, and `node` names all that run a part of it. */
export function statusOf(parts: readonly RuleStatus[]): RuleStatus {
  const status = stateOf(parts.map((part) => part.status));
  const { ended: _ended, dataPlane: _plane, dataPlaneBecause: _because, ...first } = parts[0]!;
  const nodes = [...new Set(parts.flatMap(({ node }) => node ?? []))].sort();
  const places = parts.flatMap(({ node }, i) => (node === undefined ? [] : [[`partition_${i}_node`, node] as const]));
  const read = parts.map(
    ({ metrics }, i) => [`partition_${i}_records_in_total`, Number(metrics.sourceRecordsInTotal ?? 0)] as const,
  );
  return {
    ...first,
    status,
    message: parts.find((part) => part.status === status && part.message !== '')?.message ?? '',
    lastStartTimestamp: Math.max(...parts.map(({ lastStartTimestamp }) => lastStartTimestamp)),
    lastStopTimestamp: Math.max(...parts.map(({ lastStopTimestamp }) => lastStopTimestamp)),
    ...(nodes.length === 0 ? {} : { node: nodes.join(', ') }),
    metrics: { ...metricsOf(parts), ...Object.fromEntries([...places, ...read]) },
    troubles: [...new Set(parts.flatMap(({ troubles }) => troubles))],
  };
}

function metricsOf(parts: readonly RuleStatus[]): RuleStatus['metrics'] {
  const all: RuleStatus['metrics'] = {};
  for (const { metrics } of parts) {
    for (const [name, value] of Object.entries(metrics)) {
      const known = all[name];
      if (typeof known === 'number' && typeof value === 'number') all[name] = together(name, known, value);
      else if (known === undefined || known === '') all[name] = value;
    }
  }
  return all;
}

/** A connection is as well as the worst, a time as long as the longest; all else adds up. */
function together(name: string, one: number, other: number): number {
  if (/connection_status$/i.test(name)) return Math.min(one, other);
  if (/latency|Failing$|Checkpoint(?:Epoch|Ms|Age)|(?:_ms|Ms|_time|Timestamp)$/.test(name)) return Math.max(one, other);
  return one + other;
}

/** Figures of two partitions; one that never ran here has none. */
export function summedNumbers(one: RuleNumbers, other: RuleNumbers): RuleNumbers {
  const all = new Map(one.names.map((name, i) => [name, one.values[i] ?? 0]));
  other.names.forEach((name, i) => {
    const value = other.values[i] ?? 0;
    const known = all.get(name);
    all.set(name, known === undefined ? value : together(name, known, value));
  });
  return { ...one, state: stateOf([one.state, other.state]), names: [...all.keys()], values: [...all.values()] };
}
