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
      ctx.state.mayChange = result.claims?.access !== 'read';
      return next();
    }
    ctx.status = result.status;
    ctx.set('WWW-Authenticate', 'Bearer');
    ctx.type = 'text/plain; charset=utf-8';
    ctx.body = result.text;
    return undefined;
  };
}

/** Why a request of the data server is not answered: it is not known who asks, or they may not do this. */
export interface DataRefusal {
  readonly status: 401 | 403;
  readonly text: string;
}

const onlyRead: DataRefusal = { status: 403, text: 'the token may only read: events can be got, nothing can be sent' };

/**
 * Says why a request of the data server has neither a valid token nor, where something is only got, a valid ticket. Who
 * opens a websocket may send by it.
 */
export function dataRefusal(
  authenticate: Authenticator,
  tickets: TicketService,
): (request: IncomingMessage) => Promise<DataRefusal | undefined> {
  const unlessRead = (mayChange: boolean, isGot: boolean) => (mayChange || isGot ? undefined : onlyRead);
  return async ({ method, url = '/', headers }) => {
    const isGot = method === 'GET' && headers.upgrade === undefined;
    const ticket = new URLSearchParams(url.split('?', 2)[1]).get('ticket');
    if (method === 'GET' && ticket !== null) {
      const known = tickets.redeem(ticket);
      if (known === undefined) return { status: 401, text: 'the ticket is not known, was used or has expired' };
      return unlessRead(known.mayChange, isGot);
    }
    // Every path asks for a token: those that REST leaves open are none of this server's.
    const result = await authenticate(headers, 'data');
    return result.ok ? unlessRead(result.claims?.access !== 'read', isGot) : result;
  };
}
