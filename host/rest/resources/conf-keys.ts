/** Routes of configuration keys. */

import type { KeyOwner } from '../../meta/definitions/conf-keys.js';
import type { ConfKeyService } from '../../services/sources/conf-keys.js';
import { changed, gives, keptEmpty, map, objectOfAnything, ref } from '../route/contract.js';
import { defineResource, type Route } from '../route/route.js';

/** Three routes for configuration keys, alike for sources, sinks and connections. */
function routesOf(owner: KeyOwner): readonly Route<{ readonly confKeys: () => Promise<ConfKeyService> }>[] {
  return [
    {
      method: 'GET',
      path: `/metadata/${owner}/yaml/:name`,
      doc: `Configuration keys of one of the ${owner}`,
      contract: gives(map(ref('Properties'))),
      handle: async (request, { confKeys }) => (await confKeys()).list(owner, request.id('name')),
    },
    {
      method: 'PUT',
      path: `/metadata/${owner}/:name/confKeys/:confKey`,
      doc: 'Registers a configuration key, or replaces it',
      contract: changed(ref('Properties')),
      handle: async (request, { confKeys }) =>
        (await confKeys()).put(owner, request.id('name'), request.id('confKey'), () => request.object()),
    },
    {
      method: 'DELETE',
      path: `/metadata/${owner}/:name/confKeys/:confKey`,
      doc: 'Deletes a configuration key',
      contract: keptEmpty,
      handle: async (request, { confKeys }) =>
        (await confKeys()).delete(owner, request.id('name'), request.id('confKey')),
    },
  ];
}

export const confKeys = defineResource({
  routes: [...routesOf('sources'), ...routesOf('sinks'), ...routesOf('connections')],
  schemas: { Properties: objectOfAnything },
});
