/** Faults of a websocket server, both ways. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { test } from 'uvu';
import { type WebSocket, WebSocketServer } from 'ws';
import { sourceFaults } from '../../support/connectors/faults/sources.js';
import { eventually, freePort } from '../../support/harness.js';

/** A server that hears and says what the test wants. */
async function openEndpoint() {
  const port = await freePort();
  const ids: number[] = [];
  let server: WebSocketServer | undefined;
  const sockets = new Set<WebSocket>();
  const side = {
    props: { addr: `127.0.0.1:${port}`, path: '/rows' },
    ids,
    sockets,
    start: async () => {
      const knows = ({ headers }: IncomingMessage) => headers.authorization === undefined;
      server = new WebSocketServer({
        port,
        host: '127.0.0.1',
        maxPayload: 64 << 20,
        verifyClient: ({ req }, answer) => answer(knows(req), 401),
      });
      server.on('connection', (socket) => {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket));
        socket.on('message', (message) => ids.push((JSON.parse(String(message)) as { id: number }).id));
      });
      await once(server, 'listening');
    },
    kill: async () => {
      for (const socket of sockets) socket.terminate();
      if (server === undefined) return;
      server.close();
      await once(server, 'close');
      server = undefined;
    },
    pause: () => {
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      for (const socket of sockets) socket.resume();
    },
    close: () => side.kill(),
  };
  await side.start();
  return side;
}

sourceFaults(
  test,
  'websocket',
  async () => {
    const side = await openEndpoint();
    return Object.assign(side, {
      dataSource: '/rows',
      send: async (messages: readonly (string | Buffer)[]) => {
        await eventually('a client', () => side.sockets.size > 0);
        for (const socket of side.sockets) {
          for (const message of messages) await new Promise((resolve) => socket.send(message, resolve));
        }
      },
      tls: {
        props: (port: number) => ({
          addr: `127.0.0.1:${port}`,
          scheme: 'wss',
          requestHeader: { Authorization: 'Bearer socket-secret-12' },
        }),
        secret: 'socket-secret-12',
      },
      refusal: {
        props: { requestHeader: { Authorization: 'Bearer socket-secret-11' } },
        reason: /401/,
        secret: 'socket-secret-11',
      },
    });
  },
  { lacks: { keeps: 'nobody sends again what came over a websocket' } },
);

test.run();
