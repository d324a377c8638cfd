import { defineRoutes } from '../route/route.js';

export const traces = defineRoutes(
  {
    method: 'POST',
    path: '/rules/:id/trace/start',
    doc: 'Traces the input of a rule: all of it, or what carries the context of a trace',
    handle: (request, { traces }) => traces.start(request.id(), request.object(), request),
  },
  {
    method: 'POST',
    path: '/rules/:id/trace/stop',
    doc: 'Ends the tracing of a rule',
    handle: (request, { traces }) => traces.stop(request.id()),
  },
  {
    method: 'GET',
    path: '/trace/rule/:id',
    doc: 'Ids of the traces of a rule',
    handle: (request, { traces }) => traces.idsOf(request.id(), request.query.limit),
  },
  {
    method: 'GET',
    path: '/trace/:id',
    doc: 'A trace as a tree of spans',
    handle: (request, { traces }) => traces.get(request.id()),
  },
  {
    method: 'POST',
    path: '/tracer',
    doc: 'Sends traces to a collector, or no longer',
    handle: (request, { traces }) => traces.collect(request.object()),
  },
);
