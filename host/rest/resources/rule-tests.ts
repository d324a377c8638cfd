/** Routes of rule tests. */

import type { ServerResponse } from 'node:http';
import { HaumeaError, isLater } from '../../base/errors.js';
import { ruleErrors } from '../../services/errors/rules.js';
import type { RuleTestService } from '../../services/rules/tests.js';
import type { TicketService } from '../guard/tickets.js';
import {
  done,
  gives,
  integer,
  Media,
  object,
  objectOfAnything,
  orMissing,
  ref,
  string,
  text,
} from '../route/contract.js';
import { defineResource, Reply } from '../route/route.js';

/** The events of a test. */
interface Events {
  open(response: ServerResponse): void;
}

export const ruleTests = defineResource<{
  readonly ruleTests: () => Promise<RuleTestService>;
  readonly testEvents: () => Promise<{ stream(id: string): Events | undefined }>;
  readonly tickets: TicketService;
}>({
  routes: [
    {
      method: 'POST',
      path: '/ruletest',
      doc: 'Creates a test rule and opens its event stream',
      contract: {
        request: ref('RuleTest'),
        answers: { 200: new Media(text, ref('RuleTestCreated')), 400: ref('RuleTestRefused') },
      },
      handle: async (request, { ruleTests }) => {
        try {
          return new Reply(
            await (await ruleTests()).create(request.object(), request),
            200,
            'text/plain; charset=utf-8',
          );
        } catch (error) {
          if (error instanceof HaumeaError && !isLater(error)) return new Reply({ msg: error.message }, 400);
          throw error;
        }
      },
    },
    {
      method: 'GET',
      path: '/ruletest/:id/events',
      doc: 'The event stream of a test rule, as the data server has it; it ends after five minutes, ask again then',
      contract: orMissing(gives('text/event-stream')),
      handle: async (request, { testEvents }) => {
        const events = (await testEvents()).stream(request.id());
        if (events === undefined) throw ruleErrors.testMissing(request.id());
        return request.stream((response) => events.open(response));
      },
    },
    {
      method: 'POST',
      path: '/ruletest/:id/start',
      doc: 'Starts a test rule',
      contract: orMissing(done),
      handle: async (request, { ruleTests }) => (await ruleTests()).start(request.id()),
    },
    {
      method: 'DELETE',
      path: '/ruletest/:id',
      doc: 'Ends a test rule and its event stream',
      contract: done,
      handle: async (request, { ruleTests }) => (await ruleTests()).remove(request.id()),
    },
    {
      method: 'POST',
      path: '/tickets',
      doc: 'Makes a ticket that opens one event stream, for browsers: `?ticket=` in its address stands for the token',
      status: 201,
      gate: 'none',
      contract: { answers: { 201: object({ ticket: string, expiresIn: integer }) } },
      reads: () => true,
      handle: ({ mayChange }, { tickets }) => tickets.issue(mayChange),
    },
  ],
  schemas: async () => (await import('../schemas/rule-tests.js')).schemas,
});
