/** The router of Koa, which tries each route for each request, kept to the routes that can match. */
import Router, { type RouterOptions } from '@koa/router';
import type { Middleware } from 'koa';
import type { Route } from './route.js';

export class RestRouter extends Router {
  /** Routes by the first segment of their paths, which none has as a parameter. */
  readonly #bySegment = new Map<string, Router>();
  readonly #options: RouterOptions = { strict: true, sensitive: true };

  add(method: Route<never>['method'], path: string, handle: Middleware): void {
    const segment = segmentOf(path);
    const routes = this.#bySegment.get(segment) ?? new Router(this.#options);
    this.#bySegment.set(segment, routes);
    const verb = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    routes[verb](path, handle);
  }

  override match(path: string, method: string): ReturnType<Router['match']> {
    return this.#bySegment.get(segmentOf(path))?.match(path, method) ?? { path: [], pathAndMethod: [], route: false };
  }
}

function segmentOf(path: string): string {
  const end = path.indexOf('/', 1);
  return end < 0 ? path : path.slice(0, end);
}
