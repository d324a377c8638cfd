/** What holds for each row of a rule when the engine is killed at any moment, by its sources, sinks and `qos`. */
import { connectorFor } from '../connectors/index.js';
import type { SinkSpec, SourceSpec } from './link/protocol.js';

export type Guarantee = 'at most once' | 'at least once' | 'exactly once';

export interface Guaranteed {
  readonly guarantee: Guarantee;
  /** Why it is no more, a sentence each. */
  readonly because: readonly string[];
}

/** Of a rule that reads these streams; tables are read anew and don't count. */
export function guaranteeOf(qos: number, sources: readonly SourceSpec[], sinks: readonly SinkSpec[]): Guaranteed {
  if (qos === 0) return { guarantee: 'at most once', because: ['the option qos is 0'] };
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
  if (lost.length > 0) return { guarantee: 'at most once', because: lost };
  if (qos === 1) return { guarantee: 'at least once', because: ['the option qos is 1'] };
  return { guarantee: repeated.length > 0 ? 'at least once' : 'exactly once', because: repeated };
}
