/** Routes of cpu usage. */
import type { CpuUsageService } from '../../services/observe/cpu-usage.js';
import { either, gives, integer, map, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const cpuUsage = defineResource<{ readonly cpuUsage: () => Promise<CpuUsageService> }>({
  routes: [
    {
      method: 'GET',
      path: '/rules/usage/cpu',
      doc: 'CPU time of each running rule in the last 30 s, ms',
      contract: gives(either(map(integer), string)),
      handle: async (_request, { cpuUsage }) => (await cpuUsage()).usage(),
    },
  ],
});
