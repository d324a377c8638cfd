/** Routes of the rows at which rules failed. */
import type { FailedRowService } from '../../services/rules/failed-rows.js';
import { gives, integer, list, object, objectOfAnything, orMissing, ref, string } from '../route/contract.js';
import { defineResource, Reply } from '../route/route.js';

export const failedRows = defineResource<{ readonly failedRows: () => Promise<FailedRowService> }>({
  routes: [
    {
      method: 'GET',
      path: '/rules/:id/errors',
      doc: 'The last failures of a running rule, the newest first, each with the row that failed where it is known',
      contract: orMissing(gives(ref('FailedRows'))),
      handle: async (request, { failedRows }) =>
        new Reply(await (await failedRows()).list(request.id()), 200, 'application/json; charset=utf-8'),
    },
  ],
  schemas: {
    FailedRows: list(object({ operator: string, at: integer, reason: string, 'row?': objectOfAnything })),
  },
});
