import { defineRoutes } from '../route/route.js';

export const services = defineRoutes(
  {
    method: 'POST',
    path: '/services',
    doc: 'Registers an external service',
    status: 201,
    handle: (request, { externalServices }) => externalServices.create(request.object()),
  },
  {
    method: 'GET',
    path: '/services',
    doc: 'Names',
    handle: (_request, { externalServices }) => externalServices.names(),
  },
  {
    method: 'GET',
    path: '/services/functions',
    doc: 'Functions of all services',
    handle: (_request, { externalServices }) => externalServices.listFunctions(),
  },
  {
    method: 'GET',
    path: '/services/functions/:name',
    doc: 'One function',
    handle: (request, { externalServices }) => externalServices.describeFunction(request.id('name')),
  },
  {
    method: 'GET',
    path: '/services/:name',
    doc: 'Interfaces of a service',
    handle: (request, { externalServices }) => externalServices.describe(request.id('name')),
  },
  {
    method: 'PUT',
    path: '/services/:name',
    doc: 'Replaces a service',
    handle: (request, { externalServices }) => externalServices.replace(request.id('name'), request.object()),
  },
  {
    method: 'DELETE',
    path: '/services/:name',
    doc: 'Deletes a service and its functions',
    handle: (request, { externalServices }) => externalServices.delete(request.id('name')),
  },
);
