/** The route of the OpenAPI document: its code and the contracts of the resources are read at the first question. */

import type { Route } from '../route/route.js';
import type { OpenApi } from './openapi.js';

/** A route that serves the document of all routes; `routes` is read at the first question. */
export function openApiRoute(routes: () => readonly Route[], version: () => string): Route {
  let document: OpenApi | undefined;
  return {
    method: 'GET',
    path: '/openapi.json',
    doc: 'This description of all routes',
    handle: async () => {
      const [{ openApi }, { contracts }] = await Promise.all([
        import('./openapi.js'),
        import('../resources/contracts.js'),
      ]);
      document ??= openApi(routes(), contracts, version());
      return document;
    },
  };
}
