/** The data server: pushed messages, event streams of rule tests, and who may ask. */
import { tlsOf } from '../base/net/http-server.js';
import { lazy } from '../base/structures/lazy.js';
import { systemClock } from '../base/time/clock.js';
import type { DataServer } from '../rest/data/data-server.js';
import { endpoints, pushes } from '../rest/data/gateways.js';
import { type AccessControl, accessControlOf } from '../rest/guard/access.js';
import type { Services } from '../rest/services.js';
import type { RuleTestService } from '../services/rules/tests.js';
import type { EnginePart } from './engine.js';
import type { Start } from './start.js';

export interface DataServerPart {
  readonly access: AccessControl;
  readonly services: Pick<Services, 'ruleTests' | 'testEvents' | 'tickets'>;
  close(): Promise<void>;
}

export async function dataServerPart(start: Start, { engine }: EnginePart): Promise<DataServerPart> {
  const { config, folders, log } = start;
  const { httpServerIp: ip, httpServerPort: port, httpServerTls, openPush, ...bounds } = config.source;
  const access = await accessControlOf(config, folders.etc, log);
  const tls = await tlsOf(httpServerTls, 'source.httpServerTls', log);
  let opened: Promise<DataServer> | undefined;
  const server = () => {
    opened ??= import('../rest/data/data-server.js').then(
      ({ DataServer }) => new DataServer({ ...access, ip, port, tls, log }),
    );
    return opened;
  };
  const testEvents = lazy(async () => {
    const { TestEvents } = await import('../rest/data/test-events.js');
    return new TestEvents(await server());
  });
  let tests: Promise<RuleTestService> | undefined;
  const openTests = async () => {
    const [{ RuleTestService }, audience] = await Promise.all([import('../services/rules/tests.js'), testEvents()]);
    return new RuleTestService({ engine, defaults: config.rule, audience, clock: systemClock, log });
  };
  const ruleTests = () => {
    tests ??= openTests();
    return tests;
  };
  const pushed = pushes(server, log, { isOpen: openPush });
  const ofEndpoints = endpoints(server, { ...bounds, isOpen: openPush, log });
  return {
    access,
    services: { ruleTests, testEvents, tickets: access.tickets },
    close: async () => {
      await (await tests)?.close();
      await ofEndpoints.close();
      await (await opened)?.close();
      // Requests under way had their answers over its channel until now.
      await pushed.close();
    },
  };
}
