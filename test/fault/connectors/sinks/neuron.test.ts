/** Faults of Neuron as a sink, of which there is the other end of its protocol. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { test } from 'uvu';
import { helloOf } from '../../../../host/clients/sp/frames.js';
import { type SinkSide, sinkFaults } from '../../../support/connectors/faults/sinks.js';
import { freePort } from '../../../support/harness.js';

/** What nng takes unless it is told otherwise; with a longer message it ends the connection. */
const longest = 1 << 20;
const [helloBytes, headBytes] = [8, 8];

/** Hands on the messages of a connection. */
function read(socket: Socket, take: (message: string) => void): void {
  let left = Buffer.alloc(0);
  let isGreeted = false;
  socket.on('data', (bytes: Buffer) => {
    left = Buffer.concat([left, bytes]);
    if (!isGreeted && left.length >= helloBytes) {
      isGreeted = true;
      left = left.subarray(helloBytes);
    }
    while (isGreeted && left.length >= headBytes) {
      const length = Number(left.readBigUInt64BE(0));
      if (length > longest) return void socket.destroy();
      if (left.length < headBytes + length) return;
      take(left.toString('utf8', headBytes, headBytes + length));
      left = left.subarray(headBytes + length);
    }
  });
}

interface Message {
  readonly tags: readonly { readonly tag_name: string; readonly value: unknown }[];
}

async function openSide(): Promise<SinkSide> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  const ids: number[] = [];
  let isAwake = true;
  let server: Server | undefined;
  const take = (text: string) => {
    const { tags } = JSON.parse(text) as Message;
    ids.push(Number(tags.find(({ tag_name: name }) => name === 'id')?.value));
  };
  const side = {
    props: {
      url: `tcp://127.0.0.1:${port}`,
      nodeName: 'n',
      groupName: 'g',
      tags: [] as string[],
    },
    arrived: () => ids,
    /** Nobody confirms a message. */
    mayLose: true,
    start: async () => {
      server = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => sockets.delete(socket));
        socket.write(helloOf('pair'));
        read(socket, take);
        if (!isAwake) socket.pause();
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
      for (const socket of sockets) socket.pause();
    },
    resume: () => {
      isAwake = true;
      for (const socket of sockets) socket.resume();
    },
    close: () => side.kill(),
    rejects: {
      row: { isBad: true },
      props: { dataTemplate: '{{if .isBad}}no row {{.id}}{{else}}{{json .}}{{end}}' },
      reason: /no JSON of an object/,
    },
  };
  await side.start();
  return side;
}

sinkFaults(test, 'neuron', openSide, {
  lacks: {
    tls: 'Neuron speaks plain TCP or over a socket of the machine',
    refusal: 'Neuron asks for no password',
    full: 'Neuron without room reads no more, which is one that hangs',
  },
});

test.run();
