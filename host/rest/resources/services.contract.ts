/** What the routes of external services take and give. */
import {
  changed,
  defineContracts,
  gives,
  keptDone,
  list,
  made,
  names,
  object,
  objectOfAnything,
  orMissing,
  ref,
  string,
} from '../route/contract.js';

export const services = defineContracts(
  {
    'POST /services': made(ref('Package')),
    'GET /services': gives(names),
    'GET /services/:name': orMissing(gives(objectOfAnything)),
    'PUT /services/:name': orMissing(changed(ref('Package'))),
    'DELETE /services/:name': orMissing(keptDone),
    'GET /services/functions': gives(list(ref('ServiceFunction'))),
    'GET /services/functions/:name': orMissing(gives(ref('ServiceFunction'))),
  },
  {
    ServiceFunction: object({
      ServiceName: string,
      InterfaceName: string,
      Addr: string,
      MethodName: string,
      FuncName: string,
    }),
  },
);
