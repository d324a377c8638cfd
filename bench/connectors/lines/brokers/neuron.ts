/** Messages of a gateway over SP, both ways; there is no library for Node.js, so the program frames them itself. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { frameHead, helloOf, SpReader } from '../../../../host/clients/sp/frames.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, type Row, reading, worked } from '../../line.js';
import { eachLine, endOf, writeTo } from '../../lines-of-file.js';

const rows = 200_000;
/** Messages of a write of the sender. */
const atOnce = 500;

const framed = (text: string) => {
  const body = Buffer.from(text);
  return Buffer.concat([frameHead(body.length, false), body]);
};

function eventOf(id: number): string {
  const { device, temperature } = reading(id);
  const values = { id, device, temperature };
  return JSON.stringify({ timestamp: id, node_name: 'n', group_name: 'g', values, errors: {} });
}

function commandOf({ id, device, temperature }: Row): string {
  const tags = Object.entries({ id, device, temperature }).map(([tag_name, value]) => ({ tag_name, value }));
  return JSON.stringify({ group_name: 'g', node_name: 'n', tags });
}

function rowOf(text: string | Uint8Array): Row {
  const { tags } = JSON.parse(Buffer.from(text).toString()) as { tags: { tag_name: string; value: unknown }[] };
  return Object.fromEntries(tags.map(({ tag_name, value }) => [tag_name, value]));
}

/** A peer that listens: `latest` is its last connection. */
async function openPeer(take: (message: Buffer) => void) {
  const at: { latest?: Socket } = {};
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    at.latest = socket;
    sockets.add(socket);
    const reader = new SpReader(false, 'pair', () => {}, take);
    socket.on('data', (bytes) => reader.read(bytes));
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.write(helloOf('pair'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { at, url: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function connected(address: string, take: (message: Buffer) => void): Promise<Socket> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.write(helloOf('pair'));
  await new Promise<void>((resolve) => {
    const reader = new SpReader(false, 'pair', resolve, take);
    socket.on('data', (bytes) => reader.read(bytes));
  });
  return socket;
}

export const lines: readonly Line[] = [
  {
    name: 'neuron in',
    connectors: ['neuron'],
    rows,
    select: (stream) =>
      `SELECT values->id AS id, values->device AS device, values->temperature AS temperature FROM ${stream}`,
    open: async () => {
      const { at, url, close } = await openPeer(() => {});
      return {
        address: url,
        source: { type: 'neuron', dataSource: '', props: { url } },
        feed: async () => {
          const socket = at.latest!;
          for (let from = 0; from < rows; from += atOnce) {
            const part = Array.from({ length: atOnce }, (_, i) => framed(eventOf(from + i)));
            if (!socket.write(Buffer.concat(part))) await once(socket, 'drain');
          }
        },
        close,
      };
    },
    plain: async ({ address, ready }) => {
      let count = 0;
      let finished = () => {};
      const all = new Promise<void>((resolve) => {
        finished = resolve;
      });
      await connected(address, (message) => {
        const { values } = JSON.parse(message.toString()) as { values: Row };
        worked(values);
        if (++count === rows) finished();
      });
      void ready();
      await all;
    },
  },
  {
    name: 'neuron out',
    connectors: ['neuron'],
    rows,
    open: async () => {
      const arrivals = new Arrivals(rows, rowOf);
      const { url, close } = await openPeer((message) => arrivals.take(message));
      return {
        address: url,
        sink: { type: 'neuron', props: { url, nodeName: 'n', groupName: 'g', tags: ['id', 'device', 'temperature'] } },
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close,
      };
    },
    plain: async ({ address, file, ready }) => {
      const socket = await connected(address, () => {});
      void ready();
      await eachLine(file, (text) => {
        const body = Buffer.from(commandOf(JSON.parse(text)));
        socket.write(frameHead(body.length, false));
        return writeTo(socket, body);
      });
      await endOf(socket);
    },
  },
];
