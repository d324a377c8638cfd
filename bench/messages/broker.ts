/**
 * The least of an MQTT broker that a client under test needs: CONNECT, SUBSCRIBE, UNSUBSCRIBE, PINGREQ and DISCONNECT
 * are answered, PUBLISH packets of the client are handed out. It forwards nothing by itself: the load generator writes
 * frames straight to the subscriber's socket.
 */
import { createServer, type Server, type Socket } from 'node:net';

export interface BrokerEvents {
  /** A client has subscribed: its topic filters, and its socket for writing frames. */
  subscribed(socket: Socket, filters: string[]): void;
  /** A client has published; the bytes are valid during the call. */
  published?(topic: string, payload: Buffer): void;
  closed?(socket: Socket): void;
}

const MAX_PACKET = 1 << 20;

/** Starts the broker on a free port of the loopback address and resolves with the port. */
export function startBroker(events: BrokerEvents): Promise<{ server: Server; port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    let rest = Buffer.alloc(0);
    let isV5 = false;
    socket.on('data', (chunk) => {
      let data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
      for (;;) {
        const packet = splitPacket(data);
        if (packet === null) break;
        if (packet === 'bad') {
          socket.destroy();
          return;
        }
        const type = (data[0] as number) >> 4;
        const body = data.subarray(packet.head, packet.end);
        if (type === 1) {
          isV5 = body[6] === 5;
          socket.write(isV5 ? Buffer.from([0x20, 3, 0, 0, 0]) : Buffer.from([0x20, 2, 0, 0]));
        } else if (type === 8) {
          const filters = readFilters(body, isV5);
          const codes = filters.map(() => 0);
          const head = [body[0] as number, body[1] as number, ...(isV5 ? [0] : [])];
          socket.write(Buffer.from([0x90, head.length + codes.length, ...head, ...codes]));
          events.subscribed(socket, filters);
        } else if (type === 10) {
          socket.write(
            Buffer.from([0xb0, isV5 ? 4 : 2, body[0] as number, body[1] as number, ...(isV5 ? [0, 0] : [])]),
          );
        } else if (type === 12) {
          socket.write(Buffer.from([0xd0, 0]));
        } else if (type === 3 && events.published) {
          const qos = ((data[0] as number) >> 1) & 3;
          const topicLen = body.readUInt16BE(0);
          let at = 2 + topicLen;
          if (qos > 0) {
            if (qos === 1) socket.write(Buffer.from([0x40, 2, body[at] as number, body[at + 1] as number]));
            at += 2;
          }
          if (isV5) at += 1 + (body[at] as number);
          events.published(body.toString('utf8', 2, 2 + topicLen), body.subarray(at));
        }
        data = data.subarray(packet.end);
      }
      rest = data.length > 0 ? Buffer.from(data) : data;
    });
    const gone = (): void => {
      if (sockets.delete(socket)) events.closed?.(socket);
    };
    socket.on('error', gone);
    socket.on('close', gone);
  });
  server.on('close', () => {
    for (const socket of sockets) socket.destroy();
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('broker has no port'));
      else resolve({ server, port: address.port });
    });
  });
}

function splitPacket(data: Buffer): { head: number; end: number } | 'bad' | null {
  let length = 0;
  for (let i = 1; i < 5; i++) {
    const byte = data[i];
    if (byte === undefined) return null;
    length |= (byte & 127) << (7 * (i - 1));
    if (byte < 128) {
      if (length > MAX_PACKET) return 'bad';
      const head = i + 1;
      return data.length >= head + length ? { head, end: head + length } : null;
    }
  }
  return 'bad';
}

function readFilters(body: Buffer, isV5: boolean): string[] {
  const filters: string[] = [];
  let at = 2;
  if (isV5) at += 1 + (body[at] as number);
  while (at + 2 <= body.length) {
    const len = body.readUInt16BE(at);
    filters.push(body.toString('utf8', at + 2, at + 2 + len));
    at += 2 + len + 1;
  }
  return filters;
}
