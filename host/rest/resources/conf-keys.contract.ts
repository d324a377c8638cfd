/** What the routes of configuration keys take and give. */
import type { KeyOwner } from '../../meta/definitions/conf-keys.js';
import {
  type Contract,
  defineContracts,
  gives,
  keptEmpty,
  map,
  objectOfAnything,
  ref,
  text,
} from '../route/contract.js';

function contractsOf(owner: KeyOwner): Record<string, Contract> {
  return {
    [`GET /metadata/${owner}/yaml/:name`]: gives(map(ref('Properties'))),
    [`PUT /metadata/${owner}/:name/confKeys/:confKey`]: {
      request: ref('Properties'),
      answers: { 200: text },
      isKept: true,
    },
    [`DELETE /metadata/${owner}/:name/confKeys/:confKey`]: keptEmpty,
  };
}

export const confKeys = defineContracts(
  { ...contractsOf('sources'), ...contractsOf('sinks'), ...contractsOf('connections') },
  {
    Properties: objectOfAnything,
  },
);
