/** Faults of a websocket server, both ways. */
import { once } from 'node:events';
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
      server = new WebSocketServer({ port, host: '127.0.0.1', maxPayload: 64 << 20 });
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

sourceFaults(test, 'websocket', async () => {
  const side = await openEndpoint();
  return Object.assign(side, {
    dataSource: '/rows',
    keeps: false,
    send: async (messages: readonly (string | Buffer)[]) => {
      await eventually('a client', () => side.sockets.size > 0);
      for (const socket of side.sockets) for (const message of messages) socket.send(message);
    },
  });
});

test.run();
