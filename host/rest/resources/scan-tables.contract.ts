/** What the routes of scan tables take and give. */
import { defineContracts, gives, list, object, objectOfAnything, orMissing, ref, string } from '../route/contract.js';

export const scanTables = defineContracts(
  {
    'GET /rules/:id/scantables': orMissing(gives(ref('ScanTableRows'))),
  },
  {
    ScanTableRows: list(object({ emitter: string, content: objectOfAnything })),
  },
);
