/**
 * Sends the commands that messages are to a server, behind each other without waiting, and keeps each message until all
 * its commands are answered. What is not answered when a connection breaks is sent again on the next one. Messages are
 * counted in the order in which they came: behind one that is sent again those that are answered already wait, since
 * what is counted always stands for the oldest messages.
 */
import { reasonOf } from '../../base/errors.js';
import { redisPeer } from './address.js';
import { isReply, type RedisCommand, RedisPool, type SharedRedis } from './client.js';
import type { RedisConf } from './connection.js';

/** The part of `SinkContext` that the sender uses. */
export interface SenderContext {
  accepted(bytes: number, messages: number): void;
  refused(refused: Uint8Array, bytes: number, messages: number, reason: string): void;
  disconnected(reason: string, isPatient?: boolean): void;
  shared<T>(key: string, make: () => T): T;
}

interface Sent {
  readonly commands: readonly RedisCommand[];
  /** The message; its length is the credit that is given back when it is answered. */
  readonly message: Buffer;
  unanswered: number;
  /** Reason why the message was refused. */
  refusal: string | undefined;
  /** Nothing more is to be done for the message. */
  isDone: boolean;
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
  #unanswered = new Set<Sent>();
  /** Messages to send again, and the reason; they wait for the answers to all messages in flight. */
  #again: Sent[] = [];
  #reason = '';
  /** All messages that are not counted yet, in the order in which they came. */
  readonly #uncounted = new Set<Sent>();
  #isSettling = false;
  #isConnected = false;
  #isClosed = false;
  #isScheduled = false;
  #onIdle: (() => void)[] = [];

  constructor(
    private conf: RedisConf,
    readonly context: SenderContext,
  ) {
    this.peer = redisPeer(conf.addr);
    this.#pool = context.shared('redis.clients', () => new RedisPool());
    this.#client = this.#pool.take(conf);
  }

  /** See `Sink.renew`. */
  renew(props: Readonly<Record<string, unknown>>): void {
    const [username, password] = [String(props.username ?? ''), String(props.password ?? '')];
    this.conf = { ...this.conf, username, password };
    this.#renewed?.giveBack(this);
    this.#renewed = this.#pool.take(this.conf);
  }

  async open(): Promise<void> {
    if (this.#renewed !== undefined) {
      this.#client.giveBack(this);
      this.#client = this.#renewed;
      this.#renewed = undefined;
    }
    await this.#client.open(this, (reason) => {
      this.#isConnected = false;
      this.#queue = [...this.#again, ...this.#unanswered, ...this.#queue];
      this.#again = [];
      this.#unanswered = new Set();
      if (!this.#isClosed) this.context.disconnected(reason);
    });
    this.#isConnected = true;
    this.#send();
  }

  /** Takes the commands that a message is, or none; sends them at the end of this turn of the event loop. */
  add(commands: readonly RedisCommand[], message: Buffer): void {
    const sent: Sent = { commands, message, unanswered: 0, refusal: undefined, isDone: commands.length === 0 };
    this.#uncounted.add(sent);
    if (sent.isDone) {
      this.#settle();
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
    this.#uncounted.add({ commands: [], message, unanswered: 0, refusal: reason, isDone: true });
    this.#settle();
  }

  flush(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  close(): void {
    this.#isClosed = true;
    this.#isConnected = false;
    this.#renewed?.giveBack(this);
    this.#client.giveBack(this);
    // Whoever closes it counts what is left as lost.
    this.#unanswered = new Set();
  }

  get #isIdle(): boolean {
    return this.#uncounted.size === 0 && !this.#isSettling;
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

  #answered(message: Sent, unanswered: Set<Sent>, refusal?: string): void {
    if (unanswered !== this.#unanswered) return;
    // A refusal that may be tried again counts more than a final one.
    if (refusal !== undefined && !later.test(message.refusal ?? '')) message.refusal = refusal;
    if (--message.unanswered > 0) return;
    unanswered.delete(message);
    if (message.refusal !== undefined && later.test(message.refusal)) {
      this.#again.push(message);
      this.#reason = message.refusal;
    } else {
      message.isDone = true;
      this.#settle();
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

  /** Counts, once per turn, the messages that are done, up to the first that is not. */
  #settle(): void {
    if (this.#isSettling) return;
    this.#isSettling = true;
    setImmediate(() => {
      this.#isSettling = false;
      if (!this.#isClosed) this.#count();
      if (this.#isIdle) for (const call of this.#onIdle.splice(0)) call();
    });
  }

  #count(): void {
    let bytes = 0;
    let messages = 0;
    const accept = () => {
      if (messages > 0) this.context.accepted(bytes, messages);
      bytes = 0;
      messages = 0;
    };
    for (const sent of this.#uncounted) {
      if (!sent.isDone) break;
      this.#uncounted.delete(sent);
      const { message, refusal } = sent;
      if (refusal === undefined) {
        bytes += message.length;
        messages++;
        continue;
      }
      accept();
      this.context.refused(message, message.length, 1, refusal);
    }
    accept();
  }
}
