import { defineRoutes } from '../route/route.js';

export const metadata = defineRoutes(
  {
    method: 'GET',
    path: '/metadata/sources',
    doc: 'Sources; with kind=lookup those that tables can look up in',
    handle: async (request, { metadata }) => (await metadata()).list('sources', request.query.kind),
  },
  {
    method: 'GET',
    path: '/metadata/sinks',
    doc: 'Sinks',
    handle: async (_request, { metadata }) => (await metadata()).list('sinks'),
  },
  {
    method: 'GET',
    path: '/metadata/connections',
    doc: 'Types of connections',
    handle: async (_request, { metadata }) => (await metadata()).list('connections'),
  },
  {
    method: 'GET',
    path: '/metadata/functions',
    doc: 'Built-in functions by category',
    handle: async (_request, { metadata }) => (await metadata()).functions(),
  },
  {
    method: 'GET',
    path: '/metadata/operators',
    doc: 'Operators of graph rules',
    handle: async (_request, { metadata }) => (await metadata()).operators(),
  },
  {
    method: 'GET',
    path: '/metadata/resources',
    doc: 'Configuration keys that clients have registered',
    handle: async (_request, { metadata }) => (await metadata()).resources(),
  },
  {
    method: 'GET',
    path: '/metadata/resource',
    doc: 'Configuration keys of all sources with their properties; with sourceType those marked with it',
    handle: async (request, { metadata }) => (await metadata()).resource(request.query.sourceType),
  },
  {
    method: 'GET',
    path: '/metadata/sources/:name',
    doc: 'Form of the properties of a source',
    handle: async (request, { metadata }) => (await metadata()).source(request.id('name')),
  },
  {
    method: 'GET',
    path: '/metadata/sinks/:name',
    doc: 'Form of the properties of a sink',
    handle: async (request, { metadata }) => (await metadata()).sink(request.id('name')),
  },
  {
    method: 'GET',
    path: '/metadata/connections/:name',
    doc: 'Form of the properties of a connection',
    handle: async (request, { metadata }) => (await metadata()).connection(request.id('name')),
  },
);
