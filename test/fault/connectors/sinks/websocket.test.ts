/** Faults of a websocket server that results are sent to. */
import { once } from 'node:events';
import { test } from 'uvu';
import { type WebSocket, WebSocketServer } from 'ws';
import { sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { idsOf } from '../../../support/connectors/ids.js';
import { freePort } from '../../../support/harness.js';

async function openSide() {
  const port = await freePort();
  const ids: number[] = [];
  let server: WebSocketServer | undefined;
  const sockets = new Set<WebSocket>();
  const side = {
    props: { addr: `127.0.0.1:${port}`, path: '/rows' },
    arrived: () => ids,
    mayLose: true,
    start: async () => {
      server = new WebSocketServer({ port, host: '127.0.0.1', maxPayload: 64 << 20 });
      server.on('connection', (socket) => {
        sockets.add(socket);
        socket.on('close', () => sockets.delete(socket));
        socket.on('error', () => {});
        socket.on('message', (message) => ids.push(...idsOf([message])));
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
    tls: { props: (to: number) => ({ addr: `127.0.0.1:${to}`, scheme: 'wss' }), plainPort: port },
  };
  await side.start();
  return side;
}

sinkFaults(test, 'websocket', openSide, {
  lacks: {
    refusal: 'its properties have no login',
    rejects: 'nobody answers a message',
    full: 'a server without room reads no more, which is one that hangs',
  },
});

test.run();
