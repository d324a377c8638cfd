/** What holds for each row of a rule when the engine is killed at any moment, by its sources, sinks and `qos`. */
import type { NodePlan } from '../../kernels/ir.js';
import { isBatch } from '../../kernels/output-plan.js';
import { connectorFor } from '../connectors/index.js';
import type { SinkSpec, SourceSpec } from './link/protocol.js';

/** `nothing`: rows may be missing, and others may come twice. */
export type Guarantee = 'nothing' | 'at most once' | 'at least once' | 'exactly once';

export interface Guaranteed {
  readonly guarantee: Guarantee;
  /** Why it is no more, a sentence each. */
  readonly because: readonly string[];
}

/** Of a rule that reads these streams; tables are read anew and don't count. `nodes` are those of its plan. */
export function guaranteeOf(
  qos: number,
  sources: readonly SourceSpec[],
  sinks: readonly SinkSpec[],
  nodes: readonly NodePlan[] = [],
): Guaranteed {
  if (qos === 0) return { guarantee: 'nothing', because: ['the option qos is 0'] };
  let isInOrder = sources.length === 1 && nodes.length > 0 && areRepeatable(nodes);
  const lost: string[] = [];
  const repeated: string[] = [];
  for (const { name, type, props } of sources) {
    const back = connectorFor('source', type).source?.goesBack(props) ?? { no: 'it is unknown' };
    if (typeof back === 'object') lost.push(`stream ${name}: ${back.no}`);
    if (back !== 'position') isInOrder = false;
    if (back === 'acknowledgement') repeated.push(`stream ${name}: its other side may send messages again`);
  }
  for (const { type, props, cache } of sinks) {
    const ofCache = cache && 'what went through a cache is not taken back';
    const { sink } = connectorFor('sink', type);
    const reason = ofCache ?? sink?.staysSent(props);
    const numbers = qos > 1 && ofCache === undefined ? sink?.numbersIn(props) : undefined;
    const known = numbers && `; receivers know it by the ${numbers}`;
    const unknown = numbers && `; the ${numbers} does not tell, since the rows may come in another order then`;
    if (reason !== undefined) repeated.push(`sink ${type}: ${reason}${(isInOrder ? known : unknown) ?? ''}`);
  }
  // What was sent since the last checkpoint stays sent, while the state goes back.
  const again = qos === 1 ? ['the option qos is 1'] : repeated;
  const isSafe = lost.length === 0;
  if (again.length > 0) return { guarantee: isSafe ? 'at least once' : 'nothing', because: [...lost, ...again] };
  return { guarantee: isSafe ? 'exactly once' : 'at most once', because: lost };
}

/** Nodes that make the same of the same rows in the same order, whenever that is. */
const repeatable: ReadonlySet<NodePlan['kind']> = new Set([
  'filter',
  'eventTime',
  'late',
  'window',
  'sort',
  'analytic',
  'limit',
  'expand',
  'encode',
]);

/** All messages of the rule come again as they were when its rows do, as far as its functions give the same again. */
function areRepeatable(nodes: readonly NodePlan[]): boolean {
  return nodes.every((node) => {
    if (node.kind === 'window') return node.isEventTime || node.window.kind === 'count';
    if (node.kind === 'encode') return !isBatch(node.output);
    return repeatable.has(node.kind);
  });
}
