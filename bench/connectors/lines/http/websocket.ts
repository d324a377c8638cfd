/** Messages of a websocket, both ways. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 500_000;
/** So much may wait in a socket, bytes. */
const mostWaiting = 1 << 20;
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function openServer(take: (payload: Buffer) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const sockets = new Set<WebSocket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('message', take);
    socket.on('close', () => sockets.delete(socket));
  });
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    for (const socket of sockets) socket.terminate();
    server.close();
  };
  return { sockets, address, close };
}

export const lines: readonly Line[] = [
  {
    name: 'websocket in',
    connectors: ['websocket'],
    rows,
    open: async () => {
      const { sockets, address, close } = await openServer(() => {});
      return {
        address,
        source: { type: 'websocket', dataSource: '/rows', props: { addr: address } },
        feed: async () => {
          const [socket] = [...sockets].slice(-1);
          for (let id = 0; id < rows; id++) {
            socket!.send(message(id));
            while (socket!.bufferedAmount > mostWaiting) await turn();
          }
        },
        close,
      };
    },
    plain: async ({ address, ready }) => {
      const socket = new WebSocket(`ws://${address}/rows`);
      await once(socket, 'open');
      let count = 0;
      await new Promise<void>((resolve) => {
        socket.on('message', (text) => {
          work(String(text));
          if (++count === rows) resolve();
        });
        void ready();
      });
    },
  },
  {
    name: 'websocket out',
    connectors: ['websocket'],
    rows,
    open: async () => {
      const arrivals = new Arrivals(rows);
      const { address, close } = await openServer((payload) => arrivals.take(payload));
      return {
        address,
        sink: { type: 'websocket', props: { addr: address, path: '/rows' } },
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close,
      };
    },
    plain: async ({ address, file, ready }) => {
      const socket = new WebSocket(`ws://${address}/rows`);
      await once(socket, 'open');
      void ready();
      await eachLine(file, async (text) => {
        socket.send(work(text));
        while (socket.bufferedAmount > mostWaiting) await turn();
      });
      while (socket.bufferedAmount > 0) await turn();
      socket.close();
    },
  },
];
