/** Who may ask, at all ports. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Middleware } from 'koa';
import type { Config } from '../../base/config/config.js';
import type { Logger } from '../../base/log/log.js';
import type { Authenticator } from '../../base/secrets/jwt.js';
import { audit } from './audit.js';
import { dataRefusal, requireToken } from './auth.js';
import { guardOrigins } from './origin-guard.js';
import { TicketService } from './tickets.js';

export interface Door {
  /** Stands before every request: which web pages may ask. */
  readonly guard: (handle: RequestListener) => RequestListener;
  /** Checks tokens; without it none are asked for. */
  readonly authenticate?: Authenticator;
  readonly tickets: TicketService;
  /** Why a request of the data server may not be answered. */
  readonly refusal?: (request: IncomingMessage) => Promise<string | undefined>;
}

/** @param etc folder of the configuration, with the keys of those who may sign tokens */
export async function doorOf(config: Config, etc: string, log: Logger): Promise<Door> {
  const { authentication, corsOrigins, allowedHosts, restIp } = config.basic;
  const hosts = [...allowedHosts, restIp, config.source.httpServerIp];
  const rules = { origins: corsOrigins, hosts, hasTokens: authentication, log };
  const door = { guard: (handle: RequestListener) => guardOrigins(rules, handle), tickets: new TicketService() };
  if (!authentication) return door;
  const { createAuthenticator } = await import('../../base/secrets/jwt.js');
  const authenticate = createAuthenticator({ folder: join(etc, 'mgmt') });
  return { ...door, authenticate, refusal: dataRefusal(authenticate, door.tickets) };
}

/** What a request passes before its route. */
export function guards(basic: Config['basic'], { authenticate }: Door, log: Logger): Middleware[] {
  return [
    ...(basic.enableRestAuditLog ? [audit(log)] : []),
    ...(authenticate === undefined ? [] : [requireToken(authenticate)]),
  ];
}
