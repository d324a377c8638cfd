/** What the routes of rule tags take and give. */
import { boolean, defineContracts, keptEmpty, list, object, orMissing, ref, string } from '../route/contract.js';

export const ruleTags = defineContracts(
  {
    'PUT /rules/:id/tags': orMissing({ request: ref('Tags'), ...keptEmpty }),
    'PATCH /rules/:id/tags': orMissing({ request: ref('Tags'), ...keptEmpty }),
    'DELETE /rules/:id/tags': orMissing({ request: ref('Tags'), ...keptEmpty }),
    'GET /rules/tags/match': { request: ref('Tags'), requestIsOptional: true, answers: { 200: ref('TagMatch') } },
    'POST /rules/bulkstart': { request: ref('Tags'), answers: { 200: ref('BulkResults') } },
    'POST /rules/bulkstop': { request: ref('Tags'), answers: { 200: ref('BulkResults') } },
  },
  {
    Tags: object({ 'tags?': list(string), 'keys?': list(string) }, true),
    TagMatch: object({ 'rules?': list(string) }),
    BulkResults: list(object({ ruleId: string, success: boolean, 'error?': string })),
  },
);
