/** The sinks of a rule: its actions, and where their dead letters go. */
import type { RuleDefinition } from './engine.js';

type Actions = RuleDefinition['actions'];

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
