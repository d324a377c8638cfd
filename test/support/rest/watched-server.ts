/** A server in the test's own process with a whole engine, whose data plane is ended when it is silent for too long. */
import * as assert from 'uvu/assert';
import { createEngine } from '../../../host/run/engine.js';
import type { Supervisor } from '../../../host/run/planes/supervisor.js';
import type { Rules } from '../../../host/run/rules.js';
import type { Answer } from '../harness.js';
import { startControlPlane } from './control-plane.js';

export interface WatchedServer {
  /** Of the data plane that rules start in. */
  readonly supervisor: Supervisor;
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Asks for something to be made, which must be. */
  make(path: string, body: unknown): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: figures of all kinds
  status(id: string): Promise<any>;
  close(): Promise<void>;
}

/** @param hangMs a thread that is silent for so long is ended */
export async function startWatchedServer(hangMs: number): Promise<WatchedServer> {
  let engine: Rules | undefined;
  const server = await startControlPlane(
    undefined,
    { KUIPER__SOURCE__HTTPSERVERPORT: '0' },
    {
      createEngine: (context) => {
        engine = createEngine({ ...context, hangMs });
        return engine;
      },
    },
  );
  if (engine === undefined) throw new Error('no engine');
  return {
    supervisor: engine.planes.first,
    ask: server.request,
    make: async (path, body) => {
      const answer = await server.request('POST', path, body);
      assert.is(answer.status, 201, answer.text);
    },
    status: async (id) => (await server.request('GET', `/rules/${id}/status`)).json,
    close: server.close,
  };
}
