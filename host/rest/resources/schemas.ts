/** Routes of schemas. */
import type { SchemaService } from '../../services/schemas/schemas.js';
import { changed, gives, keptDone, made, multipart, names, object, ref, string } from '../route/contract.js';
import { defineResource, Reply } from '../route/route.js';
import { warningHeader } from '../route/warnings.js';

export const schemas = defineResource<{ readonly schemas: SchemaService }>({
  routes: [
    {
      method: 'POST',
      path: '/schemas/:type',
      doc: 'Registers a schema',
      status: 201,
      contract: made(ref('SchemaDefinition')),
      handle: (request, { schemas }) => schemas.create(request.id('type'), request.object()),
    },
    {
      method: 'GET',
      path: '/schemas/:type',
      doc: 'Names',
      contract: gives(names),
      handle: (request, { schemas }) => schemas.names(request.id('type')),
    },
    {
      method: 'GET',
      path: '/schemas/:type/:name',
      doc: 'Text, file and version of a schema',
      contract: gives(ref('SchemaDescription')),
      handle: (request, { schemas }) => schemas.describe(request.id('type'), request.id('name')),
    },
    {
      method: 'PUT',
      path: '/schemas/:type/:name',
      doc: 'Replaces a schema by one of a greater version, or creates it',
      contract: changed(ref('SchemaDefinition')),
      handle: (request, { schemas }) => schemas.replace(request.id('type'), request.id('name'), request.object()),
    },
    {
      method: 'PUT',
      path: '/schemas/:type/:name/upload',
      doc: 'Takes a file or an archive as the schema',
      contract: {
        request: multipart,
        answers: { 200: ref('SchemaDescription'), 201: ref('SchemaDescription') },
        errors: [400, 415],
        isKept: true,
      },
      handle: async (request, { schemas }) => {
        const [type, name] = [request.id('type'), request.id('name')];
        const { isNew, warnings } = await schemas.upload(type, name, request.form());
        const headers = { location: `/schemas/${type}/${name}`, ...warningHeader(warnings) };
        return new Reply({ type, name }, isNew ? 201 : 200, undefined, headers);
      },
    },
    {
      method: 'DELETE',
      path: '/schemas/:type/:name',
      doc: 'Deletes a schema',
      contract: keptDone,
      handle: (request, { schemas }) => schemas.delete(request.id('type'), request.id('name')),
    },
  ],
  schemas: {
    SchemaDefinition: object(
      {
        'name?': string,
        'content?': string,
        'file?': string,
        'soFile?': string,
        'plugin?': string,
        'version?': string,
      },
      true,
    ),
    SchemaDescription: object(
      {
        type: string,
        name: string,
        'content?': string,
        'file?': string,
        'soFile?': string,
        'plugin?': string,
        'version?': string,
      },
      true,
    ),
  },
});
