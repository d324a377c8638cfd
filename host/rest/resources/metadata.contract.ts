/** What the routes of metadata take and give. */
import {
  anything,
  type Contract,
  defineContracts,
  either,
  gives,
  list,
  objectOfAnything,
  string,
} from '../route/contract.js';

function forms(owner: string): Record<string, Contract> {
  return {
    [`GET /metadata/${owner}`]: gives(list(either(string, objectOfAnything)), {
      kind: 'lookup lists those for lookups',
    }),
    [`GET /metadata/${owner}/:name`]: gives(objectOfAnything),
  };
}

export const metadata = defineContracts({
  ...forms('sources'),
  ...forms('sinks'),
  ...forms('connections'),
  'GET /metadata/functions': gives(anything),
  'GET /metadata/operators': gives(anything),
  'GET /metadata/resources': gives(objectOfAnything),
  'GET /metadata/resource': gives(objectOfAnything, { sourceType: 'what the property sourceType of a key says' }),
});
