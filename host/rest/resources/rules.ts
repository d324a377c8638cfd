/** Routes of rules. */
import type { RuleService } from '../../services/rules/rules.js';
import { changed, done, gives, keptDone, made, objectOfAnything, orMissing, ref, text } from '../route/contract.js';
import { defineResource, Reply } from '../route/route.js';

export const rules = defineResource<{ readonly rules: RuleService }>({
  routes: [
    {
      method: 'POST',
      path: '/rules',
      doc: 'Creates a rule and starts it',
      status: 201,
      contract: made(ref('Rule')),
      handle: (request, { rules }) => rules.create(request.json(), request),
    },
    {
      method: 'GET',
      path: '/rules',
      doc: 'All rules with their states',
      contract: {
        ...gives(ref('RuleList'), {
          trouble: 'true adds what is wrong with each rule now',
          limit: 'at most so many rules, by default all; they are ordered by id',
          after: 'an id: only rules behind it, so that the last id of a page gives the next one',
        }),
        errors: [400],
      },
      handle: (request, { rules }) => {
        const page = { limit: request.count('limit'), after: request.query.after };
        return request.flag('trouble') ? rules.listWithTrouble(page) : rules.list(page);
      },
    },
    {
      method: 'POST',
      path: '/rules/validate',
      doc: 'Checks a rule without creating it',
      reads: () => true,
      contract: { request: ref('Rule'), answers: { 200: ref('Validation'), 422: text } },
      handle: async (request, { rules }) => {
        const found = await rules.validate(request.json(), request);
        return found.valid ? found : new Reply(found.reason, 422);
      },
    },
    {
      method: 'GET',
      path: '/rules/status/all',
      doc: 'States and failures of all rules',
      contract: gives(ref('RuleStates')),
      handle: (_request, { rules }) => rules.statusOfAll(),
    },
    {
      method: 'GET',
      path: '/rules/:id',
      doc: 'The definition',
      contract: orMissing(gives(ref('Rule'))),
      handle: (request, { rules }) => rules.get(request.id()),
    },
    {
      method: 'PUT',
      path: '/rules/:id',
      doc: 'Replaces the rule, or creates it; a dry run says what that would do to its state',
      reads: (request) => request.strictFlag('dryRun'),
      contract: {
        ...changed(ref('Rule')),
        query: { dryRun: 'true changes nothing and answers with what would be kept, lost and begin empty' },
        answers: { 200: [text, ref('UpdatePreview')] },
      },
      handle: (request, { rules }) =>
        request.strictFlag('dryRun')
          ? rules.preview(request.id(), request.json(), request)
          : rules.replace(request.id(), request.json(), request),
    },
    {
      method: 'DELETE',
      path: '/rules/:id',
      doc: 'Drops the rule',
      contract: keptDone,
      handle: (request, { rules }) => rules.drop(request.id()),
    },
    {
      method: 'POST',
      path: '/rules/:id/start',
      doc: 'Starts',
      contract: orMissing(keptDone),
      handle: (request, { rules }) => rules.start(request.id(), request),
    },
    {
      method: 'POST',
      path: '/rules/:id/stop',
      doc: 'Stops',
      contract: orMissing(keptDone),
      handle: (request, { rules }) => rules.stop(request.id()),
    },
    {
      method: 'POST',
      path: '/rules/:id/restart',
      doc: 'Restarts',
      contract: orMissing(keptDone),
      handle: (request, { rules }) => rules.restart(request.id(), request),
    },
    {
      method: 'GET',
      path: '/rules/:id/status',
      doc: 'State and metrics',
      contract: orMissing(gives(ref('RuleStatus'))),
      handle: (request, { rules }) => rules.status(request.id()),
    },
    {
      method: 'GET',
      path: '/v2/rules/:id/status',
      doc: 'As /rules/:id/status',
      contract: orMissing(gives(ref('RuleStatus'))),
      handle: (request, { rules }) => rules.status(request.id()),
    },
    {
      method: 'PUT',
      path: '/rules/:id/reset_state',
      doc: 'Moves a source to another place of its input',
      contract: orMissing({ request: objectOfAnything, ...done }),
      handle: (request, { rules }) => rules.resetState(request.id(), request.object()),
    },
    {
      method: 'GET',
      path: '/rules/:id/topo',
      doc: 'Operators and edges',
      contract: orMissing(gives(ref('Topology'))),
      handle: (request, { rules }) => rules.topology(request.id()),
    },
    {
      method: 'GET',
      path: '/rules/:id/explain',
      doc: 'The plan',
      contract: orMissing(gives(text)),
      handle: (request, { rules }) => rules.explain(request.id(), request),
    },
    {
      method: 'GET',
      path: '/rules/:id/schema',
      doc: 'Output columns',
      contract: orMissing(gives(ref('OutputSchema'))),
      handle: (request, { rules }) => rules.outputSchema(request.id(), request),
    },
  ],
  schemas: async () => (await import('../schemas/rules.js')).schemas,
});
