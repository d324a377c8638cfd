/** Refusals of calls, whatever the function. */
import { errorTable } from '../base/errors.js';

export const callErrors = errorTable('call', {
  unknown: [
    'plan',
    (name: string, meant: string | undefined) =>
      `unknown function ${name}${meant === undefined ? '' : `, did you mean ${meant}?`}`,
  ],
  ofMatch: [
    'plan',
    (name: string) =>
      `${name} is known in MATCH_RECOGNIZE alone: lag looks at earlier rows, first_value at those of windows`,
  ],
  leftOut: ['plan', (name: string, reason: string) => `function ${name} is left out: ${reason}`],
  notRun: [
    'plan',
    (name: string, owner: string) => `function ${name} (${owner}) can't be called in rules, which is not supported yet`,
  ],
  wrongCount: [
    'plan',
    (name: string, wanted: string, count: number) =>
      `function ${name} takes ${wanted} argument${/\b1$/.test(wanted) ? '' : 's'}, not ${count}`,
  ],
  wrongType: [
    'plan',
    (name: string, place: number, argument: string, type: string) =>
      `function ${name}: argument ${place} (${argument}) must be ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`,
  ],
  refused: ['plan', (name: string, reason: string) => `function ${name}: ${reason}`],
});
