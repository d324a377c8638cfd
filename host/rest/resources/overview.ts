/** Route of the server at a glance. */
import type { OverviewService } from '../../services/observe/overview.js';
import { gives, ref } from '../route/contract.js';
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
  schemas: async () => (await import('../schemas/overview.js')).schemas,
});
