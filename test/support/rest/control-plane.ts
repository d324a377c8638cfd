/** The control plane in the test's own process, behind real HTTP, with an engine that moves no data. */
import { tmpdir } from 'node:os';
import { loadConfig } from '../../../host/base/config/config.js';
import { startServer } from '../../../host/server.js';
import type { ServerOptions } from '../../../host/wiring/start.js';
import { type Answer, request, temporaryFolder } from '../harness.js';
import { EngineDouble } from './engine-double.js';

export interface ControlPlane {
  readonly base: string;
  readonly data: string;
  readonly stopRequests: number;
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  close(): Promise<void>;
}

export async function startControlPlane(
  data = temporaryFolder(),
  more: Record<string, string> = {},
  options: Partial<Pick<ServerOptions, 'limits' | 'createEngine'>> = {},
): Promise<ControlPlane> {
  const env = {
    KuiperBaseKey: data,
    KUIPER__BASIC__RESTIP: '127.0.0.1',
    KUIPER__BASIC__RESTPORT: '0',
    KUIPER__BASIC__FILELOG: 'false',
    // Tests give servers files of temporary folders besides their data folders.
    KUIPER__BASIC__ALLOWEDPATHS: tmpdir(),
    ...more,
  };
  let stopRequests = 0;
  const server = await startServer({
    ...(await loadConfig({ data, env })),
    version: '0.0.0-test',
    env,
    createEngine: ({ catalog }) => new EngineDouble(catalog),
    ...options,
    onStopRequest: () => {
      stopRequests++;
    },
  });
  await server.rulesStarted;
  return {
    base: server.url,
    data,
    get stopRequests() {
      return stopRequests;
    },
    request: (method, path, body, headers) => request(server.url, method, path, body, headers),
    close: () => server.close(),
  };
}
