/** Routes of the rows that a running rule holds: those of its scan tables, and those at which it failed. */
import type { FailedRowService } from '../../services/rules/failed-rows.js';
import type { ScanTableService } from '../../services/rules/scan-tables.js';
import { gives, integer, list, object, objectOfAnything, orMissing, ref, string } from '../route/contract.js';
import { defineResource, Reply } from '../route/route.js';

interface Services {
  readonly scanTables: () => Promise<ScanTableService>;
  readonly failedRows: () => Promise<FailedRowService>;
}

const json = 'application/json; charset=utf-8';

export const ruleRows = defineResource<Services>({
  routes: [
    {
      method: 'GET',
      path: '/rules/:id/scantables',
      doc: 'Rows that the scan tables of a running rule hold',
      contract: orMissing(gives(ref('ScanTableRows'))),
      handle: async (request, { scanTables }) => new Reply(await (await scanTables()).rows(request.id()), 200, json),
    },
    {
      method: 'GET',
      path: '/rules/:id/errors',
      doc: 'The last failures of a running rule, the newest first, each with the row that failed where it is known',
      contract: orMissing(gives(ref('FailedRows'))),
      handle: async (request, { failedRows }) => new Reply(await (await failedRows()).list(request.id()), 200, json),
    },
  ],
  schemas: {
    ScanTableRows: list(object({ emitter: string, content: objectOfAnything })),
    FailedRows: list(object({ operator: string, at: integer, reason: string, 'row?': objectOfAnything })),
  },
});
