/**
 * Takes the messages of a queue, and acknowledges them as soon as they are safe. The server sends no more than may be
 * unacknowledged, so that it waits while the sinks take no more.
 */
import type { Channel, ConsumeMessage } from 'amqplib';
import { reasonOf } from '../../base/errors.js';
import { answered, type ChannelModel, closeRabbit, connectRabbit } from '../../clients/rabbitmq/client.js';
import { rabbitPeer } from '../../clients/rabbitmq/connection.js';
import { Deliveries } from '../messages/deliveries.js';
import type { Source, SourceContext } from '../running.js';
import { rabbitErrors } from './errors.js';
import { Metas } from './metas.js';
import { type RabbitConnectionConf, rabbitSecurity } from './settings.js';

export interface RabbitSourceConf extends RabbitConnectionConf {
  queue: string;
  exchange: string;
  exchangeType: string;
  routingKey: string;
  durable: boolean;
  autoDelete: boolean;
  exclusive: boolean;
  prefetchCount: number;
}

/** What acknowledges a message: its number on the channel that brought it. */
interface Given {
  readonly channel: Channel;
  readonly tag: number;
}

/** Most messages that may be unacknowledged. */
const mostUnacknowledged = 65_535;
/** Messages that are acknowledged together, unless that is more than the part of those the server may send. */
const mostTogether = 256;
const partTogether = 4;
/** Longest wait of an acknowledgement for others, ms. */
const togetherMs = 5;

export class RabbitSource implements Source {
  #open: { readonly model: ChannelModel; readonly channel: Channel } | undefined;
  #isClosed = false;
  readonly #metas = new Metas();
  readonly #deliveries: Deliveries<Given>;
  /** The last message that is to be acknowledged, with all before it, and their number. */
  #due: Given | undefined;
  #dueMessages = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    public conf: RabbitSourceConf,
    readonly context: SourceContext,
  ) {
    this.#deliveries = new Deliveries(context, (given) => this.#acknowledge(given));
  }

  get peer(): string {
    return rabbitPeer(this.conf);
  }

  get #queue(): string {
    return this.conf.queue || this.context.dataSource;
  }

  async open(): Promise<void> {
    const { conf, context } = this;
    if (this.#queue === '' && conf.exchange === '') throw rabbitErrors.noQueue();
    let made: ChannelModel | undefined;
    const security = await rabbitSecurity(conf, context.paths);
    made = await connectRabbit(conf, security, (reason) => made && this.#lost(made, reason));
    try {
      let reason = 'the channel was closed';
      const queue = await this.#declare(made);
      const channel = await answered(made.createChannel(), conf);
      channel.on('error', (error: unknown) => {
        reason = reasonOf(error);
      });
      channel.on('close', () => made && this.#lost(made, reason));
      await answered(channel.prefetch(conf.prefetchCount || mostUnacknowledged), conf);
      const take = (message: ConsumeMessage | null) => {
        if (message !== null) this.#take(channel, message);
        else this.#lost(made!, `queue ${queue} is gone`);
      };
      this.#open = { model: made, channel };
      await answered(channel.consume(queue, take, { exclusive: conf.exclusive }), conf);
    } catch (error) {
      this.#open = undefined;
      void closeRabbit(made);
      throw rabbitErrors.connection(reasonOf(error), { cause: error });
    }
    if (this.#isClosed) await this.close();
  }

  renew(conf: RabbitSourceConf): void {
    this.conf = conf;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#deliveries.close();
    this.#acknowledgeDue();
    const opened = this.#open;
    this.#open = undefined;
    if (opened !== undefined) await closeRabbit(opened.model);
  }

  /** Makes the queue if it is missing, and binds it; returns its name. */
  async #declare(model: ChannelModel): Promise<string> {
    const { conf } = this;
    const { durable, autoDelete, exclusive, exchange, exchangeType, routingKey } = conf;
    const name = this.#queue;
    // A queue that is there may have been made with other properties.
    const isThere = name !== '' && (await this.#has(model, name));
    const channel = await answered(model.createChannel(), conf);
    channel.on('error', () => {});
    const own =
      name === '' ? { exclusive: true, autoDelete: true, durable: false } : { durable, autoDelete, exclusive };
    const { queue } = isThere ? { queue: name } : await answered(channel.assertQueue(name, own), conf);
    if (exchange !== '') {
      if (exchangeType !== '') await answered(channel.assertExchange(exchange, exchangeType, { durable }), conf);
      await answered(channel.bindQueue(queue, exchange, routingKey), conf);
    }
    await answered(channel.close(), conf);
    return queue;
  }

  /** Whether there is such a queue; the server closes the channel when there is none. */
  async #has(model: ChannelModel, queue: string): Promise<boolean> {
    const channel = await answered(model.createChannel(), this.conf);
    let isMissing = false;
    channel.on('error', (error: unknown) => {
      isMissing = (error as { code?: number }).code === 404;
    });
    try {
      await answered(channel.checkQueue(queue), this.conf);
      await answered(channel.close(), this.conf);
      return true;
    } catch (error) {
      if (isMissing || (error as { code?: number }).code === 404) return false;
      throw error;
    }
  }

  #lost(model: ChannelModel, reason: string): void {
    if (this.#open?.model !== model) return;
    this.#open = undefined;
    void closeRabbit(model);
    this.context.disconnected(reason);
  }

  #take(channel: Channel, message: ConsumeMessage): void {
    if (this.#open?.channel !== channel) return;
    this.#deliveries.add(message.content, this.#metas.of(message), { channel, tag: message.fields.deliveryTag });
  }

  /** What came on an earlier channel comes again. */
  #acknowledge(given: readonly Given[]): void {
    const last = given.findLast((one) => one.channel === this.#open?.channel);
    if (last === undefined) return;
    this.#due = last;
    this.#dueMessages += given.length;
    const most = Math.min(mostTogether, (this.conf.prefetchCount || mostUnacknowledged) / partTogether);
    if (this.#dueMessages >= most) this.#acknowledgeDue();
    else this.#timer ??= setTimeout(() => this.#acknowledgeDue(), togetherMs);
  }

  #acknowledgeDue(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const due = this.#due;
    this.#due = undefined;
    this.#dueMessages = 0;
    if (due === undefined || due.channel !== this.#open?.channel) return;
    try {
      due.channel.ack({ fields: { deliveryTag: due.tag } } as ConsumeMessage, true);
    } catch {
      // The connection is closing: its loss follows, and what was not acknowledged comes again.
    }
  }
}
