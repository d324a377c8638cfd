/**
 * Receiver for the results of the rule in trouble, as a process of its own: a minimal MQTT broker, which
 * can be away or stuck, and counts.
 *
 *   → { order: 'listen' }              ← { event: 'listening', port }
 *   → { order: 'away' | 'back' }       no connection is there, or may be made; ← { event: 'done' }
 *   → { order: 'stuck' | 'flow' }      connections stay, and nothing is read; ← { event: 'done' }
 *   → { order: 'count', sent }         ← { event: 'counts', … }
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { FIRST_ID } from '../messages/frames.js';
import { Counter, idIn } from './count.js';

const sockets = new Set<Socket>();

/** Runs the receiver until the parent goes away. */
export function runReceiver(): void {
  const counter = new Counter();
  let isStuck = false;
  let port = 0;
  let server: Server | undefined;
  const listen = async () => {
    server = createServer({ noDelay: true }, (socket) => {
      take(socket, counter);
      if (isStuck) socket.pause();
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as { port: number }).port;
  };
  const obey = async (order: string): Promise<object> => {
    switch (order) {
      case 'listen':
        await listen();
        return { event: 'listening', port };
      case 'back':
        await listen();
        break;
      case 'away':
        server?.close();
        for (const socket of sockets) socket.destroy();
        break;
      default:
        isStuck = order === 'stuck';
        for (const socket of sockets) isStuck ? socket.pause() : socket.resume();
    }
    return { event: 'done' };
  };
  process.on('disconnect', () => process.exit(0));
  process.on('message', (message: { order: string; sent: number }) => {
    if (message.order === 'count') process.send!({ event: 'counts', ...counter.of(message.sent) });
    else void obey(message.order).then((answer) => process.send!(answer));
  });
}

function take(socket: Socket, counter: Counter): void {
  sockets.add(socket);
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const answers: number[] = [];
    let at = 0;
    for (let packet = packetAt(bytes, at); packet !== undefined; packet = packetAt(bytes, at)) {
      answer(bytes, at, packet, answers, counter);
      at = packet.end;
    }
    rest = at === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
    if (answers.length > 0) socket.write(Buffer.from(answers));
  });
  socket.on('error', () => {});
  socket.on('close', () => sockets.delete(socket));
}

interface Packet {
  /** Offsets of the packet's body and end, bytes. */
  readonly body: number;
  readonly end: number;
}

function packetAt(bytes: Buffer, at: number): Packet | undefined {
  let length = 0;
  for (let i = 1; i < 5; i++) {
    const byte = bytes[at + i];
    if (byte === undefined) return undefined;
    length |= (byte & 127) << (7 * (i - 1));
    if (byte >= 128) continue;
    const body = at + i + 1;
    return body + length <= bytes.length ? { body, end: body + length } : undefined;
  }
  throw new Error('a packet without an end');
}

/** CONNECT, PINGREQ and PUBLISH of QoS 0 and 1 of MQTT 3.1.1: what a sink sends. */
function answer(bytes: Buffer, at: number, { body, end }: Packet, answers: number[], counter: Counter): void {
  const head = bytes[at]!;
  switch (head >> 4) {
    case 1:
      answers.push(0x20, 2, 0, 0);
      break;
    case 3: {
      const behindTopic = body + 2 + bytes.readUInt16BE(body);
      const isConfirmed = ((head >> 1) & 3) > 0;
      const id = idIn(bytes, behindTopic, end);
      if (id >= FIRST_ID) counter.take(id - FIRST_ID);
      if (isConfirmed) answers.push(0x40, 2, bytes[behindTopic]!, bytes[behindTopic + 1]!);
      break;
    }
    case 12:
      answers.push(0xd0, 0);
      break;
    default:
  }
}
