/** Routes of external services. */
import type { ExternalServices } from '../../services/external/services.js';
import {
  changed,
  gives,
  keptDone,
  list,
  made,
  map,
  names,
  objectOfAnything,
  orMissing,
  ref,
} from '../route/contract.js';
import { defineResource } from '../route/route.js';

export const services = defineResource<{ readonly externalServices: ExternalServices }>({
  routes: [
    {
      method: 'POST',
      path: '/services',
      doc: 'Registers an external service',
      status: 201,
      contract: made(ref('Package')),
      handle: (request, { externalServices }) => externalServices.create(request.object()),
    },
    {
      method: 'GET',
      path: '/services',
      doc: 'Names',
      contract: gives(names),
      handle: (_request, { externalServices }) => externalServices.names(),
    },
    {
      method: 'GET',
      path: '/services/functions',
      doc: 'Functions of all services',
      contract: gives(list(ref('ServiceFunction'))),
      handle: (_request, { externalServices }) => externalServices.listFunctions(),
    },
    {
      method: 'GET',
      path: '/services/functions/:name',
      doc: 'One function',
      contract: orMissing(gives(ref('ServiceFunction'))),
      handle: (request, { externalServices }) => externalServices.describeFunction(request.id('name')),
    },
    {
      method: 'GET',
      path: '/services/:name',
      doc: 'Interfaces of a service',
      contract: orMissing(gives(objectOfAnything)),
      handle: (request, { externalServices }) => externalServices.describe(request.id('name')),
    },
    {
      method: 'GET',
      path: '/services/:name/status',
      doc: 'Calls of each interface since the start',
      contract: orMissing(gives(map(ref('ServiceStatus')))),
      handle: (request, { externalServices }) => externalServices.status(request.id('name')),
    },
    {
      method: 'PUT',
      path: '/services/:name',
      doc: 'Replaces a service',
      contract: orMissing(changed(ref('Package'))),
      handle: (request, { externalServices }) => externalServices.replace(request.id('name'), request.object()),
    },
    {
      method: 'DELETE',
      path: '/services/:name',
      doc: 'Deletes a service and its functions',
      contract: orMissing(keptDone),
      handle: (request, { externalServices }) => externalServices.delete(request.id('name')),
    },
  ],
  schemas: async () => (await import('../schemas/services.js')).schemas,
});
