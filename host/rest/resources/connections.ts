import { defineRoutes } from '../route/route.js';

export const connections = defineRoutes(
  {
    method: 'POST',
    path: '/connections',
    doc: 'Registers a connection',
    status: 201,
    handle: (request, { connections }) => connections.create(request.object()),
  },
  {
    method: 'GET',
    path: '/connections',
    doc: 'All connections with their states',
    handle: (request, { connections }) => connections.list(request.flag('forceAll')),
  },
  {
    method: 'GET',
    path: '/connections/:id',
    doc: 'One connection with its state',
    handle: (request, { connections }) => connections.describe(request.id()),
  },
  {
    method: 'PUT',
    path: '/connections/:id',
    doc: 'Replaces a connection that no running rule uses',
    handle: (request, { connections }) => connections.replace(request.id(), request.object()),
  },
  {
    method: 'DELETE',
    path: '/connections/:id',
    doc: 'Deletes a connection that no running rule uses',
    handle: (request, { connections }) => connections.delete(request.id()),
  },
  {
    method: 'POST',
    path: '/metadata/sinks/connection/:name',
    doc: 'Tells whether a destination answers',
    gate: 'none',
    handle: (request, { connections }) => connections.check('sink', request.id('name'), request.object()),
  },
  {
    method: 'POST',
    path: '/metadata/sources/connection/:name',
    doc: 'Tells whether a source answers',
    gate: 'none',
    handle: (request, { connections }) => connections.check('source', request.id('name'), request.object()),
  },
  {
    method: 'POST',
    path: '/metadata/lookups/connection/:name',
    doc: 'Tells whether a source for lookups answers',
    gate: 'none',
    handle: (request, { connections }) => connections.check('source', request.id('name'), request.object()),
  },
);
