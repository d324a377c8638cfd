/** What the routes of batches take and give. */
import { defineContracts, integer, list, object, ref, string } from '../route/contract.js';

export const batch = defineContracts(
  {
    'POST /batch/req': { request: ref('BatchRequests'), answers: { 200: ref('BatchAnswers') } },
  },
  {
    BatchRequests: list(object({ method: string, path: string, 'body?': string }, true)),
    BatchAnswers: list(object({ code: integer, 'response?': string, 'error?': string })),
  },
);
