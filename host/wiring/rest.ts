/** The ports of REST. */
import { closeHttp } from '../base/net/http-server.js';
import { createApp } from '../rest/app.js';
import { type AccessControl, guards } from '../rest/guard/access.js';
import { auditParts } from '../rest/guard/audit.js';
import { openPorts } from '../rest/ports.js';
import type { Services } from '../rest/services.js';
import type { Start } from './start.js';

/** Open keep-alive connections get so long at a stop. */
const connectionGraceMs = 500;

export interface RestPart {
  readonly url: string;
  close(): Promise<void>;
}

export async function openRest(
  start: Start,
  services: Omit<Services, 'batch'>,
  access: AccessControl,
): Promise<RestPart> {
  const { config, limits, log, store } = start;
  const app = createApp(
    services,
    (step) => store.together(step),
    log,
    guards(config.basic, access, log),
    config.basic.enableRestAuditLog ? auditParts(log) : undefined,
  );
  const { url, ports } = await openPorts(app, services.metrics, {
    config: config.basic,
    limits,
    guard: access.guard,
    log,
  });
  return {
    url,
    close: async () => {
      await Promise.all(ports.map((port) => closeHttp(port, connectionGraceMs)));
    },
  };
}
