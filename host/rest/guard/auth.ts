/** Who may ask: tokens, before any route is looked at. */
import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import type { Authenticator } from '../../base/secrets/jwt.js';
import type { TicketService } from './tickets.js';

/** Refuses requests without a valid token; `/` and `/ping` are open. */
export function requireToken(authenticate: Authenticator): Middleware {
  return async (ctx, next) => {
    const result = await authenticate(ctx.headers, ctx.path);
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

/** Says why a request of the data server has neither a valid token nor, where something is only got, a valid ticket. */
export function dataRefusal(
  authenticate: Authenticator,
  tickets: TicketService,
): (request: IncomingMessage) => Promise<string | undefined> {
  return async ({ method, url = '/', headers }) => {
    const ticket = new URLSearchParams(url.split('?', 2)[1]).get('ticket');
    if (method === 'GET' && ticket !== null) {
      return tickets.redeem(ticket) ? undefined : 'the ticket is not known, was used or has expired';
    }
    // Every path asks for a token: those that REST leaves open are none of this server's.
    const result = await authenticate(headers, 'data');
    return result.ok ? undefined : result.text;
  };
}
