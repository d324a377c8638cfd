/** COUNTWINDOW: a window of a number of rows. */
import type { WindowGrammar } from '../../sql/window-grammar.js';
import { usualOverlap, type WindowKind } from './kind.js';

const grammar: WindowGrammar = {
  args: [{ name: 'count' }, { name: 'interval', isOptional: true, withinFirst: 'an interval of at most the count' }],
};

export const count: WindowKind<'count'> = {
  grammar,
  keepsRows: true,
  endsWithRow: true,
  hasNoEventTime: true,
  of({ clause: { args }, partition }) {
    const [length = 0, step = length] = args;
    return { kind: 'count', length, step, partition };
  },
  written: ({ length, step }) => `COUNTWINDOW(${length}${step === length ? '' : `, ${step}`})`,
  plan: ({ kind, length, step }) => ({ kind, length, step }),
  span: ({ length }) => `the last ${length} rows`,
  overlap({ length, step }) {
    const times = length / step;
    return times >= usualOverlap ? `${Math.ceil(times)} times` : null;
  },
};
