/** SESSIONWINDOW: ends when no row has come for a time, at the latest after another. */
import type { WindowKind } from './kind.js';
import { written } from './written.js';

export const session: WindowKind<'session'> = {
  of({ clause: { args }, unitMs, partition }) {
    const [max = 0, timeout = 0] = args;
    return { kind: 'session', unitMs, maxMs: max * unitMs, timeoutMs: timeout * unitMs, partition };
  },
  written: ({ unitMs, maxMs, timeoutMs }) => written('SESSIONWINDOW', unitMs ?? 0, maxMs, timeoutMs),
  plan: ({ kind, unitMs, maxMs, timeoutMs }) => ({ kind, unitMs, maxMs, timeoutMs }),
  span: ({ maxMs }) => `the open session (${2 * maxMs} ms at most)`,
};
