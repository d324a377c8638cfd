/** Faults of a server that is asked by HTTP. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { test } from 'uvu';
import { type SourceSide, sourceFaults } from '../../../support/connectors/faults/sources.js';
import { eventually, freePort } from '../../../support/harness.js';

/** A server that answers each request with the next message. */
async function answers(): Promise<SourceSide> {
  const port = await freePort();
  const waiting: (string | Buffer)[] = [];
  let isAwake = true;
  let server: Server | undefined;
  const side = {
    dataSource: '/rows',
    props: { url: `http://127.0.0.1:${port}`, interval: 1, timeout: 3000 },
    start: async () => {
      server = createServer((request, response) => {
        if (request.headers.authorization !== undefined) return void response.writeHead(401).end();
        if (isAwake) response.end(waiting.length > 0 ? waiting.shift() : '[]');
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
      waiting.push(...messages);
      await eventually('all to be asked for', () => waiting.length === 0, 120_000);
    },
    refusal: {
      props: { headers: { Authorization: 'Bearer pull-wrong-53' } },
      reason: /401/,
      secret: 'pull-wrong-53',
    },
    tls: {
      props: (at: number) => ({
        url: `https://127.0.0.1:${at}`,
        insecureSkipVerify: false,
        headers: { Authorization: 'Bearer pull-secret-54' },
      }),
      secret: 'pull-secret-54',
    },
  };
  await side.start();
  return side;
}

sourceFaults(test, 'httppull', answers, { lacks: { keeps: 'this server gives each answer once' } });

test.run();
