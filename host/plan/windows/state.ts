/** STATEWINDOW: from a row that meets one condition to a row that meets another. */

import type { WindowGrammar } from '../../sql/window-grammar.js';
import { checkCondition } from '../bind/type-checks.js';
import { windowErrors } from '../errors/window.js';
import type { WindowKind } from './kind.js';

const grammar: WindowGrammar = { args: [], hasConditions: true };

export const state: WindowKind<'state'> = {
  grammar,
  endsWithRow: true,
  of({ clause: { conditions, span }, bind, partition }) {
    const [begin, emit] = conditions.map((condition) => {
      const value = bind(condition);
      checkCondition('STATEWINDOW', [condition, value]);
      return value;
    });
    if (begin === undefined) throw windowErrors.stateCondition(span);
    return { kind: 'state', begin, emit: emit ?? null, partition };
  },
  conditions: ({ begin, emit }) => (emit === null ? [begin] : [begin, emit]),
  map: (window, map) => ({
    ...window,
    begin: map(window.begin),
    emit: window.emit === null ? null : map(window.emit),
  }),
  written: (_window, conditions) => `STATEWINDOW(${conditions})`,
  plan: ({ kind, begin, emit }, operand) => ({
    kind,
    begin: operand(begin),
    ...(emit === null ? {} : { emit: operand(emit) }),
  }),
  span: () => 'the open windows',
};
