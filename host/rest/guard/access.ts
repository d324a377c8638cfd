/** Who may ask, at all ports. */
import type { IncomingMessage, RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Middleware } from 'koa';
import type { Config } from '../../base/config/config.js';
import type { Logger } from '../../base/log/log.js';
import type { Authenticator } from '../../base/secrets/jwt.js';
import { audit } from './audit.js';
import { type DataRefusal, dataRefusal, requireToken } from './auth.js';
import { guardOrigins } from './origin-guard.js';
import { TicketService } from './tickets.js';

export interface AccessControl {
  /** Stands before every request: which web pages may ask. */
  readonly guard: (handle: RequestListener) => RequestListener;
  /** Check of tokens; without it requests need no token. */
  readonly authenticate?: Authenticator;
  readonly tickets: TicketService;
  /** Why a request of the data server may not be answered. */
  readonly refusal?: (request: IncomingMessage) => Promise<DataRefusal | undefined>;
}

/** @param etc folder of the configuration, with the keys of those who may sign tokens */
export async function accessControlOf(config: Config, etc: string, log: Logger): Promise<AccessControl> {
  const { authentication, corsOrigins, allowedHosts, restIp } = config.basic;
  const hosts = [...allowedHosts, restIp, config.source.httpServerIp];
  const rules = { origins: corsOrigins, hosts, hasTokens: authentication, log };
  const access = { guard: (handle: RequestListener) => guardOrigins(rules, handle), tickets: new TicketService() };
  if (!authentication) return access;
  const { createAuthenticator } = await import('../../base/secrets/jwt.js');
  const authenticate = createAuthenticator({ folder: join(etc, 'mgmt') });
  return { ...access, authenticate, refusal: dataRefusal(authenticate, access.tickets) };
}

/** Middleware that a request passes before its route. */
export function guards(basic: Config['basic'], { authenticate }: AccessControl, log: Logger): Middleware[] {
  return [
    ...(basic.enableRestAuditLog ? [audit(log)] : []),
    ...(authenticate === undefined ? [] : [requireToken(authenticate)]),
  ];
}
