/** Secrets in the actions and nodes of a rule: masked in answers, kept when a client sends the mask back. */

import { maskByName } from '../../base/fields/secret-fields.js';
import { movedAddress, unmask } from '../../base/secrets/unmask.js';
import { isObject } from '../../base/structures/is-object.js';
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import { maskProps, maskSinks } from './props.js';

type Action = Record<string, unknown>;

/** Returns the definition as clients see it. */
export function maskRule(json: RuleJson): RuleJson {
  const { actions, graph } = json as { actions?: unknown; graph?: unknown };
  return {
    ...json,
    ...(actions === undefined
      ? {}
      : { actions: Array.isArray(actions) ? actions.map(maskSinks) : maskByName(actions) }),
    ...(graph === undefined ? {} : { graph: maskGraph(graph) }),
  } as RuleJson;
}

function maskGraph(graph: unknown): unknown {
  if (!isObject(graph) || !isObject(graph.nodes)) return maskByName(graph);
  const nodes = Object.entries(graph.nodes).map(([name, node]) => [name, maskNode(node)]);
  return { ...(maskByName(graph) as Action), nodes: Object.fromEntries(nodes) };
}

/** Only sources and sinks have properties that somebody declares. */
function maskNode(node: unknown): unknown {
  if (!isObject(node) || !isObject(node.props) || typeof node.nodeType !== 'string') return maskByName(node);
  const { type, nodeType, props } = node;
  if (type !== 'source' && type !== 'sink') return maskByName(node);
  return { ...(maskByName(node) as Action), props: maskProps(`${type}s`, nodeType, props) };
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

/**
 * An action has the secrets of the stored one at its place, or of the first of its kind; actions that changed places
 * have those of the one with the same address.
 */
function unmaskAction(action: unknown, place: number, stored: readonly Action[]): unknown {
  if (!isObject(action)) return action;
  const [type = ''] = Object.keys(action);
  const [same, ...others] = [...stored.slice(place, place + 1), ...stored].filter((candidate) => type in candidate);
  if (same === undefined) return action;
  const isThere = (candidate: Action) => {
    const [given, old] = [action[type], candidate[type]];
    return isObject(given) && isObject(old) && movedAddress(given, old) === undefined;
  };
  return unmask(action, [same, ...others].find(isThere) ?? same);
}
