/** Routes of the earlier texts of rules. */
import type { RuleVersionService } from '../../services/rules/versions.js';
import { gives, integer, list, object, orMissing, ref } from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const ruleVersions = defineResource<{ readonly ruleVersions: () => Promise<RuleVersionService> }>({
  routes: [
    {
      method: 'GET',
      path: '/rules/:id/versions',
      doc: 'The last 20 texts before updates of a rule, the newest first',
      contract: orMissing(gives(list(object({ number: integer, until: integer })))),
      handle: async (request, { ruleVersions }) => (await ruleVersions()).list(request.id()),
    },
    {
      method: 'GET',
      path: '/rules/:id/versions/:number',
      doc: 'A text of a rule before an update',
      contract: orMissing(gives(object({ number: integer, until: integer, rule: ref('Rule') }))),
      handle: async (request, { ruleVersions }) =>
        (await ruleVersions()).get(request.id(), request.params.number ?? ''),
    },
  ],
});
