/** HOPPINGWINDOW: windows by the clock that overlap. */
import type { WindowGrammar } from '../../sql/window-grammar.js';
import { usualOverlap, type WindowKind } from './kind.js';
import { written } from './written.js';

const grammar: WindowGrammar = {
  hasUnit: true,
  args: [{ name: 'length' }, { name: 'hop', dividesFirst: 'a hop of at least' }],
};

export const hopping: WindowKind<'hopping'> = {
  grammar,
  isAligned: true,
  of({ clause: { args }, unitMs }) {
    const [length = 0, hop = length] = args;
    return { kind: 'hopping', unitMs, lengthMs: length * unitMs, hopMs: hop * unitMs };
  },
  written: ({ unitMs, lengthMs, hopMs }) => written('HOPPINGWINDOW', unitMs, lengthMs, hopMs),
  plan: (window) => window,
  span: ({ lengthMs, hopMs }) => `the last ${lengthMs} ms (${Math.ceil(lengthMs / hopMs)} windows)`,
  overlap({ lengthMs, hopMs }) {
    const times = lengthMs / hopMs;
    return times >= usualOverlap ? `${Math.ceil(times)} times` : null;
  },
};
