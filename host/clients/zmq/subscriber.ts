/** Sockets that read what others publish. The library would connect again by itself: here a lost socket is closed. */
import { Subscriber } from 'zeromq';
import { zmqClientErrors } from './errors.js';

/** Longest wait for a publisher to answer, ms. */
const connectTimeoutMs = 10_000;
/** Interval of pings, and silence after which a publisher is taken for gone, ms. */
const pingIntervalMs = 5000;
const silenceMs = 30_000;
/** Size of a message beyond which its publisher is disconnected, bytes. */
const maxMessageBytes = 64 << 20;

/** Connects; calls `lost` when the publisher is gone. */
export async function subscribe(server: string, topics: readonly string[], lost: () => void): Promise<Subscriber> {
  const socket = new Subscriber({
    linger: 0,
    connectTimeout: connectTimeoutMs,
    heartbeatInterval: pingIntervalMs,
    heartbeatTimeout: silenceMs,
    maxMessageSize: maxMessageBytes,
  });
  let timer: NodeJS.Timeout | undefined;
  const connected = new Promise<void>((resolve, reject) => {
    const fail = (reason: string) => reject(zmqClientErrors.connection(`${server}: ${reason}`));
    timer = setTimeout(() => fail(`no answer within ${connectTimeoutMs} ms`), connectTimeoutMs);
    socket.events.on('handshake', () => resolve());
    socket.events.on('connect:retry', () => fail('nobody publishes there'));
    for (const name of ['handshake:error:protocol', 'handshake:error:auth', 'handshake:error:other'] as const) {
      socket.events.on(name, () => fail('the other side does not speak ZeroMQ'));
    }
    socket.events.on('disconnect', () => {
      fail('the connection was closed');
      lost();
    });
  });
  try {
    socket.connect(server);
    socket.subscribe(...topics);
    await connected;
    return socket;
  } catch (error) {
    socket.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Connects once and disconnects; throws the reason when nobody publishes there. */
export async function pingZmq(server: string): Promise<void> {
  const socket = await subscribe(server, [''], () => {});
  socket.close();
}
