/** Faults of clients that come to the data server for results, as event streams and by websocket. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { test } from 'uvu';
import { WebSocket } from 'ws';
import { keepOpen } from '../../../support/connectors/faults/keep-open.js';
import { type SinkSide, sinkFaults } from '../../../support/connectors/faults/sinks.js';
import type { Row } from '../../../support/connectors/faults/site.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { eventually } from '../../../support/harness.js';

/** A client that is connected. */
interface Client {
  pause(): void;
  resume(): void;
  close(): void;
}

/** `connect` resolves with a client, which hands on its messages and says when it is gone. */
function sideOf(
  type: string,
  props: Row,
  connect: (port: number, take: (message: string) => void, gone: () => void) => Promise<Client>,
): SinkSide {
  const ids: number[] = [];
  let port = 0;
  let client: Client | undefined;
  let isClosed = false;
  let visits = 0;
  const come = async () => {
    client = undefined;
    visits++;
    client = await connect(
      port,
      (message) => ids.push(...idsOf([message])),
      () => {
        if (!isClosed) void come().catch(() => {});
      },
    );
  };
  return {
    props,
    arrived: () => ids,
    isBack: () => eventually('the client to be back', () => visits > 1 && client !== undefined),
    meet: async (site) => {
      port = site.dataPort;
      await keepOpen(site, type, props);
      await come();
    },
    start: async () => {},
    kill: async () => {},
    pause: () => client?.pause(),
    resume: () => client?.resume(),
    close: async () => {
      isClosed = true;
      client?.close();
    },
  };
}

async function listen(port: number, take: (message: string) => void, gone: () => void): Promise<Client> {
  const asked = request({ port, host: '127.0.0.1', path: '/results' });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const lines = createInterface({ input: response });
  lines.on('line', (line) => {
    if (line.startsWith('data:')) take(line.slice('data:'.length).trim());
  });
  lines.on('error', () => {});
  asked.on('error', () => {});
  asked.once('close', gone);
  return {
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void asked.destroy(),
  };
}

async function talk(port: number, take: (message: string) => void, gone: () => void): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/results`, { maxPayload: 64 << 20 });
  await once(socket, 'open');
  socket.on('message', (message) => take(String(message)));
  socket.on('error', () => {});
  socket.once('close', gone);
  return { pause: () => socket.pause(), resume: () => socket.resume(), close: () => socket.terminate() };
}

const unheard = 'what nobody listens to goes nowhere';
const lacks = {
  ...{ absence: unheard, kill: unheard, restart: unheard },
  tls: 'the data server has the certificate, and clients refuse it',
  refusal: 'the data server asks for tokens, and clients have the password',
  rejects: 'nobody answers a message',
  full: 'a client without room reads no more, which is one that hangs',
};

sinkFaults(test, 'sse', async () => sideOf('sse', { endpoint: '/results' }, listen), { lacks });
sinkFaults(test, 'websocket', async () => sideOf('websocket', { path: '/results' }, talk), {
  name: 'websocket endpoint',
  lacks,
});

test.run();
