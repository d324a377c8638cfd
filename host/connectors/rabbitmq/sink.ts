/**
 * Publishes messages, and keeps each until the server has confirmed it. What is unconfirmed when a connection breaks is
 * published again on the next one.
 */
import type { ConfirmChannel, Message, Options } from 'amqplib';
import { reasonOf } from '../../base/errors.js';
import { InFlight, type InFlightMessage } from '../../base/structures/in-flight.js';
import { type CountedMessage, InOrderCounts } from '../../base/structures/in-order-counts.js';
import { answered } from '../../clients/rabbitmq/client.js';
import { rabbitPeer } from '../../clients/rabbitmq/connection.js';
import { RabbitPool, type SharedRabbit } from '../../clients/rabbitmq/pool.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import { rabbitErrors } from './errors.js';
import { type RabbitConnectionConf, rabbitSettings } from './settings.js';

export interface RabbitSinkConf extends RabbitConnectionConf {
  queue: string;
  exchange: string;
  exchangeType: string;
  routingKey: string;
  durable: boolean;
  autoDelete: boolean;
  exclusive: boolean;
  headers: Record<string, unknown>;
  contentType: string;
  persistent: boolean;
  mandatory: boolean;
}

/** Where a message goes. */
interface Target {
  readonly exchange: string;
  readonly routingKey: string;
  readonly options: Options.Publish;
}

interface Waiting extends CountedMessage, InFlightMessage {
  readonly payload: Buffer;
  readonly target: Target;
  /** Credit that is given back when the message is confirmed, bytes. */
  bytes: number;
  /** Why the server gave the message back. */
  returned: string | undefined;
}

/** Messages of one sink that may be unconfirmed at a time, and their bytes. */
const mostUnconfirmed = 1000;
const mostUnconfirmedBytes = 32 << 20;

export class RabbitSink implements Sink {
  readonly peer: string;
  #client: SharedRabbit;
  /** The connection of the renewed login, used from the next call of `open` on. */
  #renewed: SharedRabbit | undefined;
  readonly #cutter = new MessageCutter();
  #channel: ConfirmChannel | undefined;
  /** Messages that were not published on this channel. */
  #queue: Waiting[] = [];
  /** Messages in flight on this channel, in order. */
  #unconfirmed = new InFlight<Waiting>();
  #unconfirmedBytes = 0;
  /** Messages that may be returned, by the id that they carry. */
  readonly #mandatory = new Map<string, Waiting>();
  #number = 0;
  /** Messages that the server did not take, and may take later. */
  #again: Waiting[] = [];
  #isScheduled = false;
  #isFull = false;
  #isClosed = false;
  readonly #counts: InOrderCounts<Waiting>;

  constructor(
    public conf: RabbitSinkConf,
    readonly context: SinkContext,
  ) {
    this.peer = rabbitPeer(conf);
    this.#client = this.#take();
    this.#counts = new InOrderCounts(context);
  }

  #take(): SharedRabbit {
    const { conf, context } = this;
    return context.shared('rabbitmq.clients', () => new RabbitPool()).take(rabbitSettings(conf, context.paths));
  }

  renew(conf: RabbitSinkConf): void {
    this.conf = conf;
    void this.#renewed?.giveBack(this);
    this.#renewed = this.#take();
  }

  async open(): Promise<void> {
    if (this.#renewed !== undefined) {
      void this.#client.giveBack(this);
      this.#client = this.#renewed;
      this.#renewed = undefined;
      this.#channel = undefined;
    }
    const { conf } = this;
    const model = await this.#client.open(this, (reason) => this.#lost(reason));
    if (this.#isClosed) return;
    if (this.#channel !== undefined) {
      this.#schedule();
      return;
    }
    let reason = 'the channel was closed';
    let channel: ConfirmChannel | undefined;
    try {
      channel = await answered(model.createConfirmChannel(), conf);
      channel.on('error', (error: unknown) => {
        reason = reasonOf(error);
      });
      await this.#declare(channel);
    } catch (error) {
      if (channel !== undefined) closeChannel(channel);
      throw rabbitErrors.connection(reasonOf(error), { cause: error });
    }
    const own = channel;
    own.on('close', () => this.#channel === own && this.#lost(reason));
    own.on('return', (message: Message) => this.#returned(message));
    own.on('drain', () => {
      this.#isFull = false;
      this.#schedule();
    });
    this.#channel = own;
    this.#isFull = false;
    this.#schedule();
  }

  async #declare(channel: ConfirmChannel): Promise<void> {
    const { conf } = this;
    const { queue, exchange, exchangeType, routingKey, durable, autoDelete, exclusive } = conf;
    const isFixed = !['exchange', 'routingKey'].some((name) => this.context.dynamic.has(name));
    if (exchangeType !== '' && exchange !== '' && isFixed) {
      await answered(channel.assertExchange(exchange, exchangeType, { durable }), conf);
    }
    if (queue === '') return;
    await answered(channel.assertQueue(queue, { durable, autoDelete, exclusive }), conf);
    if (exchange !== '' && isFixed) await answered(channel.bindQueue(queue, exchange, routingKey || queue), conf);
  }

  write(chunk: SinkChunk): void {
    const target = this.#targetOf(chunk.values);
    const copy = Buffer.from(chunk.bytes);
    let left = copy.length;
    let last: Waiting | undefined;
    this.#cutter.cut({ ...chunk, bytes: copy }, (view) => {
      last = waitingOf(view as Buffer, target);
      left -= view.length;
      this.#queue.push(last);
      this.#counts.add(last);
    });
    if (last === undefined) this.#counts.rest(left);
    else last.bytes += left;
    this.#schedule();
  }

  flush(): Promise<void> {
    return this.#counts.flush();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#counts.close();
    const channel = this.#channel;
    this.#channel = undefined;
    // Others may go on with the connection.
    if (channel !== undefined) closeChannel(channel);
    void this.#renewed?.giveBack(this);
    await this.#client.giveBack(this);
    // Whoever closes it counts what is left as lost.
    this.#unconfirmed = new InFlight();
  }

  #targetOf(values: SinkChunk['values']): Target {
    const { queue, exchange, routingKey, headers, contentType, persistent, mandatory } = { ...this.conf, ...values };
    const options = {
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(persistent ? { persistent } : {}),
      ...(mandatory ? { mandatory } : {}),
      ...(contentType === '' ? {} : { contentType }),
    };
    return { exchange, routingKey: routingKey || queue, options };
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
    const channel = this.#channel;
    if (channel === undefined || this.#again.length > 0) return;
    const unconfirmed = this.#unconfirmed;
    let sent = 0;
    for (const message of this.#queue) {
      if (this.#isFull || unconfirmed.size >= mostUnconfirmed || this.#unconfirmedBytes > mostUnconfirmedBytes) break;
      sent++;
      const { exchange, routingKey, options } = message.target;
      message.returned = undefined;
      const id = options.mandatory === true ? String(this.#number++) : undefined;
      if (id !== undefined) this.#mandatory.set(id, message);
      unconfirmed.add(message);
      this.#unconfirmedBytes += message.bytes;
      const own = id === undefined ? options : { ...options, messageId: id };
      try {
        this.#isFull = !channel.publish(exchange, routingKey, message.payload, own, (error) => {
          if (id !== undefined) this.#mandatory.delete(id);
          // A channel that closes fails all messages, and its loss follows.
          if (this.#unconfirmed === unconfirmed && isAnswer(error)) this.#answered(message, error);
        });
      } catch (error) {
        // The loss of the channel follows, unless the message itself can't be encoded.
        if (this.#channel === channel && !isClosed(error)) this.#answered(message, undefined, reasonOf(error));
      }
    }
    this.#queue = sent === this.#queue.length ? [] : this.#queue.slice(sent);
  }

  #answered(message: Waiting, error: unknown, refusal = message.returned): void {
    if (!this.#unconfirmed.delete(message)) return;
    this.#unconfirmedBytes -= message.bytes;
    if (error) this.#again.push(message);
    else this.#counts.done(message, refusal);
    if (this.#unconfirmed.size === 0 && this.#again.length > 0) this.#tryLater();
    else if (this.#queue.length > 0) this.#schedule();
  }

  /** The server found no queue for a message; its confirmation follows. */
  #returned({ fields, properties }: Message): void {
    const message = this.#mandatory.get(String(properties.messageId));
    const { replyText = '', exchange, routingKey } = fields as typeof fields & { replyText?: string };
    const to = `exchange ${JSON.stringify(exchange)}, routing key ${JSON.stringify(routingKey)}`;
    if (message !== undefined) message.returned = `returned by the server, ${replyText}: ${to}`;
  }

  /** The server is there, but does not take everything now: it is asked again as if the connection had been lost. */
  #tryLater(): void {
    this.#queue = [...this.#again, ...this.#queue];
    this.#again = [];
    const channel = this.#channel;
    this.#channel = undefined;
    if (channel !== undefined) closeChannel(channel);
    this.context.disconnected('the server did not take a message, as when a queue is full', true);
  }

  #lost(reason: string): void {
    this.#channel = undefined;
    this.#queue = [...this.#again, ...this.#unconfirmed.all, ...this.#queue];
    this.#again = [];
    this.#unconfirmed = new InFlight();
    this.#unconfirmedBytes = 0;
    this.#mandatory.clear();
    if (!this.#isClosed) this.context.disconnected(reason);
  }
}

const waitingOf = (payload: Buffer, target: Target): Waiting => ({
  payload,
  target,
  bytes: payload.length,
  returned: undefined,
  outcome: undefined,
  flight: undefined,
});

/** Closes a channel that may be closed already, without waiting for the server. */
function closeChannel(channel: ConfirmChannel): void {
  try {
    void channel.close().catch(() => {});
  } catch {
    // It is closed.
  }
}

/** Whether the server has answered, by confirming the message or by refusing it. */
function isAnswer(error: unknown): boolean {
  return !(error instanceof Error) || /nacked/.test(error.message);
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && error.name === 'IllegalOperationError';
}
