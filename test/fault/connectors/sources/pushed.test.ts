/** Faults of clients that push: by HTTP, and over websockets that they open at the data server. */
import { once } from 'node:events';
import { test } from 'uvu';
import { WebSocket } from 'ws';
import { type SourceSide, sourceFaults } from '../../../support/connectors/faults/sources.js';
import { request } from '../../../support/harness.js';

type Messages = readonly (string | Buffer)[];

/** Whoever pushes is there when it pushes. */
const side = {
  start: async () => {},
  kill: async () => {},
  pause: () => {},
  resume: () => {},
  close: async () => {},
};

const lacks = {
  absence: 'clients come to us',
  kill: 'clients come to us',
  hang: 'clients come to us',
  tls: 'the data server has the certificate, and clients refuse it',
  refusal: 'the data server asks for tokens, and clients have the password',
  keeps: 'a client knows with the answer that it need not send again',
};

async function pusher(): Promise<SourceSide> {
  return {
    ...side,
    dataSource: '/rows',
    props: { method: 'POST' },
    send: async (messages, { dataPort }) => {
      for (const message of messages) {
        // Rules that are busy want the message again later.
        while ((await request(`http://127.0.0.1:${dataPort}`, 'POST', '/rows', String(message))).status === 503);
      }
    },
  };
}

/** A client that stays until the server has read what it sent. */
async function talker(): Promise<SourceSide> {
  return {
    ...side,
    dataSource: '/rows',
    props: {},
    send: async (messages: Messages, { dataPort }) => {
      const socket = new WebSocket(`ws://127.0.0.1:${dataPort}/rows`);
      await once(socket, 'open');
      for (const message of messages) await new Promise((resolve) => socket.send(message, resolve));
      socket.ping();
      await once(socket, 'pong');
      socket.close();
    },
  };
}

sourceFaults(test, 'httppush', pusher, { lacks });
sourceFaults(test, 'websocket', talker, { name: 'websocket endpoint', lacks });

test.run();
