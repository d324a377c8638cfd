/** The route of the OpenAPI document, which is read and made at the first question. */
import type { OpenApi } from './openapi.js';
import type { Route } from './route.js';

/** A route that serves the document of all routes; `routes` is read at the first question. */
export function openApiRoute(routes: () => readonly Route[], version: () => string): Route {
  let document: OpenApi | undefined;
  return {
    method: 'GET',
    path: '/openapi.json',
    doc: 'This description of all routes',
    handle: async () => {
      const { openApi } = await import('./openapi.js');
      document ??= openApi(routes(), version());
      return document;
    },
  };
}
