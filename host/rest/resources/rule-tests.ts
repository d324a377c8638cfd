import { HaumeaError, isLater } from '../../base/errors.js';
import { defineRoutes, Reply } from '../route/route.js';

export const ruleTests = defineRoutes(
  {
    method: 'POST',
    path: '/ruletest',
    doc: 'Creates a test rule and opens its event stream',
    handle: async (request, { ruleTests }) => {
      try {
        return new Reply(await (await ruleTests()).create(request.object(), request), 200, 'text/plain; charset=utf-8');
      } catch (error) {
        if (error instanceof HaumeaError && !isLater(error)) return new Reply({ msg: error.message }, 400);
        throw error;
      }
    },
  },
  {
    method: 'POST',
    path: '/ruletest/:id/start',
    doc: 'Starts a test rule',
    handle: async (request, { ruleTests }) => (await ruleTests()).start(request.id()),
  },
  {
    method: 'DELETE',
    path: '/ruletest/:id',
    doc: 'Ends a test rule and its event stream',
    handle: async (request, { ruleTests }) => (await ruleTests()).remove(request.id()),
  },
  {
    method: 'POST',
    path: '/tickets',
    doc: 'Makes a ticket that opens one event stream, for browsers: `?ticket=` in its address stands for the token',
    status: 201,
    gate: 'none',
    handle: (_request, { tickets }) => tickets.issue(),
  },
);
