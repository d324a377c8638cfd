/** The Koa application: routes of the resources, bodies, answers, the error envelope. */
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { HaumeaError, reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { BodyTooLarge, readBody } from './body.js';
import { resources } from './resources/index.js';
import { Reply, RestRequest, type Route } from './route.js';
import type { Services } from './services/services.js';

/** Builds the application. */
export function createApp(services: Services, log: Logger): Koa {
  const app = new Koa();
  const router = new Router({ strict: true });
  for (const route of resources.flat()) {
    const method = route.method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    router[method](route.path, (ctx) => run(route, ctx, services));
  }
  app.use((ctx, next) => answer(ctx, next, log));
  app.use(router.routes());
  app.use(router.allowedMethods());
  // Koa prints what a broken connection throws; such a client is gone.
  app.on('error', (error: unknown) => log.debug(`connection of a client: ${reasonOf(error)}`));
  return app;
}

async function run(route: Route, ctx: Context, services: Services): Promise<void> {
  const hasBody = ctx.method !== 'GET' && ctx.method !== 'HEAD';
  const body = hasBody ? await readBody(ctx.req) : Buffer.alloc(0);
  const query = ctx.query as Record<string, string | undefined>;
  const params = ctx.params as Record<string, string>;
  const request = new RestRequest(params, query, body, ctx.get('content-type'));
  const result = await route.handle(request, services);
  const reply = result instanceof Reply ? result : new Reply(result, route.status ?? 200);
  if (reply.headers !== undefined) ctx.set(reply.headers);
  send(ctx, reply.status, reply.body, reply.type);
}

function send(ctx: Context, status: number, body: unknown, type?: string): void {
  ctx.status = status;
  if (typeof body === 'string' || body === undefined) {
    ctx.type = type ?? 'text/plain; charset=utf-8';
    ctx.body = body ?? '';
  } else {
    ctx.type = type ?? 'application/json; charset=utf-8';
    ctx.body = JSON.stringify(body);
  }
}

/** Outermost step: cross-origin header, failures, unknown paths and methods. */
async function answer(ctx: Context, next: () => Promise<void>, log: Logger): Promise<void> {
  ctx.set('Access-Control-Allow-Origin', '*');
  try {
    await next();
  } catch (error) {
    fail(ctx, error, log);
    return;
  }
  if (ctx.status === 404 && ctx.body == null) send(ctx, 404, '404 page not found\n');
  else if (ctx.status === 405 || ctx.status === 501) send(ctx, 405, '');
}

function fail(ctx: Context, error: unknown, log: Logger): void {
  if (error instanceof HaumeaError) {
    send(ctx, error.status, { error: error.code, message: error.message });
  } else if (error instanceof BodyTooLarge) {
    // The rest of the body is not read: the connection can't be used again.
    ctx.set('Connection', 'close');
    send(ctx, 413, { error: 1000, message: error.message });
  } else if (isMalformedPath(error)) {
    send(ctx, 400, { error: 1000, message: `the path ${ctx.path} is not correctly encoded` });
  } else {
    log.error(`${ctx.method} ${ctx.path} failed`, { error: error instanceof Error ? error.stack : String(error) });
    send(ctx, 500, { error: 1000, message: `internal error: ${reasonOf(error)}` });
  }
}

/** The router throws this for a percent sign without two digits. */
function isMalformedPath(error: unknown): boolean {
  return error instanceof URIError || (error as { status?: unknown } | null)?.status === 400;
}
