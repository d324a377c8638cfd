/**
 * Asks a consumer of a stream for messages, no more at a time than memory and sinks take. The server answers each
 * request with as many messages as it wants, or with a status.
 */
import { createInbox, type Msg, type Subscription } from '@nats-io/transport-node';
import { reasonOf } from '../../base/errors.js';
import type { NatsConnection } from '../../clients/nats/client.js';

/** A consumer, as it is asked. */
export interface Pulled {
  readonly stream: string;
  readonly consumer: string;
  /** Takes a message. */
  take(message: Msg): void;
  /** More is wanted now. */
  readonly isWanted: boolean;
  /** The consumer is gone, or does not answer. */
  failed(reason: string): void;
}

/**
 * Most messages of one request, and their bytes as far as earlier ones tell. Large ones may follow small ones, and the
 * server sends all that were asked for, whatever sinks take.
 */
const mostMessages = 250;
const mostBytes = 8 << 20;
/** Messages of the first request. */
const firstMessages = 16;
/** Time until the server gives a request up, and the silence after which a server is taken for gone, ms. */
const expiresMs = 30_000;
const heartbeatMs = 5000;
const nanosPerMs = 1_000_000;

export class Pulls {
  readonly #subscription: Subscription;
  readonly #inbox: string;
  readonly #subject: string;
  /** Messages that were asked for and have not come. */
  #asked = 0;
  #batch = firstMessages;
  /** Size of messages, a moving average in bytes. */
  #size = 0;
  #isClosed = false;
  #cameAt = performance.now();
  readonly #watch: NodeJS.Timeout;

  /** @param prefix of the subjects of the JetStream API */
  constructor(
    private readonly connection: NatsConnection,
    private readonly pulled: Pulled,
    prefix = '$JS.API',
  ) {
    this.#inbox = createInbox();
    this.#subject = `${prefix}.CONSUMER.MSG.NEXT.${pulled.stream}.${pulled.consumer}`;
    this.#subscription = connection.subscribe(this.#inbox, {
      callback: (error, message) => {
        if (error === null) this.#take(message);
        else this.#fail(reasonOf(error));
      },
    });
    this.#watch = setInterval(() => this.#look(), heartbeatMs).unref();
    this.ask();
  }

  /** Asks for more where that is wanted. */
  ask(): void {
    if (this.#isClosed || this.#asked > this.#batch / 2 || !this.pulled.isWanted) return;
    if (this.#asked === 0) this.#cameAt = performance.now();
    const batch = this.#batch - this.#asked;
    this.#asked += batch;
    const request = { batch, expires: expiresMs * nanosPerMs, idle_heartbeat: heartbeatMs * nanosPerMs };
    this.connection.publish(this.#subject, JSON.stringify(request), { reply: this.#inbox });
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#watch);
    if (!this.connection.isClosed()) this.#subscription.unsubscribe();
  }

  #take(message: Msg): void {
    if (this.#isClosed) return;
    this.#cameAt = performance.now();
    const { data } = message;
    // Messages of a stream have a reply, statuses have none.
    if (!message.reply) {
      this.#status(message);
      return;
    }
    this.#asked = Math.max(0, this.#asked - 1);
    this.#size += (data.length + 100 - this.#size) / 16;
    this.#batch = Math.max(1, Math.min(mostMessages, Math.floor(mostBytes / this.#size)));
    this.pulled.take(message);
    this.ask();
  }

  #status(message: Msg): void {
    const { headers } = message;
    const code = headers?.code ?? 0;
    if (code === 100) return;
    if (code === 404 || code === 408) {
      this.#asked = Math.max(0, this.#asked - Number(headers?.get('Nats-Pending-Messages') || this.#asked));
      this.ask();
      return;
    }
    this.#fail(code === 503 ? 'the consumer does not exist any more' : `${headers?.description ?? 'no answer'}`);
  }

  #look(): void {
    if (this.#asked === 0 || performance.now() - this.#cameAt < 3 * heartbeatMs) return;
    this.#fail(`the server was silent for ${3 * heartbeatMs} ms`);
  }

  #fail(reason: string): void {
    if (this.#isClosed) return;
    this.close();
    this.pulled.failed(reason);
  }
}
