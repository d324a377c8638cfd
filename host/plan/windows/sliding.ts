/** SLIDINGWINDOW: of each row, or of those that meet OVER (WHEN …), the rows of the time before, and after it. */
import type { WindowGrammar } from '../../sql/window-grammar.js';
import type { WindowKind } from './kind.js';
import { written } from './written.js';

const grammar: WindowGrammar = {
  hasUnit: true,
  args: [
    { name: 'length', mayBeZero: true },
    { name: 'delay', isOptional: true, mayBeZero: true },
  ],
};

export const sliding: WindowKind<'sliding'> = {
  grammar,
  keepsRows: true,
  hasTrigger: true,
  of({ clause: { args, over }, unitMs, partition, trigger }) {
    const [length = 0, delay = 0] = args;
    return {
      kind: 'sliding',
      lengthMs: length * unitMs,
      delayMs: delay * unitMs,
      trigger: over?.when ? trigger(over.when) : null,
      partition,
    };
  },
  conditions: ({ trigger }) => (trigger === null ? [] : [trigger]),
  map: (window, map) => ({ ...window, trigger: window.trigger === null ? null : map(window.trigger) }),
  written: ({ lengthMs, delayMs }) => written('SLIDINGWINDOW', 0, lengthMs, ...(delayMs > 0 ? [delayMs] : [])),
  plan: ({ kind, lengthMs, delayMs, trigger }, operand) => ({
    kind,
    lengthMs,
    delayMs,
    ...(trigger === null ? {} : { trigger: operand(trigger) }),
  }),
  span: ({ lengthMs, delayMs }) => `the last ${lengthMs + delayMs} ms`,
  overlap: ({ trigger }) => (trigger === null ? 'with each row' : null),
};
