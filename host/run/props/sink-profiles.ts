/** Profiles of sinks: configuration keys of a sink, whose properties an action takes over by `resourceId`. */

import { connectorOf } from '../../connectors/index.js';
import { actionPath } from '../../model/actions.js';
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import { joinLayers, type Layer } from './layers.js';

type Actions = RuleDefinition['actions'];
type Action = Actions[number];

/** Rules whose actions have the properties of their profiles, as long as no key changes. */
export class SinkProfiles {
  readonly #rules = new WeakMap<RuleDefinition, { readonly version: number; readonly rule: RuleDefinition }>();

  constructor(private readonly catalog: Catalog) {}

  /** The rule as it runs; itself where no action names a profile. What an action gives itself wins. */
  applied(rule: RuleDefinition): RuleDefinition {
    if (!rule.actions.some((action) => profileName(action) !== undefined)) return rule;
    const version = this.catalog.version?.();
    const before = this.#rules.get(rule);
    if (before !== undefined && before.version === version) return before.rule;
    const actions = rule.actions.map((action) => {
      const { resourceId, ...own } = action.props;
      return { ...action, props: { ...profileOf(action, this.catalog), ...own } };
    });
    const made = { ...rule, actions };
    if (version !== undefined) this.#rules.set(rule, { version, rule: made });
    return made;
  }

  /** Throws a `config` error when an action would send a secret of its profile to another address. */
  check({ id, actions }: RuleDefinition): void {
    for (const action of actions) {
      const name = profileName(action);
      const spec = connectorOf(action.type)?.sink?.props;
      if (name === undefined || spec === undefined) continue;
      const layers: Layer[] = [
        { props: profileOf(action, this.catalog) ?? {}, name: `configuration key ${name}`, by: 'user' },
        { props: action.props, name: 'the action', by: 'user' },
      ];
      joinLayers(spec, layers, `rule ${id}, sink ${action.type}`);
    }
  }

  /** Profiles that are not there, a sentence each. */
  missing({ actions }: RuleDefinition): string[] {
    return actions.flatMap((action, i) => {
      const name = profileName(action);
      if (name === undefined || profileOf(action, this.catalog) !== undefined) return [];
      return [`${actionPath(actions, i)}.resourceId: configuration key ${name} of sink ${action.type} is not found`];
    });
  }
}

function profileName({ props: { resourceId } }: Action): string | undefined {
  return typeof resourceId === 'string' && resourceId !== '' ? resourceId : undefined;
}

function profileOf(action: Action, { sinkKey }: Catalog): Readonly<Record<string, unknown>> | undefined {
  return sinkKey?.(action.type, profileName(action) ?? '');
}
