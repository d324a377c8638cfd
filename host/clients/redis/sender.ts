/**
 * Sends the commands that messages are to a server, behind each other without waiting, and keeps each message until all
 * its commands are answered. What is not answered when a connection breaks is sent again on the next one.
 */
import { reasonOf } from '../../base/errors.js';
import { InFlight, type InFlightMessage } from '../../base/structures/in-flight.js';
import { type CountedMessage, type CountsContext, InOrderCounts } from '../../base/structures/in-order-counts.js';
import { redisPeer } from './address.js';
import { isReply, type RedisCommand, RedisPool, type SharedRedis } from './client.js';
import type { RedisConf } from './connection.js';

/** The part of `SinkContext` that the sender uses. */
export interface SenderContext extends CountsContext {
  disconnected(reason: string, isPatient?: boolean): void;
  shared<T>(key: string, make: () => T): T;
}

interface Sent extends CountedMessage, InFlightMessage {
  readonly commands: readonly RedisCommand[];
  readonly payload: Buffer;
  readonly bytes: number;
  unanswered: number;
  /** Reason why the message was refused. */
  refusal: string | undefined;
}

/** Answers of a server that may do later what it does not now: it loads, is full, has become a replica. */
const later = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|OOM|NOREPLICAS|MISCONF)\b/;

export class RedisSender {
  readonly peer: string;
  readonly #pool: RedisPool;
  #client: SharedRedis;
  /** The connection of the renewed login, used from the next call of `open` on. */
  #renewed: SharedRedis | undefined;
  /** Messages that were not sent on this connection yet. */
  #queue: Sent[] = [];
  /** Messages in flight on this connection, in order. */
  #unanswered = new InFlight<Sent>();
  /** Messages to send again, and the reason; they wait for the answers to all messages in flight. */
  #again: Sent[] = [];
  #reason = '';
  readonly #counts: InOrderCounts<Sent>;
  #isConnected = false;
  #isClosed = false;
  #isScheduled = false;

  constructor(
    conf: RedisConf,
    readonly context: SenderContext,
  ) {
    this.peer = redisPeer(conf.addr);
    this.#pool = context.shared('redis.clients', () => new RedisPool());
    this.#client = this.#pool.take(conf);
    this.#counts = new InOrderCounts(context);
  }

  /** See `Sink.renew`. */
  renew(conf: RedisConf): void {
    this.#renewed?.giveBack(this);
    this.#renewed = this.#pool.take(conf);
  }

  async open(): Promise<void> {
    if (this.#renewed !== undefined) {
      this.#client.giveBack(this);
      this.#client = this.#renewed;
      this.#renewed = undefined;
    }
    await this.#client.open(this, (reason) => {
      this.#isConnected = false;
      this.#queue = [...this.#again, ...this.#unanswered.all, ...this.#queue];
      this.#again = [];
      this.#unanswered = new InFlight();
      if (!this.#isClosed) this.context.disconnected(reason);
    });
    this.#isConnected = true;
    this.#send();
  }

  /** Takes the commands that a message is, or none; sends them at the end of this turn of the event loop. */
  add(commands: readonly RedisCommand[], message: Buffer): void {
    const sent = sentOf(message, commands);
    this.#counts.add(sent);
    if (commands.length === 0) {
      this.#counts.done(sent);
      return;
    }
    this.#queue.push(sent);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  /** Takes a message that is no command: it has failed as soon as all before it are counted. */
  refuse(message: Buffer, reason: string): void {
    const sent = sentOf(message);
    this.#counts.add(sent);
    this.#counts.done(sent, reason);
  }

  flush(): Promise<void> {
    return this.#counts.flush();
  }

  close(): void {
    this.#isClosed = true;
    this.#isConnected = false;
    this.#renewed?.giveBack(this);
    this.#client.giveBack(this);
    this.#counts.close();
    // Whoever closes it counts what is left as lost.
    this.#unanswered = new InFlight();
  }

  #send(): void {
    if (!this.#isConnected || this.#again.length > 0) return;
    const queue = this.#queue;
    this.#queue = [];
    const unanswered = this.#unanswered;
    for (const message of queue) {
      message.unanswered = message.commands.length;
      message.refusal = undefined;
      unanswered.add(message);
      for (const command of message.commands) {
        this.#client.send(command).then(
          () => this.#answered(message, unanswered),
          (error: unknown) => {
            // Without an answer the loss of the connection follows.
            if (isReply(error)) this.#answered(message, unanswered, reasonOf(error));
          },
        );
      }
    }
  }

  #answered(message: Sent, unanswered: InFlight<Sent>, refusal?: string): void {
    if (unanswered !== this.#unanswered) return;
    // A refusal that may be tried again counts more than a final one.
    if (refusal !== undefined && !later.test(message.refusal ?? '')) message.refusal = refusal;
    if (--message.unanswered > 0) return;
    unanswered.delete(message);
    if (message.refusal !== undefined && later.test(message.refusal)) {
      this.#again.push(message);
      this.#reason = message.refusal;
    } else {
      this.#counts.done(message, message.refusal);
    }
    if (unanswered.size === 0 && this.#again.length > 0) this.#tryLater();
  }

  /** The server is there, but does not take everything now: it is asked again as if the connection had been lost. */
  #tryLater(): void {
    this.#isConnected = false;
    this.#queue = [...this.#again, ...this.#queue];
    this.#again = [];
    this.context.disconnected(this.#reason, true);
  }
}

const sentOf = (payload: Buffer, commands: readonly RedisCommand[] = []): Sent => ({
  commands,
  payload,
  bytes: payload.length,
  unanswered: 0,
  refusal: undefined,
  outcome: undefined,
  flight: undefined,
});
