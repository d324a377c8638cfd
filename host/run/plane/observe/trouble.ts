/** Faults of a running rule, a sentence each: unconnected parts, rules that hold others up, failing rows. */

import { maskWithin } from '../../../base/fields/secret-fields.js';
import type { Redact } from '../../../base/secrets/redact.js';
import type { RunTrouble } from '../../../model/figures.js';
import type { Connection } from '../connect/connection.js';
import type { RunningRule } from '../running/running.js';
import { blockMessage } from './blocks.js';
import type { ErrorLog } from './error-log.js';
import { failureOf } from './metrics.js';

/** A connection that is being made is no trouble before, ms. */
const patienceMs = 2000;
/** Rules looked at in one turn of the event loop. */
const slice = 500;

/** Lists the troubles of a rule; empty when it does well. */
export function troublesOf(rule: RunningRule, errors: ErrorLog): string[] {
  const { redact } = rule;
  const recent = errors.recent(rule);
  const hold = blockMessage(rule);
  return [
    ...sourceTroubles(rule),
    ...sinkTroubles(rule),
    ...rule.waitings.map(({ trouble }) => trouble).filter((text) => text !== ''),
    ...(rule.waitingResults > 0 ? [`${rule.waitingResults} results wait to be sent, its sources pause`] : []),
    ...(hold === '' ? [] : [hold]),
    ...(rule.checkpoints === undefined || rule.checkpoints.failure === '' ? [] : [rule.checkpoints.failure]),
    ...(recent.count === 0
      ? []
      : [`${counted(recent.count)} in the last minute, the last one: ${redact(recent.last)}`]),
  ];
}

const counted = (errors: number): string => `${errors.toLocaleString('en')} ${errors === 1 ? 'error' : 'errors'}`;

/** Lists what is wrong with the connections of its sources. */
export function sourceTroubles(rule: RunningRule): string[] {
  const { redact } = rule;
  return [...new Set(rule.sources)].flatMap((source) => {
    if (source.isEnded) return [];
    return [...connectionTrouble(source, redact), ...(source.logTrouble === '' ? [] : [source.logTrouble])];
  });
}

/** Lists what is wrong with the connections of its sinks. */
export function sinkTroubles({ sinks, redact }: RunningRule): string[] {
  return sinks.flatMap((sink) => {
    const { trouble = '', holding = '' } = sink.cache ?? {};
    const ofCache = [trouble, holding].filter((text) => text !== '').map((text) => `${sink.label}: ${redact(text)}`);
    return [...connectionTrouble(sink, redact), ...ofCache];
  });
}

/** Faults of all rules with the latest failure of each; found for a few rules at a time, so that data goes on. */
export async function troubleOfAll(
  rules: readonly RunningRule[],
  errors: ErrorLog,
  isBroken: () => boolean,
): Promise<[run: number, trouble: RunTrouble][]> {
  const found: [number, RunTrouble][] = [];
  for (const [i, rule] of rules.entries()) {
    if (isBroken()) break;
    if (rule.isEnding) continue;
    const failure = failureOf(rule);
    const troubles = troublesOf(rule, errors);
    if (failure !== undefined || troubles.length > 0) found.push([rule.run, { failure, troubles }]);
    if (i % slice === slice - 1) await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}

interface Part {
  readonly label: string;
  readonly connection: Connection;
  /** Name of the remote system; undefined where the connector gives none. */
  readonly peer?: string | undefined;
  readonly spec: { readonly props: Readonly<Record<string, unknown>> };
}

function connectionTrouble({ label, connection, peer, spec }: Part, redact: Redact): string[] {
  const { status, lastMessage, lastTryAt } = connection;
  if (status === 1) return [];
  const isTrying = lastMessage === '' && Date.now() - lastTryAt < patienceMs;
  if (isTrying) return [];
  const { server, url, servers } = spec.props;
  const address = [server, url, servers, peer].find((text) => typeof text === 'string' && text !== '');
  const where = address === undefined ? '' : ` to ${redact(maskWithin(String(address)))}`;
  return [`${label} is not connected${where}: ${lastMessage || 'no answer yet'}, still trying`];
}
