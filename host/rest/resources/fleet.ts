/** Routes of other servers seen from this one. */
import type { FleetService } from '../../services/server/fleet.js';
import { gives, list, names, object, orMissing, ref, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

const groupQuery = { group: 'only the servers of this group' };
const server = { name: string, url: string, groups: names };

export const fleet = defineResource<{ readonly fleet: () => Promise<FleetService> }>({
  routes: [
    {
      method: 'GET',
      path: '/fleet',
      doc: 'The servers of the list, each at a glance or with the reason for which it tells nothing',
      contract: orMissing(gives(ref('FleetStatus'), groupQuery)),
      handle: async ({ query }, { fleet }) => (await fleet()).status(query.group),
    },
    {
      method: 'GET',
      path: '/fleet/servers',
      doc: 'The list of servers, without a question to any of them',
      contract: orMissing(gives(list(object(server)))),
      handle: async (_request, { fleet }) => (await fleet()).list(),
    },
    {
      method: 'GET',
      path: '/fleet/rules',
      doc: 'The rules of all servers of the list side by side: where each runs, and with which text',
      contract: orMissing(gives(ref('FleetRules'), groupQuery)),
      handle: async ({ query }, { fleet }) => (await fleet()).rules(query.group),
    },
    {
      method: 'GET',
      path: '/fleet/differences',
      doc: 'Definitions that not all servers of the list have, or not the same',
      contract: orMissing(gives(ref('FleetDifferences'), groupQuery)),
      handle: async ({ query }, { fleet }) => (await fleet()).differences(query.group),
    },
    {
      method: 'POST',
      path: '/fleet/push',
      doc: 'Gives a ruleset to servers of the list: to all of them or, where one refuses, to none',
      gate: 'none',
      contract: orMissing({
        query: { dryRun: 'true changes nothing and says what would be' },
        request: ref('FleetPush'),
        answers: { 200: ref('FleetPushed') },
      }),
      handle: async (request, { fleet }) => (await fleet()).push(request.object(), request.strictFlag('dryRun')),
    },
  ],
  schemas: async () => (await import('../schemas/fleet.js')).schemas,
});
