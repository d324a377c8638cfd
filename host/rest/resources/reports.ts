/** Routes of the reports of benchmarks and soaks. */
import type { ReportService } from '../../services/observe/reports.js';
import { gives, integer, list, object, objectOfAnything, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

const item = { name: string, kind: string, at: integer, bytes: integer };

export const reports = defineResource<{ readonly reports: () => Promise<ReportService> }>({
  routes: [
    {
      method: 'GET',
      path: '/reports',
      doc: 'Reports of `haumea bench` in the folder `reports` of the data, the newest first',
      contract: gives(list(object(item))),
      handle: async (_request, { reports }) => (await reports()).list(),
    },
    {
      method: 'GET',
      path: '/reports/:name',
      doc: 'A report with the figures over its time, where they were kept',
      contract: {
        ...gives(object({ ...item, report: objectOfAnything, samples: list(objectOfAnything) })),
        errors: [404],
      },
      handle: async (request, { reports }) => (await reports()).get(request.params.name ?? ''),
    },
  ],
});
