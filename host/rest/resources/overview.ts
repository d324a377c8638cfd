/** Route of the server at a glance. */
import type { OverviewService } from '../../services/observe/overview.js';
import { gives, integer, list, map, number, object, ref, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const overview = defineResource<{ readonly overview: () => Promise<OverviewService> }>({
  routes: [
    {
      method: 'GET',
      path: '/overview',
      doc: 'The server at a glance: rules by state, messages, what is in trouble; as the console shows it',
      contract: gives(ref('Overview')),
      handle: async (_request, { overview }) => (await overview()).look(),
    },
  ],
  schemas: {
    Overview: object({
      version: string,
      os: string,
      arch: string,
      upTimeSeconds: integer,
      time: integer,
      cpuMs: integer,
      memoryUsed: integer,
      memoryTotal: integer,
      rules: map(integer),
      messagesIn: number,
      messagesOut: number,
      messagesFailed: number,
      troubled: integer,
      trouble: list(object({ id: string, status: string, trouble: list(string) })),
      busiest: list(object({ id: string, cpuMs: number, memory: number })),
      connections: map(integer),
      losses: integer,
    }),
  },
});
