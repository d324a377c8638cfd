/** The broker's side of MQTT 3.1.1 in this process, for what a real broker would never send. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

export interface RawBroker {
  readonly port: number;
  readonly url: string;
  /** Connections so far. */
  readonly connections: number;
  /** Packet ids of the acknowledgements received, in order. */
  readonly acknowledged: readonly number[];
  close(): void;
}

/** Accepts connections and subscriptions, and then does what it is told. */
export async function openRawBroker(then: (socket: Socket, connection: number) => void): Promise<RawBroker> {
  const sockets = new Set<Socket>();
  const acknowledged: number[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    const number = ++connections;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      if (bytes[0] === 0x10) socket.write(Buffer.from([0x20, 2, 0, 0]));
      else if (bytes[0] === 0xc0) socket.write(Buffer.from([0xd0, 0]));
      else if (bytes[0] === 0x82) {
        socket.write(Buffer.from([0x90, 3, bytes[2]!, bytes[3]!, 1]));
        then(socket, number);
      } else if (bytes[0] === 0x40) {
        for (let i = 0; i + 4 <= bytes.length; i += 4) acknowledged.push(bytes.readUInt16BE(i + 2));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    port,
    url: `tcp://127.0.0.1:${port}`,
    get connections() {
      return connections;
    },
    acknowledged,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** A PUBLISH packet on topic `a`; with an id above 0 of QoS 1. */
export function publish(payload: string | Uint8Array, id = 0): Buffer {
  const body = Buffer.concat([
    Buffer.from(id > 0 ? [0, 1, 97, id >> 8, id & 255] : [0, 1, 97]),
    typeof payload === 'string' ? Buffer.from(payload) : payload,
  ]);
  const length: number[] = [];
  for (let left = body.length; ; ) {
    const more = left >> 7;
    length.push((left & 0x7f) | (more > 0 ? 0x80 : 0));
    if (more === 0) break;
    left = more;
  }
  return Buffer.concat([Buffer.from([id > 0 ? 0x32 : 0x30, ...length]), body]);
}
