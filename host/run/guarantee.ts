/** What holds for each row of a rule when the engine is killed at any moment, by its sources, sinks and `qos`. */
import { connectorFor } from '../connectors/index.js';
import type { SinkSpec, SourceSpec } from './link/protocol.js';

/** `nothing`: rows may be missing, and others may come twice. */
export type Guarantee = 'nothing' | 'at most once' | 'at least once' | 'exactly once';

export interface Guaranteed {
  readonly guarantee: Guarantee;
  /** Why it is no more, a sentence each. */
  readonly because: readonly string[];
}

/** Of a rule that reads these streams; tables are read anew and don't count. */
export function guaranteeOf(qos: number, sources: readonly SourceSpec[], sinks: readonly SinkSpec[]): Guaranteed {
  if (qos === 0) return { guarantee: 'nothing', because: ['the option qos is 0'] };
  const lost: string[] = [];
  const repeated: string[] = [];
  for (const { name, type, props } of sources) {
    const back = connectorFor('source', type).source?.goesBack(props) ?? { no: 'it is unknown' };
    if (typeof back === 'object') lost.push(`stream ${name}: ${back.no}`);
    else if (back === 'acknowledgement') repeated.push(`stream ${name}: its other side may send messages again`);
  }
  for (const { type, props, cache } of sinks) {
    const ofCache = cache && 'what went through a cache is not taken back';
    const reason = ofCache ?? connectorFor('sink', type).sink?.staysSent(props);
    if (reason !== undefined) repeated.push(`sink ${type}: ${reason}`);
  }
  // What was sent since the last checkpoint stays sent, while the state goes back.
  const again = qos === 1 ? ['the option qos is 1'] : repeated;
  const isSafe = lost.length === 0;
  if (again.length > 0) return { guarantee: isSafe ? 'at least once' : 'nothing', because: [...lost, ...again] };
  return { guarantee: isSafe ? 'exactly once' : 'at most once', because: lost };
}
