/** What the routes of connections take and give. */
import {
  boolean,
  type Contract,
  changed,
  defineContracts,
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

const check: Contract = { request: ref('Properties'), ...empty };

export const connections = defineContracts(
  {
    'POST /metadata/sources/connection/:name': check,
    'POST /metadata/sinks/connection/:name': check,
    'POST /metadata/lookups/connection/:name': check,
    'GET /connections': gives(list(ref('Connection')), { forceAll: 'true adds those made by rules' }),
    'POST /connections': made(ref('ConnectionDefinition')),
    'GET /connections/:id': gives(ref('Connection')),
    'PUT /connections/:id': changed(ref('ConnectionDefinition')),
    'DELETE /connections/:id': keptDone,
  },
  {
    Connection: object(
      {
        id: string,
        typ: string,
        props: orNull(objectOfAnything),
        isNamed: boolean,
        status: string,
        'err?': string,
        'refCount?': integer,
      },
      true,
    ),
    ConnectionDefinition: object({ 'id?': string, 'typ?': string, 'props?': orNull(objectOfAnything) }, true),
  },
);
