/** What the routes of the server itself take and give. */
import {
  boolean,
  defineContracts,
  done,
  empty,
  gives,
  integer,
  none,
  object,
  objectOfAnything,
  ref,
  string,
} from '../route/contract.js';

export const system = defineContracts(
  {
    'GET /': gives(ref('Information')),
    'POST /': gives(ref('Information')),
    'GET /ping': empty,
    'POST /stop': done,
    'GET /stop': done,
    'PATCH /configs': { request: ref('Configs'), answers: { 204: none } },
    'GET /openapi.json': gives(objectOfAnything),
  },
  {
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
        'consoleLog?': boolean,
        'fileLog?': boolean,
        'timezone?': string,
        'metricsDumpConfig?': objectOfAnything,
      },
      true,
    ),
  },
);
