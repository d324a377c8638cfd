/** Routes of connections. */
import type { ConnectionService } from '../../services/sources/connections.js';
import {
  boolean,
  type Contract,
  changed,
  empty,
  gives,
  integer,
  keptDone,
  list,
  made,
  object,
  objectOfAnything,
  orNull,
  ref,
  string,
} from '../route/contract.js';
import { defineResource } from '../route/route.js';

const check: Contract = { request: ref('Properties'), ...empty };

export const connections = defineResource<{ readonly connections: ConnectionService }>({
  routes: [
    {
      method: 'POST',
      path: '/connections',
      doc: 'Registers a connection',
      status: 201,
      contract: made(ref('ConnectionDefinition')),
      handle: (request, { connections }) => connections.create(request.object()),
    },
    {
      method: 'GET',
      path: '/connections',
      doc: 'All connections with their states',
      contract: gives(list(ref('Connection')), { forceAll: 'true adds those made by rules' }),
      handle: (request, { connections }) => connections.list(request.flag('forceAll')),
    },
    {
      method: 'GET',
      path: '/connections/:id',
      doc: 'One connection with its state',
      contract: gives(ref('Connection')),
      handle: (request, { connections }) => connections.describe(request.id()),
    },
    {
      method: 'PUT',
      path: '/connections/:id',
      doc: 'Replaces a connection that no running rule uses',
      contract: changed(ref('ConnectionDefinition')),
      handle: (request, { connections }) => connections.replace(request.id(), request.object()),
    },
    {
      method: 'DELETE',
      path: '/connections/:id',
      doc: 'Deletes a connection that no running rule uses',
      contract: keptDone,
      handle: (request, { connections }) => connections.delete(request.id()),
    },
    {
      method: 'POST',
      path: '/metadata/sinks/connection/:name',
      doc: 'Tells whether a destination answers',
      gate: 'none',
      contract: check,
      handle: (request, { connections }) => connections.check('sink', request.id('name'), request.object()),
    },
    {
      method: 'POST',
      path: '/metadata/sources/connection/:name',
      doc: 'Tells whether a source answers',
      gate: 'none',
      contract: check,
      handle: (request, { connections }) => connections.check('source', request.id('name'), request.object()),
    },
    {
      method: 'POST',
      path: '/metadata/lookups/connection/:name',
      doc: 'Tells whether a source for lookups answers',
      gate: 'none',
      contract: check,
      handle: (request, { connections }) => connections.check('source', request.id('name'), request.object()),
    },
  ],
  schemas: async () => (await import('../schemas/connections.js')).schemas,
});
