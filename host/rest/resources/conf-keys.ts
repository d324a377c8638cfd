import type { KeyOwner } from '../../meta/definitions/conf-keys.js';
import { defineRoutes, type Route } from '../route/route.js';

/** The same three routes for the keys of sources, sinks and connections. */
function routesOf(owner: KeyOwner): readonly Route[] {
  return defineRoutes(
    {
      method: 'GET',
      path: `/metadata/${owner}/yaml/:name`,
      doc: `Configuration keys of one of the ${owner}`,
      handle: (request, { confKeys }) => confKeys.list(owner, request.id('name')),
    },
    {
      method: 'PUT',
      path: `/metadata/${owner}/:name/confKeys/:confKey`,
      doc: 'Registers a configuration key, or replaces it',
      handle: (request, { confKeys }) =>
        confKeys.put(owner, request.id('name'), request.id('confKey'), () => request.object()),
    },
    {
      method: 'DELETE',
      path: `/metadata/${owner}/:name/confKeys/:confKey`,
      doc: 'Deletes a configuration key',
      handle: (request, { confKeys }) => confKeys.delete(owner, request.id('name'), request.id('confKey')),
    },
  );
}

export const confKeys = [...routesOf('sources'), ...routesOf('sinks'), ...routesOf('connections')];
