/** The sinks of a rule: its actions, and where their dead letters go. */
import type { RuleDefinition } from './engine.js';

type Actions = RuleDefinition['actions'];
type Props = Actions[number]['props'];

/** Properties that sinks share, besides those of connectors and of formats of messages. */
const sharedNames = [
  'sendSingle',
  'omitIfEmpty',
  'batchSize',
  'lingerInterval',
  'fields',
  'excludeFields',
  'dataField',
  'tableDataField',
  'dataTemplate',
  'format',
  'schemaId',
  'delimiter',
  'hasHeader',
  'columns',
  'compression',
  'encryption',
  'rowkindField',
  'keyField',
  'lateRows',
  'enableCache',
  'cacheFullPolicy',
] as const;

const byLowerCase = new Map<string, string>(sharedNames.map((name) => [name.toLowerCase(), name]));

/** Properties of an action with the shared ones under their names: letter case does not count, the exact one wins. */
export function withSharedNames(props: Props): Props {
  const meant = (name: string) => byLowerCase.get(name.toLowerCase()) ?? name;
  if (Object.keys(props).every((name) => meant(name) === name)) return props;
  const found: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(props)) {
    const known = meant(name);
    if (known === name || (!Object.hasOwn(props, known) && !Object.hasOwn(found, known))) found[known] = value;
  }
  return found;
}

/** Path of a sink in the JSON of the rule: `actions[0].mqtt`, `actions[0].rest.deadLetter.mqtt`. */
export function actionPath(actions: Actions, i: number): string {
  const { type, deadLettersOf } = actions[i]!;
  return deadLettersOf === undefined
    ? `actions[${i}].${type}`
    : `${actionPath(actions, deadLettersOf)}.deadLetter.${type}`;
}

/** Index of the sink that gets the dead letters of an action; undefined without one. */
export function deadLettersFor(actions: Actions, action: number): number | undefined {
  const i = actions.findIndex(({ deadLettersOf }) => deadLettersOf === action);
  return i < 0 ? undefined : i;
}

/** Numbers of the actions that get rows. */
export function rowActions(actions: Actions): number[] {
  return actions.flatMap(({ deadLettersOf }, i) => (deadLettersOf === undefined ? [i] : []));
}
