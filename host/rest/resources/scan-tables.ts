/** Routes of scan tables. */
import type { ScanTableService } from '../../services/rules/scan-tables.js';
import { gives, list, object, objectOfAnything, orMissing, ref, string } from '../route/contract.js';
import { defineResource, Reply } from '../route/route.js';

export const scanTables = defineResource<{ readonly scanTables: () => Promise<ScanTableService> }>({
  routes: [
    {
      method: 'GET',
      path: '/rules/:id/scantables',
      doc: 'Rows that the scan tables of a running rule hold',
      contract: orMissing(gives(ref('ScanTableRows'))),
      handle: async (request, { scanTables }) =>
        new Reply(await (await scanTables()).rows(request.id()), 200, 'application/json; charset=utf-8'),
    },
  ],
  schemas: {
    ScanTableRows: list(object({ emitter: string, content: objectOfAnything })),
  },
});
