/** What the routes of schemas take and give. */
import {
  changed,
  defineContracts,
  gives,
  keptDone,
  made,
  multipart,
  names,
  object,
  ref,
  string,
} from '../route/contract.js';

export const schemas = defineContracts(
  {
    'GET /schemas/:type': gives(names),
    'POST /schemas/:type': made(ref('SchemaDefinition')),
    'GET /schemas/:type/:name': gives(ref('SchemaDescription')),
    'PUT /schemas/:type/:name': changed(ref('SchemaDefinition')),
    'DELETE /schemas/:type/:name': keptDone,
    'PUT /schemas/:type/:name/upload': {
      request: multipart,
      answers: { 200: ref('SchemaDescription'), 201: ref('SchemaDescription') },
      errors: [400, 415],
      isKept: true,
    },
  },
  {
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
);
