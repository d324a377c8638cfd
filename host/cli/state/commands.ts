/**
 * `haumea state …`: takes the state of a rule from one data folder to another. What does the work is loaded when it is
 * called.
 */
import type { Command } from '../client/command.js';

const args = [{ name: 'rule' }, { name: 'file' }];
const flags = [{ name: 'data', value: 'DIR', doc: 'data folder of the server (default ./data)' }];

export const stateCommands: readonly Command[] = [
  {
    path: 'state export',
    args,
    flags,
    doc: 'write the newest checkpoint of a rule to a file',
    run: async (call) => (await import('./move.js')).exportState(call),
  },
  {
    path: 'state import',
    args,
    flags,
    doc: 'give a rule that is stopped or not there yet the state of a file; it begins with that at its next start',
    run: async (call) => (await import('./move.js')).importState(call),
  },
];
