/**
 * Publishes messages, and keeps each until the server has it: in a stream until the stream confirms it, otherwise until
 * the server answers a ping behind it. What is unconfirmed when a connection breaks is published again on the next one.
 */
import { randomUUID } from 'node:crypto';
import {
  createInbox,
  type Msg,
  type MsgHdrs,
  headers as makeHeaders,
  type Subscription,
} from '@nats-io/transport-node';
import { reasonOf } from '../../base/errors.js';
import { InOrderCounts } from '../../base/structures/in-order-counts.js';
import { Recent } from '../../base/structures/recent.js';
import { answerIn } from '../../clients/nats/answer.js';
import type { NatsConnection } from '../../clients/nats/client.js';
import { NatsPool, type SharedNats } from '../../clients/nats/pool.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { type NatsConnectionConf, natsPeer, natsSettings } from './settings.js';

export interface NatsSinkConf extends NatsConnectionConf {
  subject: string;
  headers: Record<string, unknown>;
  jetStream: boolean;
  messageIds: boolean;
}

/** Where a message goes. */
interface Target {
  readonly subject: string;
  readonly headers: readonly (readonly [string, string])[];
}

interface Waiting {
  readonly payload: Buffer;
  readonly target: Target;
  /** Id of the message; empty when messages get none. */
  readonly id: string;
  /** Credit that is given back when the message is confirmed, bytes. */
  bytes: number;
  /** When it was published, as of `performance.now`. */
  sentAt: number;
}

/** Numbers for the ids of messages: all ids of one life of the rule begin with the same series. */
interface Numbers {
  readonly series: string;
  readonly messages: number;
}

/** Messages that a stream may not have confirmed, and their bytes. */
const mostUnconfirmed = 8192;
const mostUnconfirmedBytes = 32 << 20;
const mostTargets = 1000;
/** Answers come in the order of the messages, or nearly. */
const watchMs = 500;

export class NatsSink implements Sink {
  readonly peer: string;
  #client: SharedNats;
  /** The connection of the renewed login, used from the next call of `open` on. */
  #renewed: SharedNats | undefined;
  readonly #target: Target;
  readonly #targets: Recent<string, Target>;
  readonly #cutter = new MessageCutter();
  readonly #inbox = createInbox();
  #connection: NatsConnection | undefined;
  /** Messages that were not published on this connection. */
  #queue: Waiting[] = [];
  /** Messages in flight on this connection by number, in order. */
  #unconfirmed = new Map<number, Waiting>();
  #unconfirmedBytes = 0;
  /** Messages that the server may take later, and the reason; they wait for the answers to all others. */
  #again: Waiting[] = [];
  #reason = '';
  #number = 0;
  #numbers: Numbers = { series: randomUUID(), messages: 0 };
  readonly #counts: InOrderCounts<Waiting>;
  /** The server takes nothing now, and `open` is called again. */
  #isWaiting = false;
  /** Answers of streams, on this connection. */
  #answers: Subscription | undefined;
  #isScheduled = false;
  #isClosed = false;
  #watch: NodeJS.Timeout | undefined;

  constructor(
    public conf: NatsSinkConf,
    readonly context: SinkContext,
  ) {
    this.peer = natsPeer(conf);
    this.#client = this.#take();
    this.#counts = new InOrderCounts(context);
    this.#target = targetOf(conf);
    this.#targets = new Recent(mostTargets, (values) => targetOf({ ...conf, ...JSON.parse(values) }));
  }

  #take(): SharedNats {
    const { conf, context } = this;
    return context.shared('nats.clients', () => new NatsPool()).take(natsSettings(conf, context.paths));
  }

  renew(conf: NatsSinkConf): void {
    this.conf = conf;
    void this.#renewed?.giveBack(this);
    this.#renewed = this.#take();
  }

  async open(): Promise<void> {
    if (this.#renewed !== undefined) {
      void this.#client.giveBack(this);
      this.#client = this.#renewed;
      this.#renewed = undefined;
    }
    const connection = await this.#client.open(this, (reason) => this.#lost(reason));
    if (this.#isClosed) return;
    if (this.conf.jetStream && this.#connection !== connection) {
      this.#answers = connection.subscribe(`${this.#inbox}.*`, {
        callback: (error, message) => {
          if (error === null) this.#answered(connection, message);
          else this.#client.end(reasonOf(error));
        },
      });
    }
    this.#connection = connection;
    this.#isWaiting = false;
    this.#watch ??= setInterval(() => this.#look(), watchMs).unref();
    this.#send();
  }

  write(chunk: SinkChunk): void {
    const { values } = chunk;
    const target = values === undefined ? this.#target : this.#targets.get(JSON.stringify(values));
    const copy = Buffer.from(chunk.bytes);
    let left = copy.length;
    let last: Waiting | undefined;
    this.#cutter.cut({ ...chunk, bytes: copy }, (view) => {
      const payload = view as Buffer;
      last = { payload, target, id: this.#nextId(), bytes: payload.length, sentAt: 0 };
      left -= payload.length;
      this.#queue.push(last);
      this.#counts.add(last);
    });
    if (last === undefined) this.#counts.rest(left);
    else last.bytes += left;
    this.#schedule();
  }

  /** Counted from the begin of the rule's state on: what is made again from a checkpoint gets the id that it had. */
  #nextId(): string {
    const { jetStream, messageIds } = this.conf;
    if (!jetStream || !messageIds) return '';
    const { series, messages } = this.#numbers;
    this.#numbers = { series, messages: messages + 1 };
    return `${series}-${messages}`;
  }

  position(): Numbers | undefined {
    return this.conf.jetStream && this.conf.messageIds ? this.#numbers : undefined;
  }

  /** Sent messages can't be taken back, but messages behind the position get the same ids when they are sent again. */
  cutBack(position: unknown): void {
    const { series, messages } = position as Partial<Numbers>;
    if (typeof series === 'string' && typeof messages === 'number') this.#numbers = { series, messages };
  }

  flush(): Promise<void> {
    return this.#counts.flush();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#counts.close();
    // Others may go on with the connection.
    if (this.#connection?.isClosed() === false) this.#answers?.unsubscribe();
    this.#connection = undefined;
    clearInterval(this.#watch);
    void this.#renewed?.giveBack(this);
    await this.#client.giveBack(this);
    // Whoever closes it counts what is left as lost.
    this.#unconfirmed = new Map();
  }

  /** Sends at the end of this turn of the event loop, so that all current output of the kernel goes together. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const connection = this.#connection;
    if (connection === undefined || connection.isClosed() || this.#isWaiting || this.#again.length > 0) return;
    const { jetStream } = this.conf;
    const queue = this.#queue;
    const unconfirmed = this.#unconfirmed;
    const now = performance.now();
    let sent = 0;
    for (; sent < queue.length; sent++) {
      if (jetStream && (unconfirmed.size >= mostUnconfirmed || this.#unconfirmedBytes > mostUnconfirmedBytes)) break;
      const message = queue[sent]!;
      const number = this.#number++;
      try {
        const headers = headersOf(message);
        const reply = jetStream ? { reply: `${this.#inbox}.${number}` } : {};
        connection.publish(message.target.subject, message.payload, { ...reply, ...(headers && { headers }) });
      } catch (error) {
        this.#counts.done(message, reasonOf(error));
        continue;
      }
      message.sentAt = now;
      unconfirmed.set(number, message);
      this.#unconfirmedBytes += message.bytes;
    }
    this.#queue = sent === queue.length ? [] : queue.slice(sent);
    if (!jetStream && sent > 0) this.#awaitPong(connection, this.#number);
  }

  /** All messages before the number are with the server when it answers. */
  #awaitPong(connection: NatsConnection, end: number): void {
    connection.flush().then(
      () => {
        if (this.#connection !== connection) return;
        for (const [number, message] of this.#unconfirmed) {
          if (number >= end) break;
          this.#confirmed(number, message);
        }
      },
      // The loss of the connection follows.
      () => {},
    );
  }

  #answered(connection: NatsConnection, answer: Msg): void {
    if (this.#connection !== connection) return;
    const number = Number(answer.subject.slice(this.#inbox.length + 1));
    const message = this.#unconfirmed.get(number);
    if (message === undefined) return;
    const { refusal, isFinal } = answerIn(answer);
    if (refusal === undefined || isFinal) this.#confirmed(number, message, refusal);
    else {
      this.#unconfirmed.delete(number);
      this.#unconfirmedBytes -= message.bytes;
      this.#again.push(message);
      this.#reason = refusal;
    }
    if (this.#unconfirmed.size === 0 && this.#again.length > 0) this.#tryLater();
    else if (this.#queue.length > 0 && this.#unconfirmed.size < mostUnconfirmed / 2) this.#schedule();
  }

  /** @param refusal reason why the server has refused it for good */
  #confirmed(number: number, message: Waiting, refusal?: string): void {
    this.#unconfirmed.delete(number);
    this.#unconfirmedBytes -= message.bytes;
    this.#counts.done(message, refusal);
  }

  #lost(reason: string): void {
    this.#connection = undefined;
    this.#queue = [...this.#again, ...this.#unconfirmed.values(), ...this.#queue];
    this.#again = [];
    this.#unconfirmed = new Map();
    this.#unconfirmedBytes = 0;
    if (!this.#isClosed) this.context.disconnected(reason);
  }

  /** The server is there, but does not take everything now: it is asked again as if the connection had been lost. */
  #tryLater(): void {
    this.#isWaiting = true;
    this.#queue = [...this.#again, ...this.#queue];
    this.#again = [];
    this.context.disconnected(this.#reason, true);
  }

  /** Ends a connection on which no answer comes. */
  #look(): void {
    const [first] = this.#unconfirmed.values();
    if (first === undefined || this.#connection === undefined) return;
    const { timeout } = this.conf;
    if (performance.now() - first.sentAt > timeout) this.#client.end(`no answer within ${timeout} ms`);
  }
}

function targetOf({ subject, headers }: Pick<NatsSinkConf, 'subject' | 'headers'>): Target {
  const texts = Object.entries(headers ?? {}).map(([name, value]) => [name, textOf(value)] as const);
  return { subject, headers: texts };
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function headersOf({ target, id }: Waiting): MsgHdrs | undefined {
  if (target.headers.length === 0 && id === '') return undefined;
  const made = makeHeaders();
  for (const [name, value] of target.headers) made.set(name, value);
  if (id !== '' && !made.has('Nats-Msg-Id')) made.set('Nats-Msg-Id', id);
  return made;
}
