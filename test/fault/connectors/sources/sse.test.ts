/** Faults of a server of event streams. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { test } from 'uvu';
import { type SourceSide, sourceFaults } from '../../../support/connectors/faults/sources.js';
import { eventually, freePort } from '../../../support/harness.js';

async function events(): Promise<SourceSide> {
  const port = await freePort();
  const open = new Set<ServerResponse>();
  let isAwake = true;
  let server: Server | undefined;
  const side = {
    dataSource: '/rows',
    props: { url: `http://127.0.0.1:${port}` },
    start: async () => {
      server = createServer((request, response) => {
        if (request.headers.authorization !== undefined) return void response.writeHead(401).end();
        if (!isAwake) return;
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
        open.add(response);
        response.on('close', () => open.delete(response));
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    kill: async () => {
      if (server === undefined) return;
      const ended = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await ended;
      server = undefined;
    },
    pause: () => {
      isAwake = false;
    },
    resume: () => {
      isAwake = true;
    },
    close: () => side.kill(),
    send: async (messages: readonly (string | Buffer)[]) => {
      await eventually('a listener', () => open.size > 0);
      for (const response of open) {
        for (const message of messages) if (!response.write(`data: ${message}\n\n`)) await once(response, 'drain');
      }
    },
    refusal: { props: { token: 'events-wrong-51' }, reason: /status 401/, secret: 'events-wrong-51' },
    tls: {
      props: (at: number) => ({ url: `https://127.0.0.1:${at}`, token: 'events-secret-52' }),
      secret: 'events-secret-52',
    },
  };
  await side.start();
  return side;
}

sourceFaults(test, 'sse', events, { lacks: { keeps: 'this server keeps no events' } });

test.run();
