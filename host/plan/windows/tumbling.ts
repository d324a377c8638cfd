/** TUMBLINGWINDOW: one window after the other, by the clock. */
import type { WindowGrammar } from '../../sql/window-grammar.js';
import type { WindowKind } from './kind.js';
import { written } from './written.js';

const grammar: WindowGrammar = { hasUnit: true, args: [{ name: 'length' }] };

export const tumbling: WindowKind<'tumbling'> = {
  grammar,
  isAligned: true,
  of: ({ clause: { args }, unitMs }) => ({ kind: 'tumbling', unitMs, lengthMs: (args[0] ?? 0) * unitMs }),
  written: ({ unitMs, lengthMs }) => written('TUMBLINGWINDOW', unitMs, lengthMs),
  plan: (window) => window,
  span: ({ lengthMs }) => `the last ${lengthMs} ms`,
};
