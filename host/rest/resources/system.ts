/** Routes of the server itself. */
import type { ConfigsService } from '../../services/server/configs.js';
import type { SystemService } from '../../services/server/system.js';
import {
  boolean,
  done,
  empty,
  gives,
  integer,
  list,
  none,
  number,
  object,
  objectOfAnything,
  ref,
  string,
} from '../route/contract.js';
import { defineResource } from '../route/route.js';

/** Rows of topics in memory that go to another data plane. */
const exchange = object({ plane: integer, status: string, sentBytes: integer, waitingBytes: integer });

export const system = defineResource<{
  readonly system: SystemService;
  readonly configs: () => Promise<ConfigsService>;
}>({
  routes: [
    {
      method: 'GET',
      path: '/',
      doc: 'Version and machine',
      contract: gives(ref('Information')),
      handle: (_request, { system }) => system.information(),
    },
    {
      method: 'POST',
      path: '/',
      doc: 'As GET',
      reads: () => true,
      contract: gives(ref('Information')),
      handle: (_request, { system }) => system.information(),
    },
    {
      method: 'GET',
      path: '/planes',
      doc: 'The threads that run rules, with their load and what they send to each other',
      contract: gives(
        list(object({ plane: integer, status: string, rules: integer, load: number, exchanges: list(exchange) })),
      ),
      handle: (_request, { system }) => system.planes(),
    },
    { method: 'GET', path: '/ping', doc: 'Answers when the server is alive', contract: empty, handle: () => undefined },
    {
      method: 'POST',
      path: '/stop',
      doc: 'Ends the server gracefully',
      gate: 'none',
      contract: done,
      handle: (_request, { system }) => system.stop(),
    },
    {
      method: 'PATCH',
      path: '/configs',
      doc: 'Changes settings of the running server',
      status: 204,
      gate: 'none',
      contract: { request: ref('Configs'), answers: { 204: none } },
      handle: async (request, { configs }) => (await configs()).change(request.object()),
    },
    {
      method: 'GET',
      path: '/stop',
      doc: 'As POST',
      isOrder: true,
      contract: done,
      handle: (_request, { system }) => system.stop(),
    },
  ],
  schemas: {
    Information: object({
      version: string,
      os: string,
      arch: string,
      upTimeSeconds: integer,
      cpuUsage: string,
      memoryUsed: string,
      memoryTotal: string,
      'losses?': integer,
    }),
    Configs: object(
      {
        'debug?': boolean,
        'logLevel?': string,
        'consoleLog?': boolean,
        'fileLog?': boolean,
        'timezone?': string,
        'metricsDumpConfig?': objectOfAnything,
      },
      true,
    ),
  },
});
