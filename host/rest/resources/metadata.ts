/** Routes of metadata. */
import type { MetadataService } from '../../services/metadata/metadata.js';
import { anything, either, gives, list, objectOfAnything, string } from '../route/contract.js';
import { defineResource } from '../route/route.js';

const forms = gives(list(either(string, objectOfAnything)), { kind: 'lookup lists those for lookups' });

export const metadata = defineResource<{ readonly metadata: () => Promise<MetadataService> }>({
  routes: [
    {
      method: 'GET',
      path: '/metadata/sources',
      doc: 'Sources; with kind=lookup those that tables can look up in',
      contract: forms,
      handle: async (request, { metadata }) => (await metadata()).list('sources', request.query.kind),
    },
    {
      method: 'GET',
      path: '/metadata/sinks',
      doc: 'Sinks',
      contract: forms,
      handle: async (_request, { metadata }) => (await metadata()).list('sinks'),
    },
    {
      method: 'GET',
      path: '/metadata/connections',
      doc: 'Types of connections',
      contract: forms,
      handle: async (_request, { metadata }) => (await metadata()).list('connections'),
    },
    {
      method: 'GET',
      path: '/metadata/functions',
      doc: 'Built-in functions by category',
      contract: gives(anything),
      handle: async (_request, { metadata }) => (await metadata()).functions(),
    },
    {
      method: 'GET',
      path: '/metadata/operators',
      doc: 'Operators of graph rules',
      contract: gives(anything),
      handle: async (_request, { metadata }) => (await metadata()).operators(),
    },
    {
      method: 'GET',
      path: '/metadata/resources',
      doc: 'Configuration keys that clients have registered',
      contract: gives(objectOfAnything),
      handle: async (_request, { metadata }) => (await metadata()).resources(),
    },
    {
      method: 'GET',
      path: '/metadata/resource',
      doc: 'Configuration keys of all sources with their properties; with sourceType those marked with it',
      contract: gives(objectOfAnything, { sourceType: 'what the property sourceType of a key says' }),
      handle: async (request, { metadata }) => (await metadata()).resource(request.query.sourceType),
    },
    {
      method: 'GET',
      path: '/metadata/sources/:name',
      doc: 'Form of the properties of a source',
      contract: gives(objectOfAnything),
      handle: async (request, { metadata }) => (await metadata()).source(request.id('name')),
    },
    {
      method: 'GET',
      path: '/metadata/sinks/:name',
      doc: 'Form of the properties of a sink',
      contract: gives(objectOfAnything),
      handle: async (request, { metadata }) => (await metadata()).sink(request.id('name')),
    },
    {
      method: 'GET',
      path: '/metadata/connections/:name',
      doc: 'Form of the properties of a connection',
      contract: gives(objectOfAnything),
      handle: async (request, { metadata }) => (await metadata()).connection(request.id('name')),
    },
  ],
});
