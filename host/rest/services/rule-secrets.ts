/** Secrets in the actions and nodes of a rule: masked in answers, kept when a client sends the mask back. */
import { unmask } from '../../base/field.js';
import { maskByName } from '../../base/secrets.js';
import type { RuleJson } from '../../meta/rule-definition.js';

type Action = Record<string, unknown>;

/** Returns the definition as clients see it. */
export function maskRule(json: RuleJson): RuleJson {
  const { actions, graph } = json as { actions?: unknown; graph?: unknown };
  return {
    ...json,
    ...(actions === undefined ? {} : { actions: maskByName(actions) }),
    ...(graph === undefined ? {} : { graph: maskByName(graph) }),
  } as RuleJson;
}

/** Puts the secrets of the stored definition in the place of their masks. */
export function unmaskRule<T>(given: T, stored: RuleJson | undefined): T {
  if (stored === undefined || typeof given !== 'object' || given === null) return given;
  const { actions, graph } = given as { actions?: unknown; graph?: unknown };
  const old = stored as { actions?: readonly Action[]; graph?: Action };
  return {
    ...given,
    ...(Array.isArray(actions)
      ? { actions: actions.map((action, i) => unmaskAction(action, i, old.actions ?? [])) }
      : {}),
    ...(isObject(graph) ? { graph: unmask(graph, old.graph) } : {}),
  };
}

/** An action has the secrets of the stored one at its place, or, if that is another kind of sink, of the first of its kind. */
function unmaskAction(action: unknown, place: number, stored: readonly Action[]): unknown {
  if (!isObject(action)) return action;
  const [type = ''] = Object.keys(action);
  const same = stored[place];
  const old = same !== undefined && type in same ? same : stored.find((candidate) => type in candidate);
  return old === undefined ? action : unmask(action, old);
}

function isObject(value: unknown): value is Action {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
