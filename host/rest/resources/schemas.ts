import { defineRoutes, Reply } from '../route/route.js';

export const schemas = defineRoutes(
  {
    method: 'POST',
    path: '/schemas/:type',
    doc: 'Registers a schema',
    status: 201,
    handle: (request, { schemas }) => schemas.create(request.id('type'), request.object()),
  },
  {
    method: 'GET',
    path: '/schemas/:type',
    doc: 'Names',
    handle: (request, { schemas }) => schemas.names(request.id('type')),
  },
  {
    method: 'GET',
    path: '/schemas/:type/:name',
    doc: 'Text, file and version of a schema',
    handle: (request, { schemas }) => schemas.describe(request.id('type'), request.id('name')),
  },
  {
    method: 'PUT',
    path: '/schemas/:type/:name',
    doc: 'Replaces a schema by one of a greater version, or creates it',
    handle: (request, { schemas }) => schemas.replace(request.id('type'), request.id('name'), request.object()),
  },
  {
    method: 'PUT',
    path: '/schemas/:type/:name/upload',
    doc: 'Takes a file or an archive as the schema',
    handle: async (request, { schemas }) => {
      const [type, name] = [request.id('type'), request.id('name')];
      const { isNew } = await schemas.upload(type, name, request.form());
      return new Reply({ type, name }, isNew ? 201 : 200, undefined, { location: `/schemas/${type}/${name}` });
    },
  },
  {
    method: 'DELETE',
    path: '/schemas/:type/:name',
    doc: 'Deletes a schema',
    handle: (request, { schemas }) => schemas.delete(request.id('type'), request.id('name')),
  },
);
