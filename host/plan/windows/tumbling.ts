/** TUMBLINGWINDOW: one window after the other, by the clock. */
import type { WindowKind } from './kind.js';
import { written } from './written.js';

export const tumbling: WindowKind<'tumbling'> = {
  isAligned: true,
  of: ({ clause: { args }, unitMs }) => ({ kind: 'tumbling', unitMs, lengthMs: (args[0] ?? 0) * unitMs }),
  written: ({ unitMs, lengthMs }) => written('TUMBLINGWINDOW', unitMs, lengthMs),
  plan: (window) => window,
  span: ({ lengthMs }) => `the last ${lengthMs} ms`,
};
