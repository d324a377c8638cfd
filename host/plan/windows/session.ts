/** SESSIONWINDOW: ends when no row has come for a time, at the latest after another. */
import type { WindowGrammar } from '../../sql/window-grammar.js';
import type { WindowKind } from './kind.js';
import { written } from './written.js';

const grammar: WindowGrammar = { hasUnit: true, args: [{ name: 'longest duration' }, { name: 'timeout' }] };

export const session: WindowKind<'session'> = {
  grammar,
  of({ clause: { args }, unitMs, partition }) {
    const [max = 0, timeout = 0] = args;
    return { kind: 'session', unitMs, maxMs: max * unitMs, timeoutMs: timeout * unitMs, partition };
  },
  written: ({ unitMs, maxMs, timeoutMs }) => written('SESSIONWINDOW', unitMs ?? 0, maxMs, timeoutMs),
  plan: ({ kind, unitMs, maxMs, timeoutMs }) => ({ kind, unitMs, maxMs, timeoutMs }),
  span: ({ maxMs }) => `the open session (${2 * maxMs} ms at most)`,
};
