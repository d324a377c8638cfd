/** Routes of traces. */
import type { TraceService } from '../../services/observe/traces.js';
import {
  done,
  empty,
  gives,
  list,
  names,
  object,
  objectOfAnything,
  orMissing,
  orNull,
  ref,
  string,
} from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const traces = defineResource<{ readonly traces: () => Promise<TraceService> }>({
  routes: [
    {
      method: 'POST',
      path: '/rules/:id/trace/start',
      doc: 'Traces the input of a rule: all of it, or what carries the context of a trace',
      contract: { request: objectOfAnything, ...empty },
      handle: async (request, { traces }) => (await traces()).start(request.id(), request.object(), request),
    },
    {
      method: 'POST',
      path: '/rules/:id/trace/stop',
      doc: 'Ends the tracing of a rule',
      contract: empty,
      handle: async (request, { traces }) => (await traces()).stop(request.id()),
    },
    {
      method: 'GET',
      path: '/trace/rule/:id',
      doc: 'Ids of the traces of a rule',
      contract: gives(orNull(names), { limit: 'most ids given' }),
      handle: async (request, { traces }) => (await traces()).idsOf(request.id(), request.query.limit),
    },
    {
      method: 'GET',
      path: '/trace/:id',
      doc: 'A trace as a tree of spans',
      contract: orMissing(gives(ref('Span'))),
      handle: async (request, { traces }) => (await traces()).get(request.id()),
    },
    {
      method: 'POST',
      path: '/tracer',
      doc: 'Sends traces to a collector, or no longer',
      contract: { request: objectOfAnything, ...done },
      handle: async (request, { traces }) => (await traces()).collect(request.object()),
    },
  ],
  schemas: async () => (await import('../schemas/traces.js')).schemas,
});
