/** Who may ask: tokens and cross-origin requests, before any route is looked at. */
import type { Context, Middleware } from 'koa';
import type { Authenticator } from '../base/jwt.js';

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const allowedHeaders = ['accept', 'accept-language', 'content-type', 'content-language', 'origin', 'authorization'];
/** Browsers ask again after so many seconds. */
const preflightAgeSeconds = '600';

/** Refuses requests without a valid token; `/` and `/ping` are open. */
export function requireToken(authenticate: Authenticator): Middleware {
  return async (ctx, next) => {
    const result = authenticate(ctx.headers, ctx.path);
    if (result.ok) {
      ctx.state.subject = result.claims?.sub ?? result.claims?.iss;
      return next();
    }
    ctx.status = result.status;
    ctx.set('WWW-Authenticate', 'Bearer');
    ctx.type = 'text/plain; charset=utf-8';
    ctx.body = result.text;
    return undefined;
  };
}

/**
 * Answers the questions that browsers ask before requests to another origin, and says that every origin may read.
 * No cookies are used, so that a page can do nothing that its user's programs couldn't do without a browser.
 */
export const crossOrigin: Middleware = async (ctx, next) => {
  ctx.set('Access-Control-Allow-Origin', '*');
  const wanted = ctx.get('Access-Control-Request-Method');
  if (ctx.method !== 'OPTIONS' || wanted === '') return next();
  const headers = namesIn(ctx.get('Access-Control-Request-Headers'));
  if (!allowedMethods.split(', ').includes(wanted)) preflight(ctx, 405);
  else if (headers.some((name) => !allowedHeaders.includes(name))) preflight(ctx, 403);
  else {
    ctx.set('Access-Control-Allow-Methods', allowedMethods);
    if (headers.length > 0) ctx.set('Access-Control-Allow-Headers', headers.join(', '));
    ctx.set('Access-Control-Max-Age', preflightAgeSeconds);
    preflight(ctx, 200);
  }
  return undefined;
};

function preflight(ctx: Context, status: number): void {
  ctx.status = status;
  ctx.body = '';
}

function namesIn(list: string): string[] {
  return list
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
