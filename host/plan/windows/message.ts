/** Above a join: what a window gave is a window again. */
import type { WindowKind } from './kind.js';

export const message: WindowKind<'message'> = {
  values: ({ start, end, trigger }) => [start, end, trigger],
  plan: ({ kind, start, end, trigger }, operand) => ({
    kind,
    start: operand(start),
    end: operand(end),
    trigger: operand(trigger),
  }),
};
