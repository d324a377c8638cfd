/**
 * The websockets of one path: what clients send goes to the sources of the path, what its sinks send to all clients.
 * Clients that do not read are waited for up to bounds of bytes and time, then they are disconnected.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { FrameBuffer } from '../../connectors/messages/frames.js';
import { BegunMessages } from './begun-messages.js';
import type { EndpointBounds } from './endpoint-bounds.js';

/** Longest message. */
export const maxMessageBytes = 16 << 20;
/** Unread bytes of a client from which on senders wait for it. */
const maxUnreadBytes = 1 << 20;
/** Time, ms, after which such a client is disconnected: the rule would stand still for all others. */
const defaultSlowMs = 5000;
/** So many times that time for one that reads, but too little: a byte now and then is not worth the wait of others. */
const mostPatience = 3;
/** Clients are asked so often whether they are there, ms; they answer before the next question. */
const askEveryMs = 30_000;
/** Time for the last frames of a connection that ends, ms. */
const endMs = 500;
const goingAway = 1001;
const tryAgainLater = 1013;
/** What is gathered of all clients in one turn at most, bytes. */
const maxGathered = 256 << 10;

export class WebsocketEndpoint {
  readonly #clients = new Set<WebSocket>();
  readonly #frames = new FrameBuffer();
  readonly #begun: BegunMessages;
  #isScheduled = false;
  #isPaused = false;
  /** Clients need no token. */
  isForAll = false;

  constructor(
    private readonly server: WebSocketServer,
    /** Takes the messages of one turn as frames. */
    private readonly take: (frames: Uint8Array) => void,
    private readonly bounds: EndpointBounds,
    private readonly slowMs = defaultSlowMs,
  ) {
    this.#begun = new BegunMessages(bounds.maxBytes);
  }

  accept(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const refusal = this.bounds.refusal(this.#clients.size);
    if (refusal !== undefined) {
      socket.end(
        `HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n` +
          `Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(refusal)}\r\n\r\n${refusal}`,
      );
      return;
    }
    this.server.handleUpgrade(request, socket, head, (client) => {
      this.#clients.add(client);
      this.#begun.follow(socket, () => {
        const most = `${this.bounds.maxBytes} bytes (source.maxEndpointBytes)`;
        this.bounds.tell(`a client was disconnected: incomplete messages of all clients have more than ${most}`);
        client.close(tryAgainLater, 'too many incomplete messages');
        client.terminate();
      });
      if (this.#isPaused) client.pause();
      client.on('message', (message) => this.#add(message as Buffer));
      // The connection ends with it.
      client.on('error', () => {});
      watch(client);
      client.on('close', () => this.#clients.delete(client));
    });
  }

  /** Reads from no client, or does again. */
  pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    for (const client of this.#clients) {
      if (isPaused) client.pause();
      else client.resume();
    }
  }

  /** Resolves when all clients can take more, with the number of those that were too slow and are disconnected. */
  async send(messages: readonly Buffer[]): Promise<number> {
    const slow: Promise<boolean>[] = [];
    for (const message of messages) {
      const options = { binary: !isUtf8(message) };
      for (const client of this.#clients) client.send(message, options, () => {});
    }
    for (const client of this.#clients) {
      if (client.bufferedAmount > maxUnreadBytes) slow.push(isTooSlow(client, this.slowMs));
    }
    return (await Promise.all(slow)).filter((isSlow) => isSlow).length;
  }

  /** Ends all connections; clients may come again. */
  close(): void {
    for (const client of this.#clients) {
      if (this.#isPaused) client.resume();
      client.close(goingAway);
      setTimeout(() => client.terminate(), endMs).unref();
    }
    this.#clients.clear();
  }

  #add(message: Buffer): void {
    this.#frames.add(message);
    if (this.#frames.sizeBytes >= maxGathered) this.#flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#flush());
    }
  }

  #flush(): void {
    this.#isScheduled = false;
    if (this.#frames.count === 0) return;
    this.take(Uint8Array.from(this.#frames.bytes));
    this.#frames.clear();
  }
}

/** Ends the connection of a client that is gone without a word. */
function watch(client: WebSocket): void {
  let isThere = true;
  const timer = setInterval(() => {
    // While nobody reads, its answer is not seen.
    if (!isThere && !client.isPaused) return client.terminate();
    isThere = false;
    client.ping(() => {});
  }, askEveryMs).unref();
  client.on('pong', () => {
    isThere = true;
  });
  client.on('message', () => {
    isThere = true;
  });
  client.on('close', () => clearInterval(timer));
}

/** Waits until the client has read half of what may wait for it; one that does not in time is disconnected. */
function isTooSlow(client: WebSocket, slowMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let last = client.bufferedAmount;
    const began = performance.now();
    let since = began;
    const done = (isSlow: boolean) => {
      clearInterval(timer);
      client.off('close', onClose);
      if (isSlow) {
        client.close(tryAgainLater, 'too slow');
        client.terminate();
      }
      resolve(isSlow);
    };
    const onClose = () => done(false);
    const timer = setInterval(() => {
      const { bufferedAmount } = client;
      const now = performance.now();
      if (bufferedAmount <= maxUnreadBytes / 2) return done(false);
      // One that reads a few bytes now and then would hold up all others for ever.
      if (now - began > slowMs * mostPatience) return done(true);
      if (bufferedAmount < last) since = now;
      else if (now - since > slowMs) return done(true);
      last = bufferedAmount;
    }, 5);
    client.on('close', onClose);
  });
}
