/** Routes of losses. */
import type { LossService } from '../../services/server/losses.js';
import { gives, integer, keptDone, list, object, orMissing, ref, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const losses = defineResource<{ readonly losses: LossService }>({
  routes: [
    {
      method: 'GET',
      path: '/losses',
      doc: 'What the server has lost and nobody has acknowledged',
      contract: gives(ref('Losses')),
      handle: (_request, { losses }) => losses.list(),
    },
    {
      method: 'DELETE',
      path: '/losses/:id',
      doc: 'Acknowledges one loss',
      contract: orMissing(keptDone),
      handle: (request, { losses }) => losses.acknowledge(request.id()),
    },
  ],
  schemas: {
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
});
