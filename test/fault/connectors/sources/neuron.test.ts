/** Faults of Neuron, of which there is the other end of its protocol. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { test } from 'uvu';
import { frameHead, helloOf } from '../../../../host/clients/sp/frames.js';
import { type SourceSide, sourceFaults } from '../../../support/connectors/faults/sources.js';
import { eventually, freePort } from '../../../support/harness.js';

async function pair(): Promise<SourceSide> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  let isAwake = true;
  let server: Server | undefined;
  const side = {
    dataSource: '',
    props: { url: `tcp://127.0.0.1:${port}` },
    start: async () => {
      server = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {}).resume();
        socket.on('close', () => sockets.delete(socket));
        if (isAwake) socket.write(helloOf('pair'));
      });
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    kill: async () => {
      if (server === undefined) return;
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
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
      // One that another rule has left may not be closed yet.
      const peers = () => [...sockets].filter(({ writable }) => writable);
      await eventually('a peer', () => peers().length > 0);
      for (const socket of peers()) {
        for (const message of messages) {
          const body = Buffer.from(message);
          if (!socket.writable) break;
          const isRead = socket.write(Buffer.concat([frameHead(body.length, false), body]));
          // One that is left while it is written to never drains.
          if (isRead || socket.destroyed) continue;
          await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
        }
      }
    },
  };
  await side.start();
  return side;
}

sourceFaults(test, 'neuron', pair, {
  lacks: {
    tls: 'Neuron speaks plain TCP or over a socket of the machine',
    refusal: 'Neuron asks for no password',
    keeps: 'a pair forgets what it has sent',
  },
});

test.run();
