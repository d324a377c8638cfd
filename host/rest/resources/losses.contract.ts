/** What the routes of losses take and give. */
import { defineContracts, gives, integer, keptDone, list, object, orMissing, ref, string } from '../route/contract.js';

export const losses = defineContracts(
  {
    'GET /losses': gives(ref('Losses')),
    'DELETE /losses/:id': orMissing(keptDone),
  },
  {
    Losses: list(
      object({
        id: string,
        time: integer,
        resource: string,
        name: string,
        what: string,
        reason: string,
        text: string,
        'messages?': integer,
        'file?': string,
      }),
    ),
  },
);
