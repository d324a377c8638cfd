/** The route of the OpenAPI document, whose code is read at the first question. */
import { gives, objectOfAnything } from '../route/contract.js';
import type { Resource, Route } from '../route/route.js';
import type { OpenApi } from './openapi.js';

/** A route that serves the document of all routes, itself included. */
export function openApiRoute(resources: readonly Resource<never>[], version: () => string): Route<unknown> {
  let document: OpenApi | undefined;
  const own: Route<unknown> = {
    method: 'GET',
    path: '/openapi.json',
    doc: 'This description of all routes',
    contract: gives(objectOfAnything),
    handle: async () => {
      const { openApi } = await import('./openapi.js');
      document ??= await openApi([...resources, { routes: [own] }], version());
      return document;
    },
  };
  return own;
}
