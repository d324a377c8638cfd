import { defineRoutes } from '../route.js';

export const ruleTests = defineRoutes(
  {
    method: 'POST',
    path: '/ruletest',
    doc: 'Creates a test rule and opens its event stream',
    handle: (request, { ruleTests }) => ruleTests.create(() => request.object()),
  },
  {
    method: 'POST',
    path: '/ruletest/:id/start',
    doc: 'Starts a test rule',
    handle: (request, { ruleTests }) => ruleTests.start(request.id()),
  },
  {
    method: 'DELETE',
    path: '/ruletest/:id',
    doc: 'Ends a test rule and its event stream',
    handle: (request, { ruleTests }) => ruleTests.remove(request.id()),
  },
);
