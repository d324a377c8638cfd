/** Routes of rule tags. */
import type { RuleTagService } from '../../services/rules/tags.js';
import { boolean, keptEmpty, list, object, orMissing, ref, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const ruleTags = defineResource<{ readonly ruleTags: () => Promise<RuleTagService> }>({
  routes: [
    {
      method: 'GET',
      path: '/rules/tags/match',
      doc: 'Rules that have all of the tags',
      contract: { request: ref('Tags'), requestIsOptional: true, answers: { 200: ref('TagMatch') } },
      handle: async (request, { ruleTags }) => (await ruleTags()).match(request.json()),
    },
    {
      method: 'POST',
      path: '/rules/bulkstart',
      doc: 'Starts all rules that have the tags',
      contract: { request: ref('Tags'), answers: { 200: ref('BulkResults') } },
      handle: async (request, { ruleTags }) => (await ruleTags()).start(request.json()),
    },
    {
      method: 'POST',
      path: '/rules/bulkstop',
      doc: 'Stops all rules that have the tags',
      contract: { request: ref('Tags'), answers: { 200: ref('BulkResults') } },
      handle: async (request, { ruleTags }) => (await ruleTags()).stop(request.json()),
    },
    {
      method: 'PUT',
      path: '/rules/:id/tags',
      doc: 'Replaces the tags of a rule',
      contract: orMissing({ request: ref('Tags'), ...keptEmpty }),
      handle: async (request, { ruleTags }) => (await ruleTags()).set(request.id(), request.json()),
    },
    {
      method: 'PATCH',
      path: '/rules/:id/tags',
      doc: 'Adds tags to a rule',
      contract: orMissing({ request: ref('Tags'), ...keptEmpty }),
      handle: async (request, { ruleTags }) => (await ruleTags()).add(request.id(), request.json()),
    },
    {
      method: 'DELETE',
      path: '/rules/:id/tags',
      doc: 'Removes tags from a rule',
      contract: orMissing({ request: ref('Tags'), ...keptEmpty }),
      handle: async (request, { ruleTags }) => (await ruleTags()).remove(request.id(), request.json()),
    },
  ],
  schemas: {
    Tags: object({ 'tags?': list(string), 'keys?': list(string) }, true),
    TagMatch: object({ 'rules?': list(string) }),
    BulkResults: list(object({ ruleId: string, success: boolean, 'error?': string })),
  },
});
