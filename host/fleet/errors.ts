/** Refusals of what is asked of many servers. */
import { errorTable } from '../base/errors.js';

export const fleetErrors = errorTable('fleet', {
  noList: [
    'notFound',
    (file: string) => `there is no list of servers: ${file} names them, see docs/fleet.md for what it has`,
  ],
  badList: ['config', (file: string, reason: string) => `${file}: ${reason}`],
  noGroup: ['general', (name: string, known: string) => `no server is in the group ${name}; there are ${known}`],
  noServer: ['general', (name: string, known: string) => `no server is called ${name}; there are ${known}`],
  nobody: ['general', 'the list has no servers'],
  badRuleset: ['general', (reason: string) => `invalid ruleset: ${reason}`],
});
