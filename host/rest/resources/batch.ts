/** Routes of batches. */
import type { BatchService } from '../batch.js';
import { integer, list, object, ref, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const batch = defineResource<{ readonly batch: () => Promise<BatchService> }>({
  routes: [
    {
      method: 'POST',
      path: '/batch/req',
      doc: 'Several requests in one',
      // The parts pass the gate themselves.
      gate: 'none',
      reads: () => true,
      contract: { request: ref('BatchRequests'), answers: { 200: ref('BatchAnswers') } },
      handle: async (request, { batch }) => (await batch()).run(request.json(), request.mayChange),
    },
  ],
  schemas: {
    BatchRequests: list(object({ method: string, path: string, 'body?': string }, true)),
    BatchAnswers: list(object({ code: integer, 'response?': string, 'error?': string })),
  },
});
