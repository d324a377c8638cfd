import { defineRoutes, Reply } from '../route/route.js';

export const rules = defineRoutes(
  {
    method: 'POST',
    path: '/rules',
    doc: 'Creates a rule and starts it',
    status: 201,
    handle: (request, { rules }) => rules.create(request.json(), request),
  },
  {
    method: 'GET',
    path: '/rules',
    doc: 'All rules with their states',
    handle: (request, { rules }) => (request.flag('trouble') ? rules.listWithTrouble() : rules.list()),
  },
  {
    method: 'POST',
    path: '/rules/validate',
    doc: 'Checks a rule without creating it',
    handle: async (request, { rules }) => {
      const found = await rules.validate(request.json(), request);
      return found.valid ? found : new Reply(found.reason, 422);
    },
  },
  {
    method: 'GET',
    path: '/rules/status/all',
    doc: 'States and failures of all rules',
    handle: (_request, { rules }) => rules.statusOfAll(),
  },
  { method: 'GET', path: '/rules/:id', doc: 'The definition', handle: (request, { rules }) => rules.get(request.id()) },
  {
    method: 'PUT',
    path: '/rules/:id',
    doc: 'Replaces the rule, or creates it; a dry run says what that would do to its state',
    handle: (request, { rules }) =>
      request.strictFlag('dryRun')
        ? rules.preview(request.id(), request.json(), request)
        : rules.replace(request.id(), request.json(), request),
  },
  {
    method: 'DELETE',
    path: '/rules/:id',
    doc: 'Drops the rule',
    handle: (request, { rules }) => rules.drop(request.id()),
  },
  {
    method: 'POST',
    path: '/rules/:id/start',
    doc: 'Starts',
    handle: (request, { rules }) => rules.start(request.id(), request),
  },
  { method: 'POST', path: '/rules/:id/stop', doc: 'Stops', handle: (request, { rules }) => rules.stop(request.id()) },
  {
    method: 'POST',
    path: '/rules/:id/restart',
    doc: 'Restarts',
    handle: (request, { rules }) => rules.restart(request.id(), request),
  },
  {
    method: 'GET',
    path: '/rules/:id/status',
    doc: 'State and metrics',
    handle: (request, { rules }) => rules.status(request.id()),
  },
  {
    method: 'GET',
    path: '/v2/rules/:id/status',
    doc: 'As /rules/:id/status',
    handle: (request, { rules }) => rules.status(request.id()),
  },
  {
    method: 'PUT',
    path: '/rules/:id/reset_state',
    doc: 'Moves a source to another place of its input',
    handle: (request, { rules }) => rules.resetState(request.id(), request.object()),
  },
  {
    method: 'GET',
    path: '/rules/:id/topo',
    doc: 'Operators and edges',
    handle: (request, { rules }) => rules.topology(request.id()),
  },
  {
    method: 'GET',
    path: '/rules/:id/explain',
    doc: 'The plan',
    handle: (request, { rules }) => rules.explain(request.id(), request),
  },
  {
    method: 'GET',
    path: '/rules/:id/schema',
    doc: 'Output columns',
    handle: (request, { rules }) => rules.outputSchema(request.id(), request),
  },
);
