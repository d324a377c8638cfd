/** The Koa application: routes of the resources, bodies, answers, the error envelope. */
import Koa, { type Context, type Middleware } from 'koa';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import { lazy } from '../base/structures/lazy.js';
import type { Store } from '../meta/store.js';
import { type Answer, answerOf, answerOfFailure, unknownPath, wrongMethod } from './answer/answer.js';
import { requestErrors } from './errors.js';
import type { AuditPart } from './guard/audit.js';
import { orderRefusal } from './guard/origin-guard.js';
import { openApiRoute } from './openapi/openapi-route.js';
import { resources } from './resources/gen/index.js';
import { BodyTooLarge, readBody, TooManyBodies } from './route/body.js';
import { inOrder, queryOf, RestRequest, type Route } from './route/route.js';
import { RestRouter } from './route/router.js';
import type { Services } from './services.js';

/** Builds the application. `together` runs changes that share a wait for the disk; `guards` come before the routes. */
export function createApp(
  parts: Omit<Services, 'batch'>,
  together: Store['together'],
  log: Logger,
  guards: readonly Middleware[] = [],
  auditPart?: AuditPart,
): Koa {
  const app = new Koa();
  const router = new RestRouter();
  const routes = inOrder<Services>([
    ...resources.flatMap<Route<Services>>((resource) => resource.routes),
    openApiRoute(resources, () => parts.system.version),
  ]);
  const services: Services = {
    ...parts,
    batch: lazy(async () => {
      const [{ BatchService }, { Dispatcher }] = await Promise.all([
        import('./batch.js'),
        import('./answer/dispatch.js'),
      ]);
      const dispatcher = new Dispatcher(routes, services, log);
      return new BatchService(async (method, target, body, mayChange) => {
        const { result, saved } = await together(() => dispatcher.dispatch(method, target, body, { mayChange }));
        const lost = (error: unknown) => answerOfFailure(error, `${method} ${target}`, log);
        const answer = saved.then(() => result, lost);
        if (auditPart !== undefined) void answer.then(({ status }) => auditPart(method, target, status));
        return { answer };
      });
    }),
  };
  for (const route of routes) router.add(route.method, route.path, (ctx) => run(route, ctx, services));
  app.use(pages);
  for (const guard of guards) app.use(guard);
  app.use((ctx, next) => answer(ctx, next, log));
  app.use(router.routes());
  app.use(router.allowedMethods());
  // Koa prints what a broken connection throws; such a client is gone.
  app.on('error', (error: unknown) => log.debug(`connection of a client: ${reasonOf(error)}`));
  return app;
}

/** Console and guide need no token: their files are those of the program. */
async function pages(ctx: Context, next: () => Promise<void>): Promise<void> {
  if (!/^\/((console|docs)(\/|$)|$)/.test(ctx.path)) return next();
  const { answerPage } = await import('./static-files.js');
  return answerPage(ctx, next);
}

async function run(route: Route<Services>, ctx: Context, services: Services): Promise<void> {
  if (route.isOrder) {
    // The router takes HEAD for GET.
    if (ctx.method !== route.method) return send(ctx, wrongMethod);
    const reason = orderRefusal(ctx.req);
    if (reason !== undefined) throw requestErrors.otherSite(reason);
  }
  // Some questions have a body as well.
  const { 'content-length': length, 'transfer-encoding': encoding } = ctx.req.headers;
  const body = length === undefined && encoding === undefined ? Buffer.alloc(0) : await readBody(ctx.req);
  const query = queryOf(new URLSearchParams(ctx.querystring));
  const params = ctx.params as Record<string, string>;
  const mayChange = ctx.state.mayChange !== false;
  const request = new RestRequest(params, query, body, ctx.get('content-type'), ctx.res, mayChange);
  const answer = await answerOf(route, request, services);
  // An event stream has its head already, and goes on by itself.
  if (!ctx.res.headersSent) return send(ctx, answer);
  ctx.respond = false;
  if (ctx.method !== route.method) ctx.res.end();
}

function send(ctx: Context, { status, type, body, headers }: Answer): void {
  if (headers !== undefined) ctx.set(headers);
  ctx.status = status;
  ctx.type = type;
  ctx.body = body;
}

/** Outermost step: failures, unknown paths and methods. */
async function answer(ctx: Context, next: () => Promise<void>, log: Logger): Promise<void> {
  try {
    await next();
  } catch (error) {
    // A body that is refused ends its reading as well, but its client waits for the answer.
    const isRefused = error instanceof BodyTooLarge || error instanceof TooManyBodies;
    if (!isRefused && ctx.req.destroyed && !ctx.req.complete) {
      // Nobody is there to be answered.
      log.debug(`${ctx.method} ${ctx.path}: the client broke off: ${reasonOf(error)}`);
      ctx.respond = false;
      return;
    }
    // The rest of the body is not read: the connection can't be used again.
    if (isRefused) ctx.set('Connection', 'close');
    send(ctx, answerOfFailure(error, `${ctx.method} ${ctx.path}`, log));
    return;
  }
  if (ctx.respond === false) return;
  // The router calls methods it has never heard of not implemented, whatever the path.
  const isKnown = ctx.status !== 501 || ((ctx.matched as unknown[] | undefined)?.length ?? 0) > 0;
  if (!isKnown || (ctx.status === 404 && ctx.body == null)) send(ctx, unknownPath);
  else if (ctx.status === 405 || ctx.status === 501) send(ctx, wrongMethod);
}
