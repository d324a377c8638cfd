/** Lists the connections of a rule: named ones that it selects, and its own. */
import { type Redact, redactedTexts } from '../../base/secrets/redact.js';
import { connectorOf } from '../../connectors/index.js';
import type { ConnectionUse, RuleState, RuleStatus } from '../../model/engine.js';
import type { RuleStart, SourceSpec } from '../link/protocol.js';

/** A connection of a rule, told apart by the name of its operator in the metrics. */
export interface OwnConnection {
  readonly operator: string;
  readonly typ: string;
  readonly props: Record<string, unknown>;
}

const none: readonly OwnConnection[] = [];

/** Lists the connections of a rule; the same empty list for all rules without any. */
export function connectionsOf({ sources, lookups = [], sinks, plan }: RuleStart): readonly OwnConnection[] {
  const { operators } = plan;
  const nameOf = (i: number) => operators.find(({ part, action }) => part === 'sink' && action === i)?.name ?? '';
  const all = [
    ...sources.filter(isFirst).map(({ name, type, props }) => ({ operator: `source_${name}`, typ: type, props })),
    // Those of their own connect when they are asked, so they have no state.
    ...lookups
      .filter(({ props }) => selectorOf(props) !== undefined)
      .map(({ name, type, props }) => ({ operator: `lookup_${name}`, typ: type, props })),
    ...sinks.map(({ type, props }, i) => ({ operator: nameOf(i), typ: type, props })),
  ];
  const own = all.filter(
    ({ typ, props }) => selectorOf(props) !== undefined || connectorOf(typ)?.connection?.ping !== undefined,
  );
  // A list that has grown keeps room for many more, a copy does not; there is one for each rule.
  return own.length === 0 ? none : own.slice();
}

/** Filter for the first of several uses of a stream. */
function isFirst({ name }: SourceSpec, i: number, all: readonly SourceSpec[]): boolean {
  return all.findIndex((other) => other.name === name) === i;
}

/**
 * The form in which the connections of a rule are shown; `status` gives its metrics when they are asked for, `redact`
 * masks the secrets behind references.
 */
export function usesOf(
  rule: string,
  state: RuleState,
  own: readonly OwnConnection[],
  redact: Redact,
  status: () => Promise<RuleStatus>,
): ConnectionUse[] {
  if (state.startsWith('stopped')) return [];
  return own.map(({ operator, typ, props }) => {
    const selector = selectorOf(props);
    return {
      id: `${rule}_${operator}`,
      rule,
      typ,
      ...(selector === undefined ? {} : { selector }),
      props: redactedTexts(props, redact),
      state: async () => stateOf((await status()).metrics, operator),
    };
  });
}

function stateOf(metrics: RuleStatus['metrics'], operator: string): Awaited<ReturnType<ConnectionUse['state']>> {
  const value = metrics[`${operator}_0_connection_status`];
  const reason = String(metrics[`${operator}_0_connection_last_disconnected_message`] ?? '');
  return { status: value === 1 ? 'connected' : value === -1 ? 'disconnected' : 'connecting', reason };
}

function selectorOf({ connectionSelector }: Record<string, unknown>): string | undefined {
  return typeof connectionSelector === 'string' && connectionSelector !== '' ? connectionSelector : undefined;
}
